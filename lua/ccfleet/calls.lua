--- The life of a call on this computer: admitted, queued, entered at most once, answered.
--
-- @module[kind=internal] ccfleet.calls

local Lane = require("ccfleet.lane")
local json = require("ccfleet.json")
local results = require("ccfleet.results")
local schema = require("ccfleet.schema")
local Toolbox = require("ccfleet.toolbox")

-- A result over the limit of a message keeps this much of each end. Its text is JSON inside JSON: at worst twice as long.
local FRAME_END_BYTES = 24 * 1024
-- How many calls cancelled before they arrived are remembered.
local MAX_CANCELLED = 64
local PROGRESS_SECONDS = 0.25

local Calls = {}
Calls.__index = Calls

--- @tparam table parts `toolbox`, `receipts`, `runner`, `platform`, `log`, `entry_log` (path or nil),
-- `send(message)` (returns true, or nil and the reason) and `message_limit()` (how long one may be, in bytes).
function Calls.new(parts)
    return setmetatable({
        _toolbox = parts.toolbox,
        _receipts = parts.receipts,
        _runner = parts.runner,
        _platform = parts.platform,
        _log = parts.log,
        _entry_log = parts.entry_log,
        _send = parts.send,
        _message_limit = parts.message_limit,
        _lane = Lane.new(),
        _active = {},    -- call_id -> call, waiting in the lane or running
        _watchers = {},
        _cancelled = {}, -- the last call ids that were cancelled before they arrived
    }, Calls)
end

-- Answers ------------------------------------------------------------------------------------------------------

local function result_message(call, outcome, receipt)
    return {
        type = "command_result",
        task_id = call.task_id,
        call_id = call.call_id,
        ok = outcome.ok,
        result = outcome.result,
        error = outcome.error,
        code = outcome.code,
        receipt = receipt,
        duration_ms = outcome.duration_ms,
        truncated = outcome.truncated or nil,
    }
end

function Calls:_answer(call, outcome, receipt)
    local message = result_message(call, outcome, receipt)
    -- Fields that the session adds (`ack`) need a little room too.
    if outcome.ok and #json.encode(message) + 64 > self._message_limit() then
        message.result, message.truncated = results.shorten(outcome.result, 0, FRAME_END_BYTES)
    end
    local ok, err = self._send(message)
    if not ok then self._log:warn("result of %s not sent: %s", call.call_id, tostring(err)) end
end

function Calls:_refuse(call, code, err)
    self._log:info("call %s %s refused: %s", call.call_id, tostring(call.command), code)
    self:_answer(call, results.failure(code, err), "not_started")
end

function Calls:_answer_unknown(call, code, err)
    self:_answer(call, results.failure(code, err), "unknown")
end

function Calls:_answer_again(call, receipt)
    self:_answer(call, receipt, "done")
end

--- Send every result again that the server has not confirmed.
function Calls:repeat_unconfirmed()
    for _, receipt in ipairs(self._receipts:unconfirmed()) do self:_answer_again(receipt, receipt) end
end

-- Admission ----------------------------------------------------------------------------------------------------

local function new_call(message, platform)
    return {
        task_id = message.task_id,
        call_id = message.call_id,
        command = message.command,
        args = message.args or {},
        seq = tonumber(message.seq),
        tool_rev = message.tool_rev,
        args_hash = message.args_hash,
        arrived_at = platform.clock(),
    }
end

local MISMATCH = "this call_id has been used with other arguments"

-- Whether the call is one that we have met; then it is dealt with here and never runs (again).
function Calls:_is_known(call)
    local active = self._active[call.call_id]
    if active then
        if call.args_hash and active.args_hash and call.args_hash ~= active.args_hash then
            self._log:error("ALARM call %s: %s", call.call_id, MISMATCH)
            self:_answer_unknown(call, "args_mismatch", MISMATCH)
        end
        return true
    end

    local state, receipt = self._receipts:judge(call.call_id, call.seq, call.args_hash)
    if state == "not_started" then return false end
    if state == "done" then
        self:_answer_again(call, receipt)
    elseif state == "mismatch" then
        self._log:error("ALARM call %s: %s", call.call_id, MISMATCH)
        self:_answer_unknown(call, "args_mismatch", MISMATCH)
    else
        self:_answer_unknown(call, "unknown", "this call may have run before; it is not run again")
    end
    return true
end

