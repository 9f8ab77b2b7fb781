local names = { ... }
if #names == 0 then
  print("Usage: rm <paths>")
  return
end
for _, name in ipairs(names) do
  local files = fs.find(shell.resolve(name))
  if #files == 0 then printError(name .. ": No matching files") end
  for _, file in ipairs(files) do
    local ok, err = pcall(fs.delete, file)
    if not ok then printError((err:gsub("^pcall: ", ""))) end
  end
end
