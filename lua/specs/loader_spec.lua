local check = require("check")
local json = require("ccfleet.json")
local sha256 = require("ccfleet.sha256")
local world = require("fake_world")

local specs = {}

-- A tool's source: it returns its `answer`.
local function source(name, answer, more)
    return ('return { name = %q, description = "d", %s handler = function(args) return { answer = %s } end }')
        :format(name, more or "", answer)
end

-- Of all hosts, since a disk remembers the calls of the one before.
local number = 0

-- A host with a tools folder; `call(command, args)` is a call of the server, its result comes back.
local function host(contents, disk)
    local computer = world.computer(disk)
    for path, content in pairs(contents or {}) do computer.disk.files[path] = content end
    world.fleet(computer, function(fleet)
        fleet:register("fs_write", function(args)
            computer.disk.files[args.path] = args.content
            return {}
        end, { effect = "idempotent" })
        fleet:register("core", function() return {} end)
        computer.loader = require("ccfleet.loader").attach(fleet, { fs = computer.disk.fs, max_versions = 3 })
    end)
    function computer.call(command, args)
        number = number + 1
        local id = "c" .. number
        computer:say({ type = "command_call", task_id = "t", call_id = id, command = command, args = args or {} })
        local result = computer:last_sent("command_result")
        check.same(result.call_id, id, "an answer to " .. command)
        if result.ok then return result.result end
        return nil, result.error, result.code
    end
    return computer
end

-- What the server was last told of a tool: its state, or nil if it was withdrawn.
local function told(computer, name)
    local state
    for _, message in ipairs(computer:socket().sent) do
        for _, tool in ipairs(message.commands or {}) do
            if tool.name == name then state = tool.state or "active" end
        end
        for _, gone in ipairs(message.names or {}) do
            if gone == name then state = nil end
        end
    end
    return state
end

local function state(computer, name)
    for _, tool in ipairs(computer.call("tool_list").tools) do
        if tool.name == name then return tool.state end
    end
    return nil
end

specs["loader: what a person put into the folder is active, with the hash of its file as version"] = function()
    local content = source("five", 5)
    local computer = host({ ["/tools/five.lua"] = content, ["/tools/readme.txt"] = "x" })
    check.same(computer.call("five").answer, 5)
    for _, tool in ipairs(computer:sent("hello")[1].commands) do
        if tool.name == "five" then
            check.same({ tool.tool_version, tool.state }, { "sha256:" .. sha256.hex(content):sub(1, 16), "active" })
        end
    end
    check.contains(computer.disk.files["/tools/registry.json"], '"tools": {"five":"active"}')
end

specs["loader: one file may hold several tools, with short and full schemas"] = function()
    local computer = host({ ["/tools/two.lua"] = [[
        return {
            { name = "a", effect = "read", args = { n = "integer" }, required = { "n" },
              handler = function(args, context) return { n = args.n, command = context.command } end },
            { name = "b", args = { type = "object", properties = {} }, handler = function() return nil, "no" end },
        }]] })
    check.same(computer.call("a", { n = 2 }), { n = 2, command = "a" })
    check.same(select(3, computer.call("a", { n = "x" })), "bad_args")
    check.same(select(3, computer.call("a")), "bad_args")
    check.same(select(2, computer.call("b")), "no")
end

specs["loader: a tool goes from draft over a passed test to active, and is callable only then"] = function()
    local computer = host()
    local written = computer.call("tool_write", { name = "five", source = source("five", 5) })
    check.same({ written.name, written.state, written.file }, { "five", "draft", "/tools/five.lua" })
    check.same(written.tools, { { name = "five", tool_version = written.tool_version, state = "draft" } })
    check.same(told(computer, "five"), "draft")
    check.same({ select(3, computer.call("five")) }, { "unknown_tool" })
    check.contains(select(2, computer.call("tool_activate", { name = "five" })), "tool_test first")

    local failed = computer.call("tool_test", { name = "five", expect = { answer = 6 } })
    check.same(failed.passed, false)
    check.contains(failed.error, "result.answer is 5, expected 6")
    check.contains(select(2, computer.call("tool_activate", { name = "five" })), "tool_test first")

    local passed = computer.call("tool_test", { name = "five", expect = { answer = 5 } })
    check.same({ passed.passed, passed.tool_version, passed.result }, { true, written.tool_version, { answer = 5 } })
    local active = computer.call("tool_activate", { name = "five" })
    check.same(active.tools, { { name = "five", tool_version = written.tool_version, state = "active" } })
    check.same({ active.name, active.state, told(computer, "five") }, { "five", "active", "active" })
    check.same(computer.call("five").answer, 5)
end

specs["loader: a tool is called as its source says, and who writes no tool is shown one"] = function()
    local computer = host()
    check.same(computer.call("tool_write", { source = source("five", 5) }).file, "/tools/five.lua")
    local shown = 'the file of a tool is: return { name = "six", description'
    check.contains(select(2, computer.call("tool_write", { name = "six", source = "six.lua" })), shown)
    check.contains(select(2, computer.call("tool_write", { source = "six.lua" })), "give name or file")
    local broken = select(2, computer.call("tool_write", { source = source("five", "5 5") }))
    check.truthy(not broken:find("the file of a tool is", 1, true))
end

local function activate(computer, name, content)
    computer.call("tool_write", { name = name, source = content })
    computer.call("tool_test", { name = name })
    return computer.call("tool_activate", { name = name })
