--- JSON that is right on every ComputerCraft version.
--
-- `textutils` garbles bytes from 128 up, writes `inf`, shares one read-only table for every empty array and splits
-- emoji into surrogates. Here:
--
-- - Strings leave as UTF-8; bytes that are not UTF-8 count as Latin-1 (see @{ccfleet.text.to_utf8}).
-- - A decoded array remembers that it is one, so `[]` goes out again as `[]`. Tables of your own that may be empty
--   are marked with @{array}. `null` becomes nil.
-- - Encoding never fails, because a tool that has already acted must be able to answer: what JSON cannot say
--   (functions, cycles, infinities) becomes a placeholder or `null`.
--
-- @module[kind=internal] ccfleet.json

local text = require("ccfleet.text")

local json = {}

-- Deeper values are cut: JSON readers stop at about 128 levels, and Lua's own stack ends too.
local MAX_DEPTH = 100
-- Texts from so many bytes on are worth a breath each.
local LONG_TEXT = 4096

local ARRAY = { __name = "json array" }

--- Mark a table as an array, so that it is written as `[]` when it is empty.
--
-- @tparam[opt] table list The table to mark; a new one if absent.
-- @treturn table The same table.
function json.array(list)
    return setmetatable(list or {}, ARRAY)
end

local RAW = { __name = "json text" }

--- A value whose JSON is known already; it is written as it is.
--
-- @tparam string encoded What @{json.encode} gave.
function json.raw(encoded)
    return setmetatable({ text = encoded }, RAW)
end

-- Encoding -----------------------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape(char)
    return ESCAPES[char] or ("\\u%04x"):format(char:byte())
end

-- Pieces go to `out` one by one: thousands of strings made by `..` bring CraftOS-PC's collector to a halt. They are
-- counted in `out.n`, because `#` looks for the end of the list: on CC: Tweaked that takes most of the time.
local function put(out, piece)
    local count = out.n + 1
    out.n = count
    out[count] = piece
end

local function encode_string(s, out)
    local count = out.n
    out.n = count + 3
    out[count + 1] = '"'
    if s:find('[%c"\\\128-\255]') then
        out[count + 2] = text.to_utf8(s):gsub('[%c"\\]', escape)
    else
        out[count + 2] = s
    end
    out[count + 3] = '"'
end

local function encode_number(n)
    if n ~= n or n == math.huge or n == -math.huge then return "null" end
    -- Minus zero would be a number with a fraction to readers that tell them from whole ones.
    if n == 0 then return "0" end
    if n % 1 == 0 and n > -2 ^ 53 and n < 2 ^ 53 then return ("%.0f"):format(n) end
    local short = ("%.14g"):format(n)
    return tonumber(short) == n and short or ("%.17g"):format(n)
end

-- The length of a table that is to be written as an array, or nil if it is an object. A list with holes stays a
-- list as long as it is mostly full.
local function array_length(value)
    local count, highest = 0, 0
    for key in pairs(value) do
        if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then return nil end
        count = count + 1
        if key > highest then highest = key end
    end
    if count == 0 then return getmetatable(value) == ARRAY and 0 or nil end
    return highest <= 2 * count + 8 and highest or nil
end

local function sorted_keys(value)
    local keys, originals, count = {}, {}, 0
    for key in pairs(value) do
        local name = type(key) == "string" and key or tostring(key)
        count = count + 1
        keys[count] = name
        originals[name] = key
    end
    table.sort(keys)
    return keys, originals
end

local encode_value

