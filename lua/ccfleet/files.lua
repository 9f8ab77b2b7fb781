--- Whole-file reading and writing that reports failure instead of raising it, and that never leaves half a file.
--
-- Always in binary mode: before 1.109 text mode converts every byte from 128 up.
--
-- A computer can be switched off between any two steps and its disk can fill up at any byte, and ComputerCraft cannot
-- replace a file in one step. So the new content is written beside the old one, the old one is put aside, the new one
-- is moved into its place, and only then the old one goes. What a crash leaves is mended by @{files.recover}.
--
-- @module[kind=internal] ccfleet.files

local sha256 = require("ccfleet.sha256")

local files = {}

-- Beside the file itself, so that moving is never copying to another disk.
local NEW, OLD = ".ccfleet-new", ".ccfleet-old"
-- A hash of more than this takes the computer too long for what it is good for.
local HASH_BYTES = 256 * 1024

-- Errors of mod functions carry the caller's position on some versions and not on others.
local function clean(err)
    return (tostring(err):gsub("^[^:]+:%d+: ", ""))
end

files.clean_error = clean

--- Read a file.
--
-- @treturn string|nil Its bytes, or nil and the reason.
function files.read(fs, path)
    local ok, file, err = pcall(fs.open, path, "rb")
    if not ok then return nil, clean(file) end
    if not file then return nil, clean(err or "cannot open " .. path) end
    local read_ok, content = pcall(file.readAll)
    pcall(file.close)
    if not read_ok then return nil, clean(content) end
    return content or ""
end

--- Write a file in place.
--
-- @treturn boolean|nil true, or nil and the reason; then the file may hold part of the content.
function files.write(fs, path, content)
    local ok, file, err = pcall(fs.open, path, "wb")
    if not ok then return nil, clean(file) end
    if not file then return nil, clean(err or "cannot open " .. path) end
    local write_ok, write_err = pcall(file.write, content)
    local close_ok, close_err = pcall(file.close)
    if not write_ok then return nil, clean(write_err) end
    if not close_ok then return nil, clean(close_err) end
    -- A write that was cut short is not always reported.
    local size_ok, size = pcall(fs.getSize, path)
    if not size_ok or size ~= #content then return nil, "the file was not written whole" end
    return true
end

--- The hash that tells one content from another: `sha256:` and 16 hex digits, or nil above 256 KiB.
function files.hash(content)
    if #content > HASH_BYTES then return nil end
    return sha256.short(content)
end

--- Bring a file back that a crash left put aside.
function files.recover(fs, path)
    if not fs.exists(path) and fs.exists(path .. OLD) then pcall(fs.move, path .. OLD, path) end
end

-- Write each content beside its file. Returns true, or nil, the reason and the path.
local function write_beside(fs, changes)
    for _, change in ipairs(changes) do
        files.recover(fs, change.path)
        pcall(fs.delete, change.path .. NEW)
        local ok, err = files.write(fs, change.path .. NEW, change.content)
        if not ok then return nil, err, change.path end
    end
    return true
end

local function put_in_place(fs, change)
    if fs.exists(change.path) then
        pcall(fs.delete, change.path .. OLD)
        fs.move(change.path, change.path .. OLD)
        change.is_put_aside = true
    end
    fs.move(change.path .. NEW, change.path)
    change.is_placed = true
end

local function put_back(fs, change)
    if change.is_placed then pcall(fs.delete, change.path) end
    if change.is_put_aside then pcall(fs.move, change.path .. OLD, change.path) end
end

--- Replace the content of several files, all or none.
--
-- @tparam table fs The file system API.
-- @tparam table list `path` and `content` of each; `path` once only.
-- @treturn boolean|nil true; or nil, the reason and the path it is about, and every file is as it was.
function files.replace_all(fs, list)
    local changes = {}
    for i, item in ipairs(list) do changes[i] = { path = item.path, content = item.content } end
    local ok, err, path = write_beside(fs, changes)
    for i = 1, ok and #changes or 0 do
        local placed, place_err = pcall(put_in_place, fs, changes[i])
        if not placed then
            ok, err, path = nil, clean(place_err), changes[i].path
            break
        end
    end
    if not ok then
        for i = #changes, 1, -1 do put_back(fs, changes[i]) end
    end
    for _, change in ipairs(changes) do
        pcall(fs.delete, change.path .. NEW)
        if ok and change.is_put_aside then pcall(fs.delete, change.path .. OLD) end
    end
    return ok, err, path
end

--- Replace a file's content, or keep the old one.
--
-- @treturn boolean|nil true, or nil and the reason; then the file is as it was.
function files.replace(fs, path, content)
    local ok, err = files.replace_all(fs, { { path = path, content = content } })
    return ok, err
end

return files
