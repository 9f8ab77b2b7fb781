--- The tool pack for redstone.
--
-- @module[kind=internal] ccfleet.tools.redstone

local common = require("ccfleet.tools.common")

local SIDES = { "top", "bottom", "left", "right", "front", "back" }

local function look(redstone, side)
    return {
        input = redstone.getAnalogInput(side), output = redstone.getAnalogOutput(side),
        is_powered = redstone.getInput(side),
    }
end

local function get(redstone, args)
    local sides = {}
    for _, side in ipairs(args.side and { args.side } or SIDES) do sides[side] = look(redstone, side) end
    return { sides = sides }
end

local function set(redstone, args)
    local power = args.power
    if type(power) == "boolean" then power = power and 15 or 0 end
    redstone.setAnalogOutput(args.side, power)
    return { side = args.side, output = redstone.getAnalogOutput(args.side) }
end

local SIDE = { enum = SIDES, description = "Side of the computer." }

local TOOLS = {
    redstone_get = {
        handler = get, effect = "read", properties = { side = SIDE },
        description = "Redstone signals in and out, 0 to 15, of one side or all.",
        result = "sides {side: [input, output, is_powered]}",
    },
    redstone_set = {
        handler = set, effect = "idempotent", required = { "side", "power" }, result = "side, output",
        description = "Set the redstone signal that the computer puts out on a side.",
        properties = {
            side = SIDE,
            power = {
                type = { "integer", "boolean" }, minimum = 0, maximum = 15,
                description = "0 to 15, or true and false for full and none.",
            },
        },
    },
}

return {
    make = function(computer) return common.bind(TOOLS, computer.redstone) end,
    fits = function(computer) return computer.redstone ~= nil end,
}
