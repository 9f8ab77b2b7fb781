--- Keeps the installed library up to date while the host runs, and tells when the host has to start anew for that.
--
-- The server says in `welcome` which version it hands out. Another one is downloaded in the background and put in place
-- in a moment when nothing runs; the host then ends, and `boot.lua` starts the new one. A new version is on trial until
-- it has connected; if it does not although the server can be reached, the host ends too, and `boot.lua` counts that.
--
-- @module[kind=internal] ccfleet.keeper

local Job = require("ccfleet.job")
local slots = require("ccfleet.slots")
local unpack = require("ccfleet.varargs").unpack

-- A server's whole fleet connects at once after its start; it shall not download at once as well.
local MAX_DELAY_SECONDS = 20
local RETRY_SECONDS = 600
local QUIET_SECONDS = 5
local TRIAL_SECONDS = 60

local Keeper = {}
Keeper.__index = Keeper

--- @tparam table parts `fleet`, `platform`, `log`, `versions` (@{ccfleet.slots}), `update` (@{ccfleet.update}), `automatic`
-- (whether to update without being asked).
function Keeper.new(parts)
    local self = setmetatable({
        _fleet = parts.fleet, _platform = parts.platform, _log = parts.log, _versions = parts.versions,
        _update = parts.update, _automatic = parts.automatic,
        _state = "watching",
    }, Keeper)
    self._version = self._versions:whole(slots.LIVE)
    self._on_trial = self._versions:is_on_trial()
    self._trial_until = self._platform.clock() + TRIAL_SECONDS
    return self
end

--- The version that runs; nil if it was not installed by the installer.
function Keeper:version()
    return self._version
end

--- Whether the host has to end so that another version, or this one again, can start.
function Keeper:wants_restart()
    return self._state == "restart"
end

-- Work in the background ---------------------------------------------------------------------------------------

function Keeper:_start(body, on_end)
    self._job = Job.new(body)
    self._on_end = on_end
    self._job:resume()
    self:_look_at_job()
end

function Keeper:_look_at_job()
    local job = self._job
    if not job or not job.ended then return end
    self._job = nil
    if job.ok then
        self._on_end(unpack(job.results, 1, job.results.n))
    else
        self._on_end(nil, { code = "internal", text = tostring(job.error) })
    end
end

function Keeper:_rest(text)
    self._log("warn", "update: " .. text)
    self._problem = text
    self._state, self._rest_until = "resting", self._platform.clock() + RETRY_SECONDS
end

function Keeper:_download()
    self._state = "downloading"
    self:_start(function()
        local manifest, err = self._update:manifest()
        if not manifest then return nil, err end
        if manifest.version == self._version then return manifest.version end
        local ok, problem = self._update:stage(manifest)
        if not ok then return nil, problem end
        return manifest.version
    end, function(version, problem)
        if not version then return self:_rest(problem.text) end
        if version == self._version then
            self._state = "watching"
            return
        end
        self._log("info", ("update: version %s is here and waits for a quiet moment"):format(version))
        self._state, self._quiet_since = "waiting", nil
    end)
end

-- On trial -----------------------------------------------------------------------------------------------------

-- The server answers, but this version could not connect: it starts again, and is given up after some tries. If nobody
-- answers, it is not this version's fault.
function Keeper:_question_trial()
    self._trial_until = self._platform.clock() + TRIAL_SECONDS
    self:_start(function() return self._update:manifest() end, function(manifest)
        if not manifest or not self._on_trial then return end
        self._log("error", "update: this version does not connect")
        self._state = "restart"
    end)
end

function Keeper:_pass_trial()
    self._on_trial = false
    local ok, err = pcall(self._versions.confirm, self._versions)
    if ok then
        self._log("info", ("update: version %s has connected"):format(self._version))
    else
        self._log("warn", "update: " .. tostring(err))
    end
end

-- Events and time ----------------------------------------------------------------------------------------------

-- Whether the server has another version than the one that runs.
function Keeper:_is_outdated()
    local offered = self._fleet:state().library
    local version = type(offered) == "table" and offered.version
    if type(version) ~= "string" or version == "" or version == self._version then return false end
    return self._is_asked or self._versions:state().bad ~= version
end

function Keeper:_swap_if_quiet(now)
    if not self._fleet:is_idle() then
        self._quiet_since = nil
        return
    end
    self._quiet_since = self._quiet_since or now
    if now - self._quiet_since < QUIET_SECONDS and not self._is_asked then return end
    local ok, err = pcall(self._versions.swap, self._versions)
    -- Also after a failure: boot.lua makes a whole version of what is there.
    if not ok then self._log("error", "update: " .. tostring(err)) end
    self._state = "restart"
end

local STEPS = {}

function STEPS:watching(now)
    if not self._fleet:is_connected() then return end
    if self._seen ~= self._fleet:state().library then
        self._seen = self._fleet:state().library
        self._start_at = now + self._platform.random() * MAX_DELAY_SECONDS
    end
    if self._is_asked then
        if self:_is_outdated() then self:_download() else self._is_asked = false end
    elseif self._automatic and self._start_at and now >= self._start_at then
        self._start_at = nil
        if self:_is_outdated() then self:_download() end
    end
end

function STEPS:waiting(now)
    self:_swap_if_quiet(now)
end

function STEPS:resting(now)
    if now < self._rest_until then return end
    self._state, self._seen = "watching", nil
end

--- Take an event. Never waits.
--
-- @tparam table event The packed event.
function Keeper:handle(event)
    if not self._version then return end
    local job = self._job
    if job and event[1] ~= "terminate" and job:accepts(event[1]) then
        job:resume(unpack(event, 1, event.n))
        self:_look_at_job()
    end
    local now = self._platform.clock()
    if self._on_trial and self._fleet:is_connected() then self:_pass_trial() end
    if self._job then return end
    if self._on_trial and now >= self._trial_until then return self:_question_trial() end
    local step = STEPS[self._state]
    if step then step(self, now) end
end

--- Somebody wants the update now.
--
-- @treturn boolean|nil true and what is done, or nil and why nothing is.
function Keeper:ask()
    if not self._version then return nil, "this library was not installed by the installer" end
    if self._state == "downloading" or self._state == "waiting" then return true, "an update is under way" end
    if not self._fleet:is_connected() then return nil, "offline" end
    self._is_asked = true
    if not self:_is_outdated() then
        self._is_asked = false
        return true, "up to date: " .. self._version
    end
    self._state = "watching"
    return true, "the update begins; the host starts anew when it is done"
end

--- What goes on, for people.
function Keeper:report()
    return { version = self._version, state = self._state, on_trial = self._on_trial, problem = self._problem }
end

return Keeper
