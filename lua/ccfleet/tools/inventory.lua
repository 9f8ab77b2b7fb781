--- The tool pack for chests and other inventories.
--
-- @module[kind=internal] ccfleet.tools.inventory

local json = require("ccfleet.json")
local common = require("ccfleet.tools.common")

-- A peripheral counts as an inventory by what it can do: types are told since 1.99 only.
local function is_inventory(peripheral, name)
    local can = {}
    for _, method in ipairs(peripheral.getMethods(name) or {}) do can[method] = true end
    return can.list and can.pushItems and can.size or false
end

local function require_inventory(peripheral, name)
    if not peripheral.isPresent(name) or not is_inventory(peripheral, name) then
        error(("no inventory %s here; inventory_list without a name shows what there is"):format(name), 0)
    end
end

local function content(peripheral, name)
    local items = json.array()
    for slot, item in pairs(peripheral.call(name, "list")) do
        items[#items + 1] = { slot = slot, name = item.name, count = item.count }
    end
    table.sort(items, function(a, b) return a.slot < b.slot end)
    return { name = name, size = peripheral.call(name, "size"), items = items }
end

local function list(peripheral, args)
    if args.name then
        require_inventory(peripheral, args.name)
        return content(peripheral, args.name)
    end
    local names = json.array()
    for _, name in ipairs(peripheral.getNames()) do
        if is_inventory(peripheral, name) then names[#names + 1] = name end
    end
    return { inventories = names }
end

local function push(peripheral, args)
    require_inventory(peripheral, args.from)
    return { moved = peripheral.call(args.from, "pushItems", args.to, args.slot, args.count, args.to_slot) }
end

local function pull(peripheral, args)
    require_inventory(peripheral, args.to)
    return { moved = peripheral.call(args.to, "pullItems", args.from, args.slot, args.count, args.to_slot) }
end

local NAME = { type = "string", maxLength = 256, description = "Name of an inventory, from inventory_list." }
local MOVE = {
    from = common.described(NAME, "Inventory to take from."),
    to = common.described(NAME, "Inventory to put into."),
    slot = { type = "integer", minimum = 1, description = "Slot to take from." },
    count = { type = "integer", minimum = 1, description = "How many at most; default all of the slot." },
    to_slot = { type = "integer", minimum = 1, description = "Slot to put into; default any." },
}

local TOOLS = {
    inventory_list = {
        handler = list, effect = "read", properties = { name = common.described(NAME, "Inventory to look into.") },
        description = "List the items of an inventory, or without a name the inventories that this computer reaches.",
        result = "name, size, items [slot, name, count]; or inventories",
    },
    inventory_push = {
        handler = push, effect = "effect", properties = MOVE, required = { "from", "to", "slot" }, result = "moved",
        description = "Move items between two inventories of one wired network, asked of the one that gives.",
    },
    inventory_pull = {
        handler = pull, effect = "effect", properties = MOVE, required = { "from", "to", "slot" }, result = "moved",
        description = "Move items between two inventories of one wired network, asked of the one that takes.",
    },
}

return {
    make = function(computer) return common.bind(TOOLS, computer.peripheral) end,
    fits = function(computer)
        local peripheral = computer.peripheral
        for _, name in ipairs(peripheral and peripheral.getNames() or {}) do
            if is_inventory(peripheral, name) then return true end
        end
        return false
    end,
}
