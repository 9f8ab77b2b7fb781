-- A prompt for Lua: shows what an expression comes to. `exit()` ends it. It runs no files.
if select("#", ...) > 0 then
  print("This is an interactive Lua prompt.")
  print("To run a lua program, just type its name.")
  return
end

local running, history, count = true, {}, 0
local env = setmetatable({ exit = function() running = false end }, { __index = _ENV })
env._echo = function(...) return ... end
env.require, env.package = dofile("/rom/modules/main/cc/require.lua").make(env, shell.dir())
local pretty = env.require("cc.pretty")

local function show(ok, ...)
  if not ok then return printError((...)) end
  for i = 1, select("#", ...) do pretty.pretty_print((select(i, ...))) end
end

term.setTextColour(colors.yellow)
print("Interactive Lua prompt.")
print("Call exit() to exit.")
term.setTextColour(colors.white)
while running do
  write("lua> ")
  local line = read(nil, history, function(text)
    local word = text:match("[%a_][%w_%.:]*$")
    if word and settings.get("lua.autocomplete", true) then return textutils.complete(word, env) end
  end)
  if line:match("%S") and history[#history] ~= line then history[#history + 1] = line end
  count = count + 1
  local name = ("=lua[%d]"):format(count)
  local fn, err = load("return " .. line, name, "t", env)
  if not fn then fn, err = load(line, name, "t", env) end
  if fn then show(pcall(fn)) else printError(err) end
end
