--- A coroutine that waits for events, with a terminal of its own.
--
-- The terminal that output goes to is one setting for the whole computer, so it is switched around each resume: what
-- a job redirects stays with the job.
--
-- A job that never waits ends with an error before the computer's own limit strikes: the computer is switched off if that
-- limit is met by a program that catches the error and goes on.
--
-- @module[kind=internal] ccfleet.job

local varargs = require("ccfleet.varargs")

local pack, unpack = varargs.pack, varargs.unpack

-- The computer's limit is 7 s for all that runs on one event.
local MAX_RUN_MS = 6000
local STEPS_BETWEEN_LOOKS = 100000

local Job = {}
Job.__index = Job

--- What `terminate` is called on its way from a job to itself.
Job.OWN_TERMINATE = "ccfleet_terminate"

--- For the field `around`. Nobody can tell a queued `terminate` from Ctrl+T, so a program or tool that queues one would
-- end the host: it is kept for the job alone. What a program starts gets the computer's own `os`, so the change is made
-- there, for as long as the job runs.
function Job.with_own_terminate(run)
    local queue = os.queueEvent
    local function queue_own(name, ...)
        return queue(name == "terminate" and Job.OWN_TERMINATE or name, ...)
    end
    os.queueEvent = queue_own -- luacheck: ignore 122
    run()
    -- One that the job has put there stays.
    if os.queueEvent == queue_own then os.queueEvent = queue end -- luacheck: ignore 122
end

-- The job that runs now; one may run inside of another.
local running

local function now_ms()
    return os.epoch("utc")
end

-- Once too late, it strikes at every step: what catches the error and goes on meets the next one outside of the catch.
local function set_guard(job, max_run_ms)
    if not (debug and debug.sethook) then return end
    local function look()
        if now_ms() - job._runs_since < max_run_ms then return end
        debug.sethook(job._coroutine, look, "", 1)
        error(("Too long without yielding: ran for %.1f s without a wait; call sleep(0) in long loops")
            :format(max_run_ms / 1000), 2)
    end
    pcall(debug.sethook, job._coroutine, look, "", STEPS_BETWEEN_LOOKS)
end

--- @tparam function body What to run.
-- @tparam[opt] table terminal Where its output goes; the current terminal if absent.
-- @tparam[opt=6000] number max_run_ms How long it may go on without a wait.
function Job.new(body, terminal, max_run_ms)
    local self = setmetatable({
        _coroutine = coroutine.create(body),
        _terminal = terminal or term.current(),
        _filter = nil,
        _runs_since = now_ms(),
        ended = false,
    }, Job)
    set_guard(self, max_run_ms or MAX_RUN_MS)
    return self
end

-- After the end: `ok`, and `results` (packed) or `error` and `traceback`.
function Job:_note(ok, ...)
    if coroutine.status(self._coroutine) ~= "dead" then
        self._filter = ...
        return
    end
    self.ended, self.ok = true, ok
    if ok then
        self.results = pack(...)
    else
        self.error = (...)
        self.traceback = debug.traceback(self._coroutine)
    end
end

--- Run until the next wait or the end. If the job has a field `around`, that is called with the function that does it.
--
-- @param ... The event; nothing at the first time.
function Job:resume(...)
    if not self.around then return self:_resume(...) end
    local event = pack(...)
    self.around(function() self:_resume(unpack(event, 1, event.n)) end)
end

function Job:_resume(...)
    local outer, outer_job = term.redirect(self._terminal), running
    running, self._runs_since = self, now_ms()
    local started_ms = self._runs_since
    local outcome = pack(coroutine.resume(self._coroutine, ...))
    running = outer_job
    -- What an inner job took is not the outer one's fault.
    if outer_job then outer_job._runs_since = outer_job._runs_since + now_ms() - started_ms end
    self._terminal = term.redirect(outer)
    self:_note(unpack(outcome, 1, outcome.n))
end

--- Whether the job waits for events of this name.
function Job:accepts(event_name)
    return self._filter == nil or self._filter == event_name or event_name == "terminate"
end

--- The name of the event that the job waits for; nil means any.
function Job:filter()
    return self._filter
end

--- End the job now. It gets one `terminate` to clean up; if it goes on after that, it is never resumed again. A job
-- that stops itself ends at its next wait.
function Job:stop()
    if self.ended then return end
    self.is_stopped = true
    if coroutine.status(self._coroutine) == "suspended" then self:resume("terminate") end
    self.ended, self.ok, self.error = true, false, "Terminated"
end

return Job
