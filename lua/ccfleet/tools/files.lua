--- The core tools for files: `fs_list`, `fs_read`, `fs_write`, `fs_delete`, `fs_move`.
--
-- @module[kind=internal] ccfleet.tools.files

local files = require("ccfleet.files")
local json = require("ccfleet.json")
local text = require("ccfleet.text")

local PATH_CHARACTERS = 1024
local DEFAULT_READ_BYTES = 65536
local MAX_READ_BYTES = 65536
-- What a frame has room for beside the other fields. A file full of control bytes needs six bytes for each.
local MAX_ENCODED_BYTES = 120000
local MAX_CONTENT_CHARACTERS = 120000

local PATH = { type = "string", maxLength = PATH_CHARACTERS, description = "Path from the root, such as /todo.lua." }

local function absolute(path)
    return "/" .. fs.combine(path, "")
end

-- Call a function of `fs` that raises; returns its result, or fails with a message without positions.
local function attempt(action, ...)
    local ok, result = pcall(action, ...)
    if not ok then error(files.clean_error(result), 0) end
    return result
end

local function require_existing(path)
    if not fs.exists(path) then error(path .. ": no such file or folder", 0) end
end

local function list(args)
    local path = absolute(args.path or "/")
    require_existing(path)
    if not fs.isDir(path) then error(path .. ": not a folder", 0) end
    local entries = json.array()
    for _, name in ipairs(attempt(fs.list, path)) do
        local child = fs.combine(path, name)
        local is_dir = fs.isDir(child)
        entries[#entries + 1] = { name = text.to_utf8(name), is_dir = is_dir, size = is_dir and 0 or fs.getSize(child) }
    end
    return { path = path, entries = entries, free_bytes = fs.getFreeSpace(path) }
end

local function read(args)
    local path = absolute(args.path)
    require_existing(path)
    if fs.isDir(path) then error(path .. ": is a folder; use fs_list", 0) end
    local content, err = files.read(fs, path)
    if not content then error(err, 0) end
    local offset = args.offset or 0
    local rest, limit = content:sub(offset + 1), args.max_bytes or DEFAULT_READ_BYTES
    local piece = text.head(rest, limit)
    while #json.encode(piece) > MAX_ENCODED_BYTES do
        limit = math.floor(limit / 2)
        piece = text.head(rest, limit)
    end
    return { path = path, content = piece, bytes = #content, truncated = offset + #piece < #content }
end

local function write(args)
    local path = absolute(args.path)
    if fs.isDir(path) then error(path .. ": is a folder", 0) end
    local existed = fs.exists(path)
    local ok, err = files.write(fs, path, args.content)
    if not ok then error(err, 0) end
    return { path = path, bytes = #args.content, created = not existed }
end

local function delete(args)
    local path = absolute(args.path)
    if path == "/" then error("/: the root cannot be deleted", 0) end
    local existed = fs.exists(path)
    attempt(fs.delete, path)
    return { path = path, deleted = existed }
end

local function move(args)
    local from, to = absolute(args.from), absolute(args.to)
    require_existing(from)
    attempt(fs.move, from, to)
    return { from = from, to = to }
end

local tools = {
    fs_list = {
        handler = list,
        effect = "read",
        description = "List a folder: name, is_dir and size of each entry, and the free space of the disk.",
        properties = { path = PATH },
        required = nil,
    },
    fs_read = {
        handler = read,
        effect = "read",
        description = "Read a text file, whole or a piece of it. `bytes` is the size of the file; `truncated` says that "
            .. "there is more after this piece: read on with offset.",
        properties = {
            path = PATH,
            offset = { type = "integer", minimum = 0, description = "How many bytes to skip; default 0." },
            max_bytes = {
                type = "integer", minimum = 1, maximum = MAX_READ_BYTES,
                description = "How many bytes to read at most; default 65536.",
            },
        },
        required = { "path" },
    },
    fs_write = {
        handler = write,
        effect = "idempotent",
        description = "Write a text file, replacing what was there. Folders on the way are made.",
        properties = {
            path = PATH,
            content = { type = "string", maxLength = MAX_CONTENT_CHARACTERS, description = "The whole new content." },
        },
        required = { "path", "content" },
    },
    fs_delete = {
        handler = delete,
        effect = "idempotent",
        description = "Delete a file or a folder with everything in it. A missing one is no error: deleted is false.",
        properties = { path = PATH },
        required = { "path" },
    },
    fs_move = {
        handler = move,
        effect = "effect",
        description = "Move or rename a file or folder. Fails if the target exists.",
        properties = { from = PATH, to = PATH },
        required = { "from", "to" },
    },
}

return { tools = tools, write = write }
