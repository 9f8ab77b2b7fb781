-- Redstone: outputs are remembered, inputs are always off.
local redstone = {}
local SIDES = { "bottom", "top", "back", "front", "right", "left" }
local valid, outputs, bundled = {}, {}, {}
for _, side in ipairs(SIDES) do
  valid[side], outputs[side], bundled[side] = true, 0, 0
end

local function check(side)
  if not valid[side] then error("bad argument #1 (invalid side '" .. tostring(side) .. "')", 3) end
end

function redstone.getSides() return { table.unpack(SIDES) } end
function redstone.setOutput(side, on)
  check(side)
  outputs[side] = on and 15 or 0
end
function redstone.getOutput(side)
  check(side)
  return outputs[side] > 0
end
function redstone.getInput(side)
  check(side)
  return false
end
function redstone.setAnalogOutput(side, strength)
  check(side)
  if type(strength) ~= "number" or strength < 0 or strength > 15 then
    error("bad argument #2 (expected number in range 0-15)", 2)
  end
  outputs[side] = strength
end
function redstone.getAnalogOutput(side)
  check(side)
  return outputs[side]
end
function redstone.getAnalogInput(side)
  check(side)
  return 0
end
function redstone.setBundledOutput(side, set)
  check(side)
  bundled[side] = set
end
function redstone.getBundledOutput(side)
  check(side)
  return bundled[side]
end
function redstone.getBundledInput(side)
  check(side)
  return 0
end
function redstone.testBundledInput(side, set)
  check(side)
  return set == 0
end
for _, name in ipairs({ "setAnalogOutput", "getAnalogOutput", "getAnalogInput" }) do
  redstone[(name:gsub("Analog", "Analogue"))] = redstone[name]
end

return redstone
