--- Where programs on this computer reach the host: they queue `ccfleet_request` (id, op, args) and wait for
-- `ccfleet_response` (id, ok, result or error, code).
--
-- Events are the one thing that all programs of a computer share. At most 256 of them wait; so an answer is small, only
-- so many requests are open at a time, and whoever asks has a deadline of its own and may ask again.
--
-- @module[kind=internal] ccfleet.desk

local MAX_OPEN = 16
local ANSWER_SECONDS = 10
-- How long a status waits to learn the latency.
local PONG_SECONDS = 1
-- Texts in lists are for a screen.
local MAX_TEXT = 200
local MAX_TASKS = 50

local Desk = {}
Desk.__index = Desk

--- @tparam table parts `fleet`, `platform`, `info` (table that `status` shows: `client_id`, `url`, `version`, ...) and
-- `restart()`, `update()`: return true, or nil and why not.
function Desk.new(parts)
    return setmetatable({
        _fleet = parts.fleet,
        _platform = parts.platform,
        _info = parts.info or {},
        _restart = parts.restart,
        _update = parts.update,
        _open = {}, -- id -> { deadline, on_late }
        _count = 0,
    }, Desk)
end

-- Requests that wait -------------------------------------------------------------------------------------------

function Desk:_answer(id, ok, ...)
    if self._open[id] then
        self._open[id] = nil
        self._count = self._count - 1
    end
    self._platform.queue_event("ccfleet_response", id, ok, ...)
end

-- Keep a request open; `on_late` answers it if nothing else does in time.
function Desk:_wait(id, seconds, on_late)
    if not self._open[id] then self._count = self._count + 1 end
    self._open[id] = { deadline = self._platform.clock() + seconds, on_late = on_late }
    -- An event at the right time; if it is lost, the next one of the host's own does.
    self._platform.start_timer(seconds)
end

function Desk:_wait_for_server(id)
    self:_wait(id, ANSWER_SECONDS, function() self:_answer(id, false, "the server does not answer", "timeout") end)
end

-- Answers a request unless it was answered: the server may be later than our patience.
function Desk:_settle(id, ok, ...)
    if self._open[id] then self:_answer(id, ok, ...) end
end

-- What can be asked for ----------------------------------------------------------------------------------------

local function short(value)
    if type(value) ~= "string" or #value <= MAX_TEXT then return value end
    return value:sub(1, MAX_TEXT - 3) .. "..."
end

local function task_row(task)
    return {
        task_id = task.task_id, status = task.status, progress = task.progress, wait_reason = task.wait_reason,
        prompt = short(task.prompt), message = short(task.message), error = short(task.error), kind = task.kind,
        result = type(task.result) == "table"
            and { success = task.result.success, message = short(task.result.message) } or nil,
    }
end

local function question_list(fleet)
    local list = {}
    for _, question in pairs(fleet.questions) do
        table.insert(list, {
            question_id = question.question_id, task_id = question.task_id, question = question.question,
            why = question.why, options = question.options,
        })
    end
    table.sort(list, function(a, b) return a.question_id < b.question_id end)
    return list
end

local OPS = {}

function OPS.ping(desk, id)
    desk:_answer(id, true, desk._info.client_id)
end

function OPS.status(desk, id)
    local state = desk._fleet:state()
    for name, value in pairs(desk._info) do state[name] = value end
    local asked = state.is_connected and desk._fleet:ping(function(latency_ms)
        state.latency_ms = latency_ms
        desk:_settle(id, true, state)
    end)
    if not asked then return desk:_answer(id, true, state) end
    -- Without a pong the rest is told all the same.
    desk:_wait(id, PONG_SECONDS, function() desk:_answer(id, true, state) end)
end

function OPS.create_task(desk, id, args)
    local request_id, err = desk._fleet:create_task({
        prompt = tostring(args.prompt), kind = args.kind, context = args.context, metadata = args.metadata,
        interactive = true,
        on_created = function(task_id, status, code)
            if task_id then
                desk:_settle(id, true, { task_id = task_id, status = status })
            else
                desk:_settle(id, false, status, code)
            end
        end,
    })
    if not request_id then return desk:_answer(id, false, err) end
    desk:_wait_for_server(id)
