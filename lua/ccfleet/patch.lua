--- Changes a text by a unified diff or by search and replace, whole or not at all.
--
-- The lines that a hunk expects must be in the text exactly as they are in the hunk; only where they are may differ
-- from what the hunk says. What does not fit is an error that shows what the text has there.
--
-- @module[kind=internal] ccfleet.patch

local text = require("ccfleet.text")

local patch = {
    --- How edits are written, for errors: small models take what they are shown.
    EDITS_FORM = '"edits": [{"search": "old piece", "replace": "new piece"}]',
}

local SHOWN_LINES, SHOWN_CHARACTERS = 6, 160
-- Enough to find the place that a writer meant; all of a long hunk at every line of a long file takes too long.
local COMPARED_LINES = 40

-- Lines --------------------------------------------------------------------------------------------------------

-- A text as lines without their ends, how lines end, and whether the last one does.
local function split(s)
    s = text.flat(s)
    local eol = "\n"
    if s:find("\r\n", 1, true) and not s:gsub("\r\n", ""):find("\n", 1, true) then eol = "\r\n" end
    local lines, position = {}, 1
    while position <= #s do
        local stop, after = s:find(eol, position, true)
        lines[#lines + 1] = s:sub(position, (stop or #s + 1) - 1)
        position = (after or #s) + 1
    end
    return { lines = lines, eol = eol, is_ended = s == "" or s:sub(-#eol) == eol }
end

local function join(document)
    local s = table.concat(document.lines, document.eol)
    if document.is_ended and document.lines[1] then s = s .. document.eol end
    return s
end

local function shown(line)
    if #line > SHOWN_CHARACTERS then line = line:sub(1, SHOWN_CHARACTERS) .. "..." end
    return line
end

-- The lines of a text around a place, numbered, for an error.
local function excerpt(lines, first, count)
    local out = {}
    for i = math.max(1, first), math.min(#lines, first + math.min(count, SHOWN_LINES) - 1) do
        out[#out + 1] = ("%d: %s"):format(i, shown(lines[i]))
    end
    if not out[1] then return ("(the file has %d lines)"):format(#lines) end
    return table.concat(out, "\n")
end

-- Reading a diff -----------------------------------------------------------------------------------------------

-- A removed Lua comment looks like the head of a next file (`--- text`), so only both lines and the `@@` after them count.
local function begins_another_file(lines, i)
    return lines[i]:find("^%-%-%- ") and lines[i + 1] and lines[i + 1]:find("^%+%+%+ ")
        and (lines[i + 2] or ""):find("^@@")
end

local function add_line(hunk, mark, content)
    if mark ~= "+" then table.insert(hunk.old, content) end
    if mark ~= "-" then table.insert(hunk.new, content) end
    table.insert(hunk.marks, mark)
    if mark == "+" then hunk.added = hunk.added + 1 end
    if mark == "-" then hunk.removed = hunk.removed + 1 end
end

local function end_of_line_note(hunk)
    local mark = hunk.marks[#hunk.marks]
    if mark ~= "-" then hunk.new_is_open = true end
    hunk.has_note = true
end

local function new_hunk(line)
    local start = line:match("^@@+ %-(%d+)")
    return { at = tonumber(start), old = {}, new = {}, marks = {}, added = 0, removed = 0 }
end

-- Returns the hunks, or nil and what is wrong with the diff.
local function parse(diff)
    local lines, hunks, hunk = split((diff:gsub("\r\n", "\n"))).lines, {}, nil
    for i, line in ipairs(lines) do
        local mark = line:sub(1, 1)
        if line:find("^@@") then
            hunk = new_hunk(line)
            hunks[#hunks + 1] = hunk
        elseif not hunk then
            -- Heads of the file and of the tool that made the diff.
            if mark == "+" and not line:find("^%+%+%+") then
                return nil, ("line %d of the diff is outside of any hunk: begin each with @@ -LINE +LINE @@"):format(i)
            end
        elseif begins_another_file(lines, i) then
            return nil, "the diff is about more than one file; give one call for each file"
        elseif mark == " " or mark == "+" or mark == "-" then
            add_line(hunk, mark, line:sub(2))
        elseif line == "" then
            -- Many writers drop the blank of an empty line.
            add_line(hunk, " ", "")
        elseif mark == "\\" then
            end_of_line_note(hunk)
        else
            return nil, ("line %d of the diff begins with none of ' ', '+', '-', '@@': %s"):format(i, shown(line))
        end
    end
    if not hunks[1] then
        return nil, "the diff has no hunk: begin each with @@ -LINE,COUNT +LINE,COUNT @@, or give edits in its place: "
            .. patch.EDITS_FORM
    end
    return hunks
end

-- Finding the place --------------------------------------------------------------------------------------------

local function matches_at(lines, old, at)
    for i = 1, #old do
        if lines[at + i - 1] ~= old[i] then return false end
    end
    return true
end

-- How many of the expected lines are at a place.
local function agreement(lines, old, at)
    local count = 0
    for i = 1, math.min(#old, COMPARED_LINES) do
        if lines[at + i - 1] == old[i] then count = count + 1 end
    end
    return count
end

-- The nearest place after `from` where the lines are, nil and "ambiguous" if two are equally near.
local function find_place(lines, old, expected, from)
    local best, best_distance, is_tied
    for at = from, #lines - #old + 1 do
        if matches_at(lines, old, at) then
            local distance = expected and math.abs(at - expected) or 0
            if not best or distance < best_distance then
                best, best_distance, is_tied = at, distance, false
            elseif distance == best_distance then
                is_tied = true
            end
        end
    end
    if is_tied then return nil, "ambiguous" end
    return best
end

-- Where the text is most like what the hunk expects, and whether any line of it is there.
local function closest_place(lines, old, expected)
    local best, best_count = math.max(1, math.min(expected or 1, #lines)), 0
    for at = 1, #lines do
        local count = agreement(lines, old, at)
        if count > best_count then best, best_count = at, count end
    end
    return best, best_count > 0
end

local function drift(lines, hunk, number, expected)
    local at = closest_place(lines, hunk.old, expected)
    local wrong = 1
    while wrong < #hunk.old and lines[at + wrong - 1] == hunk.old[wrong] do wrong = wrong + 1 end
    return ("hunk %d does not fit; nothing was changed. It expects\n%s\nbut the file has\n%s\n"
        .. "Read the file again and make the diff from what is there."):format(number, shown(hunk.old[wrong]),
        excerpt(lines, at + wrong - 1, #hunk.old))
end

-- Where a hunk goes, or nil and the reason.
local function place(lines, hunk, number, shift, from)
    local expected = hunk.at and hunk.at + shift
    if #hunk.old == 0 then
        if not hunk.at then return nil, ("hunk %d says neither where it goes nor what is there"):format(number) end
        -- A hunk that only adds names the line after which it adds.
        return math.max(from, math.min(expected + 1, #lines + 1))
    end
    local at, why = find_place(lines, hunk.old, expected, from)
    if at then return at end
    if why then
        return nil, ("hunk %d fits in more than one place; nothing was changed. Give it more lines around the change, "
            .. "or the right line number."):format(number)
    end
    return nil, drift(lines, hunk, number, expected)
end

local function splice(lines, at, count, new)
    local out = {}
    for i = 1, at - 1 do out[i] = lines[i] end
    for _, line in ipairs(new) do out[#out + 1] = line end
    for i = at + count, #lines do out[#out + 1] = lines[i] end
    return out
end

-- Applying -----------------------------------------------------------------------------------------------------

--- Apply a unified diff of one file.
--
-- @tparam string content The text.
-- @tparam string diff The diff; the counts in its `@@` lines are not needed.
-- @treturn string|nil The new text, or nil and which hunk does not fit and what the text has there.
-- @treturn table `hunks` [`line`, `moved_by`], `added`, `removed`.
function patch.apply_diff(content, diff)
    local hunks, err = parse(diff)
    if not hunks then return nil, err end
    local document, report = split(content), { hunks = {}, added = 0, removed = 0 }
    local shift, from = 0, 1
    for number, hunk in ipairs(hunks) do
        local at
        at, err = place(document.lines, hunk, number, shift, from)
        if not at then return nil, err end
        local reaches_end = at + #hunk.old > #document.lines
        document.lines = splice(document.lines, at, #hunk.old, hunk.new)
        if reaches_end and hunk.has_note then document.is_ended = not hunk.new_is_open end
        local moved_by = hunk.at and #hunk.old > 0 and at - (hunk.at + shift) or 0
        report.hunks[number] = { line = at, moved_by = moved_by }
        report.added, report.removed = report.added + hunk.added, report.removed + hunk.removed
        shift, from = shift + moved_by + #hunk.new - #hunk.old, at + #hunk.new
    end
    return join(document), report
end

local function line_of(s, position)
    return select(2, s:sub(1, position - 1):gsub("\n", "")) + 1
end

local function count_lines(s)
    return select(2, s:gsub("\n", "")) + (s:sub(-1) ~= "\n" and s ~= "" and 1 or 0)
end

local function find_all(s, words)
    local places, position = {}, 1
    while true do
        local first, last = s:find(words, position, true)
        if not first then return places end
        places[#places + 1] = first
        position = last + 1
    end
end

local function words_of(line)
    local words = {}
    for word in line:gmatch("%w+") do words[word] = true end
    return words
end

-- The line that has most words of the first wanted one, where no line is wanted as it stands.
local function most_alike(lines, wanted)
    local words, best, best_count = words_of(wanted[1] or ""), nil, 0
    for number, line in ipairs(lines) do
        local count = 0
        for word in pairs(words_of(line)) do
            if words[word] then count = count + 1 end
        end
        if count > best_count then best, best_count = number, count end
    end
    return best
end

local function not_found(content, edit, number)
    local document, wanted = split(content), split(edit.search)
    local at, agrees = closest_place(document.lines, wanted.lines)
    if not agrees then at = most_alike(document.lines, wanted.lines) or at end
    return ("edit %d: the text to search for is not in the file; nothing was changed. The closest place is\n%s\nSearch for "
        .. "exactly what is there, blanks included."):format(number, excerpt(document.lines, at, #wanted.lines))
end

--- Replace pieces of a text, one after the other.
--
-- @tparam string content The text.
-- @tparam table edits `search`, `replace`, and `all` to replace every occurrence; without it there must be just one.
-- @treturn string|nil The new text, or nil and which edit does not fit.
-- @treturn table `hunks` [`line`, `count`], `added`, `removed` (lines).
function patch.apply_edits(content, edits)
    local report = { hunks = {}, added = 0, removed = 0 }
    for number, edit in ipairs(edits) do
        if edit.search == "" then return nil, ("edit %d: search is empty; nothing was changed"):format(number) end
        if edit.search == edit.replace then
            return nil, ("edit %d: replace is the same text as search, so it would change nothing; nothing was changed. "
                .. "Give in replace what shall stand there."):format(number)
        end
        local places = find_all(content, edit.search)
        if not places[1] then return nil, not_found(content, edit, number) end
        if places[2] and not edit.all then
            return nil, ("edit %d: the text to search for is in the file %d times (lines %d, %d, ...); nothing was changed. "
                .. "Search for more of what is around it, or set all."):format(number, #places, line_of(content, places[1]),
                line_of(content, places[2]))
        end
        local pieces, position = {}, 1
        for _, first in ipairs(places) do
            pieces[#pieces + 1] = content:sub(position, first - 1)
            pieces[#pieces + 1] = edit.replace
            position = first + #edit.search
        end
        report.hunks[number] = { line = line_of(content, places[1]), count = #places }
        report.added = report.added + #places * count_lines(edit.replace)
        report.removed = report.removed + #places * count_lines(edit.search)
        content = table.concat(pieces) .. content:sub(position)
    end
    return content, report
end

return patch
