-- Several functions at once: every one gets its own copy of each event.
local parallel = {}

local function start(functions)
  if #functions == 0 then error("bad argument #1 (function expected, got no value)", 3) end
  local routines = {}
  for i = 1, functions.n do
    if type(functions[i]) ~= "function" then
      error(("bad argument #%d (function expected, got %s)"):format(i, type(functions[i])), 3)
    end
    routines[i] = coroutine.create(functions[i])
  end
  return routines
end

-- Runs until at most `left` functions live; returns the index of the one that ended last.
local function run(routines, left)
  local count, living = #routines, #routines
  local filters, event = {}, { n = 0 }
  while true do
    for i = 1, count do
      local routine = routines[i]
      if routine and (filters[i] == nil or filters[i] == event[1] or event[1] == "terminate") then
        local ok, result = coroutine.resume(routine, table.unpack(event, 1, event.n))
        if not ok then error(result, 0) end
        filters[i] = result
        if coroutine.status(routine) == "dead" then
          routines[i] = nil
          living = living - 1
          if living <= left then return i end
        end
      end
    end
    event = table.pack(os.pullEventRaw())
  end
end

function parallel.waitForAny(...)
  local routines = start(table.pack(...))
  return run(routines, #routines - 1)
end

function parallel.waitForAll(...)
  local functions = table.pack(...)
  if functions.n == 0 then return end
  run(start(functions), 0)
end

return parallel
