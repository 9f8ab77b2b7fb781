--- The core tools for files: `fs_list`, `fs_read`, `fs_write`, `fs_write_many`, `fs_delete`, `fs_move`, `fs_copy`.
--
-- @module[kind=internal] ccfleet.tools.files

local files = require("ccfleet.files")
local json = require("ccfleet.json")
local text = require("ccfleet.text")
local common = require("ccfleet.tools.common")

local PATH, absolute, attempt = common.PATH, common.absolute, common.attempt

local DEFAULT_READ_BYTES = 65536
local MAX_READ_BYTES = 65536
-- What a frame has room for beside the other fields. A file full of control bytes needs six bytes for each.
local MAX_ENCODED_BYTES = 120000
local MAX_FILES = 32
-- A file counts for at least this much on a computer's disk.
local MIN_FILE_BYTES = 500

local function list(fs, args)
    local path = absolute(fs, args.path or "/")
    common.require_existing(fs, path)
    if not fs.isDir(path) then error(path .. ": not a folder; use fs_read", 0) end
    local entries = json.array()
    for _, name in ipairs(attempt(fs.list, path)) do
        local child = fs.combine(path, name)
        local is_dir = fs.isDir(child)
        entries[#entries + 1] = { name = text.to_utf8(name), is_dir = is_dir, size = is_dir and 0 or fs.getSize(child) }
    end
    return { path = path, entries = entries, free_bytes = fs.getFreeSpace(path) }
end

local function read(fs, args)
    local path = absolute(fs, args.path)
    local content = common.read_file(fs, path)
    local offset = args.offset or 0
    local rest, limit = content:sub(offset + 1), args.max_bytes or DEFAULT_READ_BYTES
    local piece = text.head(rest, limit)
    while #json.encode(piece) > MAX_ENCODED_BYTES do
        limit = math.floor(limit / 2)
        piece = text.head(rest, limit)
    end
    return {
        path = path, content = piece, bytes = #content, truncated = offset + #piece < #content,
        hash = files.hash(content),
    }
end

local function write(fs, args)
    local path = absolute(fs, args.path)
    common.require_writable(fs, path)
    files.recover(fs, path)
    local kept = common.kept(fs, path, args.content, args.if_hash)
    if kept then return kept end
    local existed = fs.exists(path)
    local ok, err = files.replace(fs, path, args.content)
    if not ok then error(common.write_error(path, err), 0) end
    return { path = path, bytes = #args.content, created = not existed, hash = files.hash(args.content) }
end

-- What writing needs: all of the new content is on the disk before any of the old goes.
local function require_space(fs, changes)
    local needed = 0
    for _, change in ipairs(changes) do needed = needed + math.max(MIN_FILE_BYTES, #change.content) end
    local free = fs.getFreeSpace(changes[1].path)
    if type(free) == "number" and free >= 0 and free < needed then
        error(("not enough space: %d bytes are needed, %d are free; nothing was written. Delete what is not needed.")
            :format(needed, free), 0)
    end
end

local function write_many(fs, args)
    local changes, seen, report, kept = {}, {}, json.array(), json.array()
    for i, file in ipairs(args.files) do
        local path = absolute(fs, file.path)
        common.require_writable(fs, path)
        if seen[path] then error(path .. ": is named twice; nothing was written", 0) end
        seen[path] = true
        files.recover(fs, path)
        changes[i] = { path = path, content = file.content }
        kept[#kept + 1] = common.kept(fs, path, file.content, file.if_hash)
        report[i] = {
            path = path, bytes = #file.content, created = not fs.exists(path), hash = files.hash(file.content),
        }
    end
    if not changes[1] then error("files is empty: give at least one file", 0) end
    if kept[1] then return { success = false, kept = true, error = kept[1].error, files = kept } end
    require_space(fs, changes)
    local ok, err, path = files.replace_all(fs, changes)
    if not ok then error(common.write_error(path, err), 0) end
    return { files = report }
end

local function delete(fs, args)
    local path = absolute(fs, args.path)
    if path == "/" then error("/: the root cannot be deleted", 0) end
    files.recover(fs, path)
    local existed = fs.exists(path)
    attempt(fs.delete, path)
    return { path = path, deleted = existed }
end

-- Whether two files hold the same, so that what is done again finds its own.
local function is_same(fs, from, to)
    if fs.isDir(from) or fs.isDir(to) or fs.getSize(from) ~= fs.getSize(to) then return false end
    return common.read_file(fs, from) == common.read_file(fs, to)
end

-- Why a place is not free, and what to do about it.
local function taken(fs, from, to, done, verb)
    if fs.isDir(to) and from ~= to then
        return ("%s: is there already, and is a folder; nothing was %s. To %s it in there, name its place: %s"):format(
            to, done, verb, "/" .. fs.combine(to, fs.getName(from)))
    end
    return ("%s: is there already, and nothing was %s; delete it first, or %s to another path"):format(to, done, verb)
end

-- What was copied before it shall be moved lies in its new place already: then only the old one goes.
local function move(fs, args)
    local from, to = absolute(fs, args.from), absolute(fs, args.to)
    files.recover(fs, to)
    if fs.exists(to) and not fs.exists(from) then
        error(("%s: no such file or folder; %s is there, so it was perhaps moved already"):format(from, to), 0)
    end
    common.require_existing(fs, from)
    if fs.exists(to) then
        if from == to or not is_same(fs, from, to) then error(taken(fs, from, to, "moved", "move"), 0) end
        attempt(fs.delete, from)
        return { from = from, to = to, there_already = true }
    end
    attempt(fs.move, from, to)
    return { from = from, to = to }
end

-- A copy that fails in its middle (a full disk) leaves nothing behind.
local function copy(fs, args)
    local from, to = absolute(fs, args.from), absolute(fs, args.to)
    common.require_existing(fs, from)
    files.recover(fs, to)
    if fs.exists(to) then
        if from ~= to and is_same(fs, from, to) then return { from = from, to = to, there_already = true } end
        error(taken(fs, from, to, "copied", "copy"), 0)
    end
    local ok, err = pcall(fs.copy, from, to)
    if not ok then
        pcall(fs.delete, to)
        error(common.write_error(to, files.clean_error(err)), 0)
    end
    return { from = from, to = to }
end

local CONTENT = {
    type = "string", maxLength = common.MAX_CONTENT_CHARACTERS, description = "The whole new content.",
}

local TOOLS = {
    fs_list = {
        handler = list,
        effect = "read",
        description = "List a folder: name, is_dir and size of each entry, and the free space of the disk.",
        result = "path, entries [name, is_dir, size], free_bytes",
        properties = { path = PATH },
        required = nil,
    },
    fs_read = {
        handler = read,
        effect = "read",
        description = "Read a text file, whole or a piece of it. `bytes` is the size of the file; `truncated` says that "
            .. "there is more after this piece: read on with offset. `hash` is that of the whole file (not above 256 KiB).",
        result = "path, content, bytes, truncated, hash",
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
        description = "Write a text file, replacing what was there. Folders on the way are made. If it fails (a full "
            .. "disk), the old content is still there.",
        result = "path, bytes, created, hash",
        properties = {
            path = PATH,
            content = CONTENT,
            if_hash = common.IF_HASH,
        },
        required = { "path", "content" },
    },
    fs_write_many = {
        handler = write_many,
        effect = "idempotent",
        description = "Write several text files, all or none: the space is checked first, and if one cannot be written "
            .. "the others stay as they were.",
        result = "files [path, bytes, created, hash]",
        properties = {
            files = {
                type = "array", maxItems = MAX_FILES, description = "The files; each path once.",
                items = {
                    type = "object", additionalProperties = false, required = { "path", "content" },
                    properties = { path = PATH, content = CONTENT, if_hash = common.IF_HASH },
                },
            },
        },
        required = { "files" },
    },
    fs_delete = {
        handler = delete,
        effect = "idempotent",
        description = "Delete a file or a folder with everything in it. A missing one is no error: deleted is false.",
        result = "path, deleted",
        properties = { path = PATH },
        required = { "path" },
    },
    fs_move = {
        handler = move,
        effect = "effect",
        description = "Move or rename a file or folder. Fails if the target exists and is not the same file already.",
        result = "from, to, there_already?",
        properties = { from = PATH, to = PATH },
        required = { "from", "to" },
    },
    fs_copy = {
        handler = copy,
        effect = "effect",
        description = "Copy a file or folder. Fails if the target exists and is not the same file already.",
        result = "from, to, there_already?",
        properties = { from = PATH, to = PATH },
        required = { "from", "to" },
    },
}

--- The tools, working on a file system.
--
-- @tparam table fs The file system API.
-- @treturn table name -> tool.
return { make = function(fs) return common.bind(TOOLS, fs) end, write = write }
