--- The agent host: makes this computer part of a fleet, with the core tools.

local HELP = [[
ccfleet host: lets a ccfleet server run tools on this computer.

host [--url ws://HOST:PORT/ws] [--id CLIENT_ID]
     [--token T] [--label L] [--group G]... [--shell]

What is not given comes from settings:
  set ccfleet.url ws://192.168.1.10:8080/ws
  set ccfleet.client_id miner-1
  ccfleet.token, ccfleet.label, ccfleet.groups,
  ccfleet.log, ccfleet.entry_log (file paths)

--shell  keeps a shell in this window; the host
         works behind it.
--help   shows this.
Ctrl+T (hold) stops the host.]]

local VALUE_OPTIONS = { ["--url"] = "url", ["--id"] = "client_id", ["--token"] = "token", ["--label"] = "label" }

-- Returns the options, or nil and what is wrong.
local function parse(arguments)
    local options, i = { groups = {} }, 1
    while i <= #arguments do
        local name, value = arguments[i], arguments[i + 1]
        if name == "--help" or name == "--shell" then
            options[name:sub(3)] = true
            i = i + 1
        elseif VALUE_OPTIONS[name] or name == "--group" then
            if not value then return nil, name .. " needs a value" end
            if name == "--group" then table.insert(options.groups, value) else options[VALUE_OPTIONS[name]] = value end
            i = i + 2
        else
            return nil, "unknown option " .. name
        end
    end
    return options
end

local function groups_from_settings()
    local groups = settings.get("ccfleet.groups")
    if type(groups) == "table" then return groups end
    local list = {}
    for name in tostring(groups or ""):gmatch("[^,%s]+") do table.insert(list, name) end
    return list
end

local function fill_from_settings(options)
    local label = os.getComputerLabel()
    options.url = options.url or settings.get("ccfleet.url")
    options.client_id = options.client_id or settings.get("ccfleet.client_id")
        or label or ("computer-%d"):format(os.getComputerID())
    options.token = options.token or settings.get("ccfleet.token")
    options.label = options.label or settings.get("ccfleet.label") or label
    options.log = settings.get("ccfleet.log")
    options.entry_log = settings.get("ccfleet.entry_log")
    if not options.groups[1] then options.groups = groups_from_settings() end
end

-- What stands in the way of connecting at all, with the mend; nil if nothing does.
local function obstacle(options)
    if not http then
        return "HTTP is disabled on this server. In serverconfig/computercraft-server.toml of the world, under [http], "
            .. "set enabled = true and restart."
    end
    if not http.websocketAsync then
        return "WebSockets are disabled on this server. In serverconfig/computercraft-server.toml of the world, under "
            .. "[http], set websocket_enabled = true and restart."
    end
    if not options.url then
        return "No server is set. Give it once: set ccfleet.url ws://HOST:8080/ws"
    end
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

-- What helps against an error of the connection; nil if we know nothing better than the error.
local function remedy(message, url)
    if message:find("Domain not permitted", 1, true) then
        return DENIED:format(url:match("^wss?://%[?([^/%]]-)%]?:?%d*/") or url)
    end
    if message:find("(4401)", 1, true) then return "The server wants a valid token: set ccfleet.token TOKEN" end
    if message:find("(4409)", 1, true) then
        return "Another computer uses this name. Give this one its own: set ccfleet.client_id NAME"
    end
    return nil
end

local COLOURS = { info = colours.lightGrey, warn = colours.orange, error = colours.red }

-- Print to the window the host was started in, whatever terminal is current.
local function make_printer(window, url)
    local told = {}
    local function show(colour, line)
        local current = term.redirect(window)
        local before = term.getTextColour()
        if term.isColour() then term.setTextColour(colour) end
        print(line)
        term.setTextColour(before)
        term.redirect(current)
    end
    return function(level, line)
        show(COLOURS[level], line)
        local help = level ~= "info" and remedy(line, url)
        if help and not told[help] then
            told[help] = true
            show(colours.yellow, help)
        end
    end
end

-- Ctrl+T is meant for what runs in the shell, not for the host behind it.
local function serve_behind_shell(fleet)
    local pack = require("ccfleet.varargs").pack
    local function serve()
        fleet:start()
        while true do
            local event = pack(os.pullEventRaw())
            if event[1] ~= "terminate" then fleet:handle(event) end
        end
    end
    parallel.waitForAny(serve, function() shell.run("shell") end)
    fleet:stop()
end

local function main(arguments)
    local options, problem = parse(arguments)
    if not options then
        printError(problem)
        print("Try: host --help")
        return
    end
    if options.help then
        print(HELP)
        return
    end
    fill_from_settings(options)
    problem = obstacle(options)
    if problem then
        printError(problem)
        return
    end

    local ccfleet = require("ccfleet")
    local with_shell = options.shell
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
        on_log = not with_shell and make_printer(term.current(), options.url) or nil,
    })
    require("ccfleet.tools").equip(fleet, shell)
    if not with_shell then
        print(("ccfleet %s: %s at %s"):format(ccfleet.VERSION, options.client_id, options.url))
    end
    if with_shell then serve_behind_shell(fleet) else fleet:run() end
end

main({ ... })
