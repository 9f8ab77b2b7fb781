--- The queue of a computer's calls.
--
-- One call that changes something (`effect` or `idempotent`) runs at a time, in the order of arrival; up to two
-- `read` calls run beside it. The server keeps to this on its own; the lane holds even if it does not.
--
-- @module[kind=internal] ccfleet.lane

local MAX_READS = 2

local Lane = {}
Lane.__index = Lane

function Lane.new()
    return setmetatable({ _waiting = {}, _reads = 0, _writing = false }, Lane)
end

--- Put a call at the end of the queue. A call needs `call_id` and `effect`.
function Lane:push(call)
    table.insert(self._waiting, call)
end

function Lane:_has_room_for(call)
    if call.effect == "read" then return self._reads < MAX_READS end
    return not self._writing
end

--- Take the first call that may start now off the queue, or nil. It holds its place until @{release}.
function Lane:take()
    for i, call in ipairs(self._waiting) do
        if self:_has_room_for(call) then
            table.remove(self._waiting, i)
            if call.effect == "read" then self._reads = self._reads + 1 else self._writing = true end
            return call
        end
    end
    return nil
end

--- Give the place of a taken call free.
function Lane:release(call)
    if call.effect == "read" then self._reads = self._reads - 1 else self._writing = false end
end

--- The waiting call with this id, or nil.
function Lane:find(call_id)
    for i, call in ipairs(self._waiting) do
        if call.call_id == call_id then return call, i end
    end
    return nil
end

--- Take a waiting call out of the queue without running it.
--
-- @return The call, or nil if it does not wait here.
function Lane:remove(call_id)
    local call, index = self:find(call_id)
    if call then table.remove(self._waiting, index) end
    return call
end

return Lane
