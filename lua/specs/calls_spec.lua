local check = require("check")
local world = require("fake_world")

local specs = {}

-- A fleet with tools that note how often they were entered: `work` (effect) waits for the event `go`, `look` (read) too.
local function connected(disk)
    local computer = world.computer(disk)
    computer.entered = {}
    local function note(_, _, call_id)
        table.insert(computer.entered, call_id)
        local _, answer = coroutine.yield("go")
        return { answer = answer }
    end
    world.fleet(computer, function(fleet)
        fleet:register("work", note)
        fleet:register("look", note, { effect = "read" })
        fleet:register("say", function(args) return { said = args.text } end, {
            args_schema = { type = "object", required = { "text" }, properties = { text = { type = "string" } } },
        })
        fleet:register("fail", function() error({ message = "broken" }) end, { effect = "read" })
        fleet:register("huge", function() return { text = ("\"\n"):rep(100000) } end, { effect = "read" })
        fleet:register("refuse", function() return nil, "will not" end, { effect = "read" })
    end, { entry_log = "/entries" })
    return computer
end

local function call(id, command, seq, changes)
    local message = {
        type = "command_call", task_id = "t", call_id = id, command = command, args = {}, seq = seq,
        tool_rev = "rev-1", args_hash = "hash",
    }
    for name, value in pairs(changes or {}) do message[name] = value end
    return message
end

local function results_for(computer, id)
    local list = {}
    for _, message in ipairs(computer:sent("command_result")) do
        if message.call_id == id then table.insert(list, message) end
    end
    return list
end

