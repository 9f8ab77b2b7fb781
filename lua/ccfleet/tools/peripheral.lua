--- The tool pack for peripherals of any kind.
--
-- @module[kind=internal] ccfleet.tools.peripheral

local json = require("ccfleet.json")
local common = require("ccfleet.tools.common")
local varargs = require("ccfleet.varargs")

local MAX_ARGS = 32
-- Methods of these names tell something and change nothing, by custom.
local READING = { "^get", "^is", "^list", "^has" }

local function require_present(peripheral, name)
    if not peripheral.isPresent(name) then
        error(("no peripheral %s here; peripheral_list shows what there is"):format(name), 0)
    end
end

local function require_method(peripheral, name, method)
    require_present(peripheral, name)
    for _, known in ipairs(peripheral.getMethods(name) or {}) do
        if known == method then return end
    end
    error(("%s has no method %s; peripheral_methods shows what it has"):format(name, method), 0)
end

local function list(peripheral)
    local peripherals = json.array()
    for _, name in ipairs(peripheral.getNames()) do
        peripherals[#peripherals + 1] = { name = name, types = json.array({ peripheral.getType(name) }) }
    end
    return { peripherals = peripherals }
end

local function methods(peripheral, args)
    require_present(peripheral, args.name)
    local names = json.array(peripheral.getMethods(args.name))
    table.sort(names)
    return { name = args.name, types = json.array({ peripheral.getType(args.name) }), methods = names }
end

local function call(peripheral, args)
    require_method(peripheral, args.name, args.method)
    local given = args.args or {}
    local results = varargs.pack(peripheral.call(args.name, args.method, varargs.unpack(given, 1, #given)))
    local count = results.n
    results.n = nil
    return { results = json.array(results), count = count }
end

local function read(peripheral, args)
    for _, pattern in ipairs(READING) do
        if args.method:find(pattern) then return call(peripheral, args) end
    end
    error(("peripheral_read is for methods whose name begins with get, is, list or has; use peripheral_call for %s")
        :format(args.method), 0)
end

local NAME = { type = "string", maxLength = 256, description = "Name of the peripheral, from peripheral_list." }
local CALL = {
    name = NAME,
    method = { type = "string", maxLength = 64, description = "Name of the method, from peripheral_methods." },
    args = { type = "array", maxItems = MAX_ARGS, description = "Arguments, in order; default none." },
}

local TOOLS = {
    peripheral_list = {
        handler = list, effect = "read", properties = {}, result = "peripherals [name, types]",
        description = "List the peripherals of this computer, also those on its wired network.",
    },
    peripheral_methods = {
        handler = methods, effect = "read", result = "name, types, methods",
        description = "List the methods of a peripheral.", properties = { name = NAME }, required = { "name" },
    },
    peripheral_read = {
        handler = read, effect = "read", result = "results, count",
        description = "Call a method of a peripheral that tells something: its name begins with get, is, list or has.",
        properties = CALL, required = { "name", "method" },
    },
    peripheral_call = {
        handler = call, effect = "effect", result = "results, count",
        description = "Call any method of a peripheral.", properties = CALL, required = { "name", "method" },
    },
}

return {
    make = function(computer) return common.bind(TOOLS, computer.peripheral) end,
    fits = function(computer) return computer.peripheral ~= nil and computer.peripheral.getNames()[1] ~= nil end,
}
