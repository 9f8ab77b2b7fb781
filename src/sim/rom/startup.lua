-- What a shell does first: paths, aliases, completion, then the computer's own startup.
shell.setPath(".:/rom/programs:/rom/programs/http")
local aliases = {
  ls = "list", dir = "list", cp = "copy", mv = "move", rm = "delete", md = "mkdir", clr = "clear", sh = "shell",
}
for name, program in pairs(aliases) do shell.setAlias(name, program) end

-- The helpers for completion are loaded when the first line is typed: an idle computer stays small.
local function lazily(describe)
  local complete
  return function(...)
    if not complete then
      local completion = dofile("/rom/modules/main/cc/shell/completion.lua")
      complete = completion.build(describe(completion))
    end
    return complete(...)
  end
end
local function completes(name, describe)
  shell.setCompletionFunction("rom/programs/" .. name .. ".lua", lazily(describe))
end
for _, name in ipairs({ "copy", "move", "rename" }) do
  completes(name, function(c) return { c.dirOrFile, true }, c.dirOrFile end)
end
completes("delete", function(c) return { c.dirOrFile, many = true } end)
for _, name in ipairs({ "list", "cd", "mkdir" }) do completes(name, function(c) return c.dir end) end
completes("type", function(c) return c.dirOrFile end)
completes("set", function(c) return { c.setting, true } end)
completes("label", function(c) return { c.choice, { "get", "set ", "clear" } } end)
completes("help", function(c) return c.help end)
completes("alias", function(c) return nil, c.program end)
completes("shell", function(c) return { c.programWithArgs, 1, many = true } end)
completes("monitor", function(c) return { c.peripheral, true }, { c.programWithArgs, 2, many = true } end)

-- A startup file runs first, then every file of the folder: there can be both.
local function run_startup()
  local file = shell.resolveProgram("/startup")
  if file then shell.run("/" .. file) end
  if fs.isDir("/startup") then
    for _, name in ipairs(fs.list("/startup")) do
      local path = fs.combine("startup", name)
      if not fs.isDir(path) then shell.run("/" .. path) end
    end
  end
end
if (...) ~= "--no-startup" and settings.get("shell.allow_startup", true) then run_startup() end
