--- ccfleet for ComputerCraft: lets a ccfleet server run tools on this computer, and lets this computer ask for tasks.
--
--     local ccfleet = require("ccfleet")
--     local fleet = ccfleet.new({ url = "ws://192.168.1.10:8080/ws", client_id = "miner-1" })
--     fleet:register("count_coal", function()
--         return { coal = turtle.getItemCount(1) }
--     end, { description = "How much coal is in slot 1.", effect = "read" })
--     parallel.waitForAny(function() fleet:run() end, function() shell.run("shell") end)
--
-- Events that other programs can wait for:
--
-- - `ccfleet_connected` (server_id), `ccfleet_disconnected` (reason, code)
-- - `ccfleet_task_created` (task_id, request_id, status), `ccfleet_task_refused` (request_id, error, code)
-- - `ccfleet_task_update` (task_id, status, progress, message)
-- - `ccfleet_task_completed` (task_id, result), `ccfleet_task_failed` (task_id, error)
-- - `ccfleet_error` (error, code): the server did not take something that was no request for a task
-- - `ccfleet_question` (question_id, question, options), `ccfleet_question_closed` (question_id, answer, by)
--
-- @module ccfleet

local expect = require("cc.expect")
local Calls = require("ccfleet.calls")
local Log = require("ccfleet.log")
local Receipts = require("ccfleet.receipts")
local Runner = require("ccfleet.runner")
local Session = require("ccfleet.session")
local Tasks = require("ccfleet.tasks")
local Toolbox = require("ccfleet.toolbox")
local json = require("ccfleet.json")
local pack = require("ccfleet.varargs").pack
local version = require("ccfleet.version")

local field = expect.field
expect = expect.expect

local DEFAULT_STATE_DIR = "/.ccfleet"
-- How late a timer may be before it counts as lost: a full event queue swallows timers without a word.
local TIMER_GRACE_SECONDS = 1
local MAX_IDLE_SECONDS = 5
-- Pings whose pong is awaited; an older one is forgotten.
local MAX_PINGS = 16
local UNKNOWN = { unknown_type = true, unsupported = true }

local ccfleet = {
    --- Version of this library.
    VERSION = version.LIBRARY,
    --- Marks a table as a list, so that it reaches the server as `[]` when it is empty.
    array = json.array,
}

--- A computer's membership in a fleet. Made by @{ccfleet.new}.
-- @type Fleet
local Fleet = {}
Fleet.__index = Fleet
-- What it can do about tools and about watching is in a file of its own.
for name, method in pairs(require("ccfleet.fleet_tools")) do Fleet[name] = method end

-- Unique for each start of the program; the server tells a reconnect from a restart by it.
local function new_boot_id(platform)
    return ("b%.0f-%06d"):format(platform.epoch_ms(), math.floor(platform.random() * 1e6))
end

local function check_options(options)
    field(options, "url", "string")
    field(options, "client_id", "string")
    field(options, "token", "string", "nil")
    field(options, "label", "string", "nil")
    field(options, "groups", "table", "nil")
    field(options, "state_dir", "string", "nil")
    field(options, "entry_log", "string", "nil")
    field(options, "log", "string", "nil")
    field(options, "log_bytes", "number", "nil")
    field(options, "log_files", "number", "nil")
    field(options, "reconnect_seconds", "number", "nil")
    field(options, "on_log", "function", "nil")
    field(options, "platform", "table", "nil")
    field(options, "library_version", "string", "nil")
    if #options.client_id == 0 or #options.client_id > 64 then
        error("client_id must have 1 to 64 characters", 3)
    end
end

