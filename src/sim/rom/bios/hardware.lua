-- `peripheral`, `redstone`, `turtle` and `pocket`: made when a program first names them.
local native = ...
local expect = native.expect
local lazy = {}
native.lazy = lazy

-- Waits for the answer to work that is done on a tick. Like any wait it drops the other events.
local function answer(event, id)
  while true do
    local got = table.pack(coroutine.yield(event))
    if got[1] == "terminate" then error("Terminated", 0) end
    if got[1] == event and got[2] == id then return got end
  end
end

local function on_main_thread(id, err)
  if not id then error(err or "Task limit exceeded", 4) end
  local got = answer("task_complete", id)
  if not got[3] then error(got[4], 4) end
  return table.unpack(got, 4, got.n)
end

local function whole(index, value, ...)
  expect(index, value, "number", ...)
  return value and math.floor(value)
end

-- Peripherals ---------------------------------------------------------------------------------------------

local monitor_methods = {}
do
  local functions = native.target("")
  for name in pairs(functions) do monitor_methods[#monitor_methods + 1] = name end
  for _, name in ipairs({ "setTextScale", "getTextScale" }) do monitor_methods[#monitor_methods + 1] = name end
  table.sort(monitor_methods)
end

local function monitor_call(name, method, ...)
  if method == "getTextScale" then return native.m_scale(name) end
  if method == "setTextScale" then
    local scale = expect(1, (...), "number")
    if not native.m_set_scale(name, scale) then error("Expected number in range 0.5-5", 4) end
    return
  end
  return native.target(name)[method](...)
end

local function chest_call(name, method, a, b, c, d)
  local asked = {}
  if method == "getItemDetail" or method == "getItemLimit" then
    asked.slot = whole(1, a)
  elseif method == "pushItems" or method == "pullItems" then
    asked.other = expect(1, a, "string")
    asked.slot, asked.limit, asked.to_slot = whole(2, b), whole(3, c, "nil"), whole(4, d, "nil")
  end
  return on_main_thread(native.chest_call(name, method, asked))
end

function lazy.peripheral()
  local peripheral = {}

  local function types_of(what)
    if type(what) == "table" then
      local meta = getmetatable(what)
      if not meta or meta.__name ~= "peripheral" or type(meta.types) ~= "table" then
        error("bad argument #1 (table is not a peripheral)", 3)
      end
      return meta.types
    end
    return (native.p_about(what))
  end

  function peripheral.getNames() return native.p_names() end
  function peripheral.isPresent(name)
    expect(1, name, "string")
    return native.p_about(name) ~= nil
  end
  function peripheral.getType(what)
    expect(1, what, "string", "table")
    local types = types_of(what)
    if not types then return nil end
    return table.unpack(types)
  end
  function peripheral.hasType(what, kind)
    expect(1, what, "string", "table")
    expect(2, kind, "string")
    local types = types_of(what)
    if not types then return nil end
    for _, name in ipairs(types) do
      if name == kind then return true end
    end
    return false
  end
  function peripheral.getMethods(name)
    expect(1, name, "string")
    local types, methods = native.p_about(name)
    if not types then return nil end
    if types[1] == "monitor" then return { table.unpack(monitor_methods) } end
    return methods
  end
  function peripheral.getName(wrapped)
    expect(1, wrapped, "table")
    local meta = getmetatable(wrapped)
    if not meta or meta.__name ~= "peripheral" or type(meta.name) ~= "string" then
      error("bad argument #1 (table is not a peripheral)", 2)
    end
    return meta.name
  end
  function peripheral.call(name, method, ...)
    expect(1, name, "string")
    expect(2, method, "string")
    local types, methods = native.p_about(name)
    if not types then return nil end
    local known = types[1] == "monitor" and monitor_methods or methods
    for _, each in ipairs(known) do
      if each == method then
        return (types[1] == "monitor" and monitor_call or chest_call)(name, method, ...)
      end
    end
    error("No such method " .. method, 2)
  end
  function peripheral.wrap(name)
    expect(1, name, "string")
    local methods = peripheral.getMethods(name)
    if not methods then return nil end
    local types = { peripheral.getType(name) }
    local meta = { __name = "peripheral", name = name, type = types[1], types = types }
    local wrapped = setmetatable({}, meta)
    for _, method in ipairs(methods) do
      wrapped[method] = function(...) return peripheral.call(name, method, ...) end
    end
    return wrapped
  end
  function peripheral.find(kind, filter)
    expect(1, kind, "string")
    expect(2, filter, "function", "nil")
    local found = {}
    for _, name in ipairs(peripheral.getNames()) do
      if peripheral.hasType(name, kind) then
        local wrapped = peripheral.wrap(name)
        if not filter or filter(name, wrapped) then found[#found + 1] = wrapped end
      end
    end
    return table.unpack(found)
  end
  return peripheral
end

-- Redstone ------------------------------------------------------------------------------------------------

function lazy.redstone()
  local redstone = {}
  local SIDES = { "bottom", "top", "back", "front", "right", "left" }

  -- Input, output, bundled input, bundled output.
  local function values(side)
    expect(1, side, "string")
    local input, output, bundled_in, bundled_out = native.rs_get(side)
    if not input then error("bad argument #1 (unknown option " .. side .. ")", 3) end
    return input, output, bundled_in, bundled_out
  end

  function redstone.getSides() return { table.unpack(SIDES) } end
  function redstone.setOutput(side, on)
    values(side)
    expect(2, on, "boolean")
    native.rs_set(side, on and 15 or 0)
  end
  function redstone.getOutput(side)
    local _, output = values(side)
    return output > 0
  end
  function redstone.getInput(side)
    local input = values(side)
    return input > 0
  end
  function redstone.setAnalogOutput(side, strength)
    values(side)
    expect(2, strength, "number")
    if strength < 0 or strength > 15 then error("Expected number in range 0-15", 2) end
    native.rs_set(side, math.floor(strength))
  end
  function redstone.getAnalogOutput(side)
    local _, output = values(side)
    return output
  end
  function redstone.getAnalogInput(side)
    local input = values(side)
    return input
  end
  function redstone.setBundledOutput(side, set)
    values(side)
    expect(2, set, "number")
    native.rs_set_bundled(side, set)
  end
  function redstone.getBundledOutput(side) return (select(4, values(side))) end
  function redstone.getBundledInput(side) return (select(3, values(side))) end
  function redstone.testBundledInput(side, set)
    local _, _, input = values(side)
    return bit32.band(input, set) == set
  end
  for _, name in ipairs({ "setAnalogOutput", "getAnalogOutput", "getAnalogInput" }) do
    redstone[(name:gsub("Analog", "Analogue"))] = redstone[name]
  end
  return redstone
end

-- Turtles -------------------------------------------------------------------------------------------------

local function slot_number(value, position)
  if position then expect(position, value, "number") end
  value = math.floor(value)
  if value < 1 or value > 16 then error("Slot number " .. value .. " out of range", 3) end
  return value
end

local function count_of(index, value)
  expect(index, value, "number", "nil")
  value = math.floor(value or 64)
  if value < 0 or value > 64 then error("Item count " .. value .. " out of range", 3) end
  return value
end

local function tool_side(index, value)
  expect(index, value, "string", "nil")
  if value == nil then return nil end
  if value ~= "left" and value ~= "right" then
    error(("bad argument #%d (unknown option %s)"):format(index, value), 3)
  end
  return value == "left" and 0 or 1
end

-- Queues a command and waits for its `turtle_response`, with no time-out: if that event is lost, so is the program.
local function command(...)
  local id, err = native.turtle_command(...)
  if not id then return false, err end
  local got = answer("turtle_response", id)
  return table.unpack(got, 3, got.n)
end

function lazy.turtle()
  local turtle = {}
  for name, way in pairs({ forward = "forward", back = "back", up = "up", down = "down" }) do
    turtle[name] = function() return command("move", way) end
  end
  function turtle.turnLeft() return command("left") end
  function turtle.turnRight() return command("right") end
  for ending, way in pairs({ [""] = "forward", Up = "up", Down = "down" }) do
    turtle["dig" .. ending] = function(side) return command("dig", way, tool_side(1, side)) end
    turtle["attack" .. ending] = function(side) return command("attack", way, tool_side(1, side)) end
    turtle["place" .. ending] = function() return command("place", way) end
    turtle["drop" .. ending] = function(count) return command("drop", way, count_of(1, count)) end
    turtle["suck" .. ending] = function(count) return command("suck", way, count_of(1, count)) end
    for _, name in ipairs({ "detect", "compare", "inspect" }) do
      turtle[name .. ending] = function() return command(name, way) end
    end
  end
  function turtle.select(slot) return command("select", nil, slot_number(slot, 1)) end
  function turtle.getSelectedSlot() return (native.turtle_state()) end
  function turtle.compareTo(slot) return command("compareTo", nil, slot_number(slot, 1)) end
  function turtle.transferTo(slot, count)
    return command("transferTo", nil, slot_number(slot, 1), count_of(2, count))
  end
  function turtle.refuel(count)
    expect(1, count, "number", "nil")
    if count and count < 0 then error("Refuel count " .. count .. " out of range", 2) end
    return command("refuel", nil, count or 64)
  end
  function turtle.getFuelLevel() return (select(2, native.turtle_state())) end
  function turtle.getFuelLimit() return (select(3, native.turtle_state())) end
  function turtle.equipLeft() return command("equip", nil, 0) end
  function turtle.equipRight() return command("equip", nil, 1) end

  local function here(slot)
    expect(1, slot, "number", "nil")
    return slot and slot_number(slot) or native.turtle_state()
  end
  function turtle.getItemCount(slot)
    local _, count = native.turtle_slot((here(slot)))
    return count
  end
  function turtle.getItemSpace(slot)
    local _, _, space = native.turtle_slot((here(slot)))
    return space
  end
  function turtle.getItemDetail(slot, detailed)
    slot = here(slot)
    expect(2, detailed, "boolean", "nil")
    if detailed then return on_main_thread(native.turtle_detail(slot)) end
    local name, count = native.turtle_slot(slot)
    if name then return { name = name, count = count } end
  end
  return turtle
end

-- Pocket computers have no upgrade here.
function lazy.pocket()
  return {
    equipBack = function() return false, "Cannot find a valid upgrade" end,
    unequipBack = function() return false, "Nothing to unequip" end,
  }
end