local function encode_table(value, out, path)
    if getmetatable(value) == RAW then
        put(out, value.text)
        return
    end
    if path.breathe then path.breathe() end
    if path[value] or path.depth >= MAX_DEPTH then
        return encode_string(path[value] and "<cycle>" or "<too deep>", out)
    end
    path[value], path.depth = true, path.depth + 1

    local length = array_length(value)
    if length then
        put(out, "[")
        for i = 1, length do
            if i > 1 then put(out, ",") end
            if path.breathe and i % 1000 == 0 then path.breathe() end
            encode_value(value[i], out, path)
        end
        put(out, "]")
    else
        put(out, "{")
        local keys, originals = sorted_keys(value)
        for i, key in ipairs(keys) do
            if i > 1 then put(out, ",") end
            encode_string(key, out)
            put(out, ":")
            encode_value(value[originals[key]], out, path)
        end
        put(out, "}")
    end

    path[value], path.depth = nil, path.depth - 1
end

function encode_value(value, out, path)
    local kind = type(value)
    if value == nil or value == textutils.json_null then
        put(out, "null")
    elseif value == textutils.empty_json_array then
        put(out, "[]")
    elseif kind == "table" then
        encode_table(value, out, path)
    elseif kind == "string" then
        if path.breathe and #value > LONG_TEXT then path.breathe() end
        encode_string(value, out)
    elseif kind == "number" then
        put(out, encode_number(value))
    elseif kind == "boolean" then
        put(out, tostring(value))
    else
        encode_string("<" .. kind .. ">", out)
    end
end

--- Write any value as JSON. Never fails.
--
-- @param value The value.
-- @tparam[opt] function breathe Called often; may wait (see @{ccfleet.breath}).
-- @treturn string JSON in UTF-8, keys sorted.
function json.encode(value, breathe)
    local out = { n = 0 }
    encode_value(value, out, { depth = 0, breathe = breathe })
    return table.concat(out, "", 1, out.n)
end

-- Decoding -----------------------------------------------------------------------------------------------------

-- Thrown as a table, so that an error which is not about the text (too long without yielding) passes through.
local function malformed(position, what)
    error({ malformed = ("malformed JSON at byte %d: %s"):format(position, what) }, 0)
end

local function utf8_char(code)
    if code < 0x80 then return string.char(code) end
    if code < 0x800 then
        return string.char(192 + math.floor(code / 64), 128 + code % 64)
    end
    local last_two = string.char(128 + math.floor(code / 64) % 64, 128 + code % 64)
    if code < 0x10000 then return string.char(224 + math.floor(code / 4096)) .. last_two end
    return string.char(240 + math.floor(code / 262144), 128 + math.floor(code / 4096) % 64) .. last_two
end

local QUOTE, COMMA, COLON, BRACKET, BRACKET_END, BRACE, BRACE_END = 34, 44, 58, 91, 93, 123, 125
local LETTER_U = 117

local UNESCAPES = {
    ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local function hex_at(s, position)
    local digits = s:match("^%x%x%x%x", position)
    return digits and tonumber(digits, 16)
end

-- Decode `\uXXXX` (with its second half, if it is a surrogate); `position` is that of the backslash.
local function decode_unicode_escape(s, position)
    local code = hex_at(s, position + 2)
    if not code then malformed(position, "bad \\u escape") end
    if code < 0xD800 or code > 0xDFFF then return utf8_char(code), position + 6 end

    local low = code < 0xDC00 and s:sub(position + 6, position + 7) == "\\u" and hex_at(s, position + 8)
    if low and low >= 0xDC00 and low <= 0xDFFF then
        return utf8_char(0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00)), position + 12
    end
    return "\239\191\189", position + 6
end

-- A piece of a string without `\u`.
local function unescape(piece)
    return (piece:gsub("\\(.)", UNESCAPES))
end

