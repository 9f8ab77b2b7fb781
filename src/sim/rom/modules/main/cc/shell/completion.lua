-- Completion of a program's arguments, for `shell.setCompletionFunction`.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local base = dofile("/rom/modules/main/cc/completion.lua")
local completion = {}

local function paths(shell, text, files, dirs)
  return fs.complete(text, shell.dir(), {
    include_files = files, include_dirs = dirs, include_hidden = settings.get("shell.autocomplete_hidden"),
  })
end

function completion.file(shell, text) return paths(shell, text, true, false) end
function completion.dir(shell, text) return paths(shell, text, false, true) end
function completion.dirOrFile(shell, text, _, add_space)
  local results = paths(shell, text, true, true)
  if add_space then
    for i, ending in ipairs(results) do
      if ending:sub(-1) ~= "/" then results[i] = ending .. " " end
    end
  end
  return results
end

function completion.program(shell, text) return shell.completeProgram(text) end

-- A program and its own arguments, from argument number `starting` on.
function completion.programWithArgs(shell, text, previous, starting)
  if #previous + 1 == starting then
    local known = shell.getCompletionInfo()
    if text:sub(-1) ~= "/" and known[shell.resolveProgram(text)] then return { " " } end
    local results = shell.completeProgram(text)
    for i, ending in ipairs(results) do
      if ending:sub(-1) ~= "/" and known[shell.resolveProgram(text .. ending)] then results[i] = ending .. " " end
    end
    return results
  end
  local program = previous[starting]
  local resolved = program and shell.resolveProgram(program)
  local info = resolved and shell.getCompletionInfo()[resolved]
  if not info then return nil end
  return info.fnComplete(shell, #previous - starting + 1, text, { program, table.unpack(previous, starting + 1) })
end

-- A helper that knows nothing of the shell takes its text alone.
local function without_shell(fn)
  return function(_, text, _, ...) return fn(text, ...) end
end
for _, name in ipairs({ "choice", "peripheral", "side", "setting", "command" }) do
  completion[name] = without_shell(base[name])
end
function completion.help(_, text) return help.completeTopic(text) end

-- One entry for each argument: nil, a function, or a list of a function and what it is given; `many` in the last
-- one makes it count for all further arguments.
function completion.build(...)
  local arguments = table.pack(...)
  for i = 1, arguments.n do
    local entry = arguments[i]
    if type(entry) == "function" then
      arguments[i] = { entry }
    elseif entry ~= nil then
      expect(i, entry, "table")
      if type(entry[1]) ~= "function" then
        error(("bad table entry #1 at argument #%d (function expected, got %s)"):format(i, type(entry[1])), 2)
      end
      if entry.many and i < arguments.n then
        error(("unexpected 'many' field on argument #%d (should only occur on the last argument)"):format(i), 2)
      end
    end
  end
  return function(shell, index, text, previous)
    local entry = arguments[index]
    if not entry and index > arguments.n and arguments.n > 0 then
      local last = arguments[arguments.n]
      if last and last.many then entry = last end
    end
    if not entry then return nil end
    return entry[1](shell, text, previous, table.unpack(entry, 2))
  end
end

return completion
