-- Lua that has to run on CC: Tweaked from 1.100 (Lua 5.1 with additions) on.
std = "lua51"
max_line_length = 125

-- What ComputerCraft adds to the globals.
read_globals = {
    "bit32", "colours", "colors", "commands", "fs", "gps", "http", "keys", "multishell", "parallel", "peripheral", "pocket", "printError",
    "read", "redstone", "rs", "rednet", "settings", "shell", "sleep", "term", "textutils", "turtle", "window", "write",
    "_HOST", "ccfleet_control",
    -- In newer versions only; used with a fallback.
    table = { fields = { "pack", "unpack" } },
    os = {
        fields = {
            "cancelTimer", "clock", "epoch", "getComputerID", "getComputerLabel", "pullEvent", "pullEventRaw", "queueEvent",
            "reboot", "setComputerLabel", "startTimer",
        },
    },
}

-- Methods that a table of functions needs but some of its members do not.
self = false

-- Specs stand in for the computer.
files["lua/specs/*_spec.lua"] = { globals = { "os" } }
