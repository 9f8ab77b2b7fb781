-- Disk drives: there are none.
local disk = {}
for _, name in ipairs({ "isPresent", "hasData", "hasAudio" }) do disk[name] = function() return false end end
for _, name in ipairs({ "getLabel", "setLabel", "getMountPath", "getAudioTitle", "playAudio", "stopAudio", "eject", "getID" }) do
  disk[name] = function() return nil end
end
return disk
