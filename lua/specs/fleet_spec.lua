local check = require("check")
local world = require("fake_world")

local specs = {}

local function connected(prepare, options)
    local computer = world.computer()
    world.fleet(computer, prepare, options)
    return computer, computer.fleet
end

specs["fleet: hello says who we are, in a URL of its own for each attempt"] = function()
    local computer, fleet = connected(function(fleet)
        check.truthy(fleet:register("dig", function() end, { description = "Dig." }))
    end, { client_id = "a/b", label = "L", groups = { "g" } })
    local hello = computer:sent("hello")[1]
    check.same(hello.protocol, 1)
    check.same(hello.client_id, "a/b")
    check.same(hello.computer, { id = 7, kind = "turtle", version = "ComputerCraft 1.100.0" })
    check.same(hello.groups, { "g" })
    check.same(hello.commands[1].name, "dig")
    check.same(hello.commands[1].effect, "effect")
    check.same({ hello.frames, hello.window, hello.max_frame_bytes }, { "binary", 8, 131072 })
    check.contains(computer:socket().url, "ws://server/ws?client_id=a%2Fb&n=" .. hello.boot_id .. "-1")
    check.same(fleet:is_connected(), true)
    check.same(computer.queued[1], { "ccfleet_connected", "srv" })
end

specs["fleet: the token is in hello alone, not in the URL and not in what is logged"] = function()
    local lines = {}
    local computer = connected(nil, {
        token = "ccf_secret", on_log = function(_, line) table.insert(lines, line) end,
    })
    check.same(computer:sent("hello")[1].token, "ccf_secret")
    computer:event("websocket_closed", computer:socket().url, "bad token", 4401)
    computer:wait(31)
    check.same(#computer.sockets, 2)
    for _, socket in ipairs(computer.sockets) do
        check.same(socket.url:find("ccf_secret", 1, true), nil)
    end
    check.same(#lines > 0, true)
    check.same(table.concat(lines, "\n"):find("ccf_secret", 1, true), nil)
end

specs["fleet: hello without groups and tools has arrays, not objects"] = function()
    local computer = connected()
    check.contains(computer:socket().last_frame, '"commands":[]')
    check.contains(computer:socket().last_frame, '"groups":[]')
end

specs["fleet: hello after a restart tells what the last server told"] = function()
    local computer = connected()
    local again = world.computer(computer.disk)
    again.now = 5
    world.fleet(again)
    local hello = again:sent("hello")[1]
    check.same({ hello.server_id, hello.journal_epoch, hello.session_secret, hello.high_seq }, { "srv", 1, "s", 0 })
    check.truthy(hello.boot_id ~= computer:sent("hello")[1].boot_id)
end

specs["fleet: a lost connection is made again later, with a new URL"] = function()
    local computer, fleet = connected()
    local old = computer:socket()
    computer:event("websocket_closed", old.url, nil, nil)
    check.same(fleet:is_connected(), false)
    check.same(old.is_closed, nil, "the closed handle is left alone")
    check.same(computer.queued[2][1], "ccfleet_disconnected")
    computer:wait(0.4)
    check.same(#computer.sockets, 1)
    computer:wait(0.2)
    check.same(#computer.sockets, 2)
    check.contains(computer:socket().url, "-2")
end

specs["fleet: events of earlier connections change nothing, their late handles are closed"] = function()
    local computer, fleet = connected()
    local old = computer:socket()
    computer:event("websocket_closed", old.url, nil, nil)
    computer:wait(1)
    computer:accept()
    computer:welcome()
    computer:event("websocket_closed", old.url, "Timed out", 1006)
    computer:event("websocket_message", old.url, '{"type":"ping"}')
    check.same(fleet:is_connected(), true)
    check.same(#computer:sent("pong"), 0)
    local closed = false
    computer:event("websocket_success", old.url, { close = function() closed = true end })
    check.same(closed, true)
end

specs["fleet: a server that is silent for 90 s is left"] = function()
    local computer, fleet = connected()
    local socket = computer:socket()
    computer:wait(89)
    check.same(fleet:is_connected(), true)
    computer:wait(2)
    check.same(fleet:is_connected(), false)
    check.same(socket.is_closed, true)
end

specs["fleet: a timer that a full event queue swallowed is replaced at the next event"] = function()
    local computer = connected()
    local timers = computer.timers
    computer:wait(1)
    check.same(computer.timers, timers)
    computer:wait(6)
    check.same(computer.timers, timers + 1)
end

specs["fleet: a connection without a welcome is given up"] = function()
    local computer = world.computer()
    computer.fleet = require("ccfleet").new({ url = "ws://s", client_id = "c", platform = computer.platform })
    computer.fleet:start()
    computer:accept()
    computer:wait(16)
    check.same(computer:socket().is_closed, true)
end

specs["fleet: an attempt that is never answered ends"] = function()
    local computer = world.computer()
    computer.fleet = require("ccfleet").new({ url = "ws://s", client_id = "c", platform = computer.platform })
    computer.fleet:start()
    computer:wait(41)
    computer:wait(1)
    check.same(#computer.sockets, 2)
end

specs["fleet: a ping is answered at once"] = function()
    local computer = connected()
    computer:say({ type = "ping", nonce = "x" })
    check.same(computer:last_sent("pong").nonce, "x")
end

specs["fleet: an acknowledgement rides on an answer, or goes alone after 0.2 s"] = function()
    local computer = connected()
    computer:say({ type = "task_update", task_id = "t", status = "running", n = 1 })
    computer:say({ type = "ping" })
    check.same(computer:last_sent("pong").ack, 1)
    computer:say({ type = "task_update", task_id = "t", status = "running", n = 2 })
    check.same(computer:last_sent("ack"), nil)
    computer:wait(0.25)
    check.same(computer:last_sent("ack").n, 2)
end

specs["fleet: bad input from the server is logged and survived"] = function()
    local lines = {}
    local computer, fleet = connected(nil, { on_log = function(_, line) table.insert(lines, line) end })
    local bad = { { type = "weird" }, {}, { type = "task_update" }, { type = "welcome" }, { type = "command_call" } }
    for _, message in ipairs(bad) do computer:say(message) end
    computer:event("websocket_message", computer:socket().url, "{")
    computer:event("websocket_message", computer:socket().url, "5")
    check.same(fleet:is_connected(), true)
    check.contains(table.concat(lines, "\n"), "unknown type weird")
end

specs["fleet: nothing is sent on a socket that turned out to be closed"] = function()
    local computer, fleet = connected()
    local socket = computer:socket()
    socket.send_error = "attempt to use a closed file"
    computer:say({ type = "ping" })
    check.same(fleet:is_connected(), false)
    check.same(socket.is_closed, nil)
    check.same({ fleet:cancel_task("t") }, { nil, "offline" })
end

specs["fleet: a full send buffer delays messages, in order"] = function()
    local computer = connected()
    local socket = computer:socket()
    socket.send_error = "host.lua:1: Too many ongoing websocket messages"
    computer:say({ type = "ping", nonce = 1 })
    computer:say({ type = "ping", nonce = 2 })
    check.same(#computer:sent("pong"), 0)
    socket.send_error = nil
    computer:wait(0.3)
    check.same(computer:sent("pong")[1].nonce, 1)
    check.same(computer:sent("pong")[2].nonce, 2)
end

specs["fleet: a refusal that time does not mend is retried slowly"] = function()
    local computer = connected()
    computer:event("websocket_closed", computer:socket().url, "bad token", 4401)
    computer:wait(29)
    check.same(#computer.sockets, 1)
    computer:wait(2)
    check.same(#computer.sockets, 2)
end

specs["fleet: tools can come and go while connected"] = function()
    local computer, fleet = connected()
    fleet:register("look", function() end, { effect = "read" })
    check.same(computer:last_sent("register_commands").commands[1].name, "look")
    check.same(fleet:unregister("look"), true)
    check.same(fleet:unregister("look"), false)
    check.same(computer:last_sent("unregister_commands").names, { "look" })
    check.contains(select(2, fleet:register("bad name", function() end)), "bad name")
    check.same(pcall(fleet.register, fleet, "x", "not a function"), false)
end

specs["fleet: stop ends what runs, answers it and closes the socket"] = function()
    local computer, fleet = connected(function(fleet)
        fleet:register("wait", function() coroutine.yield("never") end)
    end)
    computer:say({ type = "command_call", task_id = "t", call_id = "a", command = "wait", args = {}, seq = 1, n = 1 })
    fleet:stop()
    check.same(computer:last_sent("command_result").code, "cancelled")
    check.same(computer:socket().is_closed, true)
end

-- Tasks --------------------------------------------------------------------------------------------------------

specs["tasks: a request is answered once and tracked to its end"] = function()
    local computer, fleet = connected()
    local heard
    local request_id = fleet:create_task({
        kind = "k", prompt = "do it", on_created = function(id, status) heard = id .. " " .. status end,
    })
    check.same(computer:last_sent("create_task").request_id, request_id)
    computer:say({ type = "task_created", request_id = request_id, task_id = "t1", status = "queued", n = 1 })
    check.same(heard, "t1 queued")
    computer:say({ type = "task_update", task_id = "t1", status = "running", progress = 0.5, n = 2 })
    check.same(fleet.tasks.t1.progress, 0.5)
    computer:say({ type = "task_completed", task_id = "t1", result = { success = true }, n = 3 })
    computer:say({ type = "task_completed", task_id = "t1", result = { success = true }, n = 4 })
    check.same(fleet.tasks.t1.status, "completed")
    local names = {}
    for _, event in ipairs(computer.queued) do table.insert(names, event[1]) end
    check.same(table.concat(names, " "),
        "ccfleet_connected ccfleet_task_created ccfleet_task_update ccfleet_task_completed")
end

specs["tasks: a request without an answer is sent again after a reconnect"] = function()
    local computer, fleet = connected()
    local request_id = fleet:create_task({ prompt = "do it" })
    computer:event("websocket_closed", computer:socket().url)
    local offline_id = fleet:create_task({ prompt = "another" })
    check.truthy(offline_id)
    computer:wait(1)
    computer:accept()
    computer:welcome()
    local ids = {}
    for _, message in ipairs(computer:sent("create_task")) do ids[message.request_id] = true end
    check.truthy(ids[request_id] and ids[offline_id])
end

specs["tasks: a refused request tells its maker"] = function()
    local computer, fleet = connected()
    local heard
    local request_id = fleet:create_task({ prompt = "x", on_created = function(id, err) heard = { id, err } end })
    computer:say({ type = "error", error = "not allowed", code = "forbidden", request_id = request_id })
    check.same(heard[2], "not allowed")
end

specs["tasks: questions are shown, answered and closed"] = function()
    local computer, fleet = connected()
    computer:say({ type = "user_question", question_id = "q", task_id = "t", question = "Which?", why = "w", n = 1 })
    check.same(fleet.questions.q.question, "Which?")
    fleet:answer("q", "left")
    check.same(computer:last_sent("user_answer").answer, "left")
    computer:say({ type = "question_closed", question_id = "q", n = 2 })
    check.same(fleet.questions.q, nil)
end

specs["tasks: ended tasks are forgotten after a while"] = function()
    local computer, fleet = connected()
    for i = 1, 70 do computer:say({ type = "task_failed", task_id = "t" .. i, error = "x" }) end
    check.same(fleet.tasks.t6, nil)
    check.same(fleet.tasks.t7.status, "failed")
end

return specs
