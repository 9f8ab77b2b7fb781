local names = { ... }
if #names == 0 then
  print("Usage: mkdir <paths>")
  return
end
for _, name in ipairs(names) do
  local path = shell.resolve(name)
  if fs.isDir(path) then
    printError(name .. ": Destination already exists")
  elseif fs.exists(path) then
    printError(name .. ": Destination exists")
  else
    fs.makeDir(path)
  end
end