--- Prepare this computer's membership in a fleet. Nothing is connected before @{Fleet:run}.
--
-- @tparam table options
--
--  - `url` (string): the server, such as `ws://192.168.1.10:8080/ws`;
--  - `client_id` (string): the computer's name in the fleet, unique, at most 64 characters;
--  - `token` (string, optional): proves that the computer may join;
--  - `label` (string, optional): a name for people;
--  - `groups` (list of strings, optional): groups that calls can be addressed to;
--  - `state_dir` (string, optional, `/.ccfleet`): where receipts are kept; one folder a program;
--  - `entry_log` (string, optional): a file that gets a line before each handler is entered;
--  - `log` (string, optional): a file to log to; `log_bytes` (32768) is how big it gets before it is turned over,
--    `log_files` (2) how many old ones stay;
--  - `reconnect_seconds` (number, optional, 60): the longest wait between two attempts to connect;
--  - `on_log` (function, optional): gets each log line as `function(level, line)`;
--  - `library_version` (string, optional): what the server is told; the installer's version with its build;
--  - `platform` (table, optional): stands in for the computer's own functions; for tests.
-- @treturn Fleet
function ccfleet.new(options)
    expect(1, options, "table")
    check_options(options)
    local platform = options.platform or require("ccfleet.platform")
    local self = setmetatable({ _platform = platform, _is_running = false, _listeners = {} }, Fleet)
    self._log = Log.new({
        platform = platform, path = options.log, sink = options.on_log,
        max_bytes = options.log_bytes, max_files = options.log_files,
    })
    self._runner = Runner.new()
    self._toolbox = Toolbox.new()
    self._receipts = Receipts.open(platform.fs, options.state_dir or DEFAULT_STATE_DIR)
    self:_build(options, new_boot_id(platform))
    return self
end

function Fleet:_build(options, boot_id)
    local function send(message) return self._session:send(message) end
    local tasks = Tasks.new({
        client_id = options.client_id, boot_id = boot_id, platform = self._platform, send = send,
    })
    local calls = Calls.new({
        toolbox = self._toolbox, receipts = self._receipts, runner = self._runner, platform = self._platform,
        log = self._log, entry_log = options.entry_log, send = send,
        message_limit = function() return self._session:message_limit() end,
    })
    self._tasks, self._calls = tasks, calls
    --- task_id -> what was last heard of the task: `status`, `progress`, `message`, `result`, `error`, ...
    self.tasks = tasks.known
    --- question_id -> an open question: `question`, `why`, `options`, `task_id`.
    self.questions = tasks.questions

    self._session = Session.new({
        options = options, boot_id = boot_id, platform = self._platform, log = self._log,
        toolbox = self._toolbox, receipts = self._receipts,
        on_ready = function(welcome) self:_on_ready(welcome) end,
        on_lost = function(reason, code, was_ready) self:_on_lost(reason, code, was_ready) end,
        handlers = {
            command_call = function(message) calls:call(message) end,
            command_cancel = function(message) calls:cancel(message) end,
            call_status = function(message) calls:status(message) end,
            result_stored = function(message) calls:stored(message) end,
            task_created = function(message) tasks:created(message) end,
            task_update = function(message) tasks:updated(message) end,
            task_completed = function(message) tasks:completed(message) end,
            task_failed = function(message) tasks:failed(message) end,
            user_question = function(message) tasks:asked(message) end,
            question_closed = function(message) tasks:closed(message) end,
            task_list = function(message) tasks:listed(message) end,
            pong = function(message) self:_on_pong(message) end,
            error = function(message) self:_on_error(message) end,
        },
    })
end

function Fleet:_on_ready(welcome)
    self._welcome = welcome
    self._tasks:repeat_requests()
    self._calls:repeat_unconfirmed()
    self._platform.queue_event("ccfleet_connected", welcome.server_id)
end

function Fleet:_on_lost(reason, code, was_ready)
    self._pings = nil
    self._last_problem = { text = tostring(reason), code = code }
    self._tasks:forget_queries("the connection was lost", "offline")
    if was_ready then self._platform.queue_event("ccfleet_disconnected", reason, code) end
end

function Fleet:_on_error(message)
    local hint = message.hint and " (" .. tostring(message.hint) .. ")" or ""
    self._log:error("server: %s%s", tostring(message.error), hint)
    self._last_problem = { text = tostring(message.error), code = message.code }
    local is_ours = message.request_id and self._tasks:refused(message)
    -- A server that does not know a question says so without saying which.
    if not is_ours and UNKNOWN[message.code] then self._tasks:forget_queries(message.error, message.code) end
    if not is_ours then self._platform.queue_event("ccfleet_error", tostring(message.error), message.code) end
end

-- Tasks --------------------------------------------------------------------------------------------------------

