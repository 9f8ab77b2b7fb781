local check = require("check")
local commands = require("ccfleet.commands")

local specs = {}

local function resolve(line) return commands.resolve(shell, line) end

specs["commands: a line is split at spaces, and quotes keep them"] = function()
    local words, foreign = commands.split('say "two words"  three "" ')
    check.same(words, { n = 4, "say", "two words", "three", "" })
    check.same(foreign, nil)
    check.same(commands.split("").n, 0)
    check.same(commands.split('open "never closed').n, 2)
end

specs["commands: a program is found with its name and its words"] = function()
    local path, words = resolve("ls /rom programs")
    check.same(path, "rom/programs/list.lua")
    check.same(words, { [0] = "ls", "/rom", "programs" })
    check.same(resolve("/rom/programs/list.lua"), "rom/programs/list.lua")
end

specs["commands: what only other shells understand is refused before anything runs"] = function()
    for line, word in pairs({
        ["mv /a /b && ls"] = "&&",
        ["ls; ls"] = "ls;",
        ["ls /rom | more"] = "|",
        ["echo hi > /notes.txt"] = ">",
        ["list >>/log"] = ">>/log",
        ["list 2>&1"] = "2>&1",
        ["list < /a"] = "<",
    }) do
        local path, why = resolve(line)
        check.same(path, nil, line)
        check.contains(why, "`" .. word .. "`", line)
        check.contains(why, "Nothing of this one was run", line)
    end
    for line, first in pairs({ ["mv /a /b && ls"] = "mv /a /b", ["ls; rm /a"] = "ls", ["list ; ls"] = "list" }) do
        local _, why = resolve(line)
        check.contains(why, "give one command a call, first `" .. first .. "`, and", line)
    end
    for _, line in ipairs({ "ls /rom | more", "echo hi > /notes.txt", "&& ls" }) do
        local _, why = resolve(line)
        check.contains(why, "give one command a call, and", line)
    end
    -- In quotes, and in the middle of a word, they are words like any other.
    check.truthy(resolve('ls ">"') and resolve("ls a>b") and resolve("ls -> a&b <name>"))
end

specs["commands: who types a command of another system is told what does the same"] = function()
    for line, tool in pairs({
        ["cat /a"] = 'the tool fs_read reads a file: {"path": "/a"}',
        ["head -n 5 /a"] = 'the tool fs_read reads a file: {"path": "/a"}',
        ["cat"] = "fs_read",
        ["grep x /a"] = "fs_grep",
        ["touch /a"] = "fs_write",
    }) do
        local path, why = resolve(line)
        check.same(path, nil, line)
        check.contains(why, "no such program; " .. tool, line)
    end
    local _, why = resolve("frobnicate")
    check.contains(why, "the command `programs`")
    _, why = resolve("  ")
    check.same(why, "the command is empty")
end

specs["commands: a task's command neither sees nor sets what a person set for ccfleet"] = function()
    for _, line in ipairs({ 'set ccfleet.http_hosts "*"', "set ccfleet.token", "/rom/programs/set.lua ccfleet.url x" }) do
        local path, why = resolve(line)
        check.same(path, nil, line)
        check.contains(why, "is for a person at this computer", line)
    end
    check.truthy(resolve("set shell.allow_startup false") and resolve("set"))
end

specs["commands: the prompt for Lua runs no files, and its caller is told the right command"] = function()
    local path, why = resolve("lua /sum.lua 2 3")
    check.same(path, nil)
    check.contains(why, "/sum.lua 2 3")
    check.same(resolve("lua"), "rom/programs/lua.lua")
end

return specs
