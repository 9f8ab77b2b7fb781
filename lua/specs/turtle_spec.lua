local check = require("check")
local fake_disk = require("fake_disk")

local specs = {}

local AHEAD = { [0] = { 0, -1 }, { 1, 0 }, { 0, 1 }, { -1, 0 } }

-- A turtle in a world of blocks (`"x,y,z"` -> name) at 0, 0, 0, looking north.
local function fake_turtle(blocks)
    local world = { x = 0, y = 0, z = 0, facing = 0, fuel = 1000, blocks = blocks or {}, slots = {}, selected = 1 }
    local function at(direction)
        local dx, dy, dz = AHEAD[world.facing][1], 0, AHEAD[world.facing][2]
        if direction ~= "" then dx, dy, dz = 0, direction == "Up" and 1 or -1, 0 end
        return world.x + dx, world.y + dy, world.z + dz
    end
    local function key(x, y, z) return ("%d,%d,%d"):format(x, y, z) end
    local function step(x, y, z)
        if world.hang and coroutine.yield("turtle_response") == "terminate" then error("Terminated", 0) end
        if world.fuel == 0 then return false, "Out of fuel" end
        if world.blocks[key(x, y, z)] then return false, "Movement obstructed" end
        world.x, world.y, world.z, world.fuel = x, y, z, world.fuel - 1
        return true
    end
    local turtle = {
        forward = function() return step(at("")) end,
        back = function()
            local x, _, z = at("")
            return step(2 * world.x - x, world.y, 2 * world.z - z)
        end,
        up = function() return step(at("Up")) end,
        down = function() return step(at("Down")) end,
        turnLeft = function() world.facing = (world.facing + 3) % 4 return true end,
        turnRight = function() world.facing = (world.facing + 1) % 4 return true end,
        getFuelLevel = function() return world.fuel end,
        getFuelLimit = function() return 20000 end,
        getSelectedSlot = function() return world.selected end,
        select = function(slot) world.selected = slot return true end,
        getItemCount = function(slot) return (world.slots[slot or world.selected] or { count = 0 }).count end,
        getItemSpace = function(slot) return 64 - (world.slots[slot] or { count = 0 }).count end,
        getItemDetail = function(slot) return world.slots[slot] end,
        refuel = function()
            if not world.slots[world.selected] then return false, "No items to combust" end
            world.fuel = world.fuel + 80
            return true
        end,
        transferTo = function(to, count)
            world.slots[to], world.slots[world.selected] = { name = "coal", count = count }, nil
            return true
        end,
    }
    for _, direction in ipairs({ "", "Up", "Down" }) do
        turtle["inspect" .. direction] = function()
            local name = world.blocks[key(at(direction))]
            if not name then return false, "No block to inspect" end
            return true, { name = name }
        end
        turtle["dig" .. direction] = function()
            local place = key(at(direction))
            if not world.blocks[place] then return false, "Nothing to dig here" end
            if world.blocks[place] == "bedrock" then return false, "Unbreakable block detected" end
            world.blocks[place] = world.blocks[place] == "gravel2" and "gravel" or nil
            return true
        end
        turtle["place" .. direction] = function() return false, "No items to place" end
    end
    return world, turtle
end

local function pack(blocks, disk)
    local world, turtle = fake_turtle(blocks)
    world.disk = disk or fake_disk.new()
    local gps = { locate = function() if world.gps then return world.gps[1], world.gps[2], world.gps[3] end end }
    local computer = { turtle = turtle, gps = gps, fs = world.disk.fs, state_dir = "/s" }
    local tools = require("ccfleet.tools.turtle").make(computer)
    world.context = { remaining_ms = function() return world.remaining_ms end, progress = function() end }
    function world.handler(name, args)
        return function() return tools["turtle_" .. name].handler(args or {}, "t", "c", world.context) end
    end
    function world.call(name, args)
        local ok, result = pcall(world.handler(name, args))
        if ok then return result end
        return nil, result
    end
    return world
end

local function place_of(world) return { world.x, world.y, world.z, world.facing } end

local function position_of(report)
    return { report.x, report.y, report.z, report.heading, report.verified }
end

specs["turtle: steps are made in order and counted, in the game's directions"] = function()
    local world = pack()
    local result = world.call("move", { steps = { "forward 3", "right", "forward", "Up 2", "back", "around", "down" } })
    check.same({ result.completed, result.moves_made }, { true, 11 })
    check.same(place_of(world), { 0, 1, -3, 3 })
    check.same(position_of(result.position), { 0, 1, -3, "west", false })
    check.same(result.fuel, 1000 - 8)
end

