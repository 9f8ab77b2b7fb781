-- Last part of the bios: loading files, the APIs of /rom/apis, and the program that a machine runs.
local native = ...
local expect = native.expect

function loadfile(path, mode, env)
  -- The old order was path, env.
  if type(mode) == "table" and env == nil then mode, env = nil, mode end
  expect(1, path, "string")
  expect(2, mode, "string", "nil")
  expect(3, env, "table", "nil")
  local file, err = fs.open(path, "r")
  if not file then return nil, err or "File not found" end
  local source = file.readAll()
  file.close()
  return load(source, "@/" .. fs.combine(path), mode, env or _G)
end

function dofile(path)
  expect(1, path, "string")
  local fn, err = loadfile(path, nil, _G)
  if not fn then error(err, 2) end
  return fn()
end

function os.run(env, path, ...)
  expect(1, env, "table")
  expect(2, path, "string")
  setmetatable(env, { __index = _G })
  local fn, err = loadfile(path, nil, env)
  local ok
  if fn then
    ok, err = pcall(fn, ...)
    if ok then return true end
  end
  if err and err ~= "" then printError(err) end
  return false
end

function os.loadAPI(path)
  expect(1, path, "string")
  local name = fs.getName(path):gsub("%.lua$", "")
  local env = setmetatable({}, { __index = _G })
  local fn, err = loadfile(path, nil, env)
  if not fn then
    printError(err)
    return false
  end
  local ok, problem = pcall(fn)
  if not ok then
    printError("Failed to load API " .. name .. " due to " .. tostring(problem))
    return false
  end
  local api = {}
  for key, value in pairs(env) do
    if key ~= "_ENV" then api[key] = value end
  end
  _G[name] = api
  return true
end

function os.unloadAPI(name)
  expect(1, name, "string")
  if name ~= "_G" and type(_G[name]) == "table" then _G[name] = nil end
end

-- APIs are loaded when they are first named: an idle computer stays small.
local LAZY = { "textutils", "settings", "parallel", "window", "io", "keys", "vector", "rednet", "disk", "gps",
  "paintutils", "help" }
local waiting = {}
for _, name in ipairs(LAZY) do waiting[name] = "/rom/apis/" .. name .. ".lua" end
waiting.peripheral, waiting.redstone, waiting.rs = native.lazy.peripheral, native.lazy.redstone, true
if native.has.kind ~= "computer" then waiting[native.has.kind] = native.lazy[native.has.kind] end

local function load_api(name)
  local path = waiting[name]
  if not path then return nil end
  waiting[name] = nil
  if name == "rs" then
    rawset(_G, "rs", redstone)
    return redstone
  end
  local api
  if type(path) == "function" then
    api = path()
  else
    api = assert(loadfile(path, nil, _G))(native.has)
  end
  rawset(_G, name, api)
  return api
end

setmetatable(_G, {
  __index = function(_, name) return load_api(name) end,
  __pairs = function(t)
    for name in pairs(waiting) do load_api(name) end
    return next, t, nil
  end,
  __metatable = false,
})

-- The machine's program -----------------------------------------------------------------------------------

local function run_program(words)
  local shell_env = {}
  setmetatable(shell_env, { __index = _G })
  local main = assert(loadfile("/rom/programs/shell.lua", nil, shell_env))
  local ok, result = pcall(main, "--execute", table.unpack(words))
  if not ok then printError(result) end
  native.program_done(ok and result == true)
end

local function main()
  local words = native.program()
  if fs.exists("/.settings") then settings.load() end
  local ok, err = pcall(function()
    if words then return run_program(words) end
    parallel.waitForAny(
      function() os.run({}, "/rom/programs/shell.lua") end,
      function() while true do coroutine.yield("modem_message") end end
    )
  end)
  if not ok then
    term.redirect(term.native())
    printError(err)
    pcall(function()
      term.setCursorBlink(false)
      print("Press any key to continue")
      os.pullEvent("key")
    end)
  end
  os.shutdown()
end

native.main = coroutine.create(main)
