--- Types prepared lines for a program that reads.
--
-- Each line becomes the key presses that a person would make: `key`, `char`, `key_up` for each character, and enter at
-- the end. A program that waits for one of these events by name gets only those, so a menu that waits for `char` can
-- be answered as well as `read`.
--
-- @module[kind=internal] ccfleet.typist

local DIGITS = { "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine" }

local Typist = {}
Typist.__index = Typist

local function key_of(char)
    if char == " " then return keys.space end
    local digit = tonumber(char)
    return keys[digit and DIGITS[digit + 1] or char:lower()]
end

-- The presses of one line, first to last.
local function presses_of(line)
    local presses = {}
    local function press(key, char)
        if key then table.insert(presses, { "key", key, false }) end
        if char then table.insert(presses, { "char", char }) end
        if key then table.insert(presses, { "key_up", key }) end
    end
    for char in line:gmatch("[^\n]") do press(key_of(char), char) end
    press(keys.enter)
    return presses
end

--- @tparam table lines What to type, one line a program's read.
function Typist.new(lines)
    return setmetatable({ _lines = lines, _line = 0, _presses = {}, _next = 1, _by_name = false }, Typist)
end

-- The next press that has not been used, or nil if all is typed.
function Typist:_press()
    while not self._presses[self._next] do
        self._line = self._line + 1
        local line = self._lines[self._line]
        if not line then return nil end
        self._presses, self._next = presses_of(line), 1
    end
    self._next = self._next + 1
    return self._presses[self._next - 1]
end

local TYPED = { key = true, char = true, key_up = true, paste = true }

--- The next event for a program that waits.
--
-- @tparam string|nil filter What the program waits for.
-- @tparam boolean is_reading Whether it shows a cursor.
-- @treturn table|nil The event, or nil if the program does not wait for a person or all is typed.
function Typist:next(filter, is_reading)
    -- A program that waits for anything may wait for something else; only the cursor tells that it reads.
    if filter and not TYPED[filter] or not filter and not is_reading then return nil end
    -- The rest of a line of which a menu took one key (enter, mostly) does not answer the next question.
    if not filter and self._by_name then self._presses = {} end
    self._by_name = filter ~= nil

    local event
    repeat
        event = self:_press()
    until not event or not filter or event[1] == filter
    return event
end

return Typist
