--- Long work in small bites: lets other events through before the computer calls it too long.
--
-- @module[kind=internal] ccfleet.breath

local breath = {}

local WORK_MS = 200

--- A function to call often. Most calls do nothing; each 200 ms one waits for a moment.
--
-- Must be called in a coroutine that nobody else waits in. Raises "Terminated" as every wait does.
--
-- @treturn function
function breath.new()
    local worked_since = os.epoch("utc")
    return function()
        if os.epoch("utc") - worked_since < WORK_MS then return end
        os.queueEvent("ccfleet_breath")
        -- Any event will do: a full queue swallows the one just queued, but then others are there.
        if coroutine.yield() == "terminate" then error("Terminated", 0) end
        worked_since = os.epoch("utc")
    end
end

return breath