--- Ask the server for a task. Works without a connection as well: the request is sent when there is one, and again
-- after a reconnect until it is answered.
--
-- @tparam table request
--
--  - `prompt` (string): what is to be done;
--  - `kind` (string, optional, `general_agent`);
--  - `context` (table, optional): shown to the planner;
--  - `allowed_commands` (list of strings, optional): the tools that the task may use;
--  - `metadata` (table, optional), `interactive` (boolean, optional);
--  - `on_created` (function, optional): called with task_id and status, or with nil, error and code if the server
--    refuses; must not wait.
-- @treturn string|nil The request id, or nil and the reason.
function Fleet:create_task(request)
    expect(1, request, "table")
    field(request, "prompt", "string")
    field(request, "kind", "string", "nil")
    field(request, "context", "table", "nil")
    field(request, "allowed_commands", "table", "nil")
    field(request, "metadata", "table", "nil")
    field(request, "interactive", "boolean", "nil")
    field(request, "on_created", "function", "nil")
    return self._tasks:create(request)
end

--- Ask the server to cancel a task.
--
-- @tparam string task_id The task.
-- @treturn boolean|nil true if the request is on its way, or nil and the reason.
function Fleet:cancel_task(task_id)
    expect(1, task_id, "string")
    return self._session:send({ type = "cancel_task", task_id = task_id })
end

--- Answer a question of a task.
--
-- @tparam string question_id The question, from `ccfleet_question` or `fleet.questions`.
-- @tparam string answer The answer.
-- @treturn boolean|nil true if the answer is on its way, or nil and the reason.
function Fleet:answer(question_id, answer)
    expect(1, question_id, "string")
    expect(2, answer, "string")
    return self._session:send({ type = "user_answer", question_id = question_id, answer = answer })
end

--- Ask the server for this computer's tasks: all open ones and the latest ended ones, or one.
--
-- @tparam function on_answer Gets a list of tasks as `GET /api/v1/tasks` gives them, or nil, the error and its code. Called
-- once; must not wait.
-- @tparam[opt] string task_id The one that is meant.
-- @treturn boolean|nil true if the question is on its way, or nil and the reason.
function Fleet:query_tasks(on_answer, task_id)
    expect(1, on_answer, "function")
    expect(2, task_id, "string", "nil")
    local request_id, err = self._tasks:ask({ type = "task_query", task_id = task_id }, on_answer)
    if not request_id then return nil, err end
    return true
end

function Fleet:_order(message, on_answer)
    local request_id, err = self._tasks:ask(message, on_answer or function() end)
    if not request_id then return nil, err end
    -- The server answers refusals only, but it carries an order out before it reads on: the pong is the answer.
    self:ping(function() self._tasks:carried_out(request_id) end)
    return true
end

--- Have the server stop this computer: its running calls are cancelled and no new one comes, until
-- @{Fleet:resume_calls}. Tasks wait.
--
-- @tparam[opt="own"] string scope `own`, or `fleet` for all computers where the token may.
-- @tparam[opt] function on_answer Gets true when it is done, or nil, the error and its code. Must not wait.
-- @treturn boolean|nil true if the order is on its way, or nil and the reason.
function Fleet:stop_calls(scope, on_answer)
    expect(1, scope, "string", "nil")
    expect(2, on_answer, "function", "nil")
    return self:_order({ type = "stop", scope = scope or "own" }, on_answer)
end

--- Let calls come again after @{Fleet:stop_calls}.
--
-- @tparam[opt="own"] string scope As for @{Fleet:stop_calls}.
-- @tparam[opt] function on_answer As for @{Fleet:stop_calls}.
-- @treturn boolean|nil true if the order is on its way, or nil and the reason.
function Fleet:resume_calls(scope, on_answer)
    expect(1, scope, "string", "nil")
    expect(2, on_answer, "function", "nil")
    return self:_order({ type = "resume", scope = scope or "own" }, on_answer)
end

--- Measure how long the server takes to answer.
--
-- @tparam function on_pong Gets the milliseconds; never called if the answer is lost. Must not wait.
-- @treturn boolean|nil true if the question is on its way, or nil and the reason.
function Fleet:ping(on_pong)
    expect(1, on_pong, "function")
    local sent_ms = self._platform.epoch_ms()
    self._ping_count = (self._ping_count or 0) + 1
    local nonce = ("%.0f-%d"):format(sent_ms, self._ping_count)
    local pings = self._pings or {}
    self._pings = pings
    table.insert(pings, { nonce = nonce, sent_ms = sent_ms, on_pong = on_pong })
    if #pings > MAX_PINGS then table.remove(pings, 1) end
    return self._session:send({ type = "ping", nonce = nonce })
