-- The utf8 library of Lua 5.3, which CC: Tweaked has had since its Lua is 5.2.
utf8 = { charpattern = "[%z\1-\127\194-\244][\128-\191]*" }

local function encode(code)
  if code < 0x80 then return string.char(code) end
  local tail, limit = "", 0x3F
  repeat
    tail = string.char(0x80 + code % 64) .. tail
    code = math.floor(code / 64)
    limit = math.floor(limit / 2)
  until code <= limit
  return string.char((0xFE - 2 * limit) % 256 + code) .. tail
end

function utf8.char(...)
  local out = {}
  for i = 1, select("#", ...) do
    local code = select(i, ...)
    if type(code) ~= "number" or code < 0 or code > 0x7FFFFFFF then
      error("bad argument #" .. i .. " (value out of range)", 2)
    end
    out[i] = encode(code)
  end
  return table.concat(out)
end

-- Code point at a byte and the byte after it; nil for invalid UTF-8.
local function decode(text, at)
  local first = text:byte(at)
  if not first then return nil end
  if first < 0x80 then return first, at + 1 end
  if first < 0xC2 or first > 0xF4 then return nil end
  local more = first >= 0xF0 and 3 or first >= 0xE0 and 2 or 1
  local code = first % (2 ^ (6 - more))
  for i = 1, more do
    local byte = text:byte(at + i)
    if not byte or byte < 0x80 or byte > 0xBF then return nil end
    code = code * 64 + byte % 64
  end
  if (more == 2 and code < 0x800) or (more == 3 and (code < 0x10000 or code > 0x10FFFF))
    or (code >= 0xD800 and code <= 0xDFFF) then
    return nil
  end
  return code, at + more + 1
end

local function place(text, i)
  if i >= 0 then return i end
  return #text + i + 1
end

local function continues(text, at)
  local byte = text:byte(at)
  return byte ~= nil and byte >= 0x80 and byte <= 0xBF
end

function utf8.len(text, i, j)
  local at, last, count = place(text, i or 1), place(text, j or -1), 0
  while at <= last do
    local code, after = decode(text, at)
    if not code then return nil, at end
    at, count = after, count + 1
  end
  return count
end

function utf8.codepoint(text, i, j)
  local at = place(text, i or 1)
  local last, out = place(text, j or at), {}
  if at < 1 or last > #text then error("bad argument #2 (out of range)", 2) end
  while at <= last do
    local code, after = decode(text, at)
    if not code then error("invalid UTF-8 code", 2) end
    out[#out + 1], at = code, after
  end
  return table.unpack(out)
end

function utf8.offset(text, n, i)
  local at = place(text, i or (n > 0 and 1 or #text + 1))
  if n == 0 then
    while at > 1 and continues(text, at) do at = at - 1 end
    return at
  end
  if continues(text, at) then error("initial position is a continuation byte", 2) end
  while n < 0 and at > 1 do
    repeat at = at - 1 until at <= 1 or not continues(text, at)
    n = n + 1
  end
  if n > 0 then
    n = n - 1
    while n > 0 and at <= #text do
      repeat at = at + 1 until not continues(text, at)
      n = n - 1
    end
  end
  if n == 0 then return at end
end

function utf8.codes(text)
  local at = 1
  return function()
    if at > #text then return nil end
    local here = at
    local code, after = decode(text, at)
    if not code then error("invalid UTF-8 code", 2) end
    at = after
    return here, code
  end
end
