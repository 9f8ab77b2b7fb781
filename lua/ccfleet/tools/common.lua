--- What the tools for files share: schemas, paths, errors that say what to do next.
--
-- @module[kind=internal] ccfleet.tools.common

local files = require("ccfleet.files")
local patch = require("ccfleet.patch")
local text = require("ccfleet.text")

local common = {}

local PATH_CHARACTERS = 1024
-- How much of a file that was kept is shown to whoever wanted to replace it.
local SHOWN_BYTES = 1024
--- How long a text argument may be so that its call fits into one frame.
common.MAX_CONTENT_CHARACTERS = 120000

--- The schema of a path.
common.PATH = {
    type = "string", maxLength = PATH_CHARACTERS, description = "Path from the root, such as /todo.lua.",
}

--- The schema of what a writer knows of the file that it replaces. Servers fill it in; models are not told of it.
common.IF_HASH = {
    type = "string", maxLength = 80, ["x-internal"] = true,
    description = "Replace a file only if this is its hash; \"none\": only if there is none yet.",
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

-- What tells one content from another; above the size that is hashed it is the size.
local function stamp(content)
    return files.hash(content) or ("bytes:" .. #content)
end

--- The file that a write must not replace, because its writer does not know what it holds.
--
-- A file that has the new content already is none: a write that is made again finds its own.
--
-- @tparam table fs The file system API.
-- @tparam string path From the root.
-- @tparam string content The new content.
-- @tparam[opt] string if_hash The hash that the writer knows, or "none".
-- @treturn table|nil What there is, as the result that the tool has then: nothing was written.
function common.kept(fs, path, content, if_hash)
    if not if_hash or not fs.exists(path) then return nil end
    local there = common.read_file(fs, path)
    local hash = stamp(there)
    if there == content or hash == if_hash then return nil end
    local why = if_hash == "none" and "is there already" or "has changed since it was read"
    local shown = text.head(there, SHOWN_BYTES)
    return {
        success = false, kept = true, path = path, bytes = #there, hash = hash,
        content = shown, truncated = #shown < #there,
        error = ("%s: %s, and nothing was written: content shows what it holds%s. To change a part of it: fs_patch "
            .. '{"path": "%s", %s}. To write it whole, keep in it what is still needed; to do without that, delete it '
            .. "first."):format(path, why, #shown < #there and " at its beginning" or "", path, patch.EDITS_FORM),
    }
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
