--- The tools folder: Lua files, earlier versions of them, and the registry that says which tool is in what state.
--
-- The registry (`registry.json`) is made for people to read:
--
--     { "files": { "dig.lua": { "made_by": "model", "current": 2, "tools": { "dig": "active" }, "versions": [
--         { "n": 2, "hash": "sha256:...", "passed": { "dig": true }, "activated": { "dig": true } } ] } } }
--
-- @module[kind=internal] ccfleet.tool_store

local files = require("ccfleet.files")
local json = require("ccfleet.json")
local sha256 = require("ccfleet.sha256")

local REGISTRY, VERSIONS = "registry.json", ".versions"
local DEFAULT_MAX_VERSIONS = 10

local Store = {}
Store.__index = Store

-- JSON for people -----------------------------------------------------------------------------------------------

local function is_simple(value)
    for _, member in pairs(value) do
        if type(member) == "table" and next(member) then return false end
    end
    return true
end

local function pretty(value, indent)
    if type(value) ~= "table" or is_simple(value) then return json.encode(value) end
    local inner, lines = indent .. "  ", {}
    if #value > 0 then
        for i, member in ipairs(value) do lines[i] = inner .. pretty(member, inner) end
        return "[\n" .. table.concat(lines, ",\n") .. "\n" .. indent .. "]"
    end
    local names = {}
    for name in pairs(value) do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do lines[i] = inner .. json.encode(name) .. ": " .. pretty(value[name], inner) end
    return "{\n" .. table.concat(lines, ",\n") .. "\n" .. indent .. "}"
end

-- Registry -----------------------------------------------------------------------------------------------------

-- Only what has the right shape is taken over: people edit this file.
local function read_entry(raw)
    if type(raw) ~= "table" then return nil end
    local entry = {
        made_by = raw.made_by == "user" and "user" or "model", current = tonumber(raw.current), tools = {}, versions = {},
        changed_by = raw.changed_by == "model" and "model" or nil,
    }
    for name, state in pairs(type(raw.tools) == "table" and raw.tools or {}) do
        if type(name) == "string" then entry.tools[name] = state end
    end
    for _, version in ipairs(type(raw.versions) == "table" and raw.versions or {}) do
        if type(version) == "table" and tonumber(version.n) and type(version.hash) == "string" then
            table.insert(entry.versions, {
                n = tonumber(version.n), hash = version.hash,
                passed = type(version.passed) == "table" and version.passed or {},
                activated = type(version.activated) == "table" and version.activated or {},
            })
        end
    end
    return entry
end

function Store:_read_registry()
    local path = self:path(REGISTRY)
    files.recover(self._fs, path)
    local content = self._fs.exists(path) and files.read(self._fs, path)
    local registry = content and json.decode(content)
    self._text = content
    if type(registry) == "table" and type(registry.files) == "table" then
        for file, raw in pairs(registry.files) do
            if type(file) == "string" then self.files[file] = read_entry(raw) end
        end
        return
    end
    -- Without its record nothing tells which of the files a model has made: none is taken for a person's.
    self.is_damaged = content ~= nil and content ~= false or self._fs.exists(self:path(VERSIONS))
end

--- Open the folder; it is made when something is written.
--
-- @tparam table fs The file system API.
-- @tparam string dir The folder.
-- @tparam[opt=10] number max_versions How many versions of a file are kept.
function Store.open(fs, dir, max_versions)
    local self = setmetatable({
        _fs = fs, dir = "/" .. fs.combine(dir, ""), files = {},
        _max_versions = math.max(2, max_versions or DEFAULT_MAX_VERSIONS),
    }, Store)
    self:_read_registry()
    return self
end

