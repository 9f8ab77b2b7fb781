-- Checks of arguments, with the error at the caller's caller.
local expect = {}

local function complain(index, message)
  local info = debug.getinfo(3, "n") or {}
  local name = info.name
  local where = index
  if name and name ~= "" and name ~= "?" then
    error(("bad argument #%s to '%s' (%s)"):format(where, name, message), 4)
  end
  error(("bad argument #%s (%s)"):format(where, message), 4)
end

local function listed(kinds)
  if #kinds == 1 then return kinds[1] end
  return table.concat(kinds, ", ", 1, #kinds - 1) .. " or " .. kinds[#kinds]
end

function expect.expect(index, value, ...)
  local kind, kinds = type(value), { ... }
  for i = 1, #kinds do
    if kinds[i] == kind then return value end
  end
  complain(index, listed(kinds) .. " expected, got " .. kind)
end

function expect.field(tbl, name, ...)
  expect.expect(1, tbl, "table")
  expect.expect(2, name, "string")
  local value, kinds = tbl[name], { ... }
  local kind = type(value)
  for i = 1, #kinds do
    if kinds[i] == kind then return value end
  end
  if value == nil then error(("field '%s' missing from table"):format(name), 3) end
  error(("bad field '%s' (%s expected, got %s)"):format(name, listed(kinds), kind), 3)
end

function expect.range(number, min, max)
  expect.expect(1, number, "number")
  min, max = min or -math.huge, max or math.huge
  if min > max then error("min must be less than or equal to max)", 2) end
  if number ~= number or number < min or number > max then
    error(("number outside of range (expected %s to be within %s and %s)"):format(number, min, max), 3)
  end
  return number
end

return setmetatable(expect, { __call = function(_, ...) return expect.expect(...) end })
