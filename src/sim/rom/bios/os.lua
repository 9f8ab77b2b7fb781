-- CraftOS' `os`: events, timers, time.
local native = ...

local function expect(index, value, ...) return native.expect(index, value, ...) end

-- The check that all of the bios uses; `cc.expect` is the public one.
function native.expect(index, value, ...)
  local kind = type(value)
  local wanted = { ... }
  for i = 1, #wanted do
    if wanted[i] == kind then return value end
  end
  local list = table.concat(wanted, ", ", 1, #wanted - 1)
  list = list == "" and wanted[1] or list .. " or " .. wanted[#wanted]
  local name
  local info = debug.getinfo(2, "n") or {}
  if info.name and info.name ~= "" and info.name ~= "?" then name = info.name end
  error(("bad argument #%d%s (%s expected, got %s)"):format(index, name and (" to '" .. name .. "'") or "", list, kind), 3)
end

os.pullEventRaw = coroutine.yield

function os.pullEvent(filter)
  local event = table.pack(os.pullEventRaw(filter))
  if event[1] == "terminate" then error("Terminated", 0) end
  return table.unpack(event, 1, event.n)
end

function os.queueEvent(name, ...)
  expect(1, name, "string")
  native.queue(name, ...)
end

local function finite(value)
  if value ~= value or value == math.huge or value == -math.huge then
    local shown = value ~= value and "nan" or value > 0 and "inf" or "-inf"
    error("bad argument #1 (number expected, got " .. shown .. ")", 3)
  end
  return value
end

function os.startTimer(time)
  expect(1, time, "number")
  return native.start_timer(finite(time), false)
end
function os.cancelTimer(id)
  expect(1, id, "number")
  native.cancel_timer(id)
end
os.cancelAlarm = os.cancelTimer

function sleep(time)
  expect(1, time, "number", "nil")
  local timer = os.startTimer(time or 0)
  repeat
    local _, id = os.pullEvent("timer")
  until id == timer
end
os.sleep = sleep

function os.shutdown()
  native.shutdown()
  while true do coroutine.yield() end
end

function os.reboot()
  native.reboot()
  while true do coroutine.yield() end
end

function os.getComputerID() return native.id() end
os.computerID = os.getComputerID
function os.getComputerLabel() return native.label() end
os.computerLabel = os.getComputerLabel
function os.setComputerLabel(label)
  expect(1, label, "string", "nil")
  if label then label = label:gsub("[%z\1-\31\127]", "?"):sub(1, 32) end
  native.set_label(label)
end

function os.version() return native.has.raw_text and "CraftOS 1.9" or "CraftOS 1.8" end
function os.clock() return native.clock_ticks() * 0.05 end

-- A game day has 24000 ticks; every fleet starts on day 1 at six in the morning.
local function game_ticks() return native.fleet_ticks() + 6000 end
function os.day(kind)
  kind = (kind or "ingame"):lower()
  if kind == "ingame" then return math.floor(game_ticks() / 24000) + 1 end
  return math.floor(native.epoch_ms() / 86400000)
end

function os.epoch(kind)
  kind = (kind or "ingame"):lower()
  if kind == "utc" or kind == "local" then return native.epoch_ms() end
  if kind == "ingame" then return game_ticks() * 3600 end
  if kind == "nano" then return native.epoch_ms() * 1e6 end
  error("Unsupported operation", 2)
end

function os.setAlarm(time)
  expect(1, time, "number")
  if time < 0 or time >= 24 then error("Number out of range", 2) end
  local wait = (time - os.time()) % 24
  return native.start_timer(wait * 1000 * 0.05, true)
end

-- Calendar ------------------------------------------------------------------------------------------------

-- Days since 1970 of a date; months may overflow, as in C's mktime.
local function days_from_civil(year, month, day)
  year = year + math.floor((month - 1) / 12)
  month = (month - 1) % 12 + 1
  if month <= 2 then year = year - 1 end
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

local function civil(time)
  local days = math.floor(time / 86400)
  local rest = math.floor(time - days * 86400)
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp + (mp < 10 and 3 or -9)
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return {
    year = year, month = month, day = doy - math.floor((153 * mp + 2) / 5) + 1,
    hour = math.floor(rest / 3600), min = math.floor(rest / 60) % 60, sec = rest % 60,
    wday = (days + 4) % 7 + 1, yday = days - days_from_civil(year, 1, 1) + 1, isdst = false,
  }
end

function os.time(spec)
  if type(spec) == "table" then
    local function field(name, default)
      local value = spec[name] or default
      if not value then error('field "' .. name .. '" missing in date table', 3) end
      return value
    end
    local days = days_from_civil(field("year"), field("month"), field("day"))
    return days * 86400 + field("hour", 12) * 3600 + field("min", 0) * 60 + field("sec", 0)
  end
  local kind = (spec or "ingame"):lower()
  if kind == "ingame" then return game_ticks() % 24000 / 1000 end
  if kind == "utc" or kind == "local" then return native.epoch_ms() / 3600000 % 24 end
  error("Unsupported operation", 2)
end

local DAYS = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" }
local MONTHS = { "January", "February", "March", "April", "May", "June", "July", "August", "September",
  "October", "November", "December" }

local function two(n) return ("%02d"):format(n) end
local codes = {
  a = function(t) return DAYS[t.wday]:sub(1, 3) end,
  A = function(t) return DAYS[t.wday] end,
  b = function(t) return MONTHS[t.month]:sub(1, 3) end,
  B = function(t) return MONTHS[t.month] end,
  c = function(t) return os.date("!%a %b %e %H:%M:%S %Y", os.time(t)) end,
  d = function(t) return two(t.day) end,
  D = function(t) return two(t.month) .. "/" .. two(t.day) .. "/" .. two(t.year % 100) end,
  e = function(t) return ("%2d"):format(t.day) end,
  F = function(t) return t.year .. "-" .. two(t.month) .. "-" .. two(t.day) end,
  H = function(t) return two(t.hour) end,
  I = function(t) return two((t.hour - 1) % 12 + 1) end,
  j = function(t) return ("%03d"):format(t.yday) end,
  m = function(t) return two(t.month) end,
  M = function(t) return two(t.min) end,
  n = function() return "\n" end,
  p = function(t) return t.hour < 12 and "AM" or "PM" end,
  R = function(t) return two(t.hour) .. ":" .. two(t.min) end,
  S = function(t) return two(t.sec) end,
  t = function() return "\t" end,
  T = function(t) return two(t.hour) .. ":" .. two(t.min) .. ":" .. two(t.sec) end,
  u = function(t) return tostring((t.wday + 5) % 7 + 1) end,
  w = function(t) return tostring(t.wday - 1) end,
  y = function(t) return two(t.year % 100) end,
  Y = function(t) return tostring(t.year) end,
  z = function() return "+0000" end,
  Z = function() return "UTC" end,
}
codes.h, codes.r, codes.x, codes.X = codes.b, codes.T, codes.D, codes.T

function os.date(format, time)
  expect(1, format, "string", "nil")
  expect(2, time, "number", "nil")
  format = (format or "%c"):gsub("^!", "")
  local parts = civil(math.floor(time or native.epoch_ms() / 1000))
  if format == "*t" then return parts end
  return (format:gsub("%%(.)", function(code)
    if code == "%" then return "%" end
    if not codes[code] then error("bad argument #1 (invalid conversion specifier '%" .. code .. "')", 0) end
    return codes[code](parts)
  end))
end
