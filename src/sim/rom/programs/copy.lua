local from, to = ...
if not from or not to then
  print("Usage: cp <source> <destination>")
  return
end
local source, target = shell.resolve(from), shell.resolve(to)
local files = fs.find(source)
if #files == 0 then
  printError("No matching files")
  return
end
for _, file in ipairs(files) do
  local goal = target
  if fs.isDir(target) then
    goal = fs.combine(target, fs.getName(file))
  elseif #files > 1 then
    printError("Cannot overwrite file multiple times")
    return
  end
  if fs.exists(goal) then
    printError("Destination exists")
  elseif fs.isReadOnly(goal) then
    printError("Destination is read-only")
  else
    fs.copy(file, goal)
  end
end
