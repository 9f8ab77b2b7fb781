-- Runs a program on a monitor, or sets how large a monitor's text is.
local args = { ... }

local function usage()
  print("Usage:")
  print("  monitor <name> <program> <arguments>")
  print("  monitor scale <name> <scale>")
end

local function find(name)
  if peripheral.hasType(name, "monitor") then return peripheral.wrap(name) end
  print("No monitor named " .. name)
end

if args[1] == "scale" then
  local scale = tonumber(args[3])
  if #args ~= 3 or not scale then return usage() end
  local monitor = find(args[2])
  if not monitor then return end
  local ok, err = pcall(monitor.setTextScale, scale)
  if not ok then printError(err) end
  return
end
if #args < 2 then return usage() end

local name, monitor = args[1], find(args[1])
if not monitor then return end
local program = shell.resolveProgram(args[2])
if not program then
  print("No such program: " .. args[2])
  return
end
print("Running " .. args[2] .. " on monitor " .. name)

-- A touch is a click to the program; a click on the computer's own screen is not.
local function translated(event, which, x, y)
  if event == "monitor_touch" and which == name then return "mouse_click", 1, x, y end
  if event == "monitor_resize" and which == name then return "term_resize" end
end

local main = coroutine.create(function() shell.execute(table.unpack(args, 2)) end)
local target, filter = monitor, nil
local function resume(...)
  local own = term.redirect(target)
  local ok, wanted = coroutine.resume(main, ...)
  target = term.redirect(own)
  if not ok then printError(wanted) end
  filter = wanted
end

monitor.setTextColour(colors.white)
monitor.setBackgroundColour(colors.black)
monitor.clear()
monitor.setCursorPos(1, 1)
resume()
while coroutine.status(main) ~= "dead" do
  local event = table.pack(os.pullEventRaw())
  if filter == nil or filter == event[1] or event[1] == "terminate" then
    resume(table.unpack(event, 1, event.n))
  end
  if coroutine.status(main) ~= "dead" then
    local click = table.pack(translated(table.unpack(event, 1, event.n)))
    if click.n > 0 and (filter == nil or filter == click[1]) then resume(table.unpack(click, 1, click.n)) end
  end
end
