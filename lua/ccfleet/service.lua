--- The host's loop: a fleet's membership, the desk for programs, and updates, on the same events.
--
-- @module[kind=internal] ccfleet.service

local Desk = require("ccfleet.desk")
local Keeper = require("ccfleet.keeper")
local Update = require("ccfleet.update")
local fetch = require("ccfleet.fetch")
local pack = require("ccfleet.varargs").pack
local slots = require("ccfleet.slots")

local service = {}

--- The HTTP address of the server with this WebSocket address; nil if it is none.
function service.base_of(url)
    local secure, place = url:match("^ws(s?)://([^/?#]+)")
    return place and ("http%s://%s"):format(secure, place) or nil
end

--- The version that the installer put in place; nil if the library came another way.
function service.installed_version()
    return slots.new(fs):whole(slots.LIVE)
end

--- Make what serves a fleet.
--
-- @tparam table parts `fleet`, `platform`, `options` (`url`, `client_id`), `is_booted` (whether `boot.lua` starts the host
-- anew when it ends for that), `automatic` (updates), `log(level, line)`.
function service.new(parts)
    local self = { _fleet = parts.fleet, _restart = false }
    local versions = slots.new(fs)
    local keeper = parts.is_booted and Keeper.new({
        fleet = parts.fleet, platform = parts.platform, log = parts.log, versions = versions, automatic = parts.automatic,
        update = Update.new({
            fs = fs, versions = versions, base = service.base_of(parts.options.url), get = fetch,
            kind = parts.platform.computer_kind(), pause = function() sleep(0) end,
        }),
    })
    self._keeper = keeper or nil
    self._desk = Desk.new({
        fleet = parts.fleet, platform = parts.platform,
        info = { client_id = parts.options.client_id, url = parts.options.url, version = keeper and keeper:version() },
        restart = keeper and function()
            self._restart = true
            return true
        end,
        update = keeper and function() return keeper:ask() end,
    })
    return setmetatable(self, { __index = service })
end

function service:_outcome(control)
    if control.quit then return "quit" end
    if self._restart or self._keeper and self._keeper:wants_restart() then return "restart" end
    return nil
end

--- Connect and serve until `control.quit` is set or another version has to start.
--
-- @tparam table options `control` (a table that may get `quit`), `in_background` (Ctrl+T is meant for somebody else).
-- @treturn string `quit` or `restart`.
-- @throws "Terminated" after Ctrl+T, unless in the background.
function service:serve(options)
    local fleet, control, outcome = self._fleet, options.control or {}
    fleet:start()
    repeat
        local event = pack(os.pullEventRaw())
        if event[1] ~= "terminate" then
            fleet:handle(event)
            self._desk:handle(event)
            if self._keeper then self._keeper:handle(event) end
        elseif not options.in_background then
            fleet:stop()
            error("Terminated", 0)
        end
        outcome = self:_outcome(control)
    until outcome
    fleet:stop()
    return outcome
end

return service
