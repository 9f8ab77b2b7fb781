--- Loads the tools of a folder into a fleet and leads them through their life: draft, tested, active, retired.
--
-- What a person puts into the folder is active. What a model makes (with `tool_write`, or by changing files of the
-- folder with any other tool) is a draft: it can be called by `tool_test` alone, until a test of exactly this content
-- has passed and `tool_activate` is called. The server keeps its own record of what was activated.
--
-- @module ccfleet.loader

local expect = require("cc.expect")
local Store = require("ccfleet.tool_store")
local breath = require("ccfleet.breath")
local json = require("ccfleet.json")
local tool_file = require("ccfleet.tool_file")

local field = expect.field
expect = expect.expect

local DEFAULT_DIR = "/tools"

local loader = {}

local Loader = {}
Loader.__index = Loader

-- Registering --------------------------------------------------------------------------------------------------

-- Whoever made a file: a tool that was retired stays so, and one that a model made is active only if exactly this
-- content was activated.
local function state_of(entry, version, name)
    if entry.tools[name] == "retired" then return "retired" end
    if entry.made_by == "user" or version.activated[name] then return "active" end
    return "draft"
end

local function adapter(tool)
    return function(args, _, _, context) return tool.handler(args, context) end
end

function Loader:_register(file, tool, version, state)
    local told = self._told[tool.name]
    if told and told.version == version and told.state == state and told.tool == tool then return end
    if state == "retired" then
        self._fleet:unregister(tool.name)
    else
        local ok, err = self._fleet:register(tool.name, adapter(tool), {
            description = tool.description, args_schema = tool.args_schema, effect = tool.effect, result = tool.result,
            timeout_ms = tool.timeout_ms, verify = tool.verify, tool_version = version.hash, state = state,
        })
        if not ok then self._log("warn", ("tool %s of %s: %s"):format(tool.name, file, err)) end
    end
    self._told[tool.name] = { version = version, state = state, tool = tool, file = file }
end

function Loader:_withdraw(name)
    local told = self._told[name]
    if told and told.state ~= "retired" then self._fleet:unregister(name) end
    self._told[name] = nil
end

-- Why a file may not have a tool of this name, or nil.
function Loader:_objection(file, name)
    local told = self._told[name]
    if told and told.file ~= file then return ("tool %s is already in %s"):format(name, told.file) end
    if not told and self._fleet:has_tool(name) then
        return ("tool %s is one of the host's own; choose another name"):format(name)
    end
    return nil
end

-- Make the tools of a file those that are given; others that it had go.
function Loader:_take_over(file, tools, version)
    local entry, kept = self._store:entry(file), {}
    for _, tool in ipairs(tools) do
        kept[tool.name] = true
        if entry.made_by == "user" then version.activated[tool.name] = true end
    end
    for name, told in pairs(self._told) do
        if told.file == file and not kept[name] then self:_withdraw(name) end
    end
    for name in pairs(entry.tools) do
        if not kept[name] then entry.tools[name] = nil end
    end
    for _, tool in ipairs(tools) do
        local state = state_of(entry, version, tool.name)
        entry.tools[tool.name] = state
        self:_register(file, tool, version, state)
    end
    self._loaded[file] = { tools = tools, version = version }
    self._errors[file] = nil
end

-- Loading ------------------------------------------------------------------------------------------------------

function Loader:_parse(file, source)
    local tools, err = tool_file.load(source, self._store:path(file), self._shell)
    if not tools then return nil, err end
    for _, tool in ipairs(tools) do
        err = self:_objection(file, tool.name)
        if err then return nil, err end
    end
    return tools
end

function Loader:_note_seen(file)
    self._seen[file] = self._store:signature(file)
end

-- Load one file as it is on the disk. Returns true, or nil and what is wrong with it.
function Loader:_load_file(file, changed_by)
    self:_note_seen(file)
    local source, err = self._store:read(file)
    local tools
    if source then tools, err = self:_parse(file, source) end
    local entry = self._store:entry(file, self._store.is_damaged and "model" or changed_by)
    changed_by = entry.changed_by or changed_by
    if not tools then
        -- Its attribution waits until the file can be loaded.
        entry.changed_by = changed_by == "model" and "model" or nil
        self:_drop(file)
        self._errors[file] = err
        return nil, err
    end
    local before = self._store:current(file)
    if changed_by == "model" and (not before or before.hash ~= Store.hash(source)) then entry.made_by = "model" end
    local version
    version, err = self._store:keep(file, source)
    if not version then
        -- Nothing may run of which no record can be kept.
        self._errors[file] = "its version cannot be kept: " .. err
        return nil, self._errors[file]
    end
    entry.changed_by = nil
    self:_take_over(file, tools, version)
    return true
