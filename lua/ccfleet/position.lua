--- Where a turtle is, by counting its moves.
--
-- Written to a file after every move, but a computer can be switched off between a move and its note. So after each start
-- the position counts as unverified until somebody (or gps) says where the turtle is.
--
-- @module[kind=internal] ccfleet.position

local files = require("ccfleet.files")
local json = require("ccfleet.json")

local HEADINGS = { "north", "east", "south", "west" }
-- North is towards smaller z, east towards bigger x, as in the game.
local STEPS = { north = { 0, -1 }, east = { 1, 0 }, south = { 0, 1 }, west = { -1, 0 } }
local INDEX = {}
for i, heading in ipairs(HEADINGS) do INDEX[heading] = i end

local Position = {}
Position.__index = Position

Position.HEADINGS = HEADINGS

--- Read the file; without one the turtle is at 0, 0, 0 and looks north.
--
-- @tparam table fs The file system API.
-- @tparam string path The file.
function Position.open(fs, path)
    local self = setmetatable({
        _fs = fs, _path = path, x = 0, y = 0, z = 0, heading = "north", verified = false, heading_verified = false,
    }, Position)
    local content = fs.exists(path) and files.read(fs, path)
    local kept = content and json.decode(content)
    if type(kept) == "table" and INDEX[kept.heading] then
        self.heading = kept.heading
        for _, axis in ipairs({ "x", "y", "z" }) do self[axis] = tonumber(kept[axis]) or 0 end
    end
    return self
end

--- The position as a result of a tool.
function Position:report()
    return {
        x = self.x, y = self.y, z = self.z, heading = self.heading, verified = self.verified,
        heading_verified = self.heading_verified,
    }
end

-- A position that cannot be kept is no reason to stop a turtle: it will be unverified after the next start anyhow.
function Position:_save()
    files.replace(self._fs, self._path, json.encode({ x = self.x, y = self.y, z = self.z, heading = self.heading }))
end

--- A move begins. If its end is never noted, because the call was ended in the middle, nobody knows where the turtle is.
function Position:begin()
    if self._is_moving then self.verified, self.heading_verified = false, false end
    self._is_moving = true
end

--- A move has ended.
--
-- @tparam string move `forward`, `back`, `up`, `down`, `left` or `right`.
-- @tparam boolean moved Whether the turtle did it.
function Position:finish(move, moved)
    self._is_moving = false
    if not moved then return end
    if move == "left" or move == "right" then
        local turn = move == "right" and 1 or -1
        self.heading = HEADINGS[(INDEX[self.heading] - 1 + turn) % 4 + 1]
    elseif move == "up" or move == "down" then
        self.y = self.y + (move == "up" and 1 or -1)
    else
        local step, sign = STEPS[self.heading], move == "forward" and 1 or -1
        self.x, self.z = self.x + sign * step[1], self.z + sign * step[2]
    end
    self:_save()
end

--- Somebody says where the turtle is.
--
-- @tparam[opt] string heading Where it looks; gps does not know.
function Position:set(x, y, z, heading)
    self.x, self.y, self.z, self.verified, self._is_moving = x, y, z, true, false
    if heading then self.heading, self.heading_verified = heading, true end
    self:_save()
end

return Position
