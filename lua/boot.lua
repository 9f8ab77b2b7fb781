--- Starts the host at boot, and again after an update; goes back to the former version if the new one does not work.
--
-- The installer copies this file and `slots.lua` to `/.ccfleet/`. An update leaves both alone: they have to work when the
-- update does not.
--
-- `boot.lua`        from a startup file: prepares the shell, then starts the host in a tab or behind a shell.
-- `boot.lua host`   is that tab.

local HOME = "/.ccfleet"
local CRASH_PAUSE_SECONDS = 15
local INCOMPLETE = "/ccfleet is not complete; install it again: wget run http://HOST:PORT/install.lua"

local slots = dofile(fs.combine(HOME, "slots.lua"))
local versions = slots.new(fs)

-- Wait, whatever is typed meanwhile: Ctrl+T is meant for the shell. Returns early if `control` says so.
local function pause(seconds, control)
    local timer, deadline = os.startTimer(seconds), os.clock() + seconds
    repeat
        local event, which = os.pullEventRaw()
        -- The timer is lost if the queue is full; then the clock counts at the next event.
    until control.quit or event == "timer" and which == timer or os.clock() >= deadline
end

-- A complete version in place, and its start counted. Returns its number, or nil and what is wrong.
local function prepare()
    local ok, version = pcall(versions.recover, versions)
    if not ok then return nil, "cannot prepare /ccfleet: " .. tostring(version) end
    if not version then return nil, INCOMPLETE end
    local began, given_up = pcall(versions.begin, versions)
    if not began then return version end
    return versions:whole(slots.LIVE), nil, given_up
end

-- Run the host as the shell would. Returns true and what it says, or false and its error.
local function run_host(control, ...)
    local path = slots.LIVE .. "/host.lua"
    local env = setmetatable({ shell = shell, multishell = multishell, arg = { [0] = path, ... } }, { __index = _G })
    env.ccfleet_control = control
    env.require, env.package = require("cc.require").make(env, fs.getDir(path))
    local host, err = loadfile(path, nil, env)
    if not host then return false, err end
    return pcall(host, ...)
end

-- The host, again and again, until it is told to end.
local function serve(control, say, ...)
    while not control.quit do
        local version, problem, given_up = prepare()
        if not version then return say(problem) end
        if given_up then say(("version %s did not connect; back to %s"):format(given_up, version)) end
        local ok, outcome = run_host(control, ...)
        if not ok and tostring(outcome):find("Terminated", 1, true) then return end
        if not ok then
            say(tostring(outcome))
            pause(versions:is_on_trial() and 1 or CRASH_PAUSE_SECONDS, control)
        elseif outcome ~= "restart" and versions:whole(slots.LIVE) == version then
            return
        end
    end
end

-- What the host leaves behind on its end, for `fleet status`: nobody sees the screen of a turtle.
local function note(message)
    local file = fs.open(HOME .. "/boot.log", "w")
    if not file then return end
    file.write(message .. "\n")
    file.close()
end

local function serve_in_tab()
    if multishell then multishell.setTitle(multishell.getCurrent(), "ccfleet") end
    serve({}, function(message)
        note(message)
        printError(message)
    end)
end

-- Without tabs: the host works behind a shell.
local function serve_behind_shell()
    local control = {}
    parallel.waitForAll(function()
        serve(control, note, "--background")
    end, function()
        local begun, ended_well
        repeat
            begun = os.clock()
            ended_well = shell.run("shell")
            -- Ctrl+T at the prompt ends the shell, not the host; one that cannot even start is not tried for ever.
        until ended_well or os.clock() - begun < 0.2
        control.quit = true
        os.queueEvent("ccfleet_quit")
    end)
end

local function prepare_shell()
    local path = slots.LIVE .. "/shell_setup.lua"
    if fs.exists(path) then shell.run(path) end
end

if ... == "host" then
    serve_in_tab()
else
    local ok, version = pcall(versions.recover, versions)
    if not ok or not version then
        return printError(ok and INCOMPLETE or tostring(version))
    end
    prepare_shell()
    if multishell and shell.openTab then
        shell.openTab(HOME .. "/boot.lua", "host")
    else
        serve_behind_shell()
    end
end
