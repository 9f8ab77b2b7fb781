--- The tool pack for turtles.
--
-- Every action of a turtle waits; in a handler that costs nobody else anything, since each has its own events.
--
-- @module[kind=internal] ccfleet.tools.turtle

local Position = require("ccfleet.position")
local json = require("ccfleet.json")
local common = require("ccfleet.tools.common")

local SLOTS = 16
local MAX_STEPS, MAX_MOVES = 256, 1024
-- Sand and gravel fall into a hole that was dug.
local MAX_DIGS = 16
-- A call stops by itself before it is ended in the middle of a move.
local LEAST_MS = 2000

local MOVES = {
    forward = "forward", back = "back", up = "up", down = "down", left = "turnLeft", right = "turnRight",
}
-- The functions for a direction: dig, digUp, digDown, ...
local SUFFIX = { front = "", up = "Up", down = "Down" }
local LOOKS_TO = { forward = "front", up = "up", down = "down" }

-- Moving -------------------------------------------------------------------------------------------------------

local function add_moves(moves, move, times, step)
    for _ = 1, times do moves[#moves + 1] = { move = move, step = step } end
    if #moves > MAX_MOVES then error(("more than %d moves; give fewer steps"):format(MAX_MOVES), 0) end
end

-- `{ "forward 3", "left" }` as single moves.
local function moves_of_steps(steps)
    local moves = {}
    for i, step in ipairs(steps) do
        local move, times = step:match("^%s*(%a+)%s*(%d*)%s*$")
        move = move and move:lower()
        if move == "around" then
            add_moves(moves, "right", 2, i)
        elseif MOVES[move] then
            add_moves(moves, move, tonumber(times) or 1, i)
        else
            error(("step %d: %q is none of forward, back, up, down, left, right, around, each with a number if need be")
                :format(i, step), 0)
        end
    end
    return moves
end

local function add_leg(moves, distance, step)
    if distance == 0 then return end
    local is_backwards = distance < 0
    if is_backwards then add_moves(moves, "right", 2, step) end
    add_moves(moves, "forward", math.abs(distance), step)
    if is_backwards then add_moves(moves, "right", 2, step) end
end

-- A place as seen from the turtle: up first, down last, so that it goes over what is in the way. It looks where it looked.
local function moves_of_target(target)
    local moves, up, right = {}, target.up or 0, target.right or 0
    if up > 0 then add_moves(moves, "up", up, 1) end
    add_leg(moves, target.forward or 0, 2)
    if right ~= 0 then
        local turn, turn_back = right > 0 and "right" or "left", right > 0 and "left" or "right"
        add_moves(moves, turn, 1, 3)
        add_moves(moves, "forward", math.abs(right), 3)
        add_moves(moves, turn_back, 1, 3)
    end
    if up < 0 then add_moves(moves, "down", -up, 4) end
    return moves
end

local function dig_free(turtle, move)
    local suffix = SUFFIX[LOOKS_TO[move]]
    if not suffix then return false end
    return (turtle["dig" .. suffix]())
end

-- Make one move, digging if that is wanted. Returns whether it was made, and why not.
local function make_move(parts, move, may_dig)
    local turtle, moved, reason = parts.turtle, nil, nil
    for _ = 0, MAX_DIGS do
        parts.position:begin()
        moved, reason = turtle[MOVES[move]]()
        parts.position:finish(move, moved)
        if moved or not may_dig or not dig_free(turtle, move) then break end
    end
    return moved, reason
end

-- What is in the way, for the result.
local function obstacle(turtle, move)
    local direction = LOOKS_TO[move]
    if not direction then return nil end
    local found, block = turtle["inspect" .. SUFFIX[direction]]()
    return found and type(block) == "table" and block.name or nil
end

local function move(parts, args, context)
    if (args.steps == nil) == (args.target == nil) then error("give either steps or target", 0) end
    local moves = args.steps and moves_of_steps(args.steps) or moves_of_target(args.target)
    local made, blocked = 0, nil
    for i, item in ipairs(moves) do
        local remaining = context and context:remaining_ms()
        if remaining and remaining < LEAST_MS then
            blocked = { reason = "the call ran out of time" }
        else
            local moved, reason = make_move(parts, item.move, args.dig)
            if not moved then blocked = { reason = reason or "unknown", block = obstacle(parts.turtle, item.move) } end
        end
        if blocked then
            blocked.step, blocked.move = item.step, item.move
            break
        end
        made = i
        if context then context:progress(i / #moves) end
    end
    return {
        completed = blocked == nil, moves_made = made, moves_planned = #moves, blocked = blocked,
        position = parts.position:report(), fuel = parts.turtle.getFuelLevel(),
    }
end

-- Blocks and items ---------------------------------------------------------------------------------------------

local function dig(parts, args)
    local suffix = SUFFIX[args.direction or "front"]
    local found, block = parts.turtle["inspect" .. suffix]()
    local dug, reason = parts.turtle["dig" .. suffix](args.side)
    return { dug = dug, reason = reason, block = found and type(block) == "table" and block.name or nil }
end

local function select_slot(turtle, slot)
    if slot and slot ~= turtle.getSelectedSlot() then turtle.select(slot) end
end

local function place(parts, args)
    select_slot(parts.turtle, args.slot)
    local placed, reason = parts.turtle["place" .. SUFFIX[args.direction or "front"]](args.text)
    return { placed = placed, reason = reason, left = parts.turtle.getItemCount() }
end

local function drop(parts, args)
    select_slot(parts.turtle, args.slot)
    local dropped, reason = parts.turtle["drop" .. SUFFIX[args.direction or "front"]](args.count)
    return { dropped = dropped, reason = reason, left = parts.turtle.getItemCount() }
end

local function suck(parts, args)
    local taken, reason = parts.turtle["suck" .. SUFFIX[args.direction or "front"]](args.count)
    return { taken = taken, reason = reason }
end

local function inventory(parts)
    local slots, free = json.array(), 0
    for slot = 1, SLOTS do
        local item = parts.turtle.getItemDetail(slot)
        if item then
            local space = parts.turtle.getItemSpace(slot)
            slots[#slots + 1] = { slot = slot, name = item.name, count = item.count, space = space }
        else
            free = free + 1
        end
    end
    return { slots = slots, free_slots = free, selected = parts.turtle.getSelectedSlot() }
end

local function select_tool(parts, args)
    parts.turtle.select(args.slot)
    return { selected = args.slot, count = parts.turtle.getItemCount(args.slot) }
end

local function transfer(parts, args)
    select_slot(parts.turtle, args.from)
    local moved, reason = parts.turtle.transferTo(args.to, args.count)
    return {
        moved = moved, reason = reason, from_count = parts.turtle.getItemCount(args.from),
        to_count = parts.turtle.getItemCount(args.to),
    }
end

local function refuel(parts, args)
    local before = parts.turtle.getFuelLevel()
    select_slot(parts.turtle, args.slot)
    local refuelled, reason = parts.turtle.refuel(args.count)
    local fuel = parts.turtle.getFuelLevel()
    local gained = type(fuel) == "number" and type(before) == "number" and fuel - before or nil
    return { refuelled = refuelled, reason = reason, fuel = fuel, gained = gained }
end

-- Where it is --------------------------------------------------------------------------------------------------

local function status(parts, args)
    local position, located = parts.position, nil
    if args.locate then
        local x, y, z = parts.gps.locate(2)
        located = x ~= nil
        if located then position:set(x, y, z) end
    end
    return {
        fuel = parts.turtle.getFuelLevel(), fuel_limit = parts.turtle.getFuelLimit(), located = located,
        position = position:report(), selected = parts.turtle.getSelectedSlot(),
    }
end

local function set_position(parts, args)
    parts.position:set(args.x, args.y, args.z, args.heading)
    return { position = parts.position:report() }
end

-- The tools ----------------------------------------------------------------------------------------------------

local SLOT = { type = "integer", minimum = 1, maximum = SLOTS, description = "Slot 1 to 16." }
local COUNT = { type = "integer", minimum = 1, maximum = 64, description = "How many; default all." }
local DIRECTION = { enum = { "front", "up", "down" }, description = "Default front." }
local COORDINATE = { type = "integer", description = "In blocks." }
local DISTANCE = { type = "integer", minimum = -MAX_MOVES, maximum = MAX_MOVES, description = "In blocks; default 0." }
local FROM_SLOT = common.described(SLOT, "Slot to use; default the selected one.")

local TOOLS = {
    turtle_status = {
        handler = status, effect = "read",
        description = "Fuel, selected slot and position of the turtle. The position is counted from its moves and is "
            .. "unverified after each start until turtle_set_position, or locate with gps, says where it is.",
        result = "fuel, fuel_limit, selected, position [x, y, z, heading, verified, heading_verified], located?",
        properties = { locate = { type = "boolean", description = "Ask gps; takes up to 2 s. Default false." } },
    },
    turtle_set_position = {
        handler = set_position, effect = "idempotent",
        description = "Tell the turtle where it is, as seen in the game (F3).",
        result = "position",
        properties = { x = COORDINATE, y = COORDINATE, z = COORDINATE, heading = { enum = Position.HEADINGS } },
        required = { "x", "y", "z" },
    },
    turtle_move = {
        handler = move, effect = "effect", timeout_ms = 600000,
        description = "Move the turtle by steps or to a place relative to it. It stops at the first move that it cannot "
            .. "make and tells how far it came and what is in the way; completed is false then.",
        result = "completed, moves_made, moves_planned, blocked? [step, move, reason, block?], position, fuel",
        properties = {
            steps = {
                type = "array", maxItems = MAX_STEPS, items = { type = "string", maxLength = 32 },
                description = "Such as [\"forward 3\", \"left\", \"up\"]: forward, back, up, down, left, right, around.",
            },
            target = {
                type = "object", additionalProperties = false,
                properties = { forward = DISTANCE, up = DISTANCE, right = DISTANCE },
                description = "Blocks forward, up and right of the turtle; negative ones back, down, left.",
            },
            dig = { type = "boolean", description = "Dig what is in the way; default false." },
        },
    },
    turtle_dig = {
        handler = dig, effect = "effect", description = "Dig the block in a direction.", result = "dug, reason?, block?",
        properties = { direction = DIRECTION, side = { enum = { "left", "right" }, description = "Tool to dig with." } },
    },
    turtle_place = {
        handler = place, effect = "effect", description = "Place an item as a block.", result = "placed, reason?, left",
        properties = {
            direction = DIRECTION, slot = FROM_SLOT,
            text = { type = "string", maxLength = 512, description = "Text, for a sign." },
        },
    },
    turtle_drop = {
        handler = drop, effect = "effect", result = "dropped, reason?, left",
        description = "Drop items, or put them into the inventory in that direction.",
        properties = { direction = DIRECTION, slot = FROM_SLOT, count = COUNT },
    },
    turtle_suck = {
        handler = suck, effect = "effect", result = "taken, reason?",
        description = "Take items from the ground or from the inventory in that direction.",
        properties = { direction = DIRECTION, count = COUNT },
    },
    turtle_inventory = {
        handler = inventory, effect = "read", description = "What the turtle carries.",
        result = "slots [slot, name, count, space], free_slots, selected", properties = {},
    },
    turtle_select = {
        handler = select_tool, effect = "idempotent", description = "Select a slot.", result = "selected, count",
        properties = { slot = SLOT }, required = { "slot" },
    },
    turtle_transfer = {
        handler = transfer, effect = "effect", description = "Move items from one slot to another.",
        result = "moved, reason?, from_count, to_count",
        properties = { from = SLOT, to = SLOT, count = COUNT }, required = { "from", "to" },
    },
    turtle_refuel = {
        handler = refuel, effect = "effect", description = "Burn items of a slot as fuel.",
        result = "refuelled, reason?, fuel, gained?", properties = { slot = FROM_SLOT, count = COUNT },
    },
}

--- The pack.
--
-- @tparam table computer `turtle`, `gps`, `fs`, and `state_dir`, where the position is kept.
-- @treturn table name -> tool.
local function make(computer)
    local position = Position.open(computer.fs, computer.state_dir .. "/position.json")
    return common.bind(TOOLS, { turtle = computer.turtle, gps = computer.gps, position = position })
end

return { make = make, fits = function(computer) return computer.turtle ~= nil end }
