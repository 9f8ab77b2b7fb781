--- Messages that are too long for one frame: cut into pieces, and put together again.
--
-- @module[kind=internal] ccfleet.chunks

local json = require("ccfleet.json")
local text = require("ccfleet.text")

local chunks = {}

-- What a chunk's frame has beside its data: type, id, two numbers, and the `ack` that may ride along.
local ENVELOPE_BYTES = 256
local MAX_SETS, MAX_BYTES, MAX_COUNT = 8, 512 * 1024, 4096
local EXPIRY_SECONDS = 60

-- Cutting ------------------------------------------------------------------------------------------------------

-- How long a piece of JSON text is as a string within JSON. There are no control characters in it.
local function escaped_bytes(piece)
    return #piece + select(2, piece:gsub('["\\]', ""))
end

-- The longest piece from `position` on whose escaped form has room.
local function next_piece(s, position, room)
    local size = room
    while true do
        -- Some bytes more, so that the cut sees whether it splits a character.
        local piece = text.head(s:sub(position, position + size + 3), size)
        local bytes = escaped_bytes(piece)
        if bytes <= room then return piece end
        size = math.min(size - 1, math.floor(size * room / bytes))
    end
end

--- Cut a message.
--
-- @tparam string frame The JSON text of the message.
-- @tparam string chunk_id A name for it, not used before on this connection.
-- @tparam number limit How many bytes a frame may have.
-- @treturn table The frames.
function chunks.split(frame, chunk_id, limit)
    local pieces, position = {}, 1
    while position <= #frame do
        local piece = next_piece(frame, position, limit - ENVELOPE_BYTES)
        pieces[#pieces + 1] = piece
        position = position + #piece
    end
    local frames = {}
    for i, piece in ipairs(pieces) do
        frames[i] = json.encode({
            type = "chunk", chunk_id = chunk_id, index = i - 1, count = #pieces, data = piece,
        })
    end
    return frames
end

-- Joining ------------------------------------------------------------------------------------------------------

local Joiner = {}
Joiner.__index = Joiner

--- The pieces that have come on one connection.
function chunks.joiner()
    return setmetatable({ _sets = {}, _order = {} }, Joiner)
end

function Joiner:_forget(chunk_id)
    self._sets[chunk_id] = nil
    for i, known in ipairs(self._order) do
        if known == chunk_id then return table.remove(self._order, i) end
    end
end

function Joiner:_expire(now)
    for i = #self._order, 1, -1 do
        local chunk_id = self._order[i]
        if now - self._sets[chunk_id].heard_at >= EXPIRY_SECONDS then self:_forget(chunk_id) end
    end
end

local function is_whole(n, lowest, highest)
    return type(n) == "number" and n % 1 == 0 and n >= lowest and n <= highest
end

local function check(message)
    if type(message.chunk_id) ~= "string" then return nil, "chunk without chunk_id" end
    if type(message.data) ~= "string" then return nil, "chunk without data" end
    if not is_whole(message.count, 1, MAX_COUNT) then return nil, "chunk with a count out of range" end
    if not is_whole(message.index, 0, message.count - 1) then return nil, "chunk with an index out of range" end
    return true
end

function Joiner:_set_for(message, now)
    local set = self._sets[message.chunk_id]
    if not set then
        -- The server keeps to eight as well; the oldest of more is one that it has given up.
        if #self._order >= MAX_SETS then self:_forget(self._order[1]) end
        set = { count = message.count, pieces = {}, received = 0, bytes = 0 }
        self._sets[message.chunk_id] = set
        table.insert(self._order, message.chunk_id)
    end
    set.heard_at = now
    return set
end

--- Take a piece.
--
-- @tparam table message The `chunk` message.
-- @tparam number now The clock.
-- @treturn string|nil The whole text, when this was the last missing piece; or nil, and the reason if the piece (and all
-- that has come of its message) is thrown away.
function Joiner:take(message, now)
    self:_expire(now)
    local ok, err = check(message)
    if not ok then return nil, err end
    local set = self:_set_for(message, now)
    if set.count ~= message.count then
        self:_forget(message.chunk_id)
        return nil, "chunks of one message disagree about their count"
    end
    if set.pieces[message.index + 1] then return nil end
    set.pieces[message.index + 1] = message.data
    set.received, set.bytes = set.received + 1, set.bytes + #message.data
    if set.bytes > MAX_BYTES then
        self:_forget(message.chunk_id)
        return nil, ("chunked message over %d bytes"):format(MAX_BYTES)
    end
    if set.received < set.count then return nil end
    self:_forget(message.chunk_id)
    return table.concat(set.pieces)
end

return chunks