end

function Loader:_drop(file)
    for name, told in pairs(self._told) do
        if told.file == file then self:_withdraw(name) end
    end
    self._loaded[file] = nil
end

--- Read the folder again.
--
-- @treturn boolean|nil true, or nil and why the registry could not be written; the tools are loaded all the same.
function Loader:reload()
    local breathe, present = breath.new(), {}
    self._errors = {}
    for _, file in ipairs(self._store:list()) do
        present[file] = true
        local _, err = self:_load_file(file, self._unseen_by)
        if err then self._log("warn", ("%s: %s"):format(file, err)) end
        breathe()
    end
    for file in pairs(self._loaded) do
        if not present[file] then self:_drop(file) end
    end
    self._store.is_damaged = false
    return self._store:save()
end

-- Who changed what ----------------------------------------------------------------------------------------------

-- Files that differ from what was last seen are put down to somebody; a model's hand outweighs a person's.
function Loader:_scan(who)
    local has_news = false
    for _, file in ipairs(self._store:list()) do
        local signature = self._store:signature(file)
        if self._seen[file] ~= signature then
            self._seen[file] = signature
            local entry = self._store.files[file]
            if who == "model" and not (entry and entry.changed_by == "model") then
                self._store:entry(file, who).changed_by = "model"
                has_news = true
            end
        end
    end
    -- The record is ours alone: what a model writes there is undone. A person's change counts at the next start.
    if has_news or who == "model" and not self._store:is_as_saved() then
        local ok, err = self._store:save()
        if not ok then self._log("warn", "tool registry not written: " .. tostring(err)) end
    end
end

-- What changes while a call runs is the call's doing; what has changed before, a person's.
function Loader:_watch_calls()
    local running = 0
    self._fleet:watch_calls({
        entered = function(call)
            if call.effect == "read" then return end
            if running == 0 then self:_scan("user") end
            running = running + 1
        end,
        ended = function(call)
            if call.effect == "read" then return end
            running = running - 1
            self:_scan("model")
        end,
    })
end

-- For the tools that manage tools ---------------------------------------------------------------------------------

--- The folder's store, which keeps the files and their versions.
--
-- @treturn table The store.
function Loader:store()
    return self._store
end

--- A tool of the folder.
--
-- @tparam string name The tool.
-- @treturn table|nil The tool, its file, and the version it was loaded from; or nil and what to do.
function Loader:find(name)
    local told = self._told[name]
    if told then return told.tool, told.file, told.version end
    for file, err in pairs(self._errors) do
        local entry = self._store.files[file]
        if entry and entry.tools[name] then return nil, ("%s cannot be loaded: %s"):format(file, err) end
    end
    local words = "no tool %s in %s; tool_list shows what there is. A program is no tool: run_program runs it"
    return nil, words:format(name, self._store.dir)
end

--- Put a model's source into a file. It is checked before anything is written, and is a draft afterwards.
--
-- @tparam string file The file.
-- @tparam string source Its content.
-- @tparam[opt] string wanted The tool that the source has to define.
-- @treturn table|nil The version, or nil and the reason.
function Loader:write(file, source, wanted)
    local tools, err = self:_parse(file, source)
    if not tools then return nil, err end
    local names = {}
    for i, tool in ipairs(tools) do names[i] = tool.name end
    if wanted and not (" " .. table.concat(names, " ") .. " "):find(" " .. wanted .. " ", 1, true) then
        return nil, ("the source defines %s, not %s"):format(table.concat(names, ", "), wanted)
    end
    local version
    version, err = self:_put(file, source, names)
    if not version then return nil, err end
    for _, name in ipairs(names) do version.activated[name] = nil end
    return self:_settle(file, tools, version)
end

-- Put a content into a file, as a version of it whose tools are a model's.
function Loader:_put(file, source, names)
    local entry = self._store:entry(file, "model")
    local before = entry.current
    local version, err = self._store:keep(file, source)
    if not version then return nil, err end
    local ok
    ok, err = self._store:write(file, source)
    if not ok then
        entry.current = before
        return nil, err
    end
    entry.made_by, entry.changed_by = "model", nil
    for _, name in ipairs(names) do entry.tools[name] = nil end
    return version
