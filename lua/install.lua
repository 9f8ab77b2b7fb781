--- Makes this computer part of a ccfleet fleet: `wget run http://HOST:PORT/install.lua [options]`. Run it again to update.
--
-- The server puts its address in. Only what a bare computer has is used here; the real work is done by files of the
-- library, which are fetched first and checked.

local SERVER = "{{SERVER}}"

local HELP = [[
wget run %s/install.lua [options]

--label L      name of this computer
--token T      if the server wants one
--group G      may be given more than once
--id ID        name in the fleet (default: label)
--url U        ws://HOST:PORT/ws, if not this server
--yes          asks nothing
--no-startup   does not start at boot
--uninstall    takes everything back]]

local VALUES = { ["--label"] = "label", ["--token"] = "token", ["--id"] = "client_id", ["--url"] = "url" }
local FLAGS = {
    ["--yes"] = "yes", ["--no-startup"] = "no_startup", ["--uninstall"] = "uninstall", ["--help"] = "help",
}

-- Showing ------------------------------------------------------------------------------------------------------

local function say(text, colour)
    local before = term.getTextColour()
    if colour and term.isColour() then term.setTextColour(colour) end
    print(text)
    term.setTextColour(before)
end

-- Ends the installer with an explanation. Nothing is half-installed then: the new version comes in place in one go.
local function give_up(text, mend)
    error({ text = text, mend = mend }, 0)
end

-- Arguments ----------------------------------------------------------------------------------------------------

local function parse(arguments)
    local options, i = { groups = {} }, 1
    while i <= #arguments do
        local name, value = arguments[i], arguments[i + 1]
        if FLAGS[name] then
            options[FLAGS[name]] = true
            i = i + 1
        elseif VALUES[name] or name == "--group" then
            if not value then give_up(name .. " needs a value", "See --help.") end
            if name == "--group" then table.insert(options.groups, value) else options[VALUES[name]] = value end
            i = i + 2
        else
            give_up("there is no option " .. name, "See --help.")
        end
    end
    return options
end

-- Fetching -----------------------------------------------------------------------------------------------------

local CONFIG = "serverconfig/computercraft-server.toml of the world"

local RULE = [=[
This Minecraft server does not let computers reach %s. In %s,
put this rule BEFORE the one with host = "$private", and restart:
  [[http.rules]]
    host = "%s"
    action = "allow"]=]

local function mend_of(text)
    local host = SERVER:match("^%w+://%[([^%]]+)%]") or SERVER:match("^%w+://([^/:]+)") or SERVER
    if text:find("Domain not permitted", 1, true) then return RULE:format(host, CONFIG, host) end
    return "Is the ccfleet server still running, and reachable at " .. SERVER .. "? Nothing was changed; run this again."
end

local function get(url)
    local response, err, refusal = http.get(url, nil, true)
    if not response then
        local body = refusal and refusal.readAll() or ""
        if refusal then refusal.close() end
        return nil, tostring(err) .. (body ~= "" and (": " .. body) or "")
    end
    local body = response.readAll()
    response.close()
    return body or ""
end

local function must_get(path)
    local body, err = get(SERVER .. path)
    if not body then give_up(("cannot fetch %s%s: %s"):format(SERVER, path, err), mend_of(err)) end
    return body
end

-- Fetch a module of the library and check it against the list. The one that checks checks itself, too.
local function fetch_module(hashes, name)
    local path = name:gsub("%.", "/") .. ".lua"
    if not hashes[path] then return nil end
    local source = must_get("/lua/" .. path)
    local env = setmetatable({ require = require, package = package, shell = shell }, { __index = _G })
    local module, err = load(source, "@" .. path, "t", env)
    if not module then give_up(("%s is no program: %s"):format(path, err)) end
    -- Anything else is loaded only after the hash is known to be right.
    local sha256 = name == "ccfleet.sha256" and module() or require("ccfleet.sha256")
    if sha256.hex(source) ~= hashes[path] then
        give_up(path .. " did not arrive as the server's list says", "Nothing was changed; run this again.")
    end
    return module
