--- Tasks, questions and the state of this computer's membership, from the shell. `fleet help` lists what it can do.

local HELP = {
    { 'ask "..."', "have something done; Ctrl+T only looks away" },
    { "tasks", "this computer's tasks" },
    { "task ID", "watch one; the end of its ID will do" },
    { "answer [ID] TEXT", "answer an open question" },
    { "cancel ID", "end a task" },
    { "stop [--all]", "no more calls here (or anywhere)" },
    { "resume [--all]", "calls may run again" },
    { "status", "server, connection, call, version" },
    { "board [MONITOR]", "tasks on a monitor or this screen" },
    { "tools", "what this computer can do" },
    { "update", "fetch the server's version now" },
    { "start", "start the host, if it does not run" },
    { "uninstall", "remove all this" },
}

local folder = "/" .. fs.getDir(fs.getDir(shell.getRunningProgram()))
package.path = ("%s/?.lua;%s/?/init.lua;"):format(folder, folder) .. package.path

local client = require("ccfleet.client")
local screen = require("ccfleet.screen")

local function fail(text)
    screen.say(colours.red, text)
    return false
end

local function note(text)
    screen.say(colours.lightGrey, text)
end

-- Run the work with a host at hand.
local function with_host(work)
    local ok, err = client.with_host(work, shell, note)
    if not ok then fail(err) end
end

local function connected(seconds)
    local status, err, last = client.wait_for_connection(seconds)
    if status then return status end
    fail("not connected: " .. tostring(err))
    local mend = last and require("ccfleet.membership").remedy(
        ("%s (%s)"):format(tostring(err), tostring(last.problem and last.problem.code)), tostring(last.url))
    if mend then note(mend) end
    return nil
end

-- Tasks --------------------------------------------------------------------------------------------------------

local function all_tasks()
    local list, err = client.request("tasks")
    if not list then return nil, err end
    return list.tasks, list.is_local
end

-- The id that a word means, among those that this computer knows.
local function task_id_of(word)
    local tasks, err = all_tasks()
    if not tasks then return nil, err end
    local ids = {}
    for i, task in ipairs(tasks) do ids[i] = task.task_id end
    local id, problem = screen.pick_id(ids, word)
    -- A whole id may be one that only the server knows.
    if not id and word:find("^tsk_") then return word end
    return id, problem
end

local function ask(arguments)
    local kind
    if arguments[1] == "--kind" then
        kind = arguments[2]
        arguments = { table.unpack(arguments, 3) }
    end
    local prompt = table.concat(arguments, " ")
    if not prompt:find("%S") then
        write("What is to be done? ")
        prompt = read()
        if not prompt:find("%S") then return end
    end
    with_host(function()
        if not connected(20) then return end
        local task, err, code = client.request("create_task", { prompt = prompt, kind = kind })
        if not task then return fail(("the server did not take it: %s (%s)"):format(err, tostring(code))) end
        note("task " .. task.task_id)
        require("ccfleet.follow")(task.task_id)
    end)
end

local function show_task(arguments)
    if not arguments[1] then return fail("which one? fleet task ID") end
    with_host(function()
        if not connected(20) then return end
        local id, err = task_id_of(arguments[1])
        if not id then return fail(err) end
        require("ccfleet.follow")(id)
    end)
end

local function list_tasks()
    with_host(function()
        connected(10)
        local tasks, is_local = all_tasks()
        if not tasks then return fail(is_local) end
        if #tasks == 0 then return note('no tasks yet; make one: fleet ask "..."') end
        if is_local then note("what this computer has heard of (the server was not asked):") end
        local width = term.getSize()
        for _, task in ipairs(tasks) do
            local head = ("%s %s %s %s"):format(screen.mark(task.status), screen.short_id(task.task_id),
                screen.status_text(task), screen.percent(task))
            screen.say(screen.colour(task.status), screen.fit(head .. " " .. tostring(task.prompt or ""), width - 1))
        end
    end)