--- Write the registry.
--
-- @treturn boolean|nil true, or nil and the reason.
function Store:save()
    local content, path = pretty({ files = self.files }, "") .. "\n", self:path(REGISTRY)
    -- A computer without tools of its own has no such folder.
    if not next(self.files) and not self._fs.exists(path) then return true end
    if content == self._text and self:is_as_saved() then
        self._saved_as = self:signature(REGISTRY)
        return true
    end
    local ok, err = files.replace(self._fs, path, content)
    if ok then self._text, self._saved_as = content, self:signature(REGISTRY) end
    return ok, err
end

--- Whether the registry on the disk is the one that was last written here.
function Store:is_as_saved()
    return self._saved_as == nil or self._saved_as == self:signature(REGISTRY)
end

--- The registry's entry of a file; made if it is new.
function Store:entry(file, made_by)
    local entry = self.files[file]
    if not entry then
        entry = { made_by = made_by, tools = {}, versions = {} }
        self.files[file] = entry
    end
    return entry
end

-- Files --------------------------------------------------------------------------------------------------------

--- The path of something in the folder.
function Store:path(...)
    return "/" .. self._fs.combine(self._fs.combine(self.dir, ...), "")
end

--- The Lua files of the folder, by name.
function Store:list()
    local names = {}
    if self._fs.isDir(self.dir) then
        for _, name in ipairs(self._fs.list(self.dir)) do
            if name:find("%.lua$") and not name:find("^%.") and not self._fs.isDir(self:path(name)) then
                names[#names + 1] = name
            end
        end
    end
    table.sort(names)
    return names
end

--- A file's content, or nil and the reason.
function Store:read(file)
    files.recover(self._fs, self:path(file))
    return files.read(self._fs, self:path(file))
end

--- What tells that a file is not the one it was, without reading it.
function Store:signature(file)
    local path = self:path(file)
    local ok, attributes = pcall(self._fs.attributes or error, path)
    if ok then return ("%s %s"):format(attributes.size, tostring(attributes.modified or attributes.modification)) end
    local size_ok, size = pcall(self._fs.getSize, path)
    return size_ok and tostring(size) or "none"
end

-- Versions -----------------------------------------------------------------------------------------------------

--- The hash of a content, as the tool_version of its tools.
Store.hash = sha256.short

local function find(versions, field, wanted)
    for i, version in ipairs(versions) do
        if version[field] == wanted then return version, i end
    end
    return nil
end

--- A version by its number, or nil.
function Store:version(file, n)
    return find(self:entry(file).versions, "n", n)
end

--- The version that the file holds now, or nil.
function Store:current(file)
    local entry = self.files[file]
    return entry and find(entry.versions, "n", entry.current)
end

function Store:_version_path(file, n)
    return self:path(VERSIONS, file) .. "/" .. ("%d.lua"):format(n)
end

function Store:_prune(file, entry)
    while #entry.versions > self._max_versions do
        local index = 1
        -- Not the one in use.
        if entry.versions[1].n == entry.current then index = 2 end
        pcall(self._fs.delete, self:_version_path(file, entry.versions[index].n))
        table.remove(entry.versions, index)
    end
end

--- Keep a content as a version of a file and make it the current one. A content that is there already is not kept twice.
--
-- @treturn table|nil The version, or nil and the reason.
function Store:keep(file, content)
    local entry, hash = self:entry(file), Store.hash(content)
    local version = find(entry.versions, "hash", hash)
    if not version then
        local last = entry.versions[#entry.versions]
        version = { n = (last and last.n or 0) + 1, hash = hash, passed = {}, activated = {} }
        local ok, err = files.write(self._fs, self:_version_path(file, version.n), content)
        if not ok then
            pcall(self._fs.delete, self:_version_path(file, version.n))
            return nil, err
        end
        table.insert(entry.versions, version)
    end
    entry.current = version.n
    self:_prune(file, entry)
    return version
end

--- The content of a version, or nil and the reason.
function Store:read_version(file, n)
    return files.read(self._fs, self:_version_path(file, n))
end

--- Put a content into a file of the folder.
function Store:write(file, content)
    return files.replace(self._fs, self:path(file), content)
end

return Store
