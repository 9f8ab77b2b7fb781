--- Runs a program as the shell would, but watched: output, error and traceback are kept, and it can be stopped.
--
-- @module[kind=internal] ccfleet.programs

local Capture = require("ccfleet.capture")
local Job = require("ccfleet.job")
local Typist = require("ccfleet.typist")
local files = require("ccfleet.files")
local text = require("ccfleet.text")
local varargs = require("ccfleet.varargs")

local pack, unpack = varargs.pack, varargs.unpack

local OUTPUT_LIMIT = 16 * 1024
local TRACEBACK_LIMIT = 4 * 1024
local DEFAULT_TIMEOUT_MS = 30000
-- A program is stopped so much before its call runs out of time, or the answer with its output would be too late.
local REPORT_MS, REPORT_SHARE = 1000, 0.25
-- A timer that is so late means that the computer stood still (an emulator that was suspended), and a program is not to
-- blame for that.
local STOOD_STILL_SECONDS = 1

local programs = {}

-- What a person at the computer does is not meant for a program that an agent runs.
local PERSONAL = {
    key = true, key_up = true, char = true, paste = true, file_transfer = true,
    mouse_click = true, mouse_up = true, mouse_drag = true, mouse_scroll = true, mouse_move = true,
}

-- Environment --------------------------------------------------------------------------------------------------

-- A shell that says the program's name when it is asked, and that no program can end: it is the host's own.
-- Everything else is the real one.
local function shell_for(shell, path)
    return setmetatable({
        getRunningProgram = function() return path end,
        exit = function() end,
    }, { __index = shell })
end

local function environment(shell, path, arguments, globals)
    local env = setmetatable({}, { __index = _G })
    env.shell = shell_for(shell, path)
    env.multishell = multishell
    env.arg = arguments
    env.require, env.package = require("cc.require").make(env, fs.getDir(path))
    for name, value in pairs(globals or {}) do env[name] = value end
    return env
end

programs.shell_for = shell_for

--- Load a program.
--
-- @tparam table shell The shell API it sees.
-- @tparam string path Its file.
-- @tparam table arguments Its arguments; `[0]` is its name.
-- @tparam[opt] table globals More globals for it.
-- @treturn function|nil The program, or nil and the error.
function programs.load(shell, path, arguments, globals)
    local source, err = files.read(fs, path)
    if not source then return nil, err end
    local env = environment(shell, path, arguments, globals)
    local program, load_err = load(source, "@/" .. fs.combine(path, ""), "t", env)
    if not program then return nil, load_err end
    return function() return program(unpack(arguments, 1, arguments.n or #arguments)) end
end

-- Watching -----------------------------------------------------------------------------------------------------

-- The time that a program has. Timers can be lost in a full event queue, so the clock counts, too.
local function start_watch(seconds)
    return { timer = os.startTimer(seconds), deadline = os.clock() + seconds }
end

-- Whether the time is over with this event. A wait in which the computer stood still does not count.
local function is_over(watch, event, waited_since)
    local now = os.clock()
    if now - watch.deadline >= STOOD_STILL_SECONDS then
        os.cancelTimer(watch.timer)
        local left = math.max(0, watch.deadline - waited_since)
        watch.timer, watch.deadline = os.startTimer(left), now + left
        return left == 0
    end
    return event[1] == "timer" and event[2] == watch.timer or now >= watch.deadline
end

-- Wait for the next event the program may see. Returns it, or nil if the time is over.
local function next_event(watch)
    while true do
        local waited_since = os.clock()
        local event = pack(coroutine.yield())
        if event[1] == "terminate" then return event end
        if is_over(watch, event, waited_since) then return nil end
        if not PERSONAL[event[1]] then return event end
    end
end

local function type_ahead(job, typist, capture)
    while not job.ended do
        local event = typist:next(job:filter(), capture:is_reading())
        if not event then return end
        job:resume(unpack(event))
    end
end

-- Drive the job to its end or to the deadline. Returns whether the time ran out.
local function drive(job, typist, capture, timeout_ms)
    local watch = start_watch(timeout_ms / 1000)
    job:resume()
    type_ahead(job, typist, capture)
    while not job.ended do
        local event = next_event(watch)
        if not event then
            job:stop()
            return true
        end
        if event[1] == Job.OWN_TERMINATE then
            job:resume("terminate")
            type_ahead(job, typist, capture)
        elseif job:accepts(event[1]) then
            job:resume(unpack(event, 1, event.n))
            if event[1] == "terminate" then
                job:stop()
                error("Terminated", 0)
            end
            type_ahead(job, typist, capture)
        end
    end
    os.cancelTimer(watch.timer)
    return false
end

local function error_of(job)
    if type(job.error) == "string" then return text.to_utf8(job.error) end
    if type(job.error) == "table" and type(job.error.message) == "string" then return text.to_utf8(job.error.message) end
    if job.error == nil then return "the program ended with an error that says nothing" end
    return tostring(job.error)
end

-- The program's own limit, or a little less than what its call has left.
local function limit_ms(asked_ms, context)
    local remaining = context and context:remaining_ms()
    if not remaining then return asked_ms end
    return math.max(0, math.min(asked_ms, math.floor(remaining - math.min(REPORT_MS, remaining * REPORT_SHARE))))
end

--- Run a loaded program.
--
-- @tparam function body From @{programs.load}, or any function.
-- @tparam table options `input` (lines to type), `timeout_ms`.
-- @tparam[opt] table context Of the call; the program ends before the call's time does.
-- @treturn table `success`, `output`, `truncated`, `duration_ms`, and as they apply `error`, `traceback`, `timed_out`.
function programs.watch(body, options, context)
    local capture = Capture.new()
    local typist = Typist.new(options.input or {})
    local timeout_ms = limit_ms(options.timeout_ms or DEFAULT_TIMEOUT_MS, context)
    local started_ms = os.epoch("utc")
    local job = Job.new(body, capture.terminal)
    job.around = Job.with_own_terminate
    local timed_out = drive(job, typist, capture, timeout_ms)

    local report = { success = job.ok, duration_ms = os.epoch("utc") - started_ms }
    report.output, report.truncated = capture:output(OUTPUT_LIMIT)
    if timed_out then
        report.success, report.timed_out = false, true
        report.error = ("stopped after %d ms%s"):format(timeout_ms,
            capture:is_reading() and ": it was waiting for input, and there was no more" or "")
    elseif not job.ok then
        report.error = error_of(job)
        report.traceback = text.cut_middle(text.to_utf8(job.traceback), TRACEBACK_LIMIT)
    end
    return report
end

return programs
