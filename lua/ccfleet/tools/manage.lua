--- The tools that make and manage tools: `tool_list`, `tool_write`, `tool_test`, `tool_activate`, `tool_retire`,
-- `tool_rollback`, `tools_reload`.
--
-- @module[kind=internal] ccfleet.tools.manage

local json = require("ccfleet.json")
local programs = require("ccfleet.programs")
local results = require("ccfleet.results")
local schema = require("ccfleet.schema")
local tool_file = require("ccfleet.tool_file")
local pack = require("ccfleet.varargs").pack
local common = require("ccfleet.tools.common")

local MAX_TEST_MS = 300000

local function need(value, err)
    if not value then error(err, 0) end
    return value
end

-- What a tool is now, in the form that the server records.
local function brief(loader, name)
    local _, file, version = loader:find(name)
    return { name = name, tool_version = version.hash, state = loader:store():entry(file).tools[name] }
end

local function briefs_of(loader, file)
    local list = json.array()
    for _, item in ipairs((loader:overview())) do
        if item.file == file then list[#list + 1] = brief(loader, item.name) end
    end
    return list
end

-- A result about a file: that of its only tool in front, all of them in `tools`.
local function file_report(loader, file, version)
    local list = briefs_of(loader, file)
    local report = { file = loader:store():path(file), version = version.n, tools = list }
    if #list == 1 then
        report.name, report.tool_version, report.state = list[1].name, list[1].tool_version, list[1].state
    end
    return report
end

-- Listing ------------------------------------------------------------------------------------------------------

local function tool_list(loader)
    local store, list = loader:store(), json.array()
    local tools, errors = loader:overview()
    for i, item in ipairs(tools) do
        local entry, versions = store:entry(item.file), json.array()
        for _, version in ipairs(entry.versions) do
            versions[#versions + 1] = {
                version = version.n, tool_version = version.hash, was_active = version.activated[item.name] == true,
            }
        end
        list[i] = {
            name = item.name, state = item.state, file = store:path(item.file), tool_version = item.version.hash,
            description = item.tool.description, effect = item.tool.effect, made_by = entry.made_by,
            test_passed = item.version.passed[item.name] == true, version = item.version.n, versions = versions,
            changed_on_disk = not loader:is_current(item.file) or nil,
        }
    end
    for _, item in ipairs(errors) do item.file = store:path(item.file) end
    return { dir = store.dir, tools = list, errors = errors }
end

-- Writing ------------------------------------------------------------------------------------------------------

-- What a file has to look like, for who has written something else. No argument is named: small models copy it.
local function form(name)
    return ("the file of a tool is: return { name = %q, description = \"...\", args = { ... }, required = { ... }, "
        .. "handler = function(args) return { ... } end }"):format(name)
end

-- The name that a source gives its tool.
local function name_in(source)
    return source:match("%f[%w_]name%s*=%s*[\"']([%w_]+)[\"']")
end

-- The file that is meant: the one that is named, that of the tool, or a new one with the tool's name.
local function file_for(loader, args)
    if args.file then
        local file = args.file:gsub("^/+", "")
        local dir = loader:store().dir:sub(2) .. "/"
        if file:sub(1, #dir) == dir then file = file:sub(#dir + 1) end
        if not file:find("%.lua$") then file = file .. ".lua" end
        if not file:find("^[%w_%-][%w_%-%.]*$") or #file > 80 then
            error(("file %q: give a plain name such as dig.lua (letters, digits, _ . -)"):format(args.file), 0)
        end
        return file
    end
    if not args.name then error("give name or file, or a source with a name; " .. form("my_tool"), 0) end
    local tool, file = loader:find(args.name)
    return tool and file or args.name .. ".lua"
end

local function tool_write(loader, args)
    local file = file_for(loader, { file = args.file, name = args.name or name_in(args.source) })
    local version, err = loader:write(file, args.source, args.name)
    if not version then
        err = ("%s: %s"):format(file, common.write_error(loader:store():path(file), err))
        local has_form = args.source:find("handler", 1, true)
        error(has_form and err or err .. "; " .. form(args.name or "my_tool"), 0)
    end
    local report = file_report(loader, file, version)
    report.next = "tool_test, then tool_activate"
    return report
end

local function tool_rollback(loader, args)
    local file, store = file_for(loader, args), loader:store()
    local entry = need(store.files[file], file .. ": no such file in the registry; tool_list shows what there is")
    local n = args.version
    if not n then
        for _, version in ipairs(entry.versions) do
            if version.n < (entry.current or math.huge) then n = version.n end
        end
    end
    need(n and store:version(file, n), ("%s has no %s; tool_list shows its versions"):format(file,
        n and "version " .. n or "earlier version"))
    local report = file_report(loader, file, need(loader:rollback(file, n)))
    return report
end

-- Testing ------------------------------------------------------------------------------------------------------

-- Whether a value has everything that is expected of it; else nil and where not.
local function has(value, expected, path)
    if type(expected) ~= "table" then
        if value == expected then return true end
        return nil, ("%s is %s, expected %s"):format(path, json.encode(value), json.encode(expected))
    end
    if type(value) ~= "table" then
        return nil, ("%s is %s, expected %s"):format(path, json.encode(value), json.encode(expected))
    end
    for key, member in pairs(expected) do
        local ok, err = has(value[key], member, ("%s.%s"):format(path, tostring(key)))
        if not ok then return nil, err end
    end
    return true
end

-- Call the handler, watched as a program is: bounded, with its output kept.
local function call_watched(tool, args, timeout_ms, context)
    local values
    local report = programs.watch(function()
        values = pack(tool.handler(args, {
            call_id = context.call_id, task_id = context.task_id, command = tool.name,
            progress = function() end,
            remaining_ms = function() return context:remaining_ms() end,
        }))
    end, { timeout_ms = timeout_ms }, context)
    local outcome = report.success and results.of_job({ ok = true, results = values })
        or results.failure(report.timed_out and "timeout" or "handler_error", report.error)
    return outcome, report
end

local function judge(tool, args, context)
    local call_args = args.args or {}
    local ok, err = schema.check(tool.args_schema, call_args)
    if not ok then return { ok = false, error = err }, {} end
    local outcome, report = call_watched(tool, call_args, args.timeout_ms, context)
    if outcome.ok then
        -- As the server would see it: what JSON cannot say is gone.
        outcome.result = json.decode(json.encode(outcome.result))
        if args.expect then
            ok, err = has(outcome.result, args.expect, "result")
            if not ok then outcome.ok, outcome.error = false, "not as expected: " .. err end
        end
    end
    return outcome, report
end

local function tool_test(loader, args, context)
    local tool, file, version = loader:find(args.name)
    if not tool then error(file, 0) end
    local outcome, report = judge(tool, args, context)
    need(loader:update(file, function(_, loaded)
        -- A tool may have been written anew by its own test; then this result is about nothing that is there.
        if loaded == version then version.passed[args.name] = outcome.ok or nil end
    end))
    return {
        name = args.name, tool_version = version.hash, state = loader:store():entry(file).tools[args.name],
        passed = outcome.ok, result = outcome.result, error = outcome.error, traceback = report.traceback,
        output = report.output ~= "" and report.output or nil, duration_ms = report.duration_ms,
        next = outcome.ok and "tool_activate" or "tool_write with the mend, then tool_test again",
    }
end

-- Life ---------------------------------------------------------------------------------------------------------

local function tool_activate(loader, args)
    local tool, file, version = loader:find(args.name)
    if not tool then error(file, 0) end
    if not loader:is_current(file) then
        error(("%s has changed on the disk since it was loaded: tools_reload, then tool_test"):format(file), 0)
    end
    local now = brief(loader, args.name)
    if now.state ~= "active" then
        if not version.passed[args.name] then
            error(("%s has no passed test of this content (%s): tool_test first"):format(args.name, version.hash), 0)
        end
        need(loader:update(file, function(entry)
            version.activated[args.name] = true
            entry.tools[args.name] = nil
        end))
        now = brief(loader, args.name)
    end
    now.tools = json.array({ brief(loader, args.name) })
    return now
end

local function tool_retire(loader, args)
    local tool, file = loader:find(args.name)
    if not tool then error(file, 0) end
    need(loader:update(file, function(entry) entry.tools[args.name] = "retired" end))
    local now = brief(loader, args.name)
    now.tools = json.array({ brief(loader, args.name) })
    return now
end

local function tools_reload(loader)
    local ok, err = loader:reload()
    local report = tool_list(loader)
    local list = json.array()
    for i, item in ipairs(report.tools) do list[i] = brief(loader, item.name) end
    return { dir = report.dir, tools = list, errors = report.errors, warning = not ok and tostring(err) or nil }
end

-- The tools ----------------------------------------------------------------------------------------------------

local NAME = { type = "string", maxLength = 64, description = "Name of the tool." }
local FILE = { type = "string", maxLength = 128, description = "File of the tools folder, such as dig.lua." }

local TOOLS = {
    tool_list = {
        handler = tool_list, effect = "read", properties = {},
        description = "List the tools of this computer's tools folder with state (draft, active, retired), file, "
            .. "versions, and the files that cannot be loaded.",
        result = "dir, tools [name, state, file, tool_version, description, effect, made_by, test_passed, version, "
            .. "versions], errors [file, error]",
    },
    tool_write = {
        handler = tool_write, effect = "idempotent",
        description = "Create or change tools: write a Lua file that returns { name =, description =, args = JSON Schema, "
            .. "effect = \"read\"|\"idempotent\"|\"effect\", handler = function(args, context) return {...} end }, or a "
            .. "list of these. Syntax is checked before anything is written. The tools are drafts then: tool_test, "
            .. "tool_activate.",
        result = "file, version, tools [name, tool_version, state]; name, tool_version, state for a single tool",
        properties = {
            name = NAME, file = FILE,
            source = {
                type = "string", maxLength = tool_file.MAX_BYTES, description = "The whole Lua source of the file.",
            },
        },
        required = { "source" },
    },
    tool_test = {
        handler = tool_test, effect = "effect", timeout_ms = MAX_TEST_MS + 10000,
        description = "Call a draft or active tool for real and note whether it passed: it ended without an error and, if "
            .. "expect is given, its result contains that.",
        result = "name, tool_version, passed, result?, error?, traceback?, output?, duration_ms",
        properties = {
            name = NAME,
            args = { type = "object", description = "Arguments of the tool; default none." },
            expect = { type = "object", description = "Fields that the result must have, with these values." },
            timeout_ms = { type = "integer", minimum = 50, maximum = MAX_TEST_MS, description = "Default 30000." },
        },
        required = { "name" },
    },
    tool_activate = {
        handler = tool_activate, effect = "idempotent", properties = { name = NAME }, required = { "name" },
        description = "Make a draft available as a tool. Needs a passed tool_test of exactly its present content.",
        result = "name, tool_version, state",
    },
    tool_retire = {
        handler = tool_retire, effect = "idempotent", properties = { name = NAME }, required = { "name" },
        description = "Withdraw a tool. Its file stays; tool_activate brings it back.",
        result = "name, tool_version, state",
    },
    tool_rollback = {
        handler = tool_rollback, effect = "effect",
        description = "Go back to an earlier version of a tool file. Tools that were active with it are active again, "
            .. "others are drafts. If a tool does not answer calls afterwards, call tool_activate.",
        result = "file, version, tools [name, tool_version, state]",
        properties = {
            name = NAME, file = FILE,
            version = { type = "integer", minimum = 1, description = "From tool_list; default the one before the present." },
        },
    },
    tools_reload = {
        handler = tools_reload, effect = "idempotent", properties = {},
        description = "Read the tools folder again, after files in it were changed by other means than tool_write.",
        result = "dir, tools [name, tool_version, state], errors [file, error]",
    },
}

return { make = function(loader) return common.bind(TOOLS, loader) end }