specs["turtle: a target is reached, looking where it looked"] = function()
    for _, target in ipairs({
        { forward = 2, up = 1, right = 3 }, { forward = -2, right = -1, up = -4 }, { up = 5 }, {}, { right = 1 },
    }) do
        local world = pack()
        local result = world.call("move", { target = target })
        check.same(result.completed, true)
        check.same(place_of(world), { target.right or 0, target.up or 0, -(target.forward or 0), 0 })
        check.same(position_of(result.position), { world.x, world.y, world.z, "north", false })
    end
end

specs["turtle: a blocked path tells how far it came and what is there"] = function()
    local world = pack({ ["0,0,-3"] = "minecraft:stone" })
    local result = world.call("move", { steps = { "forward", "forward 5" } })
    check.same({ result.completed, result.moves_made, result.moves_planned }, { false, 2, 6 })
    check.same(result.blocked, { step = 2, move = "forward", reason = "Movement obstructed", block = "minecraft:stone" })
    check.same(position_of(result.position), { 0, 0, -2, "north", false })
    world.fuel = 0
    check.same(world.call("move", { steps = { "up" } }).blocked.reason, "Out of fuel")
end

specs["turtle: digs its way if asked, also through what falls after, but not for ever"] = function()
    local world = pack({ ["0,0,-1"] = "gravel2", ["0,0,-2"] = "bedrock" })
    local result = world.call("move", { steps = { "forward 2" }, dig = true })
    check.same({ result.moves_made, result.blocked.block }, { 1, "bedrock" })
end

specs["turtle: unclear orders are refused before anything moves"] = function()
    local world = pack()
    check.contains(select(2, world.call("move", { steps = { "forward", "jump" } })), 'step 2: "jump" is none of')
    check.contains(select(2, world.call("move", {})), "either steps or target")
    check.contains(select(2, world.call("move", { steps = { "forward 2000" } })), "more than 1024 moves")
    check.same(place_of(world), { 0, 0, 0, 0 })
end

specs["turtle: stops by itself before the call is ended in the middle of a move"] = function()
    local world = pack()
    world.remaining_ms = 1500
    check.same(world.call("move", { steps = { "up" } }).blocked.reason, "the call ran out of time")
    check.same(world.y, 0)
end

specs["turtle: the position is kept over a start, but unverified until somebody says where it is"] = function()
    local world = pack()
    world.call("set_position", { x = 10, y = 64, z = -5, heading = "east" })
    check.same(position_of(world.call("status").position), { 10, 64, -5, "east", true })
    world.facing = 1
    check.same(position_of(world.call("move", { steps = { "forward" } }).position), { 11, 64, -5, "east", true })
    local again = pack(nil, world.disk)
    check.same(position_of(again.call("status").position), { 11, 64, -5, "east", false })
    check.same(again.call("status", { locate = true }).located, false)
    again.gps = { 12, 64, -5 }
    local report = again.call("status", { locate = true })
    check.same(position_of(report.position), { 12, 64, -5, "east", true })
    check.same(report.position.heading_verified, false)
end

specs["turtle: a move that was cut off in the middle makes the position unverified"] = function()
    local Job = require("ccfleet.job")
    local world = pack()
    world.call("set_position", { x = 1, y = 1, z = 1, heading = "north" })
    world.hang = true
    local job = Job.new(world.handler("move", { steps = { "up" } }))
    job:resume()
    job:stop()
    world.hang = false
    check.same(world.call("move", { steps = { "up" } }).position.verified, false)
end

specs["turtle: a full disk does not stop it"] = function()
    local world = pack()
    world.disk.is_read_only = true
    check.same(world.call("move", { steps = { "up" } }).completed, true)
end

specs["turtle: items are listed, moved and burnt; failures say why"] = function()
    local world = pack()
    world.slots[2] = { name = "coal", count = 5 }
    check.same(world.call("inventory"), {
        slots = { { slot = 2, name = "coal", count = 5, space = 59 } }, free_slots = 15, selected = 1,
    })
    check.same(world.call("refuel").reason, "No items to combust")
    check.same(world.call("refuel", { slot = 2 }), { refuelled = true, fuel = 1080, gained = 80 })
    check.same(world.call("transfer", { from = 2, to = 3, count = 5 }), { moved = true, from_count = 0, to_count = 5 })
    check.same(world.call("select", { slot = 3 }), { selected = 3, count = 5 })
    check.same(world.call("dig", { direction = "down" }), { dug = false, reason = "Nothing to dig here" })
    check.same(world.call("place"), { placed = false, reason = "No items to place", left = 5 })
end

return specs
