--- This computer's own membership: what its settings say, what stands in the way, what mends an error.
--
-- @module[kind=internal] ccfleet.membership

local host_options = require("ccfleet.options")

local membership = {}

--- Options for @{ccfleet.new}, from the settings where they are not given.
--
-- @tparam[opt] table options What is given.
-- @treturn table The same table, filled.
function membership.options(options)
    options = options or {}
    host_options.define(settings)
    local label = os.getComputerLabel()
    options.url = options.url or settings.get("ccfleet.url")
    options.client_id = options.client_id or settings.get("ccfleet.client_id")
        or label or ("computer-%d"):format(os.getComputerID())
    options.token = options.token or settings.get("ccfleet.token")
    options.label = options.label or settings.get("ccfleet.label") or label
    options.log = options.log or settings.get("ccfleet.log")
    options.entry_log = options.entry_log or settings.get("ccfleet.entry_log")
    if not options.groups or not options.groups[1] then
        options.groups = host_options.list(settings, "ccfleet.groups") or {}
    end
    return options
end

local CONFIG = "serverconfig/computercraft-server.toml of the world"

--- What stands in the way of connecting at all, with the mend; nil if nothing does.
function membership.obstacle(options)
    if not http then
        return ("HTTP is disabled on this server. In %s, under [http], set enabled = true and restart."):format(CONFIG)
    end
    if not http.websocketAsync then
        return ("WebSockets are disabled on this server. In %s, under [http], set websocket_enabled = true and restart.")
            :format(CONFIG)
    end
    if not options.url then return "No server is set. Give it once: set ccfleet.url ws://HOST:8080/ws" end
    if not options.url:find("^wss?://") then
        return ("The server's address must begin with ws:// or wss://, not: %s"):format(options.url)
    end
    return nil
end

local DENIED = [=[
This server does not let computers reach that address.
In serverconfig/computercraft-server.toml of the world, put
this rule BEFORE the one with host = "$private":
  [[http.rules]]
    host = "%s"
    action = "allow"
and restart. For a name, the numeric address counts, too.]=]

--- What helps against an error of the connection; nil if we know nothing better than the error.
function membership.remedy(message, url)
    if message:find("Domain not permitted", 1, true) then
        return DENIED:format(url:match("^%w+://%[([^%]]+)%]") or url:match("^%w+://([^/:]+)") or url)
    end
    if message:find("Websocket connections are disabled", 1, true) then
        return ("WebSockets are disabled on this server. In %s, under [http], set websocket_enabled = true and restart.")
            :format(CONFIG)
    end
    if message:find("(4401)", 1, true) then return "The server wants a valid token: set ccfleet.token TOKEN" end
    if message:find("(4403)", 1, true) then
        return "Its token is not for a computer of this name: set ccfleet.client_id NAME, or set ccfleet.token TOKEN"
    end
    if message:find("(4409)", 1, true) then
        return "Another computer uses this name. Give this one its own: set ccfleet.client_id NAME"
    end
    return nil
end

--- Make a fleet with the core tools, and what serves it.
--
-- @tparam table options From @{membership.options}; `on_log` too.
-- @tparam table shell The shell that tools run programs in.
-- @tparam table parts `is_booted`, `automatic` (see @{ccfleet.service}).
-- @treturn function Serves until told to end, as @{ccfleet.service.serve} says.
function membership.service(options, shell, parts)
    local ccfleet = require("ccfleet")
    local service = require("ccfleet.service")
    local fleet = ccfleet.new({
        url = options.url,
        client_id = options.client_id,
        token = options.token,
        label = options.label,
        groups = options.groups,
        entry_log = options.entry_log,
        log = options.log,
        log_bytes = settings.get("ccfleet.log_bytes"),
        log_files = settings.get("ccfleet.log_files"),
        reconnect_seconds = settings.get("ccfleet.reconnect_seconds"),
        library_version = service.installed_version(),
        on_log = options.on_log,
    })
    require("ccfleet.tools").equip(fleet, shell)
    local served = service.new({
        fleet = fleet, platform = require("ccfleet.platform"), options = options,
        is_booted = parts.is_booted, automatic = parts.automatic,
        log = function(level, line) fleet:log(level, line) end,
    })
    return function(how) return served:serve(how) end
end

return membership
