--- Small helpers for byte strings that have to travel as UTF-8.
--
-- @module[kind=internal] ccfleet.text

local text = {}

--- The same string, laid out plainly. CraftOS-PC keeps a piece of a string (`sub`) as a reference and copies it for every
-- single look at it, so that a loop over a long piece takes minutes.
function text.flat(s)
    return table.concat({ s })
end

-- Well-formed UTF-8 by lead byte (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
local SEQUENCES = {
    "^[\194-\223][\128-\191]",
    "^\224[\160-\191][\128-\191]",
    "^[\225-\236\238\239][\128-\191][\128-\191]",
    "^\237[\128-\159][\128-\191]",
    "^\240[\144-\191][\128-\191][\128-\191]",
    "^[\241-\243][\128-\191][\128-\191][\128-\191]",
    "^\244[\128-\143][\128-\191][\128-\191]",
}

local function sequence_end(s, position)
    for i = 1, #SEQUENCES do
        local _, stop = s:find(SEQUENCES[i], position)
        if stop then return stop end
    end
    return nil
end

-- The two UTF-8 bytes of a Latin-1 character from 128 to 255.
local function latin1(byte)
    if byte < 192 then return string.char(194, byte) end
    return string.char(195, byte - 64)
end

--- Make a string valid UTF-8.
--
-- Well-formed sequences stay; each other byte from 128 up is read as Latin-1, which is (nearly) what
-- ComputerCraft shows for it on screen and what a program from before 1.109 means by it.
--
-- @tparam string s Any bytes.
-- @treturn string Valid UTF-8.
function text.to_utf8(s)
    local bad = s:find("[\128-\255]")
    if not bad then return s end

    s = text.flat(s)
    local out, count, copied, position = {}, 0, 0, bad
    while position do
        local stop = sequence_end(s, position)
        if not stop then
            out[count + 1] = s:sub(copied + 1, position - 1)
            out[count + 2] = latin1(s:byte(position))
            count = count + 2
            copied, stop = position, position
        end
        position = s:find("[\128-\255]", stop + 1)
    end
    out[count + 1] = s:sub(copied + 1)
    return table.concat(out)
end

local function is_continuation(byte)
    return byte ~= nil and byte >= 128 and byte < 192
end

--- The longest start of `s` of at most `limit` bytes that does not split a UTF-8 sequence.
function text.head(s, limit)
    if #s <= limit then return s end
    local stop = limit
    while stop > 0 and stop > limit - 4 and is_continuation(s:byte(stop + 1)) do stop = stop - 1 end
    return s:sub(1, stop)
end

--- The longest end of `s` of at most `limit` bytes that does not split a UTF-8 sequence.
function text.tail(s, limit)
    if #s <= limit then return s end
    local start = #s - limit + 1
    while start <= #s and start < #s - limit + 5 and is_continuation(s:byte(start)) do start = start + 1 end
    return s:sub(start)
end

--- Cut the middle out of a text that is too long.
--
-- @tparam string s The text.
-- @tparam number limit How many bytes may stay.
-- @treturn string The text, or its head and tail with a note between them.
-- @treturn boolean Whether something was cut.
function text.cut_middle(s, limit)
    if #s <= limit then return s, false end
    local note = ("\n... %d bytes cut ...\n"):format(#s - limit)
    local room = math.max(limit - #note, 0)
    local tail = text.tail(s, math.floor(room / 2))
    return text.head(s, room - #tail) .. note .. tail, true
end

-- The sums stay exact over so many bytes, and are only then cut down.
local CHECKSUM_STEP = 65536

-- Eight bytes a call: calls are what it costs, and every receipt that is written pays it.
local function add_bytes(s, first, last, a, b)
    local byte = string.byte
    local whole = last - (last - first + 1) % 8
    for i = first, whole, 8 do
        local c1, c2, c3, c4, c5, c6, c7, c8 = byte(s, i, i + 7)
        b = b + 8 * a + 8 * c1 + 7 * c2 + 6 * c3 + 5 * c4 + 4 * c5 + 3 * c6 + 2 * c7 + c8
        a = a + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8
    end
    for i = whole + 1, last do
        a = a + byte(s, i)
        b = b + a
    end
    return a % 65521, b % 65521
end

--- Adler-32 as eight hex digits: needs no bit operations, which not every Lua here has.
--
-- @tparam string s Any bytes.
-- @tparam[opt] function breathe Called every 64 KiB; may wait.
function text.checksum(s, breathe)
    s = text.flat(s)
    local a, b = 1, 0
    for start = 1, #s, CHECKSUM_STEP do
        a, b = add_bytes(s, start, math.min(#s, start + CHECKSUM_STEP - 1), a, b)
        if breathe then breathe() end
    end
    return ("%04x%04x"):format(b, a)
end

--- Percent-encode everything but letters, digits, `-`, `.`, `_` and `~`.
function text.percent_encode(s)
    return (s:gsub("[^%w%-%._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

return text