end

function OPS.cancel_task(desk, id, args)
    local ok, err = desk._fleet:cancel_task(tostring(args.task_id))
    desk:_answer(id, ok == true, err)
end

-- What the server knows, or what this computer has heard if it cannot be asked.
function OPS.tasks(desk, id, args)
    local function local_list()
        local list = {}
        for _, task in pairs(desk._fleet.tasks) do
            if not args.task_id or args.task_id == task.task_id then table.insert(list, task_row(task)) end
        end
        table.sort(list, function(a, b) return a.task_id > b.task_id end)
        return list
    end
    local ok = desk._fleet:query_tasks(function(tasks, err, code)
        if not tasks then
            -- An older server does not know the question.
            if code == "unknown_type" or code == "unsupported" then
                return desk:_settle(id, true, { tasks = local_list(), is_local = true })
            end
            return desk:_settle(id, false, err, code)
        end
        local rows = {}
        for i = 1, math.min(#tasks, MAX_TASKS) do rows[i] = task_row(tasks[i]) end
        desk:_settle(id, true, { tasks = rows })
    end, args.task_id)
    if not ok then return desk:_answer(id, true, { tasks = local_list(), is_local = true }) end
    desk:_wait(id, ANSWER_SECONDS / 2, function()
        desk:_answer(id, true, { tasks = local_list(), is_local = true })
    end)
end

-- One task as this computer has heard of it, with its open question; costs no message.
function OPS.task(desk, id, args)
    local task, question = desk._fleet.tasks[args.task_id], nil
    for _, candidate in ipairs(question_list(desk._fleet)) do
        if candidate.task_id == args.task_id then question = candidate end
    end
    desk:_answer(id, true, { task = task and task_row(task), question = question })
end

function OPS.questions(desk, id)
    desk:_answer(id, true, question_list(desk._fleet))
end

function OPS.answer(desk, id, args)
    local question = desk._fleet.questions[args.question_id]
    if not question then return desk:_answer(id, false, "this question is not open", "no_such_question") end
    local ok, err = desk._fleet:answer(question.question_id, tostring(args.answer))
    desk:_answer(id, ok == true, err)
end

local function order(method)
    return function(desk, id, args)
        local ok, problem = desk._fleet[method](desk._fleet, args.scope, function(done, err, code)
            desk:_settle(id, done == true, err, code)
        end)
        if not ok then return desk:_answer(id, false, problem) end
        desk:_wait_for_server(id)
    end
end

OPS.stop = order("stop_calls")
OPS.resume = order("resume_calls")

local function errand(name)
    return function(desk, id)
        local act = desk[name]
        if not act then return desk:_answer(id, false, "this host was not started by the installer's boot.lua") end
        local ok, result = act()
        desk:_answer(id, ok == true, result)
    end
end

OPS.restart = errand("_restart")
OPS.update = errand("_update")

-- Events -------------------------------------------------------------------------------------------------------

function Desk:_take(id, op, args)
    if type(id) ~= "string" then return end
    local act = OPS[op]
    if not act then return self:_answer(id, false, ("no request %q"):format(tostring(op)), "unknown_op") end
    if self._open[id] then return end
    if self._count >= MAX_OPEN then return self:_answer(id, false, "too many requests are open", "busy") end
    local ok, err = pcall(act, self, id, type(args) == "table" and args or {})
    if not ok then self:_answer(id, false, tostring(err)) end
end

--- Take an event. Never waits.
--
-- @tparam table event The packed event.
function Desk:handle(event)
    if event[1] == "ccfleet_request" then
        self:_take(event[2], event[3], event[4])
    end
    self:tick(self._platform.clock())
end

--- Take the time: whoever has waited long enough is answered.
--
-- @tparam number now The clock.
-- @treturn number|nil Seconds until this has to be called again.
function Desk:tick(now)
    local due, soonest = {}, nil
    for _, request in pairs(self._open) do
        if now >= request.deadline then
            table.insert(due, request)
        else
            soonest = math.min(soonest or math.huge, request.deadline - now)
        end
    end
    for _, request in ipairs(due) do request.on_late() end
    return soonest
end

return Desk