end

function Fleet:_on_pong(message)
    for i, ping in ipairs(self._pings or {}) do
        if ping.nonce == message.nonce then
            table.remove(self._pings, i)
            return ping.on_pong(self._platform.epoch_ms() - ping.sent_ms)
        end
    end
end

--- How this computer's membership stands, for people.
--
-- @treturn table `is_connected`, `server_id`, `server_version`, `library` (what the server hands out), `tools` (names),
-- `call` (command of the running effect or else any running call), `queued` (calls), `problem` (`text`, `code`).
function Fleet:state()
    local welcome, calls, names = self._welcome or {}, self._calls:overview(), {}
    for i, tool in ipairs(self._toolbox:describe_all()) do names[i] = tool.name end
    return {
        is_connected = self:is_connected(),
        server_id = welcome.server_id,
        server_version = welcome.server_version,
        library = welcome.library,
        tools = names,
        call = calls.running,
        queued = calls.queued,
        problem = self._last_problem,
    }
end

--- Whether no call runs or waits here and no task has asked a question that is open.
--
-- @treturn boolean Whether the computer is idle; the host installs updates then.
function Fleet:is_idle()
    local calls = self._calls:overview()
    return not calls.running and calls.queued == 0 and next(self.questions) == nil
end

--- Tell the server that something has happened here; wakes tasks that wait for it.
--
-- @tparam string name What happened.
-- @param[opt] data Anything JSON can say.
-- @treturn boolean|nil true if the message is on its way, or nil and the reason.
function Fleet:world_event(name, data)
    expect(1, name, "string")
    return self._session:send({ type = "world_event", name = name, data = data })
end

--- Whether the server has welcomed this computer and the connection stands.
--
-- @treturn boolean Whether it does.
function Fleet:is_connected()
    return self._session:is_ready()
end

-- The loop -----------------------------------------------------------------------------------------------------

-- Have a timer event within this many seconds. One timer serves everything; it is replaced if it is too late, and
-- given up for lost if it is overdue.
function Fleet:_wake_in(seconds)
    local now = self._platform.clock()
    local due = now + math.max(0.05, math.min(seconds, MAX_IDLE_SECONDS))
    local is_alive = self._timer and now <= self._timer_due + TIMER_GRACE_SECONDS
    if is_alive and self._timer_due <= due then return end
    if self._timer then self._platform.cancel_timer(self._timer) end
    self._timer = self._platform.start_timer(due - now)
    self._timer_due = due
end

function Fleet:_tick()
    local now = self._platform.clock()
    local call_wait = self._calls:tick(now) or math.huge
    local session_wait = self._session:tick(now) or math.huge
    self:_wake_in(math.min(call_wait, session_wait))
end

--- Take one event; for programs with a loop of their own, after @{Fleet:start}. Never waits.
--
-- @tparam table event The packed event.
function Fleet:handle(event)
    expect(1, event, "table")
    if event[1] == "timer" and event[2] == self._timer then
        self._timer = nil
    elseif not self._session:handle(event) then
        self:_tell_listeners(event)
        self._runner:dispatch(event)
    end
    self:_tick()
end

--- Begin to connect; @{Fleet:run} does this.
function Fleet:start()
    self._is_running = true
    self._session:start()
    self:_tick()
end

--- End the membership: running calls are ended and answered, the connection is closed.
function Fleet:stop()
    if not self._is_running then return end
    self._is_running = false
    self._calls:stop_all()
    self._session:close()
    if self._timer then self._platform.cancel_timer(self._timer) end
    -- Wake the loop, so that it sees the end.
    self._platform.queue_event("ccfleet_stopped")
    self._log:close()
end

--- Connect and serve until @{Fleet:stop} or Ctrl+T. Made to run beside other functions in `parallel.waitForAny`; it takes
-- nothing from their events. If another of them ends first, call @{Fleet:stop}, or the connection stays open.
--
-- @throws "Terminated" after Ctrl+T, as every waiting function does.
function Fleet:run()
    self:start()
    while self._is_running do
        local event = pack(os.pullEventRaw())
        if event[1] == "terminate" then
            self:stop()
            error("Terminated", 0)
        end
        if self._is_running then self:handle(event) end
    end
end

return ccfleet
