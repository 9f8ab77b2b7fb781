--- The tasks and questions that this computer knows of.
--
-- Every change is also queued as an event, so that other programs on the computer can wait for it.
--
-- @module[kind=internal] ccfleet.tasks

local json = require("ccfleet.json")

-- Ended tasks that are remembered; each costs memory, and a day of work has thousands.
local MAX_ENDED = 64

-- Questions to the server that wait for their `task_list`.
local MAX_QUERIES = 16

local DEFAULT_KIND = "general_agent"

local ENDED = { completed = true, failed = true, cancelled = true }

local Tasks = {}
Tasks.__index = Tasks

--- @tparam table parts `client_id`, `boot_id`, `platform`, `log`, `send(message)`.
function Tasks.new(parts)
    return setmetatable({
        known = {},     -- task_id -> metadata
        questions = {}, -- question_id -> the open question
        _pending = {},  -- request_id -> { message, on_created }
        _queries = {},  -- request_id -> on_answer
        _ended = {},    -- task ids in the order in which they ended
        _requests = 0,
        _parts = parts,
    }, Tasks)
end

function Tasks:_announce(name, ...)
    self._parts.platform.queue_event("ccfleet_" .. name, ...)
end

-- Requests -----------------------------------------------------------------------------------------------------

function Tasks:_new_request_id()
    self._requests = self._requests + 1
    return ("%s-%d"):format(self._parts.boot_id, self._requests)
end

--- Ask for a task. Without a connection it is asked for as soon as there is one.
--
-- @treturn string|nil The request id, or nil and the reason.
function Tasks:create(request)
    local request_id = self:_new_request_id()
    local message = {
        type = "create_task",
        request_id = request_id,
        task_kind = request.kind or DEFAULT_KIND,
        client_id = self._parts.client_id,
        prompt = request.prompt,
        context = request.context,
        allowed_commands = request.allowed_commands and json.array(request.allowed_commands),
        metadata = request.metadata,
        interactive = request.interactive,
    }
    local ok, err = self._parts.send(message)
    if not ok and err == "too large" then return nil, "the task does not fit into one message" end
    self._pending[request_id] = { message = message, on_created = request.on_created }
    return request_id
end

--- Send again what has not been answered; the server drops repeats.
function Tasks:repeat_requests()
    for _, pending in pairs(self._pending) do self._parts.send(pending.message) end
end

function Tasks:_take_pending(request_id)
    local pending = self._pending[request_id]
    self._pending[request_id] = nil
    return pending
end

--- A `task_created` has come.
function Tasks:created(message)
    local pending = self:_take_pending(message.request_id)
    local task = self:_task(message.task_id)
    task.request_id = message.request_id
    task.status = task.status or message.status
    if pending then
        task.kind, task.prompt = pending.message.task_kind, pending.message.prompt
    end
    self:_announce("task_created", message.task_id, message.request_id, message.status)
    if pending and pending.on_created then pending.on_created(message.task_id, message.status) end
end

--- An `error` about a request has come.
--
-- @treturn boolean Whether a request of ours was meant.
function Tasks:refused(message)
    local on_answer = self:_take_query(message.request_id)
    if on_answer then
        on_answer(nil, tostring(message.error), message.code)
        return true
    end
    local pending = self:_take_pending(message.request_id)
    if not pending then return false end
    self:_announce("task_refused", message.request_id, message.error, message.code)
    if pending.on_created then pending.on_created(nil, message.error, message.code) end
    return true
end

-- Questions to the server --------------------------------------------------------------------------------------

function Tasks:_take_query(request_id)
    local on_answer = request_id and self._queries[request_id]
    if on_answer then self._queries[request_id] = nil end
    return on_answer
end

--- Send the server a question or an order.
--
-- @tparam table message Gets a `request_id`.
-- @tparam function on_answer Gets what was answered, or nil, the error and its code. A lost connection ends all questions.
-- @treturn string|nil The request id if it is on its way, or nil and the reason.
function Tasks:ask(message, on_answer)
    local waiting = 0
    for _ in pairs(self._queries) do waiting = waiting + 1 end
    if waiting >= MAX_QUERIES then return nil, "too many questions wait for the server" end
    message.request_id = self:_new_request_id()
    local ok, err = self._parts.send(message)
    if not ok then return nil, err end
    self._queries[message.request_id] = on_answer
    return message.request_id
end

--- Something shows that an order was carried out.
function Tasks:carried_out(request_id)
    local on_answer = self:_take_query(request_id)
    if on_answer then on_answer(true) end
end

--- A `task_list` has come.
function Tasks:listed(message)
    local on_answer = self:_take_query(message.request_id)
    if on_answer then on_answer(type(message.tasks) == "table" and message.tasks or {}) end
end

--- Nobody will answer what was asked: the connection is lost, or the server does not know the question.
function Tasks:forget_queries(err, code)
    local queries = self._queries
    self._queries = {}
    for _, on_answer in pairs(queries) do on_answer(nil, err, code) end
end

-- Tasks --------------------------------------------------------------------------------------------------------

function Tasks:_task(task_id)
    local task = self.known[task_id]
    if not task then
        task = { task_id = task_id }
        self.known[task_id] = task
    end
    return task
end

function Tasks:_note_end(task_id)
    table.insert(self._ended, task_id)
    if #self._ended > MAX_ENDED then self.known[table.remove(self._ended, 1)] = nil end
end

-- Take over a new status. Returns the task, or nil if it had ended before: the end of a task is delivered until it
-- is acknowledged, but told to programs once.
function Tasks:_change(task_id, status)
    local task = self:_task(task_id)
    if ENDED[task.status] then return nil end
    task.status = status
    if ENDED[status] then self:_note_end(task_id) end
    return task
end

--- A `task_update` has come.
function Tasks:updated(message)
    local task = self:_change(message.task_id, message.status)
    if not task then return end
    task.progress, task.message, task.wait_reason = message.progress, message.message, message.wait_reason
    self:_announce("task_update", message.task_id, message.status, message.progress, message.message)
end

--- A `task_completed` has come.
function Tasks:completed(message)
    local task = self:_change(message.task_id, "completed")
    if not task then return end
    task.result, task.progress = message.result, 1
    self:_announce("task_completed", message.task_id, message.result)
end

--- A `task_failed` has come.
function Tasks:failed(message)
    local task = self:_change(message.task_id, "failed")
    if not task then return end
    task.error, task.details = message.error, message.details
    self:_announce("task_failed", message.task_id, message.error)
end

-- Questions ----------------------------------------------------------------------------------------------------

--- A `user_question` has come.
function Tasks:asked(message)
    self.questions[message.question_id] = {
        question_id = message.question_id,
        task_id = message.task_id,
        question = message.question,
        why = message.why,
        options = message.options,
    }
    self:_announce("question", message.question_id, message.question, message.options)
end

--- A `question_closed` has come.
function Tasks:closed(message)
    self.questions[message.question_id] = nil
    self:_announce("question_closed", message.question_id, message.answer, message.by)
end

return Tasks
