--- A coroutine that waits for events, with a terminal of its own.
--
-- The terminal that output goes to is one setting for the whole computer, so it is switched around each resume: what
-- a job redirects stays with the job.
--
-- @module[kind=internal] ccfleet.job

local varargs = require("ccfleet.varargs")

local pack, unpack = varargs.pack, varargs.unpack

local Job = {}
Job.__index = Job

--- @tparam function body What to run.
-- @tparam[opt] table terminal Where its output goes; the current terminal if absent.
function Job.new(body, terminal)
    return setmetatable({
        _coroutine = coroutine.create(body),
        _terminal = terminal or term.current(),
        _filter = nil,
        ended = false,
    }, Job)
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

--- Run until the next wait or the end.
--
-- @param ... The event; nothing at the first time.
function Job:resume(...)
    local outer = term.redirect(self._terminal)
    local outcome = pack(coroutine.resume(self._coroutine, ...))
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
