--- How tasks look on a screen: colours where there are any, marks where there are none, words cut to what fits.
--
-- @module[kind=internal] ccfleet.screen

local screen = {}

local LOOKS = {
    queued = { colours.lightGrey, "." },
    running = { colours.lightBlue, ">" },
    waiting_for_command = { colours.lightBlue, ">" },
    waiting_for_user = { colours.orange, "?" },
    sleeping = { colours.grey, "z" },
    completed = { colours.lime, "+" },
    failed = { colours.red, "x" },
    cancelled = { colours.grey, "-" },
}

local WAITS = {
    computer_offline = "waits: the computer is offline",
    model = "waits for the model",
    approval = "waits for approval",
    answer = "waits for an answer",
    schedule = "waits for its time",
    event = "waits for an event",
    stopped = "waits: stopped",
}

--- The colour of a status.
function screen.colour(status)
    return (LOOKS[status] or LOOKS.queued)[1]
end

--- The one-character mark of a status.
function screen.mark(status)
    return (LOOKS[status] or { nil, " " })[2]
end

--- Whether a task with this status has ended.
function screen.is_ended(status)
    return status == "completed" or status == "failed" or status == "cancelled"
end

--- A status in words, with what it waits for.
function screen.status_text(task)
    local wait = task.wait_reason and WAITS[task.wait_reason]
    return wait or (tostring(task.status):gsub("_", " "))
end

-- The screen knows Latin-1 only, so of UTF-8 it can show what is in both.
local function latin1(sequence)
    local lead, rest = sequence:byte(1, 2)
    if #sequence > 2 or lead > 195 then return "?" end
    local code = (lead - 192) * 64 + rest - 128
    return code >= 160 and string.char(code) or "?"
end

--- Text as the computer's own character set can show it: one character for each of ours, no control characters.
-- What the server says is UTF-8; what was typed here, such as the computer's name, is Latin-1 already and stays.
function screen.plain(text)
    text = tostring(text):gsub("[%c]+", " ")
    return (text:gsub("[\194-\244][\128-\191]+", latin1))
end

--- Text cut to a width.
function screen.fit(text, width)
    text = screen.plain(text)
    if #text <= width then return text end
    if width <= 2 then return text:sub(1, math.max(0, width)) end
    return text:sub(1, width - 2) .. ".."
end

--- Print a line in a colour.
function screen.say(colour, text)
    local before = term.getTextColour()
    if term.isColour() then term.setTextColour(colour) end
    print(screen.plain(text))
    term.setTextColour(before)
end

--- The short form of an id, enough to name it to `fleet task` and others.
function screen.short_id(id)
    return #id <= 8 and id or id:sub(-6)
end

--- The one of these ids that is meant: the whole id, or a unique end of one.
--
-- @tparam table ids List of ids.
-- @tparam string word What was typed.
-- @treturn string|nil The id, or nil and why not.
function screen.pick_id(ids, word)
    local found
    for _, id in ipairs(ids) do
        if id == word then return id end
        if #word >= 3 and id:sub(-#word):lower() == word:lower() then
            if found then return nil, ("%s can be %s or %s"):format(word, found, id) end
            found = id
        end
    end
    if found then return found end
    return nil, ("there is no %s here"):format(word)
end

--- How far a task is, as text; empty if it does not say.
function screen.percent(task)
    local progress = tonumber(task.progress)
    if not progress or screen.is_ended(task.status) then return "" end
    return ("%d%%"):format(math.floor(math.max(0, math.min(1, progress)) * 100 + 0.5))
end

return screen
