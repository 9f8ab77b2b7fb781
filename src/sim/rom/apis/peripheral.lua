-- Peripherals: a simulated computer has none attached.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local peripheral = {}

function peripheral.getNames() return {} end
function peripheral.isPresent(name)
  expect(1, name, "string")
  return false
end
function peripheral.getType(name)
  expect(1, name, "string", "table")
  return nil
end
function peripheral.hasType(name, kind)
  expect(1, name, "string", "table")
  expect(2, kind, "string")
  return nil
end
function peripheral.getMethods(name)
  expect(1, name, "string")
  return nil
end
function peripheral.getName(wrapped)
  expect(1, wrapped, "table")
  error("bad argument #1 (table is not a peripheral)", 2)
end
function peripheral.call(name, method)
  expect(1, name, "string")
  expect(2, method, "string")
  error("No peripheral attached", 2)
end
function peripheral.wrap(name)
  expect(1, name, "string")
  return nil
end
function peripheral.find(kind, filter)
  expect(1, kind, "string")
  expect(2, filter, "function", "nil")
end

return peripheral