local function only_result(computer, id)
    local list = results_for(computer, id)
    check.same(#list, 1, "results of " .. id)
    return list[1]
end

local function reconnect(computer)
    computer:event("websocket_closed", computer:socket().url)
    computer:wait(1)
    computer:accept()
    computer:welcome()
end

specs["calls: a result comes back with its receipt"] = function()
    local computer = connected()
    computer:say(call("a", "say", 1, { args = { text = "hi" } }))
    local result = only_result(computer, "a")
    check.same({ result.ok, result.receipt, result.task_id }, { true, "done", "t" })
    check.same(result.result, { said = "hi" })
end

specs["calls: an error, a table error and nil with a message are failures"] = function()
    local computer = connected()
    computer:say(call("a", "fail"))
    computer:say(call("b", "refuse"))
    check.same(only_result(computer, "a").error, "broken")
    check.same(only_result(computer, "b").error, "will not")
    check.same(only_result(computer, "b").ok, false)
end

specs["calls: what cannot start is refused as not_started"] = function()
    local computer = connected()
    computer:say(call("a", "nothing", 1))
    computer:say(call("b", "say", 1))
    computer:say(call("c", "work", 1, { tool_rev = "rev-0" }))
    for id, code in pairs({ a = "unknown_tool", b = "bad_args", c = "tool_changed" }) do
        local result = only_result(computer, id)
        check.same({ result.ok, result.receipt, result.code }, { false, "not_started", code })
    end
    check.same(#computer.entered, 0)
end

specs["calls: a tool that was replaced refuses calls until the server knows the new one"] = function()
    local computer = connected()
    computer.fleet:register("say", function() return {} end)
    computer:say(call("a", "say", 1))
    check.same(only_result(computer, "a").code, "tool_changed")
    computer:say({ type = "commands_registered", accepted = { say = "rev-2" }, refused = {} })
    computer:say(call("b", "say", 1, { tool_rev = "rev-2" }))
    check.same(only_result(computer, "b").ok, true)
end

specs["calls: a duplicate of a running call is ignored, of a done one answered again, never run"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    computer:say(call("a", "work", 1))
    computer:event("go", 5)
    check.same(only_result(computer, "a").result, { answer = 5 })
    computer:say(call("a", "work", 1, { delivery = 2 }))
    check.same(results_for(computer, "a")[2].result, { answer = 5 })
    check.same(computer.entered, { "a" })
end

specs["calls: the same call_id with other arguments is unknown"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    computer:say(call("a", "work", 1, { args_hash = "other" }))
    check.same(only_result(computer, "a").receipt, "unknown")
    check.same(#computer.entered, 1)
end

specs["calls: a used number without a receipt is unknown and never run"] = function()
    local computer = connected()
    computer:say(call("a", "say", 5, { args = { text = "x" } }))
    computer:say(call("b", "work", 5))
    check.same(only_result(computer, "b").receipt, "unknown")
    check.same(#computer.entered, 0)
end

specs["calls: after a crash in a handler the call is unknown"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    local again = connected(computer.disk)
    check.same(again:sent("hello")[1].high_seq, 1)
    again:say({ type = "call_status", call_id = "a", seq = 1 })
    check.same(again:last_sent("call_receipt").state, "unknown")
    again:say(call("a", "work", 1, { delivery = 2 }))
    check.same(only_result(again, "a").receipt, "unknown")
    check.same(#again.entered, 0)
end

specs["calls: status tells not_started, started and done"] = function()
    local computer = connected()
    local function state(id, seq)
        computer:say({ type = "call_status", call_id = id, seq = seq })
        return computer:last_sent("call_receipt").state
    end
    check.same(state("a", 1), "not_started")
    computer:say(call("a", "work", 1))
    check.same(state("a", 1), "started")
    computer:event("go", 1)
    check.same(state("a", 1), "done")
    check.same(computer:last_sent("call_receipt").result, { answer = 1 })
    computer:say({ type = "result_stored", call_id = "a", n = 1 })
    check.same(state("a", 1), "unknown")
end

specs["calls: a waiting call that status calls not_started runs only when sent again"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    computer:say(call("b", "work", 2))
    computer:say({ type = "call_status", call_id = "b", seq = 2 })
    check.same(computer:last_sent("call_receipt").state, "not_started")
    computer:event("go")
    check.same(computer.entered, { "a" })
    computer:say(call("b", "work", 2, { delivery = 2 }))
    check.same(computer.entered, { "a", "b" })
end

specs["calls: changes run one after the other, reads beside them"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    computer:say(call("b", "work", 2))
    for i = 1, 3 do computer:say(call("r" .. i, "look")) end
    check.same(computer.entered, { "a", "r1", "r2" })
    computer:event("go")
    check.same(computer.entered, { "a", "r1", "r2", "b", "r3" })
end

specs["calls: cancel ends a waiting, a running and an unseen call"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    computer:say(call("b", "work", 2))
    computer:say({ type = "command_cancel", call_id = "b", seq = 2 })
    check.same({ only_result(computer, "b").code, only_result(computer, "b").receipt }, { "cancelled", "not_started" })
    computer:say({ type = "command_cancel", call_id = "a", seq = 1 })
    check.same({ only_result(computer, "a").code, only_result(computer, "a").receipt }, { "cancelled", "done" })
    computer:say({ type = "command_cancel", call_id = "c", seq = 3 })
    check.same(computer:last_sent("call_receipt").state, "not_started")
    computer:say(call("c", "work", 3))
    check.same(only_result(computer, "c").code, "cancelled")
    check.same(computer.entered, { "a" })
end

specs["calls: a call that runs out of time is ended"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1, { deadline_ms = 2000 }))
    computer:wait(1.9)
    check.same(#results_for(computer, "a"), 0)
    computer:wait(0.2)
    check.same(only_result(computer, "a").code, "timeout")
    computer:event("go")
    check.same(#results_for(computer, "a"), 1)
end

specs["calls: a receipt that cannot be written keeps the handler out"] = function()
    local computer = connected()
    computer.disk.is_read_only = true
    computer:say(call("a", "work", 1))
    local result = only_result(computer, "a")
    check.same({ result.code, result.receipt }, { "receipt_unwritable", "not_started" })
    check.same(#computer.entered, 0)
    computer.disk.is_read_only = false
    computer:say(call("a", "work", 1, { delivery = 2 }))
    check.same(computer.entered, { "a" })
end

specs["calls: a result over the frame limit is cut, and every frame fits"] = function()
    local computer = connected()
    computer:say(call("a", "huge", nil, { n = 1 }))
    computer:breathe()
    local result = only_result(computer, "a")
    check.same({ result.truncated, result.error }, { true })
    check.truthy(result.result.bytes > 131072 and #result.result.head > 10000)
    check.truthy(#computer:socket().last_frame <= 131072)
    check.same(result.ack, 1)
end

specs["calls: a call goes on over a reconnect and answers on the new connection"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    reconnect(computer)
    computer:say({ type = "call_status", call_id = "a", seq = 1 })
    check.same(computer:last_sent("call_receipt").state, "started")
    computer:event("go", 3)
    check.same(only_result(computer, "a").result, { answer = 3 })
end

specs["calls: a result that the server has not confirmed is sent again after a reconnect"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    computer:event("go", 3)
    reconnect(computer)
    check.same(only_result(computer, "a").task_id, "t")
    computer:say({ type = "result_stored", call_id = "a" })
    reconnect(computer)
    check.same(#results_for(computer, "a"), 0)
end

specs["calls: the entry log has a line for each entered handler, before it runs"] = function()
    local computer = connected()
    computer:say(call("a", "work", 1))
    check.same(computer.disk.files["/entries"], "a work 1\n")
    computer:say(call("r", "look"))
    computer:say(call("x", "nothing", 2))
    check.same(computer.disk.files["/entries"], "a work 1\nr look -\n")
end

specs["calls: progress is told, but not in a flood"] = function()
    local computer = connected()
    computer.fleet:register("long", function(_, _, _, context)
        for i = 1, 10 do context:progress(i / 10, "step " .. i) end
        return {}
    end, { effect = "read" })
    computer:say({ type = "commands_registered", accepted = { long = "rev-1" } })
    computer:say(call("a", "long"))
    check.same(#computer:sent("command_progress"), 1)
    check.same(computer:last_sent("command_progress").progress, 0.1)
end

return specs
