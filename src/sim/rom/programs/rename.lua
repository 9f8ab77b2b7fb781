-- Gives a file or folder another name.
local from, to = ...
if not from or not to then
  print("Usage: rename <source> <destination>")
  return
end
from, to = shell.resolve(from), shell.resolve(to)
if not fs.exists(from) then
  printError("No matching files")
elseif fs.exists(to) then
  printError("Destination exists")
else
  fs.move(from, to)
end