end

-- Until it is installed the library comes from the server, module by module as it is needed.
local function borrow_library(manifest)
    local hashes = {}
    for _, entry in ipairs(manifest.files) do hashes[entry.path] = entry.sha256 end
    for name in pairs(package.loaded) do
        if name:find("^ccfleet%.") then package.loaded[name] = nil end
    end
    setmetatable(package.preload, {
        __index = function(_, name) return name:find("^ccfleet%.") and fetch_module(hashes, name) or nil end,
    })
end

local function use_installed_library()
    setmetatable(package.preload, nil)
    package.path = "/ccfleet/?.lua;/ccfleet/?/init.lua;" .. package.path
end

local function fetch_manifest()
    local ok, manifest = pcall(textutils.unserialiseJSON, must_get("/lua/manifest.json"))
    if not ok or type(manifest) ~= "table" or type(manifest.files) ~= "table" then
        give_up(SERVER .. "/lua/manifest.json is no list of files", "Is this a ccfleet server?")
    end
    return manifest
end

-- Questions ----------------------------------------------------------------------------------------------------

local function kind_of_computer()
    return turtle and "turtle" or pocket and "pocket" or commands and "command" or "computer"
end

local function ask(question, default)
    write(question .. (default and default ~= "" and (" [%s]: "):format(default) or ": "))
    local typed = read():gsub("^%s+", ""):gsub("%s+$", "")
    return typed ~= "" and typed or default
end

-- What is typed and what is known stay off the screen: others look over a player's shoulder.
local function ask_secret(question, known)
    local has_one = known and known ~= ""
    write(("%s (Enter: %s): "):format(question, has_one and "as it is" or "none"))
    local typed = read("*"):gsub("^%s+", ""):gsub("%s+$", "")
    return typed ~= "" and typed or known
end

local function words_of(text)
    local list = {}
    for word in tostring(text or ""):gmatch("[^,%s]+") do table.insert(list, word) end
    return list
end

local function known_groups()
    local groups = settings.get("ccfleet.groups")
    return type(groups) == "table" and groups or words_of(groups)
end

-- Fill in what was not given: from the settings of an earlier installation, and by asking.
local function complete(options)
    local own_name = ("%s-%d"):format(kind_of_computer(), os.getComputerID())
    local label = os.getComputerLabel() or settings.get("ccfleet.client_id") or own_name
    if not options.yes then
        if not options.label then options.label = ask("Name of this computer", label) end
        if not options.token then options.token = ask_secret("Token", settings.get("ccfleet.token")) end
        if not options.groups[1] then
            options.groups = words_of(ask("Groups (Enter: none)", table.concat(known_groups(), ",")))
        end
    end
    -- Without a label a turtle that is broken forgets who it is.
    if not options.label and not os.getComputerLabel() then options.label = label end
    options.client_id = options.client_id or options.label or settings.get("ccfleet.client_id") or label
    if #options.client_id > 64 then give_up("the name has more than 64 characters") end
    options.url = options.url or SERVER:gsub("^http", "ws") .. "/ws"
    if not options.url:find("^wss?://") then give_up("--url must begin with ws:// or wss://, not: " .. options.url) end
end

local function save_settings(options)
    settings.set("ccfleet.url", options.url)
    settings.set("ccfleet.client_id", options.client_id)
    if options.token then settings.set("ccfleet.token", options.token) end
    if options.groups[1] then settings.set("ccfleet.groups", options.groups) end
    if options.label then os.setComputerLabel(options.label) end
    if not settings.save() then give_up("cannot write /.settings", "Is the disk full? See: list / and delete FILE.") end
end

-- Installing ---------------------------------------------------------------------------------------------------

local MENDS = {
    no_space = "Make room: list / shows what lies here, delete FILE removes it. Nothing was changed.",
    hash_mismatch = "Something between here and the server changes files. Nothing was changed; run this again.",
    unwritable = "This disk cannot be written. Nothing was changed.",
    bad_manifest = "Is this a ccfleet server of a fitting version?",
}

