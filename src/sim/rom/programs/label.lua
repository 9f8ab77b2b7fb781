local command, label = ...
if command == "set" and label then
  os.setComputerLabel(label)
  print('Computer label set to "' .. os.getComputerLabel() .. '"')
elseif command == "clear" then
  os.setComputerLabel(nil)
  print("Computer label cleared")
elseif command == "get" or command == nil then
  local current = os.getComputerLabel()
  print(current and ('Computer label is "' .. current .. '"') or "No Computer label")
else
  print("Usages:")
  print("label get")
  print("label set <text>")
  print("label clear")
end
