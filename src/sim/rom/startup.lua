-- What a shell does first: paths, aliases, completion, then the computer's own startup.
shell.setPath(".:/rom/programs:/rom/programs/http")
local aliases = {
  ls = "list", dir = "list", cp = "copy", mv = "move", rm = "delete", md = "mkdir", clr = "clear", sh = "shell",
}
for name, program in pairs(aliases) do shell.setAlias(name, program) end

local function complete_files(_, index, text, previous)
  if index <= 2 then return fs.complete(text, shell.dir()) end
end
for _, name in ipairs({ "copy", "move", "delete", "list", "cd", "type" }) do
  shell.setCompletionFunction("rom/programs/" .. name .. ".lua", complete_files)
end

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
