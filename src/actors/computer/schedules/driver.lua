-- One start of the real client library on a stand-in for a computer. The schedules drive it from outside: they decide
-- when a socket opens, what arrives on it, when time passes and when a handler ends.

local host = ...

package.loaded["cc.expect"] = {
    expect = function(_, value) return value end,
    field = function(object, name) return object[name] end,
}
debug = { traceback = function() return "" end }
local terminal = {}
term = {
    current = function() return terminal end,
    redirect = function(other)
        local former = terminal
        terminal = other
        return former
    end,
}

textutils = { json_null = {}, empty_json_array = {} }

fs = {
    combine = function(first, second)
        local parts = {}
        for part in (first .. "/" .. (second or "")):gmatch("[^/]+") do parts[#parts + 1] = part end
        return table.concat(parts, "/")
    end,
}
os.queueEvent = function() end
os.epoch = function() return host.now * 1000 end

local world = require("fake_world")
local ccfleet = require("ccfleet")

local disk = world.disk()
for path, content in pairs(host.files) do disk.files[path] = content end
local computer = world.computer(disk)
computer.now = host.now
-- The only random number that matters is in the boot id.
computer.platform.random = function() return host.boot / 1e6 end

local function handler(_, _, call_id)
    host.entered(call_id)
    while true do
        local name, finished = coroutine.yield("finish")
        if name == "terminate" then error("Terminated", 0) end
        if finished == call_id then
            host.finished(call_id)
            return { of = call_id }
        end
    end
end

local fleet = ccfleet.new({ url = "ws://server/ws", client_id = "cc", state_dir = "/state", platform = computer.platform })
computer.fleet = fleet
fleet:register("dig", handler, { verify = "dug" })
fleet:register("write", handler, { effect = "idempotent" })
fleet:register("look", handler, { effect = "read" })
fleet:register("dug", function(args) return { state = host.verify(args.call_id) } end, { effect = "read" })
fleet:start()

local api = {}

function api.attempt() return #computer.sockets end

function api.accept(attempt)
    local socket = computer.sockets[attempt]
    local is_closed = false
    local handle = {
        send = function(frame)
            if is_closed then error("attempt to use a closed file", 0) end
            host.out(attempt, frame)
        end,
        close = function()
            is_closed = true
            host.shut(attempt)
        end,
    }
    computer:event("websocket_success", socket.url, handle)
end

function api.message(attempt, frame)
    computer:event("websocket_message", computer.sockets[attempt].url, frame, true)
end

function api.closed(attempt)
    computer:event("websocket_closed", computer.sockets[attempt].url, "gone", 1006)
end

function api.wait(seconds) computer:wait(seconds) end

function api.finish(call_id) computer:event("finish", call_id) end

function api.limit_writes(bytes) disk.bytes_until_crash = bytes end

function api.files() return disk.files end

function api.unconfirmed() return #fleet._receipts:unconfirmed() end

return api
