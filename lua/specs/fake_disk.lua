--- A disk in memory: folders, a size limit that counts as the real one does, and faults on demand.

local fake_disk = {}

-- What every file costs at least, and the usual size of a computer's disk.
local MIN_BYTES, CAPACITY = 500, 1000000

local function key(path)
    return "/" .. fs.combine(path, "")
end

local function used(disk)
    local sum = 0
    for _, content in pairs(disk.files) do sum = sum + math.max(MIN_BYTES, #content) end
    return sum
end

local function is_dir(disk, path)
    if path == "/" or disk.dirs[path] then return true end
    for name in pairs(disk.files) do
        if name:sub(1, #path + 1) == path .. "/" then return true end
    end
    return false
end

local function exists(disk, path)
    return disk.files[path] ~= nil or is_dir(disk, path)
end

-- Raises if the spec wants this operation to fail.
local function pass(disk, operation, path)
    local err = disk.fail and disk.fail(operation, path)
    if err then error(err, 0) end
    if disk.is_read_only and operation ~= "read" then error(path .. ": Access denied", 0) end
end

local function open_for_writing(disk, path, mode)
    local kept = mode:find("a") and disk.files[path] or ""
    disk.files[path] = kept
    return {
        write = function(data)
            local room = math.min(disk.bytes_until_crash or #data, #data)
            room = math.max(0, math.min(room, disk.capacity - used(disk) + math.max(MIN_BYTES, #disk.files[path])
                - #disk.files[path]))
            disk.files[path] = disk.files[path] .. data:sub(1, room)
            if room < #data then error("Out of space", 0) end
        end,
        flush = function() end,
        close = function() end,
    }
end

local function open(disk, path, mode)
    path = key(path)
    if mode:find("r") then
        pass(disk, "read", path)
        local content = disk.files[path]
        if not content then return nil, path .. (is_dir(disk, path) and ": Not a file" or ": No such file") end
        return { readAll = function() return content end, close = function() end }
    end
    local ok, err = pcall(pass, disk, "write", path)
    if not ok then return nil, err end
    if is_dir(disk, path) then return nil, path .. ": Not a file" end
    if not disk.files[path] and used(disk) + MIN_BYTES > disk.capacity then return nil, path .. ": Out of space" end
    return open_for_writing(disk, path, mode)
end

local function move(disk, from, to)
    from, to = key(from), key(to)
    pass(disk, "move", from)
    if not exists(disk, from) then error("No such file", 0) end
    if exists(disk, to) then error("File exists", 0) end
    local moved = {}
    for name, content in pairs(disk.files) do
        if name == from or name:sub(1, #from + 1) == from .. "/" then moved[name] = content end
    end
    for name, content in pairs(moved) do
        disk.files[name] = nil
        disk.files[to .. name:sub(#from + 1)] = content
    end
    disk.dirs[from] = nil
end

-- File by file, as the game does it: a fault in the middle leaves what was copied before.
local function copy(disk, from, to)
    from, to = key(from), key(to)
    pass(disk, "copy", from)
    if not exists(disk, from) then error("No such file", 0) end
    if exists(disk, to) then error("File exists", 0) end
    if to:sub(1, #from + 1) == from .. "/" then error("Can't copy a directory inside itself", 0) end
    local names = {}
    for name in pairs(disk.files) do
        if name == from or name:sub(1, #from + 1) == from .. "/" then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local content = disk.files[name]
        if used(disk) + math.max(MIN_BYTES, #content) > disk.capacity then error("Out of space", 0) end
        disk.files[to .. name:sub(#from + 1)] = content
    end
end

local function delete(disk, path)
    path = key(path)
    pass(disk, "delete", path)
    for _, set in ipairs({ disk.files, disk.dirs }) do
        for name in pairs(set) do
            if name == path or name:sub(1, #path + 1) == path .. "/" then set[name] = nil end
        end
    end
end

local function list(disk, path)
    path = key(path)
    if not is_dir(disk, path) then error(path .. ": Not a directory", 0) end
    local prefix, names, seen = path == "/" and "/" or path .. "/", {}, {}
    for _, set in ipairs({ disk.files, disk.dirs }) do
        for name in pairs(set) do
            local child = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1):match("^[^/]+")
            if child and not seen[child] then
                seen[child] = true
                names[#names + 1] = child
            end
        end
    end
    table.sort(names)
    return names
end

--- A disk: `fs` to use it, `files` (path -> content) to look at it. A spec may set
--
-- - `capacity`: bytes, each file counting at least 500;
-- - `bytes_until_crash`: each write stops after so many bytes;
-- - `is_read_only`;
-- - `fail(operation, path)`: returns the error that `read`, `write`, `move`, `copy` or `delete` is to raise, or nil.
function fake_disk.new()
    local disk = { files = {}, dirs = {}, capacity = CAPACITY }
    local function of(action) return function(...) return action(disk, ...) end end
    disk.fs = {
        combine = fs.combine, getName = fs.getName, getDir = fs.getDir,
        exists = function(path) return exists(disk, key(path)) end,
        isDir = function(path) return is_dir(disk, key(path)) end,
        isReadOnly = function() return disk.is_read_only == true end,
        getSize = function(path)
            return disk.files[key(path)] and #disk.files[key(path)] or error(key(path) .. ": No such file", 0)
        end,
        getFreeSpace = function() return disk.capacity - used(disk) end,
        attributes = function(path)
            local content = disk.files[key(path)]
            -- No clock here: the content itself says whether it is another one.
            return { size = content and #content or 0, isDir = content == nil, modified = content }
        end,
        makeDir = function(path) disk.dirs[key(path)] = true end,
        open = of(open), move = of(move), copy = of(copy), delete = of(delete), list = of(list),
    }
    return disk
end

return fake_disk
