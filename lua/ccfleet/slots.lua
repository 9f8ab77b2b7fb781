--- Where the installed library lies, and how another version takes its place.
--
-- `/ccfleet` is what runs, `/ccfleet.new` what is being downloaded, `/ccfleet.old` what ran before, until the new version
-- has connected once. Each holds a `manifest.json` that is the last file to come into a folder: a folder is whole if every
-- file that its manifest lists is there with its size. Whatever step a crash interrupts, @{Slots:recover} finds one whole
-- version and puts it in place.
--
-- Files are moved one by one: before 1.105 moving a folder is copying it, and a third copy may not fit on the disk.
--
-- The installer copies this file to `/.ccfleet/`, where `boot.lua` uses it; so it needs no other file of the library.
--
-- @module[kind=internal] ccfleet.slots

local slots = {
    LIVE = "/ccfleet", OLD = "/ccfleet.old", NEW = "/ccfleet.new",
    --- What is kept beside the versions: `trial` (a version that has not connected yet), `tries` (its starts so far),
    -- `bad` (a version that was given up).
    STATE = "/.ccfleet/update.json",
    --- The last file to come into a folder.
    MANIFEST = "manifest.json",
    --- How often a version may start without connecting once.
    MAX_TRIES = 3,
}

local Slots = {}
Slots.__index = Slots

--- @tparam table fs The `fs` API.
function slots.new(fs)
    return setmetatable({ _fs = fs }, Slots)
end

-- Files --------------------------------------------------------------------------------------------------------

local function path_of(folder, name)
    return folder .. "/" .. name
end

function Slots:_read_json(path)
    if not self._fs.exists(path) or self._fs.isDir(path) then return nil end
    local file = self._fs.open(path, "r")
    if not file then return nil end
    local text = file.readAll()
    file.close()
    local ok, value = pcall(textutils.unserialiseJSON, text or "")
    return ok and type(value) == "table" and value or nil
end

--- What is kept beside the versions; empty if nothing is.
function Slots:state()
    return self:_read_json(slots.STATE) or self:_read_json(slots.STATE .. ".new") or {}
end

--- Keep it. A crash in the middle leaves the former state or this one.
--
-- @throws when the disk is full or read-only.
function Slots:save(state)
    local fs, fresh = self._fs, slots.STATE .. ".new"
    local file, err = fs.open(fresh, "w")
    if not file then error(err, 0) end
    file.write(textutils.serialiseJSON(state))
    file.close()
    fs.delete(slots.STATE)
    fs.move(fresh, slots.STATE)
end

--- The manifest in a folder; nil if there is none.
function Slots:manifest(folder)
    local manifest = self:_read_json(path_of(folder, slots.MANIFEST))
    if not manifest or type(manifest.version) ~= "string" or type(manifest.files) ~= "table" then return nil end
    return manifest
end

--- The version in a folder, if every file of it is there.
--
-- @treturn string|nil The version.
function Slots:whole(folder)
    local manifest = self:manifest(folder)
    if not manifest then return nil end
    for _, entry in ipairs(manifest.files) do
        local path = path_of(folder, entry.path)
        if not self._fs.exists(path) or self._fs.getSize(path) ~= entry.bytes then return nil end
    end
    return manifest.version
end

local function list_files(fs, folder, prefix, found)
    for _, name in ipairs(fs.list(path_of(folder, prefix))) do
        local path = prefix == "" and name or prefix .. "/" .. name
        if fs.isDir(path_of(folder, path)) then
            list_files(fs, folder, path, found)
        elseif path ~= slots.MANIFEST then
            table.insert(found, path)
        end
    end
    return found
end

-- Everything from one folder to the other, over what is there; the manifest last.
function Slots:_move(from, to)
    local fs = self._fs
    if not fs.isDir(from) then return end
    local paths = list_files(fs, from, "", {})
    if fs.exists(path_of(from, slots.MANIFEST)) then table.insert(paths, slots.MANIFEST) end
    for _, path in ipairs(paths) do
        local target = path_of(to, path)
        fs.delete(target)
        fs.makeDir(fs.getDir(target))
        fs.move(path_of(from, path), target)
    end
    fs.delete(from)
end

-- Versions -----------------------------------------------------------------------------------------------------

--- Put what was downloaded in place; what ran before is kept until @{Slots:confirm}. Never waits, so no event can come in
-- between.
--
-- @throws when the disk is full or read-only.
function Slots:swap()
    local version = self:whole(slots.NEW)
    if not version then error("what was downloaded is not complete", 0) end
    self:save({ trial = version, tries = 0 })
    if self:whole(slots.LIVE) then
        self._fs.delete(slots.OLD)
        self:_move(slots.LIVE, slots.OLD)
    end
    self._fs.delete(slots.LIVE)
    self:_move(slots.NEW, slots.LIVE)
end

-- Go back to what ran before.
function Slots:_go_back(bad)
    self:save({ bad = bad })
    -- Without its manifest the version that failed can never look whole again.
    self._fs.delete(path_of(slots.LIVE, slots.MANIFEST))
    self:_move(slots.OLD, slots.LIVE)
end

--- Make a whole version of what a crash has left.
--
-- @treturn string|nil The version that is in place; nil if nothing complete is left.
function Slots:recover()
    local version = self:whole(slots.LIVE)
    if version then return version end
    if self:whole(slots.NEW) then
        -- A crash while the old version was moved away: some of it is here, some there.
        self:_move(slots.LIVE, slots.OLD)
        self:_move(slots.NEW, slots.LIVE)
    elseif self:manifest(slots.NEW) then
        self:_move(slots.NEW, slots.LIVE)
    end
    version = self:whole(slots.LIVE)
    if version then return version end
    if self:manifest(slots.OLD) then self:_move(slots.OLD, slots.LIVE) end
    return self:whole(slots.LIVE)
end

--- The version in place starts now: count that if it is on trial, and go back if it had its chances.
--
-- @treturn string|nil The version that was given up just now.
function Slots:begin()
    local state, version = self:state(), self:whole(slots.LIVE)
    if not version or state.trial ~= version and state.bad ~= version then return nil end
    local tries = (tonumber(state.tries) or 0) + 1
    -- One that is already called bad: the power went before it was gone.
    if (tries > slots.MAX_TRIES or state.bad == version) and self:whole(slots.OLD) then
        self:_go_back(version)
        return version
    end
    if state.bad == version then return nil end
    self:save({ trial = version, tries = tries })
    return nil
end

--- Whether the version in place has yet to connect for the first time.
function Slots:is_on_trial()
    local trial = self:state().trial
    return trial ~= nil and trial == self:whole(slots.LIVE)
end

--- The version in place has connected: what ran before is not needed any more.
function Slots:confirm()
    local version, fs = self:whole(slots.LIVE), self._fs
    if not version or self:state().trial ~= version then return end
    self:save({})
    fs.delete(slots.OLD)
    fs.delete(slots.NEW)
    local wanted = {}
    for _, entry in ipairs(self:manifest(slots.LIVE).files) do wanted[entry.path] = true end
    for _, path in ipairs(list_files(fs, slots.LIVE, "", {})) do
        if not wanted[path] then fs.delete(path_of(slots.LIVE, path)) end
    end
end

return slots
