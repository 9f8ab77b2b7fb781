--- Prepares the shell that runs it: `fleet` is found, and Tab completes what belongs to it. `boot.lua` runs this at boot.

local folder = fs.combine(fs.getDir(shell.getRunningProgram()), "programs")
local path = "/" .. folder

-- The shell keeps its path as one text; a second entry would do no harm but grow with every update.
if not (":" .. shell.path() .. ":"):find(":" .. path .. ":", 1, true) then
    shell.setPath(shell.path() .. ":" .. path)
end

local COMMANDS = {
    "answer ", "ask ", "board ", "cancel ", "help", "resume", "start", "status", "stop", "task ", "tasks", "tools",
    "uninstall", "update",
}

local function matching(text, choices)
    local rest = {}
    for _, choice in ipairs(choices) do
        if #choice > #text and choice:sub(1, #text) == text then table.insert(rest, choice:sub(#text + 1)) end
    end
    return rest
end

local function monitors()
    local names = {}
    for _, name in ipairs(peripheral.getNames()) do
        if peripheral.getType(name) == "monitor" then table.insert(names, name) end
    end
    return names
end

local SECOND = {
    board = monitors,
    stop = function() return { "--all" } end,
    resume = function() return { "--all" } end,
}

local function complete(_, index, text, previous)
    if index == 1 then return matching(text, COMMANDS) end
    local choices = index == 2 and SECOND[previous[2]]
    return choices and matching(text, choices()) or nil
end

shell.setCompletionFunction(fs.combine(folder, "fleet.lua"), complete)
