-- Help on a topic, or what there is.
local topic = ...
local file = topic and help.lookup(topic)
if file then
  local handle = fs.open(file, "r")
  textutils.pagedPrint(handle.readAll())
  handle.close()
elseif topic and topic ~= "index" then
  print("No help available")
else
  print("This is a simulated computer. `programs` lists what it can run; a program alone often shows its usage.")
end
