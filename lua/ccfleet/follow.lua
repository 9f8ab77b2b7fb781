--- Shows a task while it runs, and asks its questions where a person can answer them.
--
-- @module[kind=internal] ccfleet.follow

local client = require("ccfleet.client")
local screen = require("ccfleet.screen")

-- An event may be lost in a full queue; then the next look finds it.
local LOOK_SECONDS = 2
-- How long the host may be silent, for example while it updates itself.
local PATIENCE_SECONDS = 60

local NEWS = {
    ccfleet_task_update = true, ccfleet_task_completed = true, ccfleet_task_failed = true, ccfleet_question = true,
    ccfleet_question_closed = true, ccfleet_connected = true, ccfleet_disconnected = true,
}

-- Looking ------------------------------------------------------------------------------------------------------

-- The task and its open question; nil if nobody here knows the task, or nil and an error.
local function look(task_id)
    local seen, err = client.request("task", { task_id = task_id })
    if not seen then return nil, err end
    if seen.task then return seen.task, seen.question end
    local list
    list, err = client.request("tasks", { task_id = task_id })
    if not list then return nil, err end
    return list.tasks[1], seen.question
end

local function wait_for_news()
    local timer, deadline = os.startTimer(LOOK_SECONDS), os.clock() + LOOK_SECONDS
    while true do
        local event, which = os.pullEvent()
        if NEWS[event] or event == "timer" and which == timer or os.clock() >= deadline then
            os.cancelTimer(timer)
            return
        end
    end
end

-- Showing ------------------------------------------------------------------------------------------------------

local function line_of(task)
    local parts = { screen.mark(task.status), screen.status_text(task) }
    local percent = screen.percent(task)
    if percent ~= "" then table.insert(parts, percent) end
    if task.message and not screen.is_ended(task.status) then table.insert(parts, "- " .. tostring(task.message)) end
    return table.concat(parts, " ")
end

local function show_end(task)
    local result = task.result
    if task.status == "completed" and result then
        local colour = result.success == false and colours.orange or screen.colour("completed")
        screen.say(colour, result.message or "done")
        local doubts = type(result.details) == "table" and result.details.doubts
        for _, doubt in ipairs(type(doubts) == "table" and doubts or {}) do
            screen.say(colours.orange, "not confirmed: " .. tostring(doubt))
        end
    elseif task.status == "failed" then
        screen.say(screen.colour("failed"), "failed: " .. tostring(task.error or task.message or "no reason given"))
    else
        screen.say(screen.colour(task.status), screen.status_text(task))
    end
end

-- Asking -------------------------------------------------------------------------------------------------------

local function show_question(question)
    screen.say(colours.orange, "? " .. question.question)
    if question.why then screen.say(colours.lightGrey, "  " .. question.why) end
    if type(question.options) == "table" then
        for i, option in ipairs(question.options) do screen.say(colours.white, ("  %d) %s"):format(i, tostring(option))) end
    end
end

-- What an answer means: the number of an option is that option.
local function meaning(question, typed)
    local options = type(question.options) == "table" and question.options or {}
    local option = options[tonumber(typed) or 0]
    return option ~= nil and tostring(option) or typed
end

-- Let the person answer, unless somebody else does.
local function ask(question)
    show_question(question)
    local typed
    parallel.waitForAny(function()
        repeat
            write("answer> ")
            typed = read()
        until typed:find("%S")
    end, function()
        repeat
            local _, id = os.pullEvent("ccfleet_question_closed")
        until id == question.question_id
    end)
    if not typed then
        print()
        screen.say(colours.lightGrey, "Somebody else has answered.")
        return
    end
    local ok, err = client.request("answer", { question_id = question.question_id, answer = meaning(question, typed) })
    if not ok then screen.say(colours.red, "not answered: " .. err) end
end

-- Following ----------------------------------------------------------------------------------------------------

local function follow_to_end(task_id)
    local shown, asked, silent_since, lost = nil, {}, nil, false
    while true do
        local task, question = look(task_id)
        if task then
            silent_since = nil
            local line = line_of(task)
            if line ~= shown and not screen.is_ended(task.status) then screen.say(screen.colour(task.status), line) end
            shown = line
            if screen.is_ended(task.status) then
                show_end(task)
                return task
            end
        else
            silent_since = silent_since or os.clock()
            if not lost and os.clock() - silent_since > LOOK_SECONDS then
                lost = true
                screen.say(colours.lightGrey, "... " .. tostring(question or "nobody knows this task at the moment"))
            end
            if os.clock() - silent_since > PATIENCE_SECONDS then return nil, question or "nobody knows this task" end
        end
        if task and question and not asked[question.question_id] then
            asked[question.question_id] = true
            ask(question)
        else
            wait_for_news()
        end
    end
end

--- Follow a task to its end. Ctrl+T ends the following, not the task.
--
-- @tparam string task_id The task.
-- @treturn table|nil The task as it ended; nil if following was ended, or nil and why nothing can be seen.
return function(task_id)
    local ok, task, err = pcall(follow_to_end, task_id)
    if ok then
        if not task then screen.say(colours.red, tostring(err)) end
        return task, err
    end
    if not tostring(task):find("Terminated", 1, true) then error(task, 0) end
    print()
    screen.say(colours.yellow, "You stopped watching; the task goes on.")
    screen.say(colours.yellow, ("See it: fleet task %s  End it: fleet cancel %s"):format(
        screen.short_id(task_id), screen.short_id(task_id)))
    return nil
end
