--- The pieces of the computer that the library touches, in one table, so that specs can stand in for them.
--
-- @module[kind=internal] ccfleet.platform

local platform = {}

--- Seconds in game ticks. It stands still while the game is paused, as the server's connection check expects:
-- a paused computer has not been silent.
platform.clock = os.clock

--- Milliseconds of real time.
function platform.epoch_ms()
    return os.epoch("utc")
end

platform.start_timer = os.startTimer
platform.cancel_timer = os.cancelTimer
platform.queue_event = os.queueEvent
platform.random = math.random
platform.fs = fs
platform.http = http
platform.computer_id = os.getComputerID

--- What kind of computer this is, as told to the server.
function platform.computer_kind()
    if turtle then return "turtle" end
    if pocket then return "pocket" end
    if commands then return "command" end
    return "computer"
end

platform.version = tostring(_HOST or "unknown")

return platform