function Calls:_was_cancelled(call_id)
    for _, cancelled in ipairs(self._cancelled) do
        if cancelled == call_id then return true end
    end
    return false
end

-- Why the call cannot run: code and text, or nil if it can; then `call.tool` is set.
function Calls:_objection(call)
    if self:_was_cancelled(call.call_id) then return "cancelled", "cancelled before it arrived" end
    local tool = self._toolbox:get(call.command)
    if not tool then return "unknown_tool", ("no tool %q on this computer"):format(call.command) end
    if not Toolbox.fits(tool, call.tool_rev) then
        return "tool_changed", ("tool %s has changed since this call was made"):format(call.command)
    end
    if tool.spec.state == "draft" then
        return "unknown_tool", ("tool %s is a draft: tool_test, then tool_activate"):format(call.command)
    end
    if tool.spec.args_schema then
        local ok, err = schema.check(tool.spec.args_schema, call.args)
        if not ok then return "bad_args", err end
    end
    call.tool = tool
    return nil
end

--- A `command_call` has come.
function Calls:call(message)
    local call = new_call(message, self._platform)
    if type(call.call_id) ~= "string" or type(call.command) ~= "string" or type(call.args) ~= "table" then
        self._log:warn("command_call without call_id, command or args ignored")
        return
    end
    if self:_is_known(call) then return end
    local code, err = self:_objection(call)
    if code then return self:_refuse(call, code, err) end

    call.effect = call.tool.effect
    -- A number means that the server counts on a receipt, whatever we think of the tool.
    call.needs_receipt = call.effect == "effect" or call.seq ~= nil
    local limit_ms = tonumber(message.deadline_ms) or call.tool.spec.timeout_ms
    call.deadline = limit_ms and call.arrived_at + limit_ms / 1000
    self._active[call.call_id] = call
    self._lane:push(call)
    self:_pump()
end

-- Running ------------------------------------------------------------------------------------------------------

-- One line per entered handler, written apart from the receipts: it is the witness that nothing ran twice.
function Calls:_witness(call)
    if not self._entry_log then return end
    local ok, err = pcall(function()
        local file = assert(self._platform.fs.open(self._entry_log, "a"))
        file.write(("%s %s %s\n"):format(call.call_id, call.command, call.seq and ("%d"):format(call.seq) or "-"))
        file.close()
    end)
    if not ok then self._log:error("entry log: %s", tostring(err)) end
end

--- Have functions called at the start and the end of handlers; see @{ccfleet.Fleet:watch_calls}.
function Calls:watch(watcher)
    table.insert(self._watchers, watcher)
end

-- A watcher that fails must not keep a call from its end.
function Calls:_notify(what, call)
    for _, watcher in ipairs(self._watchers) do
        local ok, err = pcall(watcher[what], call)
        if not ok then self._log:error("watcher of calls: %s", tostring(err)) end
    end
end

-- What a handler gets as its fourth argument.
function Calls:_context(call)
    local context = { call_id = call.call_id, task_id = call.task_id, command = call.command }
    local sent_at
    --- Milliseconds until the call runs out of time; nil if it has no limit.
    function context.remaining_ms()
        return call.deadline and math.max(0, (call.deadline - self._platform.clock()) * 1000)
    end
    --- Tell how far the call is. Calls in quick succession are dropped.
    function context.progress(_, fraction, message)
        local now = self._platform.clock()
        if sent_at and now - sent_at < PROGRESS_SECONDS then return end
        sent_at = now
        self._send({
            type = "command_progress",
            call_id = call.call_id,
            progress = tonumber(fraction),
            message = message and tostring(message),
        })
    end
    return context
end

function Calls:_enter(call)
    if call.needs_receipt then
        local ok, err = self._receipts:start(call)
        if not ok then
            self:_forget(call)
            return self:_refuse(call, "receipt_unwritable", err)
        end
    end
    self._log:info("call %s %s", call.call_id, call.command)
    self:_witness(call)
    call.entered_ms = self._platform.epoch_ms()
    self:_notify("entered", call)
    local tool, context = call.tool, self:_context(call)
    call.job = self._runner:start(function()
        return results.seal(tool.handler(call.args, call.task_id, call.call_id, context))
    end, function(job)
        self:_settle(call, results.of_job(job))
    end)
end