end

local function cancel(arguments)
    if not arguments[1] then return fail("which one? fleet cancel ID") end
    with_host(function()
        if not connected(10) then return end
        local id, err = task_id_of(arguments[1])
        if not id then return fail(err) end
        local ok, problem = client.request("cancel_task", { task_id = id })
        if ok then note("asked the server to end " .. id) else fail(problem) end
    end)
end

-- Questions ----------------------------------------------------------------------------------------------------

-- Which question is meant, and the answer: `[ID] TEXT`, where ID is the question's or its task's.
local function addressed(questions, arguments)
    local ids, of = {}, {}
    for _, question in ipairs(questions) do
        for _, id in ipairs({ question.question_id, question.task_id }) do
            table.insert(ids, id)
            of[id] = question
        end
    end
    local id = arguments[2] and screen.pick_id(ids, arguments[1])
    if id then return of[id], table.concat(arguments, " ", 2) end
    if #questions == 1 then return questions[1], table.concat(arguments, " ") end
    return nil
end

local function answer(arguments)
    with_host(function()
        if not connected(10) then return end
        local questions, err = client.request("questions")
        if not questions then return fail(err) end
        if #questions == 0 then return note("no question is open here") end
        local question, text = addressed(questions, arguments)
        if not question or not arguments[1] then
            for _, open in ipairs(questions) do
                screen.say(colours.orange, ("? %s %s"):format(screen.short_id(open.task_id), open.question))
            end
            return note("fleet answer ID TEXT")
        end
        local option = type(question.options) == "table" and question.options[tonumber(text) or 0]
        text = tostring(option or text)
        local ok, problem = client.request("answer", { question_id = question.question_id, answer = text })
        if ok then note("answered: " .. question.question) else fail(problem) end
    end)
end

-- This computer ------------------------------------------------------------------------------------------------

local function order(op, done)
    return function(arguments)
        local all = arguments[1] == "--all"
        with_host(function()
            if not connected(10) then return end
            local ok, err, code = client.request(op, { scope = all and "fleet" or "own" })
            if ok then return note(done:format(all and "all computers" or "this computer")) end
            fail(err)
            if code == "not_allowed" then note("Ask the server's operator; a computer may stop itself only.") end
        end)
    end
end

local function show(name, value, colour)
    if value == nil or value == "" then return end
    screen.say(colour or colours.white, ("%-9s %s"):format(name, tostring(value)))
end

local function read_note(path)
    local file = fs.exists(path) and fs.open(path, "r")
    if not file then return nil end
    local text = file.readAll()
    file.close()
    return text
end

