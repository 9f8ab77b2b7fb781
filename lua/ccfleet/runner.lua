--- Runs a bounded number of jobs on the events of one loop.
--
-- @module[kind=internal] ccfleet.runner

local Job = require("ccfleet.job")
local unpack = require("ccfleet.varargs").unpack

local MAX_JOBS = 16

local Runner = {}
Runner.__index = Runner

function Runner.new()
    return setmetatable({ _jobs = {} }, Runner)
end

function Runner:is_full()
    return #self._jobs >= MAX_JOBS
end

function Runner:_forget(job)
    for i, candidate in ipairs(self._jobs) do
        if candidate == job then return table.remove(self._jobs, i) end
    end
end

function Runner:_settle(job)
    if not job.ended or job.is_stopped then return end
    self:_forget(job)
    job.on_end(job)
end

--- Start a job. It runs at once, up to its first wait.
--
-- @tparam function body What to run.
-- @tparam function on_end Called with the job when it has ended; never after @{stop}.
-- @return The job. It may have ended already.
function Runner:start(body, on_end)
    local job = Job.new(body)
    job.on_end = on_end
    job.around = Job.with_own_terminate
    table.insert(self._jobs, job)
    job:resume()
    self:_settle(job)
    return job
end

--- Give an event to every job that waits for it.
--
-- @tparam table event The packed event (`n` entries, the name first).
function Runner:dispatch(event)
    -- A copy: jobs may end, and their ends may start others.
    local jobs = {}
    for i, job in ipairs(self._jobs) do jobs[i] = job end
    for _, job in ipairs(jobs) do
        if not job.ended and job:accepts(event[1]) then
            job:resume(unpack(event, 1, event.n))
            self:_settle(job)
        end
    end
end

--- Stop a job for good.
function Runner:stop(job)
    self:_forget(job)
    job:stop()
end

--- Stop all jobs.
function Runner:stop_all()
    while self._jobs[1] do self:stop(self._jobs[1]) end
end

return Runner
