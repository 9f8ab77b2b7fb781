-- Settings of the computer, kept in /.settings.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local settings = {}
local values, details = {}, {}

local function copy(value)
  if type(value) ~= "table" then return value end
  local result = {}
  for key, item in pairs(value) do result[key] = copy(item) end
  return result
end

local function check_type(name, value)
  local wanted = details[name] and details[name].type
  if wanted and type(value) ~= wanted then
    error(("bad argument #2 (%s expected, got %s)"):format(wanted, type(value)), 3)
  end
end

local function store(name, value)
  local old = values[name]
  values[name] = value
  if old ~= value then os.queueEvent("setting_changed", name, copy(value), copy(old)) end
end

function settings.define(name, options)
  expect(1, name, "string")
  expect(2, options, "table", "nil")
  details[name] = copy(options or {})
end

function settings.undefine(name)
  expect(1, name, "string")
  details[name] = nil
end

function settings.set(name, value)
  expect(1, name, "string")
  expect(2, value, "number", "string", "boolean", "table")
  check_type(name, value)
  if not pcall(textutils.serialise, value) then error("bad argument #2 (cannot be serialised)", 2) end
  store(name, copy(value))
end

function settings.get(name, default)
  expect(1, name, "string")
  local value = values[name]
  if value ~= nil then return copy(value) end
  if default ~= nil then return default end
  return details[name] and copy(details[name].default)
end

function settings.getDetails(name)
  expect(1, name, "string")
  local result = copy(details[name]) or {}
  result.value = values[name]
  if result.value == nil then result.value = result.default end
  result.changed = values[name] ~= nil
  return result
end

function settings.unset(name)
  expect(1, name, "string")
  store(name, nil)
end

function settings.clear()
  local names = {}
  for name in pairs(values) do names[#names + 1] = name end
  for _, name in ipairs(names) do store(name, nil) end
end

function settings.getNames()
  local names, seen = {}, {}
  for _, source in ipairs({ values, details }) do
    for name in pairs(source) do
      if not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

function settings.load(path)
  expect(1, path, "string", "nil")
  local file = fs.open(path or ".settings", "r")
  if not file then return false end
  local text = file.readAll()
  file.close()
  local loaded = textutils.unserialise(text)
  if type(loaded) ~= "table" then return false end
  for name, value in pairs(loaded) do
    local kind = type(value)
    if type(name) == "string" and (kind == "string" or kind == "number" or kind == "boolean" or kind == "table") then
      values[name] = copy(value)
    end
  end
  return true
end

function settings.save(path)
  expect(1, path, "string", "nil")
  local file = fs.open(path or ".settings", "w")
  if not file then return false end
  file.write(textutils.serialise(values))
  file.close()
  return true
end

settings.define("motd.enable", { default = false, type = "boolean" })
settings.define("shell.allow_startup", { default = true, type = "boolean" })
settings.define("shell.autocomplete", { default = true, type = "boolean" })
settings.define("list.show_hidden", { default = false, type = "boolean" })

return settings
