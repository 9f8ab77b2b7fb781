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
--background  prints nothing and leaves Ctrl+T to
         others; for boot.lua.
--help   shows this.
Ctrl+T (hold) stops the host.]]

local membership = require("ccfleet.membership")

local VALUE_OPTIONS = { ["--url"] = "url", ["--id"] = "client_id", ["--token"] = "token", ["--label"] = "label" }

-- Returns the options, or nil and what is wrong.
local function parse(arguments)
    local options, i = { groups = {} }, 1
    while i <= #arguments do
        local name, value = arguments[i], arguments[i + 1]
        if name == "--help" or name == "--shell" or name == "--background" then
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
        local help = level ~= "info" and membership.remedy(line, url)
        if help and not told[help] then
            told[help] = true
            show(colours.yellow, help)
        end
    end
end

-- Ctrl+T is meant for what runs in the shell, not for the host behind it.
local function serve_behind_shell(serve)
    local control = {}
    parallel.waitForAll(function()
        serve({ control = control, in_background = true })
    end, function()
        shell.run("shell")
        control.quit = true
        os.queueEvent("ccfleet_quit")
    end)
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
    membership.options(options)
    problem = membership.obstacle(options)
    if problem then
        printError(problem)
        return
    end

    -- `boot.lua` gives us a table by which it tells us to end, and starts us anew if we ask for it.
    local control = ccfleet_control
    local is_hidden = options.shell or options.background
    if is_hidden then
        options.log = options.log or control and "/.ccfleet/host.log"
    else
        options.on_log = make_printer(term.current(), options.url)
        print(("ccfleet %s: %s at %s"):format(require("ccfleet").VERSION, options.client_id, options.url))
    end
    local automatic = settings.get("ccfleet.auto_update", true)
    local serve = membership.service(options, shell, { is_booted = control ~= nil, automatic = automatic })
    if options.shell then return serve_behind_shell(serve) end
    return serve({ control = control, in_background = options.background })
end

return main({ ... })
