-- Shows or changes a setting.
local name, value = ...
if not name then
  for _, known in ipairs(settings.getNames()) do
    print(known .. " is " .. textutils.serialise(settings.get(known)))
  end
elseif value == nil then
  print(name .. " is " .. textutils.serialise(settings.get(name)))
else
  local parsed = textutils.unserialise(value)
  if parsed == nil then parsed = value end
  settings.set(name, parsed)
  settings.save()
  print(name .. " set to " .. textutils.serialise(parsed))
end
