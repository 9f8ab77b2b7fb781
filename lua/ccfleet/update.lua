--- Downloads another version of the library beside the one that runs, checks every file, and says what is wrong if that
-- cannot be done. @{ccfleet.slots} then puts it in place.
--
-- @module[kind=internal] ccfleet.update

local files = require("ccfleet.files")
local sha256 = require("ccfleet.sha256")
local slots = require("ccfleet.slots")

-- What every file and folder counts at least on a computer's disk.
local MIN_COST = 500
-- More is no library of ours.
local MAX_FILES = 200

local Update = {}
Update.__index = Update

--- @tparam table parts `fs`, `versions` (@{ccfleet.slots}), `base` (`http://HOST:PORT`), `kind` (of this computer),
-- `get(url)` (returns a body, or nil, the reason and the refusal's body) and `pause()` (waits a moment, so that the computer
-- is not stopped for working too long).
function Update.new(parts)
    return setmetatable({
        _fs = parts.fs, _versions = parts.versions, _base = parts.base, _kind = parts.kind, _get = parts.get,
        _pause = parts.pause,
    }, Update)
end

local function problem(code, text, ...)
    return { code = code, text = select("#", ...) > 0 and text:format(...) or text }
end

-- Manifest -----------------------------------------------------------------------------------------------------

-- A path that stays below its folder, whatever the server says.
local function is_safe(path)
    return type(path) == "string" and path:find("^[%w_][%w_%-%./]*$") and not path:find("..", 1, true)
        and path ~= slots.MANIFEST
end

local function is_entry(entry)
    return type(entry) == "table" and is_safe(entry.path) and type(entry.bytes) == "number"
        and type(entry.sha256) == "string" and #entry.sha256 == 64
end

--- Ask the server what it has for this kind of computer.
--
-- @treturn table|nil The manifest, or nil and the problem (`code`, `text`).
function Update:manifest()
    local url = self._base .. "/lua/manifest.json"
    local text, err = self._get(url)
    if not text then return nil, problem("unreachable", "%s: %s", url, err) end
    local ok, manifest = pcall(textutils.unserialiseJSON, text)
    if not ok or type(manifest) ~= "table" or type(manifest.version) ~= "string" or type(manifest.files) ~= "table" then
        return nil, problem("bad_manifest", "%s is no list of files", url)
    end
    local wanted = {}
    for _, entry in ipairs(manifest.files) do
        if not is_entry(entry) then return nil, problem("bad_manifest", "%s lists something that is no file", url) end
        if entry.only == nil or entry.only == self._kind then table.insert(wanted, entry) end
    end
    if #wanted == 0 or #wanted > MAX_FILES then return nil, problem("bad_manifest", "%s lists %d files", url, #wanted) end
    return { version = manifest.version, files = wanted }
end

-- Space --------------------------------------------------------------------------------------------------------

local function cost_of(manifest)
    local total, folders = 2 * MIN_COST, {}
    for _, entry in ipairs(manifest.files) do
        total = total + math.max(MIN_COST, entry.bytes)
        local folder = entry.path:match("^(.*)/")
        if folder and not folders[folder] then
            folders[folder], total = true, total + MIN_COST
        end
    end
    -- The manifest itself, about so much a line.
    return total + 120 * #manifest.files
end

local function used_by(fs, path)
    if not fs.exists(path) then return 0 end
    if not fs.isDir(path) then return math.max(MIN_COST, fs.getSize(path)) end
    local total = MIN_COST
    for _, name in ipairs(fs.list(path)) do total = total + used_by(fs, path .. "/" .. name) end
    return total
end

-- Room for the whole version beside the one that runs. What an earlier update has left may go first.
function Update:_make_room(manifest)
    local fs, needed = self._fs, cost_of(manifest) - used_by(self._fs, slots.NEW)
    local function free()
        local bytes = fs.getFreeSpace("/")
        return type(bytes) == "number" and bytes or math.huge
    end
    if free() < needed and not self._versions:is_on_trial() then fs.delete(slots.OLD) end
    if free() >= needed then return true end
    return nil, problem("no_space", "the disk is too full: %d bytes are needed and %d are free", needed, free())
end

-- Files --------------------------------------------------------------------------------------------------------

local function is_right(fs, path, entry)
    if not fs.exists(path) or fs.isDir(path) or fs.getSize(path) ~= entry.bytes then return false end
    local content = files.read(fs, path)
    return content ~= nil and sha256.hex(content) == entry.sha256
end

function Update:_write(path, content)
    local ok, err = files.write(self._fs, path, content)
    if ok then return true end
    local code = err:find("Out of space", 1, true) and "no_space" or "unwritable"
    return nil, problem(code, "cannot write %s: %s", path, err)
end

function Update:_download(entry)
    local url = ("%s/lua/%s"):format(self._base, entry.path)
    local content, err, body = self._get(url)
    if not content then
        return nil, problem("unreachable", "%s: %s%s", url, err, body and body ~= "" and (" (" .. body .. ")") or "")
    end
    if #content ~= entry.bytes or sha256.hex(content) ~= entry.sha256 then
        return nil, problem("hash_mismatch", "%s did not arrive as the server's list says", entry.path)
    end
    return content
end

-- One file into the folder for the new version: from there, from the version that runs, or from the server.
function Update:_stage(entry, installed)
    local fs, target = self._fs, slots.NEW .. "/" .. entry.path
    if is_right(fs, target, entry) then return true end
    local here = slots.LIVE .. "/" .. entry.path
    if installed[entry.path] == entry.sha256 and is_right(fs, here, entry) then
        fs.delete(target)
        fs.makeDir(fs.getDir(target))
        fs.copy(here, target)
        return true
    end
    local content, err = self:_download(entry)
    if not content then return nil, err end
    return self:_write(target, content)
end

function Update:_stage_all(manifest, on_file)
    local installed, live = {}, self._versions:manifest(slots.LIVE)
    for _, entry in ipairs(live and live.files or {}) do installed[entry.path] = entry.sha256 end
    -- Without its manifest the folder does not count as whole while it changes.
    self._fs.delete(slots.NEW .. "/" .. slots.MANIFEST)
    for i, entry in ipairs(manifest.files) do
        local ok, err = self:_stage(entry, installed)
        if not ok then return nil, err end
        if on_file then on_file(i, #manifest.files, entry.path) end
        self._pause()
    end
    return self:_write(slots.NEW .. "/" .. slots.MANIFEST, textutils.serialiseJSON(manifest))
end

--- Bring a version to the disk, beside the one that runs. What an interrupted attempt has left is used. Waits.
--
-- @tparam table manifest From @{Update:manifest}.
-- @tparam[opt] function on_file Called with (number, of how many, path) after each file.
-- @treturn boolean|nil true, or nil and the problem (`code`, `text`).
function Update:stage(manifest, on_file)
    local ran, ok, err = pcall(function()
        local has_room, no_room = self:_make_room(manifest)
        if not has_room then return nil, no_room end
        return self:_stage_all(manifest, on_file)
    end)
    if ran then return ok, err end
    local text = tostring(ok)
    if text:find("Terminated", 1, true) then error(ok, 0) end
    return nil, problem(text:find("Out of space", 1, true) and "no_space" or "unwritable", "%s", text)
end

return Update
