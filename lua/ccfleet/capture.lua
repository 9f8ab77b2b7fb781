--- A terminal that nobody sees: keeps everything that is written to it as text.
--
-- Lines stay as they were written, cursor moves included, so that columns stay columns. The terminal is wide and high,
-- since programs wrap long lines at its width and wait for a key at its height. What scrolls away or is cleared is
-- kept too, up to a limit: then the middle goes.
--
-- @module[kind=internal] ccfleet.capture

local WIDTH, HEIGHT = 500, 1000
-- How much of what has scrolled away is kept of the beginning and of the end.
local HEAD_BYTES, TAIL_BYTES = 16 * 1024, 16 * 1024

local text = require("ccfleet.text")

local Capture = {}
Capture.__index = Capture

function Capture.new()
    local self = setmetatable({
        _rows = {},       -- absolute row number -> text; screen row y is row `_top + y`
        _top = 0,
        _last = 0,        -- the highest row that was written to
        _x = 1, _y = 1,
        _blink = false,
        _text_colour = colours.white, _background = colours.black,
        _palette = {},
        _head = {}, _head_bytes = 0,
        _tail = {}, _tail_first = 1, _tail_bytes = 0,
        _dropped = 0,
    }, Capture)
    self.terminal = self:_make_terminal()
    return self
end

-- Rows ---------------------------------------------------------------------------------------------------------

function Capture:_put(written)
    written = tostring(written):gsub("[\r\n]", " ")
    local x, y = self._x, self._y
    self._x = x + #written
    if y < 1 or y > HEIGHT then return end
    if x < 1 then written, x = written:sub(2 - x), 1 end
    if written == "" then return end

    local row = self._top + y
    local old = self._rows[row] or ""
    if #old < x - 1 then old = old .. (" "):rep(x - 1 - #old) end
    self._rows[row] = old:sub(1, x - 1) .. written .. old:sub(x + #written)
    self._last = math.max(self._last, row)
end

-- Move a row to the kept text of what has gone.
function Capture:_retire(row)
    local line = (self._rows[row] or ""):gsub(" +$", "")
    self._rows[row] = nil
    if self._head_bytes < HEAD_BYTES and self._dropped == 0 and self._tail_bytes == 0 then
        self._head_bytes = self._head_bytes + #line + 1
        table.insert(self._head, line)
        return
    end
    table.insert(self._tail, line)
    self._tail_bytes = self._tail_bytes + #line + 1
    while self._tail_bytes > TAIL_BYTES and self._tail_first < #self._tail do
        local dropped = self._tail[self._tail_first]
        self._tail[self._tail_first] = false
        self._tail_first = self._tail_first + 1
        self._tail_bytes = self._tail_bytes - #dropped - 1
        self._dropped = self._dropped + #dropped + 1
    end
end

function Capture:_scroll(lines)
    for row = self._top + 1, math.min(self._top + lines, self._last) do self:_retire(row) end
    if lines < 0 then
        for row = self._last, self._top + 1, -1 do
            self._rows[row - lines], self._rows[row] = self._rows[row], nil
        end
        self._last = self._last - lines
    else
        self._top = self._top + lines
        self._last = math.max(self._last, self._top)
    end
end

-- What was on the screen stays part of the output.
function Capture:_clear()
    for row = self._top + 1, self._last do self:_retire(row) end
    self._top = self._last
end

function Capture:_clear_line()
    self._rows[self._top + self._y] = nil
end

--- Everything that was written, without the blanks at the ends.
--
-- @tparam number limit How many bytes; more is cut in the middle.
-- @treturn string
-- @treturn boolean Whether something was cut.
function Capture:output(limit)
    local lines = {}
    for _, line in ipairs(self._head) do lines[#lines + 1] = line end
    if self._dropped > 0 then lines[#lines + 1] = ("... %d bytes cut ..."):format(self._dropped) end
    for i = self._tail_first, #self._tail do lines[#lines + 1] = self._tail[i] end
    for row = self._top + 1, self._last do
        lines[#lines + 1] = ((self._rows[row] or ""):gsub(" +$", ""))
    end
    local whole = text.to_utf8((table.concat(lines, "\n"):gsub("%s+$", "")))
    local kept, was_cut = text.cut_middle(whole, limit)
    return kept, was_cut or self._dropped > 0
end

--- Whether the program shows a blinking cursor: it is reading a line.
function Capture:is_reading()
    return self._blink
end

-- The terminal -------------------------------------------------------------------------------------------------

local function check_colour(colour)
    if type(colour) ~= "number" then error("bad argument #1 (number expected, got " .. type(colour) .. ")", 3) end
    return colour
end

function Capture:_text_functions()
    local function blit(written, foreground, background)
        if #written ~= #foreground or #written ~= #background then
            error("Arguments must be the same length", 2)
        end
        self:_put(written)
    end
    return {
        write = function(written) self:_put(written) end,
        blit = blit,
        clear = function() self:_clear() end,
        clearLine = function() self:_clear_line() end,
        scroll = function(lines) self:_scroll(math.floor(lines)) end,
        getSize = function() return WIDTH, HEIGHT end,
        getCursorPos = function() return self._x, self._y end,
        setCursorPos = function(x, y) self._x, self._y = math.floor(x), math.floor(y) end,
        getCursorBlink = function() return self._blink end,
        setCursorBlink = function(blink) self._blink = blink end,
    }
end

-- Colours have no effect on the text, but programs ask for what they have set.
function Capture:_colour_functions()
    local outer = term.current()
    local is_colour = outer.isColour()
    return {
        isColour = function() return is_colour end,
        getTextColour = function() return self._text_colour end,
        setTextColour = function(colour) self._text_colour = check_colour(colour) end,
        getBackgroundColour = function() return self._background end,
        setBackgroundColour = function(colour) self._background = check_colour(colour) end,
        getPaletteColour = function(colour)
            local own = self._palette[check_colour(colour)]
            if own then return own[1], own[2], own[3] end
            return outer.getPaletteColour(colour)
        end,
        setPaletteColour = function(colour, red, green, blue)
            if not green then red, green, blue = colours.unpackRGB(red) end
            self._palette[check_colour(colour)] = { red, green, blue }
        end,
    }
end

function Capture:_make_terminal()
    local terminal = self:_text_functions()
    for name, colour_function in pairs(self:_colour_functions()) do
        terminal[name] = colour_function
        terminal[name:gsub("Colour", "Color")] = colour_function
    end
    return terminal
end

return Capture
