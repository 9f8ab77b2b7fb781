local check = require("check")
local packs = require("ccfleet.packs")
local world = require("fake_world")

local specs = {}

-- Peripherals: name -> `kind` and methods.
local function fake_peripherals(attached)
    local function methods(name)
        local list = {}
        for method, value in pairs(attached[name] or {}) do
            if type(value) == "function" then list[#list + 1] = method end
        end
        table.sort(list)
        return list
    end
    return {
        getNames = function()
            local names = {}
            for name in pairs(attached) do names[#names + 1] = name end
            table.sort(names)
            return names
        end,
        isPresent = function(name) return attached[name] ~= nil end,
        getType = function(name) return attached[name] and attached[name].kind end,
        getMethods = methods,
        call = function(name, method, ...) return attached[name][method](...) end,
    }
end

local function tool(pack, computer, name)
    local handler = require("ccfleet.tools." .. pack).make(computer)[name].handler
    return function(args)
        local ok, result = pcall(handler, args or {}, "t", "c", nil)
        if ok then return result end
        return nil, result
    end
end

specs["packs: are there as long as what they are for is, and the server is told"] = function()
    local attached = {}
    local computer = world.computer()
    world.fleet(computer, function(fleet)
        packs.attach(fleet, nil, { peripheral = fake_peripherals(attached), redstone = {}, fs = computer.disk.fs })
    end)
    local fleet = computer.fleet
    check.same({ fleet:has_tool("redstone_get"), fleet:has_tool("turtle_move") }, { true, false })
    check.same({ fleet:has_tool("peripheral_list"), fleet:has_tool("monitor_write") }, { false, false })
    attached.top = { kind = "monitor", clear = function() end }
    computer:event("peripheral", "top")
    check.same({ fleet:has_tool("peripheral_list"), fleet:has_tool("monitor_write") }, { true, true })
    check.truthy(#computer:sent("register_commands") > 0)
    attached.top = nil
    computer:event("peripheral_detach", "top")
    check.same(fleet:has_tool("monitor_write"), false)
    check.truthy(#computer:sent("unregister_commands") > 0)
end

specs["packs: only those that are wanted, and a name of the host's own is left alone"] = function()
    local computer = world.computer()
    local entered = false
    world.fleet(computer, function(fleet)
        fleet:register("redstone_set", function()
            entered = true
            return {}
        end)
        packs.attach(fleet, { "redstone", "nonsense" }, {
            redstone = {}, turtle = {}, fs = computer.disk.fs, state_dir = "/s", peripheral = fake_peripherals({ a = {} }),
        })
    end)
    check.same({ computer.fleet:has_tool("redstone_get"), computer.fleet:has_tool("turtle_move") }, { true, false })
    check.same(computer.fleet:has_tool("peripheral_list"), false)
    computer:say({ type = "command_call", task_id = "t", call_id = "a", command = "redstone_set", args = {}, seq = 1 })
    check.same(entered, true)
end

specs["packs: every tool has an effect class, a description and a schema, and its name begins with its pack"] = function()
    local computer = {
        turtle = {}, redstone = {}, peripheral = fake_peripherals({}), fs = world.disk().fs, state_dir = "/s",
    }
    for _, pack in ipairs(packs.NAMES) do
        for name, made in pairs(require("ccfleet.tools." .. pack).make(computer)) do
            check.truthy(({ read = true, idempotent = true, effect = true })[made.effect], name)
            check.truthy(#made.description > 10 and made.result and made.properties, name)
            check.same(name:match("^%l+"), pack)
        end
    end
end

specs["peripheral: lists, tells methods, calls, and reads only what reads"] = function()
    local computer = { peripheral = fake_peripherals({
        drive_0 = {
            kind = "drive",
            getName = function(a, b) return "n", nil, a, b end,
            eject = function() error("stuck", 0) end,
        },
    }) }
    check.same(tool("peripheral", computer, "peripheral_list")().peripherals, { { name = "drive_0", types = { "drive" } } })
    check.same(tool("peripheral", computer, "peripheral_methods")({ name = "drive_0" }).methods, { "eject", "getName" })
    local read = tool("peripheral", computer, "peripheral_read")
    check.same(read({ name = "drive_0", method = "getName", args = { 1, "x" } }).count, 4)
    check.contains(select(2, read({ name = "drive_0", method = "eject" })), "use peripheral_call for eject")
    local call = tool("peripheral", computer, "peripheral_call")
    check.contains(select(2, call({ name = "drive_0", method = "eject" })), "stuck")
    check.contains(select(2, call({ name = "drive_0", method = "fly" })), "peripheral_methods shows")
    check.contains(select(2, call({ name = "drive_1", method = "eject" })), "peripheral_list shows")
end

specs["inventory: lists what is there and moves items, asked of the right side"] = function()
    local asked = {}
    local function chest(items)
        return {
            kind = "chest", size = function() return 27 end, list = function() return items end,
            pushItems = function(...)
                asked = { "push", ... }
                return 3
            end,
            pullItems = function(...)
                asked = { "pull", ... }
                return 4
            end,
        }
    end
    local computer = { peripheral = fake_peripherals({
        a = chest({ [5] = { name = "coal", count = 9 }, [2] = { name = "dirt", count = 1 } }), b = chest({}),
        top = { kind = "monitor" },
    }) }
    check.same(tool("inventory", computer, "inventory_list")().inventories, { "a", "b" })
    local items = tool("inventory", computer, "inventory_list")({ name = "a" }).items
    check.same(items, { { slot = 2, name = "dirt", count = 1 }, { slot = 5, name = "coal", count = 9 } })
    check.contains(select(2, tool("inventory", computer, "inventory_list")({ name = "top" })), "no inventory top")
    check.same(tool("inventory", computer, "inventory_push")({ from = "a", to = "b", slot = 5, count = 3 }).moved, 3)
    check.same(asked, { "push", "b", 5, 3 })
    check.same(tool("inventory", computer, "inventory_pull")({ from = "a", to = "b", slot = 5 }).moved, 4)
    check.same(asked, { "pull", "a", 5 })
end

specs["monitor: text replaces what is shown, wraps, and is cut at the height"] = function()
    local shown, calls, row = {}, {}, 1
    local monitor = {
        kind = "monitor",
        clear = function() shown = {} end,
        clearLine = function() shown[row] = "" end,
        getSize = function() return 5, 3 end,
        setCursorPos = function(_, y) row = y end,
        write = function(text) shown[row] = text end,
        setTextScale = function(scale) table.insert(calls, scale) end,
        isColour = function() return true end,
        setTextColour = function(colour) table.insert(calls, colour) end,
    }
    local computer = {
        peripheral = fake_peripherals({ top = monitor, left = { kind = "drive" } }), colours = { red = 9, white = 1 },
    }
    local write = tool("monitor", computer, "monitor_write")
    check.same(write({ text = "hello world", scale = 2, colour = "red" }).lines_shown, 3)
    check.same({ shown, calls }, { { "hello", " worl", "d" }, { 2, 9, 1 } })
    check.same(write({ text = "x", line = 2 }).name, "top")
    check.same(shown, { "hello", "x", "d" })
    check.same({ write({ text = "a\nb\nc\nd" }).lines_shown, shown[3] }, { 3, "c" })
    check.contains(select(2, write({ text = "x", name = "left" })), "there are: top")
    check.contains(select(2, write({ text = "x", colour = "reddish" })), "no colour reddish")
    tool("monitor", computer, "monitor_clear")()
    check.same(next(shown), nil)
end

specs["redstone: reads and sets in strengths and as on and off"] = function()
    local set = {}
    local redstone = {
        getAnalogInput = function() return 7 end, getInput = function() return true end,
        getAnalogOutput = function(side) return set[side] or 0 end,
        setAnalogOutput = function(side, power) set[side] = power end,
    }
    local computer = { redstone = redstone }
    check.same(tool("redstone", computer, "redstone_set")({ side = "top", power = true }), { side = "top", output = 15 })
    check.same(tool("redstone", computer, "redstone_set")({ side = "left", power = 3 }).output, 3)
    check.same(tool("redstone", computer, "redstone_get")({ side = "top" }).sides, {
        top = { input = 7, output = 15, is_powered = true },
    })
    local sides = 0
    for _ in pairs(tool("redstone", computer, "redstone_get")().sides) do sides = sides + 1 end
    check.same(sides, 6)
end

return specs
