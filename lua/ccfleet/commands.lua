--- Command lines as CraftOS takes them, and what it has instead of what people and models know from other systems.
--
-- @module[kind=internal] ccfleet.commands

local expect = require("cc.expect").expect

-- Commands of other shells, and the tool that does the same.
local READS, WRITES = "fs_read reads a file", "fs_write writes a file"
local INSTEAD = {
    cat = READS, head = READS, less = READS, more = READS, tail = READS,
    echo = WRITES, nano = WRITES, printf = WRITES, tee = WRITES, touch = WRITES, vi = WRITES, vim = WRITES,
    awk = "fs_patch changes a file", patch = "fs_patch changes a file", sed = "fs_patch changes a file",
    find = "fs_find looks for files", grep = "fs_grep looks through files",
    luajit = "a program is run by its own path",
}

-- Words that other shells take for themselves: pipes, redirections, and what joins commands.
local function is_operator(word)
    return word:find("^[;|&]+$") or word == "<" or word:find("^%d?>") or word:find(".;$")
end

--- Split a command line into words; double quotes keep spaces.
--
-- @tparam string line The command line.
-- @treturn { n = number, string... } Its words.
-- @treturn string|nil The first word outside of quotes that only another shell would understand.
-- @treturn string|nil What stands before that word, if it joins commands: the first of them.
local function split(line)
    expect(1, line, "string")
    local words, foreign, first = { n = 0 }, nil, nil
    local position = 1
    while true do
        position = line:find("%S", position)
        if not position then return words, foreign, first end
        local word, after = line:match('^"([^"]*)"?()', position)
        if not word then
            word, after = line:match('^([^%s"]+)()', position)
            if not foreign and is_operator(word) then
                foreign = word
                local before = line:sub(1, position - 1)
                if word:find(".;$") then before = before .. word:sub(1, -2) end
                first = word:find("[;&]$") and before:match("%S.*%S") or nil
            end
        end
        words.n = words.n + 1
        words[words.n] = word
        position = after
    end
end

--- Find the program of a command line, or say why it cannot be run as it stands.
--
-- @tparam table shell The shell that resolves names.
-- @tparam string line The command line.
-- @treturn string|nil The program's path.
-- @treturn table|string The words behind the program's name, and the name at 0; or why there is no program, and what to do.
local function resolve(shell, line)
    expect(1, shell, "table")
    local words, foreign, first = split(line)
    local name = table.remove(words, 1)
    if not name then return nil, "the command is empty" end
    if foreign then
        -- With the first command itself: a model that was told how it is done went on with something else.
        local begin = first and (", first `%s`"):format(first) or ""
        return nil, ("CraftOS knows no `%s`: give one command a call%s, and use fs_write to write files. Nothing of this "
            .. "one was run. Quote the word, or use run_program, if it is meant for the program"):format(foreign, begin)
    end
    local path = shell.resolveProgram(name)
    if not path then
        local instead = INSTEAD[name]
        if instead == READS and words[1] then
            -- With the call itself: models that were told the tool's name alone typed the command again.
            instead = ('the tool %s: {"path": "/%s"}'):format(instead, shell.resolve(words[#words]))
        end
        if instead then return nil, ("%s: no such program; %s"):format(name, instead) end
        return nil, name .. ": no such program; the command `programs` lists those that there are"
    end
    -- The game's own `lua` would say so, too, and end as if all were well.
    if #words > 0 and fs.combine(path, "") == "rom/programs/lua.lua" then
        return nil, "`lua` is a prompt and runs no files: the command is the program itself, " .. table.concat(words, " ")
    end
    -- A model that heard which setting keeps it from a host set that itself.
    if fs.combine(path, "") == "rom/programs/set.lua" and words[1] and words[1]:find("^ccfleet%.") then
        return nil, words[1] .. " is for a person at this computer to see and to set, not for a command of a task"
    end
    words.n, words[0] = nil, name
    return path, words
end

return { resolve = resolve, split = split }