end

-- After a change of our own: loaded, seen and written down.
function Loader:_settle(file, tools, version)
    self:_note_seen(file)
    self:_take_over(file, tools, version)
    local ok, err = self._store:save()
    if not ok then return nil, "the registry cannot be written: " .. err end
    return version
end

--- Go back to a version that is kept; tools that were active with it are active again.
--
-- @tparam string file The file.
-- @tparam number n The version.
-- @treturn table|nil The version, or nil and the reason.
function Loader:rollback(file, n)
    local source, err = self._store:read_version(file, n)
    if not source then return nil, ("version %d of %s: %s"):format(n, file, err) end
    local tools
    tools, err = self:_parse(file, source)
    if not tools then return nil, err end
    local names = {}
    for i, tool in ipairs(tools) do names[i] = tool.name end
    -- A person's version was marked as active when it was loaded, so nothing is lost by its being a model's now.
    local version
    version, err = self:_put(file, source, names)
    if not version then return nil, err end
    return self:_settle(file, tools, version)
end

--- Write a change of state or of test results down and tell the server.
--
-- @tparam string file The file.
-- @tparam function change Makes the change to the registry's entry and the loaded version.
-- @treturn boolean|nil true, or nil and the reason.
function Loader:update(file, change)
    local loaded = self._loaded[file]
    change(self._store:entry(file), loaded.version)
    local ok, err = self._store:save()
    if not ok then return nil, "the registry cannot be written: " .. err end
    self:_take_over(file, loaded.tools, loaded.version)
    return true
end

--- Whether a file is on the disk what was loaded.
--
-- @tparam string file The file.
-- @treturn boolean Whether it is.
function Loader:is_current(file)
    local source = self._store:read(file)
    local loaded = self._loaded[file]
    return source ~= nil and loaded ~= nil and Store.hash(source) == loaded.version.hash
end

--- Every tool and every file that cannot be loaded.
--
-- @treturn table tools: `name`, `file`, `tool`, `version`, `state`, sorted by name.
-- @treturn table errors: `file`, `error`.
function Loader:overview()
    local tools, errors = json.array(), json.array()
    for name, told in pairs(self._told) do
        tools[#tools + 1] = {
            name = name, file = told.file, tool = told.tool, version = told.version,
            state = self._store:entry(told.file).tools[name],
        }
    end
    table.sort(tools, function(a, b) return a.name < b.name end)
    for file, err in pairs(self._errors) do errors[#errors + 1] = { file = file, error = err } end
    table.sort(errors, function(a, b) return a.file < b.file end)
    return tools, errors
end

--- Offer the tools of a folder, and the tools that make and manage them.
--
-- @tparam Fleet fleet From `ccfleet.new`; its own tools are registered already.
-- @tparam[opt] table options
--
--  - `dir` (string, `/tools`): the folder;
--  - `max_versions` (number, 10): how many versions of a file are kept;
--  - `shell` (table): the shell that the tools see;
--  - `fs` (table): stands in for the file system; for specs.
-- @treturn Loader
function loader.attach(fleet, options)
    expect(1, fleet, "table")
    expect(2, options, "table", "nil")
    options = options or {}
    field(options, "dir", "string", "nil")
    field(options, "max_versions", "number", "nil")
    field(options, "shell", "table", "nil")
    local self = setmetatable({
        _fleet = fleet, _shell = options.shell,
        _store = Store.open(options.fs or fs, options.dir or DEFAULT_DIR, options.max_versions),
        _told = {},   -- tool name -> what was last told to the server: version, state, tool, file
        _loaded = {}, -- file -> its tools and their version
        _errors = {}, -- file -> why it cannot be loaded
        _seen = {},   -- file -> what it looked like when it was last looked at
        _log = function(level, line) fleet:log(level, line) end,
    }, Loader)
    -- A call that the end of the computer cut off may have changed anything.
    self._unseen_by = fleet:was_interrupted() and "model" or "user"
    for name, tool in pairs(require("ccfleet.tools.manage").make(self)) do
        require("ccfleet.tools").register(fleet, name, tool)
    end
    local ok, err = self:reload()
    if not ok then self._log("warn", "tool registry not written: " .. tostring(err)) end
    self._unseen_by = "user"
    self:_watch_calls()
    return self
end

return loader
