-- Says what a path is.
local name = ...
if not name then
  print("Usage: type <path>")
  return
end
local path = shell.resolve(name)
if not fs.exists(path) then
  print("No such path")
elseif fs.isDir(path) then
  print("directory")
else
  print("file")
end