-- Where the string ends and where its `\u` escapes are. Makes no strings: hundreds of thousands of small ones bring
-- CraftOS-PC to a halt.
local function scan_string(s, position)
    local unicode
    while true do
        local stop = s:find('["\\]', position)
        if not stop then malformed(position, "string without end") end
        if s:byte(stop) == QUOTE then return stop, unicode end
        local kind = s:byte(stop + 1)
        if kind == LETTER_U then
            unicode = unicode or {}
            unicode[#unicode + 1] = stop
        elseif not kind or not UNESCAPES[string.char(kind)] then
            malformed(stop, "bad escape")
        end
        position = stop + 2
    end
end

-- `position` is that of the first character after the opening quote.
local function decode_string(s, position)
    -- Mostly there is nothing to be undone in it.
    local plain, after = s:match('^([^"\\]*)"()', position)
    if plain then return plain, after end
    local stop, unicode = scan_string(s, position)
    if not unicode then return unescape(s:sub(position, stop - 1)), stop + 1 end
    local out = {}
    for _, at in ipairs(unicode) do
        -- The second half of a pair has been read with the first.
        if at >= position then
            out[#out + 1] = unescape(s:sub(position, at - 1))
            out[#out + 1], position = decode_unicode_escape(s, at)
        end
    end
    out[#out + 1] = unescape(s:sub(position, stop - 1))
    return table.concat(out), stop + 1
end

local SPACE = { [32] = true, [9] = true, [13] = true, [10] = true }

local function skip_space(s, position)
    -- Mostly there is none.
    if not SPACE[s:byte(position)] then return position end
    return s:find("[^ \t\r\n]", position) or #s + 1
end

local decode_value

local function decode_array(s, position, depth)
    local list, index = json.array(), 0
    position = skip_space(s, position)
    if s:byte(position) == BRACKET_END then return list, position + 1 end
    while true do
        index = index + 1
        list[index], position = decode_value(s, position, depth)
        position = skip_space(s, position)
        local separator = s:byte(position)
        if separator == BRACKET_END then return list, position + 1 end
        if separator ~= COMMA then malformed(position, "expected , or ]") end
        position = position + 1
    end
end

local function decode_object(s, position, depth)
    local object = {}
    position = skip_space(s, position)
    if s:byte(position) == BRACE_END then return object, position + 1 end
    while true do
        position = skip_space(s, position)
        if s:byte(position) ~= QUOTE then malformed(position, "expected a key") end
        local key
        key, position = decode_string(s, position + 1)
        position = skip_space(s, position)
        if s:byte(position) ~= COLON then malformed(position, "expected :") end
        object[key], position = decode_value(s, position + 1, depth)
        position = skip_space(s, position)
        local separator = s:byte(position)
        if separator == BRACE_END then return object, position + 1 end
        if separator ~= COMMA then malformed(position, "expected , or }") end
        position = position + 1
    end
end

local WORDS = { ["true"] = true, ["false"] = false }

local function decode_scalar(s, position)
    local digits = s:match("^%-?%d+%.?%d*[eE]?[+-]?%d*", position)
    local word = not digits and s:match("^%l+", position)
    if word == "null" then return nil, position + 4 end
    if word and WORDS[word] ~= nil then return WORDS[word], position + #word end
    local number = digits and tonumber(digits)
    if not number then malformed(position, "expected a value") end
    return number, position + #digits
end

function decode_value(s, position, depth)
    if depth > MAX_DEPTH then malformed(position, "nested too deeply") end
    position = skip_space(s, position)
    local first = s:byte(position)
    if first == QUOTE then return decode_string(s, position + 1) end
    if first == BRACE then return decode_object(s, position + 1, depth + 1) end
    if first == BRACKET then return decode_array(s, position + 1, depth + 1) end
    return decode_scalar(s, position)
end

--- Read JSON.
--
-- @tparam string s The text.
-- @return The value (nil for `null`), or nil and what is wrong with the text.
function json.decode(s)
    local ok, value, position = pcall(decode_value, s, 1, 0)
    if ok then
        position = skip_space(s, position)
        if position <= #s then return nil, ("malformed JSON at byte %d: text after the value"):format(position) end
        return value
    end
    if type(value) == "table" and value.malformed then return nil, value.malformed end
    error(value, 0)
end

return json
