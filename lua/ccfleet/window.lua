--- The receiving end of the server's flow control.
--
-- A computer's event queue holds 256 events and drops the rest without a word, so the server numbers its messages
-- and keeps at most `size` of them un-acknowledged. Here a number is handled once and in order. What comes after
-- a gap is thrown away, not kept: the server sends again from the gap, and nothing can then be both waiting here
-- and cancelled there.
--
-- @module[kind=internal] ccfleet.window

-- How long a lone message may wait for its acknowledgement; long enough to ride on an answer.
local ACK_SECONDS = 0.2

local Window = {}
Window.__index = Window

--- @tparam number size How many messages the server may have on the way.
function Window.new(size)
    return setmetatable({ _size = size, _received = 0, _acked = 0, _gap_told = false }, Window)
end

--- The server has said how many messages it will really have on the way.
function Window:resize(size)
    self._size = size
end

--- Take note of a numbered message.
--
-- @tparam number n Its number.
-- @tparam number now The clock.
-- @treturn string `"handle"`, `"seen"` (handled before) or `"gap"` (one before it is missing).
function Window:accept(n, now)
    if n == self._received + 1 then
        self._received = n
        self._gap_told = false
        self._due_at = self._due_at or now + ACK_SECONDS
        return "handle"
    end
    if n <= self._received then
        -- The server has not seen our acknowledgement, or it would not repeat itself.
        self._due_at = self._due_at or now + ACK_SECONDS
        return "seen"
    end
    -- Tell the server once where the gap is; its own timer covers the case that this is lost.
    if not self._gap_told then self._due_at = now end
    self._gap_told = true
    return "gap"
end

--- The number to acknowledge with a message that goes out anyway, or nil.
function Window:take_ack()
    if not self._due_at then return nil end
    self._due_at = nil
    self._acked = self._received
    return self._received
end

--- Whether an acknowledgement has to go out now, on its own if need be.
function Window:is_due(now)
    if not self._due_at then return false end
    return now >= self._due_at or self._received - self._acked >= self._size / 2
end

--- Seconds until @{is_due} becomes true, or nil if nothing waits.
function Window:seconds_left(now)
    return self._due_at and math.max(0, self._due_at - now)
end

return Window