local function show_status()
    if not client.has_host() then
        fail("The host does not run here. Start it: fleet start")
        return show("last", read_note("/.ccfleet/boot.log"), colours.orange)
    end
    local status, err = client.request("status")
    if not status then return fail(err) end
    show("name", status.client_id)
    show("server", status.url)
    if status.is_connected then
        local latency = status.latency_ms and ("%d ms"):format(status.latency_ms) or "no answer to a ping"
        show("state", "connected, " .. latency, colours.lime)
        show("id", status.server_id)
    else
        show("state", "not connected", colours.red)
        show("because", status.problem and status.problem.text, colours.orange)
    end
    show("call", status.call or "none")
    show("queue", status.queued)
    show("tools", #status.tools)
    show("version", status.version or require("ccfleet.version").LIBRARY)
    local offered = type(status.library) == "table" and status.library.version
    if offered and status.version and offered ~= status.version then show("server's", offered, colours.yellow) end
end

local function list_tools()
    with_host(function()
        local status, err = client.request("status")
        if not status then return fail(err) end
        textutils.pagedTabulate(status.tools)
    end)
end

local function update()
    if not client.has_host() then return fail("The host does not run here. Start it: fleet start") end
    local result, err = client.request("update")
    if not result then return fail(err) end
    note(tostring(result))
end

local function start()
    if client.has_host() then return note("The host runs already.") end
    if not fs.exists("/.ccfleet/boot.lua") then return fail("/.ccfleet/boot.lua is missing; install it again.") end
    shell.run("/.ccfleet/boot.lua")
end

local function uninstall(arguments)
    local setup = require("ccfleet.setup")
    if arguments[1] ~= "--yes" then
        write("Remove ccfleet from this computer? [y/N] ")
        if not read():lower():find("^y") then return end
    end
    for _, line in ipairs(setup.uninstall(fs)) do note(line) end
    note("Reboot to end the host that still runs.")
end

-- Board --------------------------------------------------------------------------------------------------------

local REFRESH_SECONDS = 5
local NEWS = { ccfleet_task_created = true, ccfleet_task_update = true, ccfleet_task_completed = true,
    ccfleet_task_failed = true, ccfleet_question = true, ccfleet_question_closed = true, ccfleet_connected = true,
    ccfleet_disconnected = true }

-- The terminal for the board, and its name if it is a monitor.
local function board_target(name)
    if name then
        if not peripheral.getType(name) then return nil, "there is no " .. name end
        if peripheral.getType(name) ~= "monitor" then return nil, name .. " is no monitor" end
        return peripheral.wrap(name), name
    end
    local monitor = peripheral.find("monitor")
    if monitor then return monitor, peripheral.getName(monitor) end
    return term.current()
end

local function run_board(board)
    local refresh_at, timer = 0, nil
    board:draw()
    while true do
        if os.clock() >= refresh_at then
            local list, status = client.request("tasks"), client.request("status")
            board:update(list and list.tasks or {}, client.request("questions") or {}, status or { client_id = "no host" })
            board:draw()
            refresh_at, timer = os.clock() + REFRESH_SECONDS, os.startTimer(REFRESH_SECONDS)
        end
        local event = table.pack(os.pullEvent())
        local change = board:handle(table.unpack(event, 1, event.n))
        if change == "quit" then return end
        if change == "draw" then board:draw() end
        if NEWS[event[1]] and refresh_at > os.clock() + 0.5 then
            -- Soon, but not once for every event of a burst.
            os.cancelTimer(timer)
            refresh_at, timer = os.clock() + 0.5, os.startTimer(0.5)
        end
    end
end

local function show_board(arguments)
    local target, name = board_target(arguments[1])
    if not target then return fail(name) end
    if name then
        if target.setTextScale then target.setTextScale(0.5) end
        note(("The board is on monitor %s; Ctrl+T ends it."):format(name))
    end
    with_host(function()
        local ok, err = pcall(run_board, require("ccfleet.board").new(target, name))
        target.setBackgroundColour(colours.black)
        target.setTextColour(colours.white)
        target.clear()
        target.setCursorPos(1, 1)
        if not ok and not tostring(err):find("Terminated", 1, true) then error(err, 0) end
    end)
end

-- Main ---------------------------------------------------------------------------------------------------------

local function help()
    local width = term.getSize()
    for _, line in ipairs(HELP) do
        -- In two columns where they fit, so that it all fits on a computer's screen.
        local text = ("%-17s%s"):format(line[1], line[2])
        if #text > width then text = line[1] .. ": " .. line[2] end
        screen.say(colours.white, text)
    end
end

local COMMANDS = {
    ask = ask, tasks = list_tasks, task = show_task, answer = answer, cancel = cancel, status = show_status,
    stop = order("stop", "no more calls for %s; calls that ran are cancelled"),
    resume = order("resume", "calls may run again on %s"),
    board = show_board, tools = list_tools, update = update, start = start, uninstall = uninstall, help = help,
}

local arguments = { ... }
local name = table.remove(arguments, 1)
local command = COMMANDS[name or "help"]
if command then
    command(arguments)
else
    fail(("fleet knows no %q; see: fleet help"):format(name))
end
