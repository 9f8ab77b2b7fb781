local check = require("check")
local world = require("fake_world")
local Board = require("ccfleet.board")
local Desk = require("ccfleet.desk")
local Keeper = require("ccfleet.keeper")
local screen = require("ccfleet.screen")

local specs = {}

-- A computer whose fleet is connected, with a desk that hears the same events.
local function desk_world(parts)
    local computer = world.computer()
    local fleet = world.fleet(computer)
    local all = { fleet = fleet, platform = computer.platform, info = { client_id = "c", url = "ws://server/ws" } }
    for name, value in pairs(parts or {}) do all[name] = value end
    local desk = Desk.new(all)
    local function event(...)
        computer:event(...)
        desk:handle({ n = select("#", ...), ... })
        -- What the fleet queued in the meantime comes to the desk, as on a computer.
        while computer.heard < #computer.queued do
            computer.heard = computer.heard + 1
            local queued = computer.queued[computer.heard]
            if queued[1] ~= "ccfleet_response" then desk:handle({ n = #queued, unpack(queued) }) end
        end
    end
    computer.heard = #computer.queued
    return computer, event, fleet, desk
end

-- The answers to a request so far: lists of ok, result, code.
local function answers(computer, id)
    local list = {}
    for _, event in ipairs(computer.queued) do
        if event[1] == "ccfleet_response" and event[2] == id then table.insert(list, { event[3], event[4], event[5] }) end
    end
    return list
end

local function server_says(computer, event, message)
    event("websocket_message", computer:socket().url, textutils.serialiseJSON(message), true)
end

local function created(request)
    return { type = "task_created", request_id = request.request_id, task_id = "t", status = "queued" }
end

specs["desk: a program learns that a host is there, and how it stands"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r1", "ping")
    check.same(answers(computer, "r1"), { { true, "c" } })
    event("ccfleet_request", "r2", "status")
    check.same(#answers(computer, "r2"), 0)
    local ping = computer:last_sent("ping")
    computer.now = computer.now + 0.25
    server_says(computer, event, { type = "pong", nonce = ping.nonce })
    local status = answers(computer, "r2")[1][2]
    check.same({ status.is_connected, status.latency_ms, status.client_id, status.queued }, { true, 250, "c", 0 })
end

specs["desk: a status without an answer from the server comes all the same"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r", "status")
    computer.now = computer.now + 1
    event("tick")
    check.same(answers(computer, "r")[1][2].is_connected, true)
    event("websocket_closed", computer:socket().url, "bye", 1001)
    event("ccfleet_request", "r2", "status")
    local status = answers(computer, "r2")[1][2]
    check.same({ status.is_connected, status.problem.text, status.problem.code }, { false, "bye", 1001 })
end

specs["desk: a task is made for a program, or refused with the reason"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r", "create_task", { prompt = "do it" })
    local request = computer:last_sent("create_task")
    check.same({ request.prompt, request.interactive }, { "do it", true })
    server_says(computer, event, created(request))
    check.same(answers(computer, "r"), { { true, { task_id = "t", status = "queued" } } })

    event("ccfleet_request", "r2", "create_task", { prompt = "no" })
    request = computer:last_sent("create_task")
    server_says(computer, event, { type = "error", error = "too many", code = "too_many_tasks",
        request_id = request.request_id })
    check.same(answers(computer, "r2"), { { false, "too many", "too_many_tasks" } })
end

specs["desk: a server that does not answer costs ten seconds, and its late answer nothing"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r", "create_task", { prompt = "do it" })
    local request = computer:last_sent("create_task")
    computer.now = computer.now + 9
    event("tick")
    check.same(#answers(computer, "r"), 0)
    computer.now = computer.now + 1
    event("tick")
    check.same(answers(computer, "r")[1][3], "timeout")
    server_says(computer, event, created(request))
    check.same(#answers(computer, "r"), 1)
end

specs["desk: tasks come from the server, short enough for an event"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r", "tasks")
    local query = computer:last_sent("task_query")
    local tasks = {}
    for i = 1, 60 do
        tasks[i] = { task_id = "t" .. i, status = "running", prompt = ("p"):rep(5000), usage = { steps = 1 } }
    end
    server_says(computer, event, { type = "task_list", request_id = query.request_id, tasks = tasks })
    local ok, result = unpack(answers(computer, "r")[1])
    check.same({ ok, #result.tasks, #result.tasks[1].prompt, result.tasks[1].usage }, { true, 50, 200 })
end

specs["desk: without an answer, tasks are those that this computer has heard of"] = function()
    local computer, event = desk_world()
    server_says(computer, event, { type = "task_update", task_id = "t1", status = "running", message = "digs" })
    event("ccfleet_request", "r", "tasks")
    computer.now = computer.now + 5
    event("tick")
    local result = answers(computer, "r")[1][2]
    check.same({ result.is_local, result.tasks[1].task_id, result.tasks[1].message }, { true, "t1", "digs" })
    event("ccfleet_request", "r2", "tasks")
    event("websocket_closed", computer:socket().url)
    check.same({ answers(computer, "r2")[1][1], answers(computer, "r2")[1][3] }, { false, "offline" })
    event("ccfleet_request", "r3", "tasks", { task_id = "t1" })
    check.same(answers(computer, "r3")[1][2].is_local, true)
end

specs["desk: a server that does not know the question is not waited for"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r", "tasks")
    server_says(computer, event, { type = "error", error = "not served", code = "unsupported" })
    check.same(answers(computer, "r")[1][2].is_local, true)
end

specs["desk: an open question is shown and answered once"] = function()
    local computer, event = desk_world()
    server_says(computer, event, { type = "task_update", task_id = "t", status = "waiting_for_user" })
    server_says(computer, event, { type = "user_question", question_id = "q", task_id = "t", question = "Which?" })
    event("ccfleet_request", "r", "task", { task_id = "t" })
    check.same(answers(computer, "r")[1][2].question.question, "Which?")
    event("ccfleet_request", "r2", "answer", { question_id = "q", answer = "left" })
    check.same({ answers(computer, "r2")[1][1], computer:last_sent("user_answer").answer }, { true, "left" })
    event("ccfleet_request", "r3", "answer", { question_id = "other", answer = "x" })
    check.same(answers(computer, "r3")[1][3], "no_such_question")
end

specs["desk: an order to stop is done when the server has read on, and a refusal has its reason"] = function()
    local computer, event = desk_world()
    event("ccfleet_request", "r", "stop", { scope = "own" })
    check.same(computer:last_sent("stop").scope, "own")
    check.same(#answers(computer, "r"), 0)
    server_says(computer, event, { type = "pong", nonce = computer:last_sent("ping").nonce })
    check.same(answers(computer, "r")[1][1], true)

    computer.now = computer.now + 1
    event("ccfleet_request", "r2", "stop", { scope = "fleet" })
    server_says(computer, event, { type = "error", error = "not yours", code = "not_allowed",
        request_id = computer:last_sent("stop").request_id })
    server_says(computer, event, { type = "pong", nonce = computer:last_sent("ping").nonce })
    check.same(answers(computer, "r2"), { { false, "not yours", "not_allowed" } })

    event("ccfleet_request", "r3", "resume", {})
    check.same(computer:last_sent("resume").scope, "own")
    server_says(computer, event, { type = "error", error = "unknown", code = "unknown_type" })
    check.same(answers(computer, "r3"), { { false, "unknown", "unknown_type" } })
end

specs["desk: it keeps sixteen requests at most, and knows what it cannot do"] = function()
    local computer, event = desk_world()
    for i = 1, 17 do event("ccfleet_request", "r" .. i, "create_task", { prompt = "x" }) end
    check.same(answers(computer, "r17")[1][3], "busy")
    check.same(#answers(computer, "r16"), 0)
    computer.now = computer.now + 10
    event("tick")
    event("ccfleet_request", "again", "ping")
    check.same(answers(computer, "again")[1][1], true)
    event("ccfleet_request", "odd", "dance")
    check.same(answers(computer, "odd")[1][3], "unknown_op")
    event("ccfleet_request", "old", "update")
    check.same(answers(computer, "old")[1][1], false)
    event("ccfleet_request", 7, "ping")
    event("ccfleet_request")
end

-- Keeper -------------------------------------------------------------------------------------------------------

local function keeper_world(state)
    local computer = world.computer()
    local fleet = world.fleet(computer, state.prepare)
    local made = { swaps = 0, confirmed = 0, staged = {}, state = state, log = {} }
    local versions = {
        whole = function() return state.version or "v1" end,
        is_on_trial = function() return state.on_trial end,
        state = function() return { bad = state.bad } end,
        confirm = function() made.confirmed = made.confirmed + 1 end,
        swap = function()
            made.swaps = made.swaps + 1
            if state.swap_error then error(state.swap_error, 0) end
        end,
    }
    local update = {
        manifest = function()
            if state.unreachable then return nil, { code = "unreachable", text = "gone" } end
            return { version = state.offered or "v2", files = {} }
        end,
        stage = function(_, manifest)
            table.insert(made.staged, manifest.version)
            if state.stage_error then return nil, { code = "no_space", text = state.stage_error } end
            coroutine.yield("downloaded")
            return true
        end,
    }
    local keeper = Keeper.new({
        fleet = fleet, platform = computer.platform, versions = versions, update = update,
        automatic = state.automatic ~= false, log = function(_, line) table.insert(made.log, line) end,
    })
    function made.wait(seconds)
        computer:wait(seconds or 0)
        keeper:handle({ n = 1, "tick" })
    end
    -- A longer time, in which the server goes on talking.
    function made.pass(seconds)
        for _ = 1, seconds / 30 do
            computer:say({ type = "ping", nonce = "x" })
            made.wait(30)
        end
    end
    function made.downloaded()
        keeper:handle({ n = 1, "downloaded" })
    end
    function made.offer(version)
        computer:event("websocket_closed", computer:socket().url)
        computer:wait(60)
        computer:accept()
        computer:welcome({ library = { version = version, url = "/lua/manifest.json" } })
    end
    return made, keeper, computer, fleet
end

specs["keeper: another version is fetched, and put in place when nothing has run for a moment"] = function()
    local made, keeper = keeper_world({})
    made.offer("v2")
    made.wait()
    check.same(made.staged, { "v2" })
    check.same(keeper:wants_restart(), false)
    made.downloaded()
    made.wait()
    check.same(made.swaps, 0)
    made.wait(5)
    check.same({ made.swaps, keeper:wants_restart() }, { 1, true })
end

specs["keeper: a running call and an open question put the update off"] = function()
    local made, keeper, computer = keeper_world({ prepare = function(fleet)
        fleet:register("wait", function() coroutine.yield("go") end)
    end })
    made.offer("v2")
    computer:say({ type = "command_call", task_id = "t", call_id = "c", command = "wait", args = {}, n = 1 })
    made.wait()
    made.downloaded()
    made.wait(30)
    made.wait(30)
    check.same(made.swaps, 0)
    computer:event("go")
    computer:say({ type = "user_question", question_id = "q", task_id = "t", question = "?", n = 2 })
    made.wait(30)
    made.wait(30)
    check.same(made.swaps, 0)
    computer:say({ type = "question_closed", question_id = "q", n = 3 })
    made.wait(1)
    made.wait(5)
    check.same({ made.swaps, keeper:wants_restart() }, { 1, true })
end

specs["keeper: the version that runs, one that was given up and a switched-off update change nothing"] = function()
    for _, state in ipairs({ { offered = "v1" }, { bad = "v2" }, { automatic = false } }) do
        local made = keeper_world(state)
        made.offer(state.offered or "v2")
        made.wait(30)
        made.wait(30)
        check.same(#made.staged, 0)
    end
end

specs["keeper: a person's order fetches also what was given up"] = function()
    local made, keeper = keeper_world({ bad = "v2", automatic = false })
    made.offer("v2")
    check.same(keeper:ask(), true)
    made.wait()
    made.downloaded()
    made.wait()
    check.same({ made.swaps, keeper:wants_restart() }, { 1, true })
    local _, current = keeper_world({ offered = "v1" })
    check.same({ current:ask() }, { true, "up to date: v1" })
end

specs["keeper: a failed download is told and tried again later"] = function()
    local made, keeper = keeper_world({ stage_error = "too full" })
    made.offer("v2")
    made.wait()
    check.same({ #made.staged, keeper:report().problem }, { 1, "too full" })
    made.pass(300)
    check.same(#made.staged, 1)
    made.state.stage_error = nil
    made.pass(330)
    check.same(#made.staged, 2)
end

specs["keeper: a new version that connects is confirmed"] = function()
    local made = keeper_world({ on_trial = true })
    made.wait()
    made.wait()
    check.same(made.confirmed, 1)
end

specs["keeper: a new version that does not connect ends, but only if the server can be reached"] = function()
    local made, keeper, computer = keeper_world({ on_trial = true, unreachable = true })
    computer:event("websocket_closed", computer:socket().url)
    made.wait(61)
    check.same({ keeper:wants_restart(), made.confirmed }, { false, 0 })
    made.state.unreachable = false
    made.wait(61)
    check.same({ keeper:wants_restart(), made.confirmed }, { true, 0 })
end

specs["keeper: a swap that fails in the middle ends the host, so that boot.lua mends it"] = function()
    local made, keeper = keeper_world({ swap_error = "Out of space" })
    made.offer("v2")
    made.wait()
    made.downloaded()
    made.wait()
    made.wait(5)
    check.same(keeper:wants_restart(), true)
end

-- Screen and board ---------------------------------------------------------------------------------------------

specs["screen: a task is named by the end of its id if that is enough"] = function()
    local ids = { "tsk_01ABCDEF", "tsk_02ABCDEF", "tsk_01XYZXYZ" }
    check.same(screen.pick_id(ids, "xyzxyz"), "tsk_01XYZXYZ")
    check.same(screen.pick_id(ids, "tsk_02ABCDEF"), "tsk_02ABCDEF")
    check.same(screen.pick_id(ids, "1ABCDEF"), "tsk_01ABCDEF")
    check.same(screen.pick_id(ids, "ABCDEF"), nil)
    check.same(screen.pick_id(ids, "ef"), nil)
    check.same(screen.pick_id(ids, screen.short_id(ids[3])), ids[3])
end

specs["screen: text fits its width and holds nothing that the screen cannot show"] = function()
    check.same(screen.fit("a\nb\tc", 10), "a b c")
    check.same(screen.fit("h\195\169llo \240\159\152\128", 20), "h\233llo ?")
    check.same(screen.fit("\195\164\195\164\195\164", 3), "\228\228\228")
    check.same(#screen.fit(("x"):rep(50), 10), 10)
    check.same(screen.fit("abc", 2), "ab")
end

specs["screen: what Latin-1 can say is shown, whether the server said it or it was typed here"] = function()
    check.same(screen.plain("gr\195\164ber, na\195\175ve"), "gr\228ber, na\239ve", "UTF-8")
    check.same(screen.plain("gr\228ber\255, \228"), "gr\228ber\255, \228", "Latin-1")
    check.same(screen.plain("\226\130\172 5 \240\159\152\128! \194\133 \197\130\195\179"), "? 5 ?! ? ?\243", "beyond")
end

-- A terminal whose lines can be read.
local function paper(width, height)
    local lines = {}
    local target, y = { lines = lines }, 1
    function target.getSize() return width, height end
    function target.isColour() return true end
    function target.setTextColour() end
    function target.setBackgroundColour() end
    function target.setCursorPos(_, new_y) y = new_y end
    function target.write(text) lines[y] = text end
    return target
end

local function many_tasks(count)
    local tasks = {}
    for i = 1, count do tasks[i] = { task_id = ("task%02d"):format(i), status = "running", prompt = "p" .. i } end
    return tasks
end

specs["board: what needs a person stands first, ended tasks last, and every line fits"] = function()
    local target = paper(20, 9)
    local board = Board.new(target, "top")
    board:update({
        { task_id = "a", status = "completed", prompt = "p", result = { message = ("done "):rep(20) } },
        { task_id = "b", status = "running", prompt = "p", message = "digs", progress = 0.5 },
        { task_id = "c", status = "running", prompt = "p" },
    }, { { task_id = "c", question_id = "q", question = "Which way?" } }, { is_connected = true, client_id = "base" })
    board:draw()
    check.contains(target.lines[1], "base")
    check.contains(target.lines[2], "? c")
    check.contains(target.lines[3], "Which way?")
    check.contains(target.lines[4], "50%")
    check.contains(target.lines[6], "+ a")
    for _, line in ipairs(target.lines) do check.same(#line, 20) end
end

specs["board: a touch scrolls, only on its own monitor, and never past the ends"] = function()
    local target = paper(20, 7)
    local board = Board.new(target, "top")
    board:update(many_tasks(8), {}, { is_connected = true, client_id = "base" })
    check.same(board:handle("monitor_touch", "left", 1, 7), nil)
    for _ = 1, 9 do check.same(board:handle("monitor_touch", "top", 1, 7), "draw") end
    board:draw()
    check.contains(target.lines[6], "task01")
    for _ = 1, 9 do board:handle("monitor_touch", "top", 1, 1) end
    board:draw()
    check.contains(target.lines[2], "task08")
    check.same(board:handle("monitor_resize", "top"), "draw")
    check.same(board:handle("peripheral_detach", "top"), "quit")
    check.same(board:handle("key", keys.q), nil)
    check.same(Board.new(target):handle("key", keys.q), "quit")
end

specs["board: a tiny screen and no tasks are no trouble"] = function()
    local target = paper(7, 2)
    local board = Board.new(target)
    board:update({}, {}, { client_id = "c" })
    board:draw()
    board:update(many_tasks(3), {}, { is_connected = true, client_id = "c" })
    board:draw()
    for _, line in pairs(target.lines) do check.same(#line, 7) end
end

return specs