end

specs["loader: a new version is a draft, a test holds for exactly one content"] = function()
    local computer = host()
    activate(computer, "five", source("five", 5))
    check.same(computer.call("tool_write", { name = "five", source = source("five", 6) }).state, "draft")
    check.same(select(3, computer.call("five")), "unknown_tool")
    check.contains(select(2, computer.call("tool_activate", { name = "five" })), "tool_test first")
    computer.disk.files["/tools/five.lua"] = source("five", 7)
    check.contains(select(2, computer.call("tool_activate", { name = "five" })), "changed on the disk")
end

specs["loader: states, tests and versions outlive a restart"] = function()
    local computer = host()
    activate(computer, "five", source("five", 5))
    computer.call("tool_write", { name = "six", source = source("six", 6) })
    computer.call("tool_test", { name = "six" })
    local again = host(nil, computer.disk)
    check.same({ state(again, "five"), state(again, "six") }, { "active", "draft" })
    check.same(again.call("five").answer, 5)
    check.same(again.call("tool_activate", { name = "six" }).state, "active")
end

specs["loader: retired tools are gone until they are activated again"] = function()
    local computer = host({ ["/tools/own.lua"] = source("own", 1) })
    activate(computer, "five", source("five", 5))
    check.same(computer.call("tool_retire", { name = "five" }).state, "retired")
    check.same({ told(computer, "five"), select(3, computer.call("five")) }, { nil, "unknown_tool" })
    computer.call("tool_retire", { name = "own" })
    local again = host(nil, computer.disk)
    check.same({ state(again, "five"), state(again, "own") }, { "retired", "retired" })
    check.same(again.call("tool_activate", { name = "five" }).state, "active")
    check.same(again.call("five").answer, 5)
end

specs["loader: rollback brings an earlier version back, active if it was active"] = function()
    local computer = host()
    activate(computer, "five", source("five", 5))
    computer.call("tool_write", { name = "five", source = source("five", 6) })
    computer.call("tool_write", { name = "five", source = source("five", 7) })
    local draft = computer.call("tool_rollback", { name = "five" })
    check.same({ draft.version, draft.state }, { 2, "draft" })
    check.same(computer.disk.files["/tools/five.lua"], source("five", 6))
    local active = computer.call("tool_rollback", { name = "five", version = 1 })
    check.same({ active.version, active.state }, { 1, "active" })
    check.same(computer.call("five").answer, 5)
    check.contains(select(2, computer.call("tool_rollback", { name = "five", version = 9 })), "no version 9")
end

specs["loader: edits are unlimited, old versions go"] = function()
    local computer = host()
    for i = 1, 12 do check.truthy(computer.call("tool_write", { name = "five", source = source("five", i) })) end
    local kept = computer.call("tool_list").tools[1].versions
    check.same({ #kept, kept[1].version, kept[3].version }, { 3, 10, 12 })
    check.same(computer.disk.fs.list("/tools/.versions/five.lua"), { "10.lua", "11.lua", "12.lua" })
end

specs["loader: a file that a model changed with another tool is a draft after the reload, a person's is active"] = function()
    local computer = host({ ["/tools/own.lua"] = source("own", 1), ["/tools/his.lua"] = source("his", 1) })
    computer.call("fs_write", { path = "/tools/own.lua", content = source("own", 2) })
    computer.call("fs_write", { path = "/tools/new.lua", content = source("new", 3) })
    computer.disk.files["/tools/his.lua"] = source("his", 2)
    computer.disk.files["/tools/hers.lua"] = source("hers", 4)
    check.same(computer.call("own").answer, 1, "before the reload")
    computer.call("tools_reload")
    check.same({ state(computer, "own"), state(computer, "new") }, { "draft", "draft" })
    check.same({ computer.call("his").answer, computer.call("hers").answer }, { 2, 4 })
    computer.disk.files["/tools/his.lua"] = nil
    computer.call("tools_reload")
    check.same({ told(computer, "his") }, {})
    local again = host(nil, computer.disk)
    check.same({ state(again, "own"), state(again, "new"), state(again, "hers") }, { "draft", "draft", "active" })
end

specs["loader: a model cannot make a tool active by writing the registry"] = function()
    local computer = host()
    computer.call("tool_write", { name = "five", source = source("five", 5) })
    local registry = json.decode(computer.disk.files["/tools/registry.json"])
    registry.files["five.lua"].made_by = "user"
    computer.call("fs_write", { path = "/tools/registry.json", content = json.encode(registry) })
    check.same(state(host(nil, computer.disk), "five"), "draft")
    computer.disk.files["/tools/registry.json"] = "{ broken"
    check.same(state(host(nil, computer.disk), "five"), "draft")
end

specs["loader: what was changed while the computer was cut off in a call counts as the model's"] = function()
    local computer = host()
    computer.fleet:register("hang", function() coroutine.yield("never") end)
    computer:say({ type = "command_call", task_id = "t", call_id = "h", command = "hang", args = {}, seq = 1 })
    computer.disk.files["/tools/five.lua"] = source("five", 5)
    check.same(state(host(nil, computer.disk), "five"), "draft")
end

specs["loader: a computer without tools of its own gets no folder"] = function()
    local computer = host()
    computer.call("core")
    check.same(#computer.call("tools_reload").tools, 0)
    check.same(computer.disk.fs.exists("/tools"), false)
end

return specs
