--- How long to wait before the next connection attempt.
--
-- Doubling with a cap, and jitter over the upper half, so that a fleet whose server restarts does not come back
-- all in the same tick.
--
-- @module[kind=internal] ccfleet.backoff

local FIRST_SECONDS = 1
local CAP_SECONDS = 60

local Backoff = {}
Backoff.__index = Backoff

--- @tparam function random Returns a number in [0, 1).
-- @tparam[opt=60] number longest Seconds that the wait never exceeds.
function Backoff.new(random, longest)
    return setmetatable({ _random = random, _longest = longest or CAP_SECONDS, _attempt = 0 }, Backoff)
end

--- Seconds to wait now; grows with every call.
--
-- @tparam[opt] boolean hopeless Wait the longest time at once: the server said no, and will again.
function Backoff:next(hopeless)
    local ceiling = math.min(self._longest, FIRST_SECONDS * 2 ^ self._attempt)
    if hopeless then ceiling = CAP_SECONDS end
    self._attempt = math.min(self._attempt + 1, 16)
    return ceiling * (0.5 + 0.5 * self._random())
end

--- Start over, after a connection that held.
function Backoff:reset()
    self._attempt = 0
end

return Backoff