-- Start what may start. Settling a call comes here too; the flag keeps that from nesting.
function Calls:_pump()
    if self._pumping then return end
    self._pumping = true
    while not self._runner:is_full() do
        local call = self._lane:take()
        if not call then break end
        self:_enter(call)
    end
    self._pumping = false
end

function Calls:_forget(call)
    self._active[call.call_id] = nil
    self._lane:release(call)
end

function Calls:_settle(call, outcome)
    outcome.duration_ms = self._platform.epoch_ms() - call.entered_ms
    self:_forget(call)
    self:_notify("ended", call)
    if call.needs_receipt then
        local ok, err = self._receipts:finish(call.call_id, outcome)
        if not ok then self._log:error("receipt of %s is in memory only: %s", call.call_id, tostring(err)) end
    end
    self:_answer(call, outcome, "done")
    self:_pump()
end

-- End a call that waits or runs, with this outcome.
function Calls:_end(call, code, err)
    if self._lane:remove(call.call_id) then
        self._active[call.call_id] = nil
        return self:_refuse(call, code, err)
    end
    if call.job then self._runner:stop(call.job) end
    self:_settle(call, results.failure(code, err))
end

-- Questions and orders -----------------------------------------------------------------------------------------

function Calls:_remember_cancelled(call_id)
    table.insert(self._cancelled, call_id)
    if #self._cancelled > MAX_CANCELLED then table.remove(self._cancelled, 1) end
end

--- A `command_cancel` has come. It overtakes numbered messages, so it may be here before its call.
function Calls:cancel(message)
    local call_id = message.call_id
    local active = self._active[call_id]
    if active then return self:_end(active, "cancelled", "cancelled") end

    local state, receipt = self._receipts:judge(call_id, tonumber(message.seq))
    if state == "done" then return self:_answer_again(receipt, receipt) end
    if state == "not_started" then self:_remember_cancelled(call_id) end
    self:_tell_receipt(message, state, { code = "cancelled" })
end

-- The answer about a call of which no more is known than its receipt.
function Calls:_tell_receipt(message, state, receipt)
    self._send({
        type = "call_receipt",
        call_id = message.call_id,
        seq = message.seq or receipt.seq,
        state = state,
        args_hash = receipt.args_hash,
        ok = receipt.ok,
        result = receipt.result,
        error = receipt.error,
        code = receipt.code,
        truncated = receipt.truncated or nil,
    })
end

--- A `call_status` has come. `not_started` promises that the call never runs unless it is sent again, so a call that
-- still waits is taken out of the lane.
function Calls:status(message)
    local call_id = message.call_id
    if self._lane:remove(call_id) then self._active[call_id] = nil end

    local state, receipt = self._receipts:judge(call_id, tonumber(message.seq))
    if self._active[call_id] then state = "started" end
    self:_tell_receipt(message, state, receipt or {})
end

--- A `result_stored` has come.
function Calls:stored(message)
    local ok, err = self._receipts:stored(message.call_id)
    if not ok then self._log:warn("receipt of %s stays on disk: %s", message.call_id, tostring(err)) end
end

--- End what has run out of time.
--
-- @tparam number now The clock.
-- @treturn number|nil Seconds until the next call runs out of time.
function Calls:tick(now)
    local late, soonest = {}, nil
    for _, call in pairs(self._active) do
        if call.deadline and call.deadline <= now then
            late[#late + 1] = call
        elseif call.deadline then
            soonest = math.min(soonest or math.huge, call.deadline - now)
        end
    end
    for _, call in ipairs(late) do self:_end(call, "timeout", "the call ran out of time") end
    return soonest
end

--- What goes on: `running` (the command of a running call, one with an effect first) and `queued` (how many wait).
function Calls:overview()
    local running, queued = nil, 0
    for _, call in pairs(self._active) do
        if not call.entered_ms then
            queued = queued + 1
        elseif not running or call.effect ~= "read" then
            running = call.command
        end
    end
    return { running = running, queued = queued }
end

--- End all calls, because the program ends. What was running is answered and will not be `unknown` later.
function Calls:stop_all()
    local waiting, running = {}, {}
    for _, call in pairs(self._active) do
        table.insert(call.job and running or waiting, call)
    end
    -- What waits goes first, so that nothing is started by what ends.
    for _, list in ipairs({ waiting, running }) do
        for _, call in ipairs(list) do self:_end(call, "cancelled", "the host program was stopped") end
    end
end

return Calls
