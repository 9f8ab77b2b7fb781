-- The shell: `shell` as an API for programs, and the prompt. A shell started inside of another one inherits its
-- folder, path and aliases. `--execute WORDS...` runs one program and returns whether it succeeded.
local make_require = dofile("/rom/modules/main/cc/require.lua").make
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local complete = dofile("/rom/modules/main/cc/shell_completion.lua")

local parent = shell
local shell = {}
local dir = parent and parent.dir() or ""
local path = parent and parent.path() or ".:/rom/programs"
local aliases = parent and parent.aliases() or {}
local completions = parent and parent.getCompletionInfo() or {}
local running, exiting = {}, false

-- Splits a command line at spaces; double quotes hold words together.
local function tokenise(...)
  local line = table.concat({ ... }, " ")
  local words, quoted = {}, false
  for part in (line .. '"'):gmatch('(.-)"') do
    if quoted then
      words[#words + 1] = part
    else
      for word in part:gmatch("[^ \t]+") do words[#words + 1] = word end
    end
    quoted = not quoted
  end
  return words
end

-- The line of the program that an error names.
local function show_source(message)
  local file, number = tostring(message):match("^(/?[^:\n]+):(%d+):")
  if not file or not fs.exists(file) or fs.isDir(file) then return end
  local handle = fs.open(file, "r")
  if not handle then return end
  local line
  for _ = 1, tonumber(number) do line = handle.readLine() end
  handle.close()
  if not line then return end
  local old = term.getTextColour()
  term.setTextColour(colors.lightGray)
  print((" "):rep(#number) .. " |")
  write(number .. " | ")
  term.setTextColour(colors.white)
  print((line:gsub("\t", " "):gsub("^%s+", "")))
  term.setTextColour(old)
end

local function report(message)
  if message == nil or message == "" then return end
  printError(message)
  show_source(message)
end

local function run_file(program, name, ...)
  local env = setmetatable({ shell = shell, multishell = nil }, { __index = _G })
  env.require, env.package = make_require(env, fs.getDir(program))
  env.arg = { [0] = name, ... }
  local file, err = fs.open(program, "r")
  if not file then
    printError(err)
    return false
  end
  local source = file.readAll()
  file.close()
  local fn, problem = load(source, "@/" .. fs.combine(program), nil, env)
  if not fn then
    report(problem)
    return false
  end
  local ok, message = pcall(fn, ...)
  if not ok then report(message) end
  return ok
end

function shell.execute(name, ...)
  expect(1, name, "string")
  for i = 1, select("#", ...) do expect(i + 1, (select(i, ...)), "string") end
  local program = shell.resolveProgram(name)
  if not program then
    printError("No such program")
    return false
  end
  running[#running + 1] = program
  local ok = run_file(program, name, ...)
  running[#running] = nil
  return ok
end

function shell.run(...)
  local words = tokenise(...)
  if not words[1] then return false end
  return shell.execute(table.unpack(words))
end

function shell.exit() exiting = true end
function shell.dir() return dir end
function shell.setDir(new)
  expect(1, new, "string")
  if not fs.isDir(new) then error("Not a directory", 2) end
  dir = fs.combine(new)
end
function shell.path() return path end
function shell.setPath(new)
  expect(1, new, "string")
  path = new
end

function shell.resolve(name)
  expect(1, name, "string")
  local first = name:sub(1, 1)
  if first == "/" or first == "\\" then return fs.combine(name) end
  return fs.combine(dir, name)
end

local function existing(candidate)
  if fs.exists(candidate) and not fs.isDir(candidate) then return candidate end
  local with_ending = candidate .. ".lua"
  if fs.exists(with_ending) and not fs.isDir(with_ending) then return with_ending end
end

function shell.resolveProgram(name)
  expect(1, name, "string")
  name = aliases[name] or name
  if name:find("/") or name:find("\\") then return existing(shell.resolve(name)) end
  for place in path:gmatch("[^:]+") do
    local found = existing(fs.combine(shell.resolve(place), name))
    if found then return found end
  end
end

function shell.programs(hidden)
  local seen, names = {}, {}
  for place in path:gmatch("[^:]+") do
    local folder = shell.resolve(place)
    if fs.isDir(folder) then
      for _, file in ipairs(fs.list(folder)) do
        local name = file:gsub("%.lua$", "")
        if not fs.isDir(fs.combine(folder, file)) and (hidden or name:sub(1, 1) ~= ".") and not seen[name] then
          seen[name] = true
          names[#names + 1] = name
        end
      end
    end
  end
  table.sort(names)
  return names
end

function shell.aliases()
  local copy = {}
  for alias, program in pairs(aliases) do copy[alias] = program end
  return copy
end
function shell.setAlias(alias, program)
  expect(1, alias, "string")
  expect(2, program, "string")
  aliases[alias] = program
end
function shell.clearAlias(alias)
  expect(1, alias, "string")
  aliases[alias] = nil
end

function shell.getRunningProgram() return running[#running] end
function shell.getCompletionInfo()
  local copy = {}
  for program, info in pairs(completions) do copy[program] = info end
  return copy
end
function shell.setCompletionFunction(program, fn)
  expect(1, program, "string")
  expect(2, fn, "function")
  completions[program] = { fnComplete = fn }
end
function shell.completeProgram(text) return complete.program(shell, text) end
function shell.complete(line) return complete.line(shell, completions, tokenise, line) end

-- Running -------------------------------------------------------------------------------------------------

local words = { ... }
if not parent then
  running[1] = "rom/startup.lua"
  if words[1] == "--execute" then
    run_file("rom/startup.lua", "startup", "--no-startup")
    running[1] = nil
    return shell.execute(table.unpack(words, 2))
  end
  term.setBackgroundColour(colors.black)
  term.setTextColour(colors.yellow)
  print(os.version())
  term.setTextColour(colors.white)
  run_file("rom/startup.lua", "startup")
  running[1] = nil
elseif words[1] then
  return shell.run(table.unpack(words))
end

local history = {}
while not exiting do
  term.setBackgroundColour(colors.black)
  term.setTextColour(colors.yellow)
  write(dir .. "> ")
  term.setTextColour(colors.white)
  local line = read(nil, history, settings.get("shell.autocomplete") and shell.complete or nil)
  if line:match("%S") and history[#history] ~= line then history[#history + 1] = line end
  shell.run(line)
end
