-- Rednet without a modem: nothing can be opened, nothing arrives.
local rednet = { CHANNEL_BROADCAST = 65535, CHANNEL_REPEAT = 65533, MAX_ID_CHANNELS = 65500 }

function rednet.open(side) error("No such modem: " .. tostring(side), 2) end
function rednet.close() end
function rednet.isOpen() return false end
function rednet.send() return false end
function rednet.broadcast() end
function rednet.host() error("No open modem", 2) end
function rednet.unhost() end
function rednet.lookup() return nil end
function rednet.receive(filter, timeout)
  if type(filter) == "number" and timeout == nil then timeout = filter end
  local timer = timeout and os.startTimer(timeout)
  while true do
    local event, id, message, protocol = os.pullEvent()
    if event == "rednet_message" then return id, message, protocol end
    if event == "timer" and id == timer then return nil end
  end
end
function rednet.run()
  while true do os.pullEventRaw("modem_message") end
end

return rednet