local function download(versions)
    local update = require("ccfleet.update").new({
        fs = fs, versions = versions, base = SERVER, kind = kind_of_computer(), get = require("ccfleet.fetch"),
        pause = function() sleep(0) end,
    })
    local manifest, problem = update:manifest()
    if not manifest then give_up(problem.text, MENDS[problem.code] or mend_of(problem.text)) end
    local _, line = term.getCursorPos()
    local ok
    ok, problem = update:stage(manifest, function(i, count)
        term.setCursorPos(1, line)
        write(("%d of %d files"):format(i, count))
    end)
    print()
    if not ok then give_up(problem.text, MENDS[problem.code] or mend_of(problem.text)) end
    return manifest.version
end

local function put_in_place(options, versions)
    local setup = require("ccfleet.setup")
    local ok, err = pcall(function()
        versions:swap()
        setup.place_boot(fs)
        if options.no_startup then return end
        for _, text in ipairs(setup.add_startup(fs)) do say(text, colours.yellow) end
    end)
    if not ok then give_up(tostring(err), "Make room on the disk, then run this again: it goes on where it was.") end
end

-- Starting -----------------------------------------------------------------------------------------------------

-- Connect once, to show that it works, or why it does not. Returns whether it did.
local function try_to_connect(options)
    local client, membership = require("ccfleet.client"), require("ccfleet.membership")
    local function watch()
        write("Connecting ... ")
        local status, err, last = client.wait_for_connection(20)
        if status then
            say("connected as " .. status.client_id, colours.lime)
            return
        end
        say("not connected: " .. tostring(err), colours.red)
        local code = last and last.problem and last.problem.code
        local mend = membership.remedy(("%s (%s)"):format(tostring(err), tostring(code)), options.url)
        if mend then say(mend, colours.yellow) end
    end
    local ok, err = client.with_host(watch, shell, function() end)
    if not ok then say(err, colours.red) end
end

local function start(options)
    local client = require("ccfleet.client")
    if client.has_host() then
        if client.request("restart") then
            sleep(1)
            return try_to_connect(options)
        end
        return say("The host that runs is of an older kind. Reboot to start the new one.", colours.yellow)
    end
    try_to_connect(options)
    if options.no_startup then return say("Start it with: /.ccfleet/boot.lua") end
    if multishell and shell.openTab then
        shell.run("/.ccfleet/boot.lua")
        return say('It works in the tab "ccfleet". Try: fleet help')
    end
    say("Restarting, so that it works behind the shell. Then try: fleet help")
    sleep(2)
    os.reboot()
end

local function uninstall()
    borrow_library(fetch_manifest())
    for _, text in ipairs(require("ccfleet.setup").uninstall(fs)) do say(text) end
    say("Reboot to end the host that still runs.")
end

local function main(arguments)
    local options = parse(arguments)
    if options.help then return print(HELP:format(SERVER)) end
    if not http then
        give_up("HTTP is disabled here", ("In %s, under [http], set enabled = true and restart."):format(CONFIG))
    end
    if options.uninstall then return uninstall() end
    if not SERVER:find("^https?://") then
        give_up("this file does not know its server", "Run it from there: wget run http://HOST:PORT/install.lua")
    end
    say("ccfleet from " .. SERVER)
    complete(options)
    borrow_library(fetch_manifest())
    local versions = require("ccfleet.slots").new(fs)
    local version = download(versions)
    save_settings(options)
    put_in_place(options, versions)
    use_installed_library()
    say(("Installed version %s in /ccfleet."):format(version))
    start(options)
end

local ok, problem = pcall(main, { ... })
if not ok then
    if type(problem) == "table" then
        printError(problem.text)
        if problem.mend then say(problem.mend, colours.yellow) end
    elseif tostring(problem):find("Terminated", 1, true) then
        printError("Stopped. What was downloaded is used by the next run; nothing else was changed.")
    else
        printError(tostring(problem))
        if tostring(problem):find("not enough memory", 1, true) then
            say("This computer has too little memory. Reboot it and run this again.", colours.yellow)
        end
    end
end
