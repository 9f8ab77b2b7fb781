--- What the installer changes on a computer besides `/ccfleet`: the start at boot. Everything can be taken back.
--
-- CC runs `/startup` or `/startup.lua`, and then every file of the folder `/startup/`. So a `startup.lua` of the person's
-- own stays where it is, and ours is a file in the folder. Only a file named `/startup` is in the way of that folder: it
-- becomes `/startup.lua`, and what was moved is noted down before it is.
--
-- @module[kind=internal] ccfleet.setup

local files = require("ccfleet.files")
local slots = require("ccfleet.slots")

local HOME = "/.ccfleet"
-- The last by name: without tabs it does not return before the person leaves its shell.
local STARTUP = "/startup/zz_ccfleet.lua"
local NOTES = HOME .. "/installed.json"
-- What has to work when an update does not, so updates leave it alone.
local STEADY = { ["boot.lua"] = "boot.lua", ["ccfleet/slots.lua"] = "slots.lua" }

local START = [[
-- Starts ccfleet at boot. "fleet uninstall" removes this file.
if fs.exists("/.ccfleet/boot.lua") then shell.run("/.ccfleet/boot.lua") end
]]

local setup = { STARTUP = STARTUP, HOME = HOME }

local function must_write(fs, path, content)
    local ok, err = files.write(fs, path, content)
    if not ok then error(("cannot write %s: %s"):format(path, tostring(err)), 0) end
end

local function read_notes(fs)
    local text = fs.exists(NOTES) and files.read(fs, NOTES)
    local ok, notes = pcall(textutils.unserialiseJSON, text or "")
    if not ok or type(notes) ~= "table" then return { moved = {} } end
    if type(notes.moved) ~= "table" then notes.moved = {} end
    return notes
end

local function save_notes(fs, notes)
    must_write(fs, NOTES, textutils.serialiseJSON(notes))
end

-- A move that a crash has interrupted left the file where it was, and perhaps half of it where it was going: before CC
-- 1.105 moving is copying and deleting.
local function finish_move(fs, notes, move)
    if move.done then return end
    if fs.exists(move.from) then
        fs.delete(move.to)
        fs.move(move.from, move.to)
    end
    move.done = true
    save_notes(fs, notes)
end

-- Move a file out of the way so that it can be put back; to a name that is free. Noted first: a crash in between loses
-- nothing.
local function put_aside(fs, notes, from, to)
    local free, number = to, 1
    while fs.exists(free) do
        number = number + 1
        free = to .. number
    end
    local move = { from = from, to = free }
    table.insert(notes.moved, move)
    save_notes(fs, notes)
    finish_move(fs, notes, move)
end

local function is_file(fs, path)
    return fs.exists(path) and not fs.isDir(path)
end

-- Make room for the folder `/startup/`.
local function free_startup(fs, notes)
    for _, move in ipairs(notes.moved) do finish_move(fs, notes, move) end
    if not is_file(fs, "/startup") then return end
    -- `/startup` was the one that ran: what lies in `startup.lua` must not start to run now.
    if fs.exists("/startup.lua") then put_aside(fs, notes, "/startup.lua", "/startup.lua.off") end
    put_aside(fs, notes, "/startup", "/startup.lua")
end

--- Copy what starts the host to `/.ccfleet/`.
--
-- @tparam table fs The `fs` API.
-- @throws when the disk is full or read-only.
function setup.place_boot(fs)
    for from, to in pairs(STEADY) do
        local content, err = files.read(fs, slots.LIVE .. "/" .. from)
        if not content then error(tostring(err), 0) end
        must_write(fs, HOME .. "/" .. to, content)
    end
end

--- Have the host start at boot, beside what starts already.
--
-- @tparam table fs The `fs` API.
-- @treturn table Lines that tell the person what changed.
-- @throws when the disk is full or read-only.
function setup.add_startup(fs)
    local notes, lines = read_notes(fs), {}
    local moved_before = #notes.moved
    free_startup(fs, notes)
    for i = moved_before + 1, #notes.moved do
        local move = notes.moved[i]
        table.insert(lines, ("%s is now %s; it runs at boot as before"):format(move.from, move.to))
        if move.to:find("%.off%d*$") then
            lines[#lines] = ("%s is now %s; it did not run before"):format(move.from, move.to)
        end
    end
    must_write(fs, STARTUP, START)
    if fs.exists("/startup.lua") then
        table.insert(lines, "Your startup.lua runs first. ccfleet starts when it ends.")
    end
    return lines
end

--- Whether the host starts at boot.
function setup.has_startup(fs)
    return fs.exists(STARTUP)
end

--- Take ccfleet off the start and the disk. Settings and receipts stay: the computer may come back, and must not run again
-- what it has run.
--
-- @tparam table fs The `fs` API.
-- @treturn table Lines that tell the person what was done.
function setup.uninstall(fs)
    local notes, lines = read_notes(fs), {}
    fs.delete(STARTUP)
    if fs.isDir("/startup") and #fs.list("/startup") == 0 then fs.delete("/startup") end
    for i = #notes.moved, 1, -1 do
        local move = notes.moved[i]
        if not move.done and fs.exists(move.from) then
            fs.delete(move.to)
        elseif fs.exists(move.to) and not fs.exists(move.from) then
            fs.move(move.to, move.from)
            table.insert(lines, ("%s is %s again"):format(move.to, move.from))
        elseif fs.exists(move.to) then
            table.insert(lines, ("%s stays: there is something at %s"):format(move.to, move.from))
        end
    end
    fs.delete(NOTES)
    for _, folder in ipairs({ slots.NEW, slots.OLD, slots.LIVE }) do fs.delete(folder) end
    for _, name in pairs(STEADY) do fs.delete(HOME .. "/" .. name) end
    for _, name in ipairs(fs.isDir(HOME) and fs.list(HOME) or {}) do
        if name == "boot.log" or name:find("^host%.log") then fs.delete(HOME .. "/" .. name) end
    end
    fs.delete(slots.STATE)
    table.insert(lines, "ccfleet is gone from the start and from /ccfleet. /.ccfleet and the settings ccfleet.* stay.")
    return lines
end

return setup
