-- What CC: Tweaked's Lua has beyond plain 5.2: functions kept from 5.1, and numbers that print in full.
local native = ...

unpack = table.unpack

function loadstring(text, name)
  if type(text) ~= "string" then error("bad argument #1 (string expected, got " .. type(text) .. ")", 2) end
  return load(text, name)
end

-- The upvalue `_ENV` of a Lua function is its environment.
local function env_index(fn)
  for i = 1, 255 do
    local name = native.raw_getupvalue(fn, i)
    if name == "_ENV" then return i end
    if name == nil or name == "" then return nil end
  end
end

local function target(fn)
  if type(fn) == "function" then return fn end
  local level = fn or 1
  if type(level) ~= "number" then error("bad argument #1 (number expected, got " .. type(level) .. ")", 3) end
  if level == 0 then return nil end
  local info = debug.getinfo(level + 2, "f")
  if not info then error("bad argument #1 (invalid level)", 3) end
  return info.func
end

function getfenv(fn)
  fn = target(fn)
  local index = fn and debug.getinfo(fn, "S").what ~= "C" and env_index(fn)
  if not index then return _G end
  local _, env = native.raw_getupvalue(fn, index)
  return env
end

function setfenv(fn, env)
  local func = target(fn)
  local index = func and debug.getinfo(func, "S").what ~= "C" and env_index(func)
  if not index then error("'setfenv' cannot change environment of given object", 2) end
  -- A cell of its own, so that functions made beside this one keep their environment.
  local cell = function() return env end
  native.raw_upvaluejoin(func, index, cell, 1)
  return func
end

if not native.has.table_move then coroutine.isyieldable = nil end

function table.getn(t) return #t end
function table.maxn(t)
  local max = 0
  for key in pairs(t) do
    if type(key) == "number" and key > max then max = key end
  end
  return max
end
function table.foreach(t, fn)
  for key, value in pairs(t) do
    local result = fn(key, value)
    if result ~= nil then return result end
  end
end
function table.foreachi(t, fn)
  for i = 1, #t do
    local result = fn(i, t[i])
    if result ~= nil then return result end
  end
end
function table.move(from, first, last, at, to)
  to = to or from
  if last >= first then
    if at > last or at <= first or to ~= from then
      for i = 0, last - first do to[at + i] = from[first + i] end
    else
      for i = last - first, 0, -1 do to[at + i] = from[first + i] end
    end
  end
  return to
end

if not native.has.table_move then table.move = nil end

math.pow = math.pow or function(x, y) return x ^ y end
math.log10 = math.log10 or function(x) return math.log(x, 10) end
math.mod = math.fmod
string.gfind = string.gmatch

-- Whole numbers print in full up to 2^63; the host's C would round to 14 digits.
local raw_tostring, raw_format, floor = tostring, string.format, math.floor
local function whole(n) return n == floor(n) and n > -2 ^ 63 and n < 2 ^ 63 end
function tostring(value, ...)
  if type(value) == "number" and (value >= 1e14 or value <= -1e14) and whole(value) then
    return raw_format("%.0f", value)
  end
  if value == nil and select("#", ...) == 0 then return raw_tostring(nil) end
  return raw_tostring(value)
end

-- `%d` takes 3.5 as 3. Only arguments that would fail are touched.
local function cut_fractions(format, ...)
  local args, at = table.pack(...), 0
  for spec in format:gsub("%%%%", ""):gmatch("%%[%-+ #0]*%d*%.?%d*(%a)") do
    at = at + 1
    local number = tonumber(args[at])
    if number and number ~= floor(number) and spec:find("[dioxXuc]") then
      args[at] = number < 0 and -floor(-number) or floor(number)
    end
  end
  return raw_format(format, table.unpack(args, 1, args.n))
end

function string.format(format, ...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if type(value) == "number" and value ~= floor(value) then return cut_fractions(tostring(format), ...) end
  end
  return raw_format(format, ...)
end

function string.pack(format, ...)
  native.expect(1, format, "string")
  local bytes, problem = native.pack(format, ...)
  if not bytes then error(problem, 2) end
  return bytes
end

local function unpacked(problem, ...)
  if problem then error(problem, 3) end
  return ...
end
function string.unpack(format, data, start)
  native.expect(1, format, "string")
  native.expect(2, data, "string")
  start = start or 1
  if start < 0 then start = #data + start + 1 end
  if start < 1 or start > #data + 1 then error("bad argument #3 (initial position out of string)", 2) end
  return unpacked(native.unpack(format, data, start - 1))
end

function string.packsize(format)
  native.expect(1, format, "string")
  local size, problem = native.packsize(format)
  if not size then error(problem, 2) end
  return size
end

-- Bit operations as they were before bit32.
bit = {
  band = bit32.band,
  bor = bit32.bor,
  bxor = bit32.bxor,
  bnot = bit32.bnot,
  blshift = bit32.lshift,
  brshift = bit32.arshift,
  blogic_rshift = bit32.rshift,
}

-- Callbacks may yield in the game; the host's C versions cannot be yielded through.
local raw_sort, raw_gsub = table.sort, string.gsub

local function merge_sort(t, before)
  local source, n = {}, #t
  for i = 1, n do source[i] = t[i] end
  local width, other = 1, {}
  while width < n do
    for low = 1, n, 2 * width do
      local mid, high = math.min(low + width, n + 1), math.min(low + 2 * width, n + 1)
      local left, right = low, mid
      for at = low, high - 1 do
        if left < mid and (right >= high or not before(source[right], source[left])) then
          other[at], left = source[left], left + 1
        else
          other[at], right = source[right], right + 1
        end
      end
    end
    source, other, width = other, source, width * 2
  end
  for i = 1, n do t[i] = source[i] end
end

function table.sort(t, before)
  if before == nil then return raw_sort(t) end
  if type(before) ~= "function" then
    error("bad argument #2 (function expected, got " .. type(before) .. ")", 2)
  end
  return merge_sort(t, before)
end

local function gsub_with(text, pattern, replace, limit)
  local out, at, count = {}, 1, 0
  local anchored = pattern:sub(1, 1) == "^"
  while count < limit do
    local found = table.pack(text:find(pattern, at))
    local first, last = found[1], found[2]
    if not first then break end
    count = count + 1
    local whole_match = text:sub(first, last)
    local value
    if found.n > 2 then value = replace(table.unpack(found, 3, found.n)) else value = replace(whole_match) end
    if value == nil or value == false then
      value = whole_match
    elseif type(value) ~= "string" and type(value) ~= "number" then
      error("invalid replacement value (a " .. type(value) .. ")", 3)
    end
    out[#out + 1] = text:sub(at, first - 1)
    out[#out + 1] = value
    if last >= first then
      at = last + 1
    else
      out[#out + 1] = text:sub(first, first)
      at = first + 1
    end
    if anchored or at > #text + 1 then break end
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out), count
end

function string.gsub(text, pattern, replace, limit)
  if type(replace) == "function" and type(text) == "string" and type(pattern) == "string" then
    return gsub_with(text, pattern, replace, limit or math.huge)
  end
  return raw_gsub(text, pattern, replace, limit)
end
