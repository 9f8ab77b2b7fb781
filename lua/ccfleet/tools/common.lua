--- What the tools for files share: schemas, paths, errors that say what to do next.
--
-- @module[kind=internal] ccfleet.tools.common

local files = require("ccfleet.files")

local common = {}

local PATH_CHARACTERS = 1024
--- How long a text argument may be so that its call fits into one frame.
common.MAX_CONTENT_CHARACTERS = 120000

--- The schema of a path.
common.PATH = {
    type = "string", maxLength = PATH_CHARACTERS, description = "Path from the root, such as /todo.lua.",
}

--- A schema like another, with its own description.
function common.described(schema, description)
    local copy = {}
    for name, value in pairs(schema) do copy[name] = value end
    copy.description = description
    return copy
end

--- A path from the root, without `.` and `..`.
function common.absolute(fs, path)
    return "/" .. fs.combine(path, "")
end

--- Call a function of `fs` that raises; its result, or an error without positions.
function common.attempt(action, ...)
    local ok, result = pcall(action, ...)
    if not ok then error(files.clean_error(result), 0) end
    return result
end

--- Fail if there is nothing at a path.
function common.require_existing(fs, path)
    files.recover(fs, path)
    if not fs.exists(path) then error(path .. ": no such file or folder; fs_list and fs_find show what there is", 0) end
end

--- Read a file for a tool; folders and missing files are errors.
function common.read_file(fs, path)
    common.require_existing(fs, path)
    if fs.isDir(path) then error(path .. ": is a folder; use fs_list", 0) end
    local content, err = files.read(fs, path)
    if not content then error(err, 0) end
    return content
end

--- Why a file could not be written, with what helps.
function common.write_error(path, err)
    err = tostring(err)
    if not err:find(path, 1, true) then err = path .. ": " .. err end
    if err:find("Out of space", 1, true) or err:find("not written whole", 1, true) then
        return err .. " (nothing was changed; the disk needs room for the new content beside the old one: delete what is "
            .. "not needed)"
    end
    return err
end

--- Fail unless a file can be written at a path.
function common.require_writable(fs, path)
    if fs.isDir(path) then error(path .. ": is a folder", 0) end
    if fs.isReadOnly(path) then error(path .. ": is on a read-only disk; choose another path", 0) end
end

--- Tools whose handlers get something more in front.
--
-- @tparam table tools name -> tool, with handlers `function(first, args, context)`.
-- @param first What the handlers get first.
-- @treturn table name -> tool as it is registered.
function common.bind(tools, first)
    local bound = {}
    for name, tool in pairs(tools) do
        local handler = tool.handler
        bound[name] = setmetatable({
            handler = function(args, _, _, context) return handler(first, args, context) end,
        }, { __index = tool })
    end
    return bound
end

return common
