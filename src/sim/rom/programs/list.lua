-- Shows the names in a folder: folders in green, then files.
local target = shell.resolve((...) or "")
if (...) == nil then target = shell.dir() end
if not fs.isDir(target) then
  printError("Not a directory")
  return
end
local dirs, files = {}, {}
for _, name in ipairs(fs.list(target)) do
  if settings.get("list.show_hidden") or name:sub(1, 1) ~= "." then
    local group = fs.isDir(fs.combine(target, name)) and dirs or files
    group[#group + 1] = name
  end
end
textutils.pagedTabulate(colors.green, dirs, colors.white, files)
