--- A stand-in for the computer: files in memory that can fail, a clock that is moved by hand, and a WebSocket whose
-- other end is the spec.

local fake_disk = require("fake_disk")
local json = require("ccfleet.json")

local world = { disk = fake_disk.new }

-- Computer -----------------------------------------------------------------------------------------------------

local function add_http(computer)
    computer.sockets = {}
    computer.platform.http = {
        websocketAsync = function(url)
            table.insert(computer.sockets, { url = url, sent = {} })
            return true
        end,
    }
end

--- A computer: `platform` for @{ccfleet.new}, `now` (the clock), `queued` (events), `sockets` (one an attempt), `disk`.
function world.computer(disk)
    local computer = { now = 0, queued = {}, timers = 0, disk = disk or world.disk() }
    computer.platform = {
        clock = function() return computer.now end,
        epoch_ms = function() return computer.now * 1000 + 1600000000000 end,
        start_timer = function()
            computer.timers = computer.timers + 1
            return computer.timers
        end,
        cancel_timer = function() end,
        queue_event = function(...) table.insert(computer.queued, { ... }) end,
        random = function() return 0 end,
        fs = computer.disk.fs,
        computer_id = function() return 7 end,
        computer_kind = function() return "turtle" end,
        version = "ComputerCraft 1.100.0",
    }
    add_http(computer)
    return setmetatable(computer, { __index = world })
end

--- The socket of the latest attempt.
function world.socket(computer)
    return computer.sockets[#computer.sockets]
end

--- Give the program an event.
function world.event(computer, ...)
    computer.fleet:handle({ n = select("#", ...), ... })
end

--- Let time pass and tell the program.
function world.wait(computer, seconds)
    computer.now = computer.now + seconds
    computer:event("tick")
end

--- Let long work of the program go on to its end: it waits for a moment now and then (see `ccfleet.breath`), on a busy
-- computer more often than on a quick one.
function world.breathe(computer)
    local queue, waits = os.queueEvent, true
    local function note(name, ...)
        if name == "ccfleet_breath" then waits = true else return queue(name, ...) end
    end
    while waits do
        waits = false
        os.queueEvent = note -- luacheck: ignore 122
        local ok, err = pcall(computer.event, computer, "ccfleet_breath")
        os.queueEvent = queue -- luacheck: ignore 122
        if not ok then error(err, 0) end
        -- And to the computer itself, which ends what runs for too long.
        os.queueEvent("ccfleet_spec")
        os.pullEvent("ccfleet_spec")
    end
end

--- The server accepts the latest attempt.
function world.accept(computer)
    local socket = computer:socket()
    socket.handle = {
        send = function(frame, is_binary)
            if socket.send_error then error(socket.send_error, 0) end
            assert(is_binary, "frames are binary")
            table.insert(socket.sent, json.decode(frame))
            socket.last_frame = frame
        end,
        close = function() socket.is_closed = true end,
    }
    computer:event("websocket_success", socket.url, socket.handle)
end

--- The server sends a message.
function world.say(computer, message)
    computer:event("websocket_message", computer:socket().url, json.encode(message), true)
end

--- The server welcomes the computer; every tool has revision `rev-1`.
function world.welcome(computer, changes)
    local accepted = {}
    for _, tool in ipairs(computer:socket().sent[1].commands) do accepted[tool.name] = "rev-1" end
    local message = {
        type = "welcome", protocol = 1, client_id = "c", server_id = "srv", journal_epoch = 1, session_secret = "s",
        window = 8, max_frame_bytes = 131072, commands = { accepted = accepted, refused = json.array() },
    }
    for name, value in pairs(changes or {}) do message[name] = value end
    computer:say(message)
end

--- All messages of a type that the computer has sent on the latest connection.
function world.sent(computer, message_type)
    local list = {}
    for _, message in ipairs(computer:socket().sent) do
        if message.type == message_type then table.insert(list, message) end
    end
    return list
end

--- The last of them, or nil.
function world.last_sent(computer, message_type)
    local list = computer:sent(message_type)
    return list[#list]
end

--- Start a fleet on a computer, connected and welcomed.
--
-- @tparam[opt] function prepare Gets the fleet before it starts, to register tools.
function world.fleet(computer, prepare, options)
    local ccfleet = require("ccfleet")
    local all = { url = "ws://server/ws", client_id = "c", state_dir = "/state", platform = computer.platform }
    for name, value in pairs(options or {}) do all[name] = value end
    local fleet = ccfleet.new(all)
    computer.fleet = fleet
    if prepare then prepare(fleet) end
    fleet:start()
    computer:accept()
    computer:welcome()
    return fleet
end

return world
