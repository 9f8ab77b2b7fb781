--- The tool pack for monitors.
--
-- @module[kind=internal] ccfleet.tools.monitor

local common = require("ccfleet.tools.common")

local function names_of(peripheral)
    local names = {}
    for _, name in ipairs(peripheral and peripheral.getNames() or {}) do
        local kinds = { peripheral.getType(name) }
        for _, kind in ipairs(kinds) do
            if kind == "monitor" then names[#names + 1] = name end
        end
    end
    return names
end

-- The monitor that is meant; without a name there must be one.
local function find(peripheral, name)
    local names = names_of(peripheral)
    if not name then return names[1] or error("no monitor here", 0) end
    for _, known in ipairs(names) do
        if known == name then return name end
    end
    error(("no monitor %s here; there are: %s"):format(name, table.concat(names, ", ")), 0)
end

-- Lines that fit the monitor's width; a longer one goes on in the next, as `print` does without regard to words.
local function wrapped(text, width)
    local lines = {}
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
        repeat
            lines[#lines + 1] = line:sub(1, width)
            line = line:sub(width + 1)
        until line == ""
    end
    return lines
end

local function write(parts, args)
    local name = find(parts.peripheral, args.name)
    local function monitor(method, ...) return parts.peripheral.call(name, method, ...) end
    if args.scale then monitor("setTextScale", args.scale) end
    local colour = args.colour and (parts.colours[args.colour] or error("no colour " .. args.colour, 0))
    if colour and monitor("isColour") then monitor("setTextColour", colour) end
    local first = args.line or 1
    if not args.line then monitor("clear") end
    local width, height = monitor("getSize")
    local lines, shown = wrapped(args.text, width), 0
    for i, line in ipairs(lines) do
        local y = first + i - 1
        if y > height then break end
        monitor("setCursorPos", 1, y)
        if args.line then monitor("clearLine") end
        monitor("write", line)
        shown = i
    end
    if colour and monitor("isColour") then monitor("setTextColour", parts.colours.white) end
    return { name = name, width = width, height = height, lines_shown = shown, lines = #lines }
end

local function clear(parts, args)
    local name = find(parts.peripheral, args.name)
    parts.peripheral.call(name, "clear")
    parts.peripheral.call(name, "setCursorPos", 1, 1)
    return { name = name }
end

local NAME = { type = "string", maxLength = 256, description = "Name of the monitor; default the first." }

local TOOLS = {
    monitor_write = {
        handler = write, effect = "idempotent", required = { "text" },
        description = "Show text on a monitor. Without line it replaces all that is shown, with line the lines from there.",
        result = "name, width, height, lines_shown, lines",
        properties = {
            name = NAME,
            text = { type = "string", maxLength = 16384, description = "Lines of text; long ones are wrapped." },
            line = { type = "integer", minimum = 1, description = "Line to begin at; default all lines, from the first." },
            scale = { type = "number", minimum = 0.5, maximum = 5, description = "Text scale, 0.5 to 5; default as it is." },
            colour = { type = "string", maxLength = 16, description = "Such as yellow; default as it is." },
        },
    },
    monitor_clear = {
        handler = clear, effect = "idempotent", description = "Clear a monitor.", result = "name",
        properties = { name = NAME },
    },
}

return {
    make = function(computer)
        return common.bind(TOOLS, { peripheral = computer.peripheral, colours = computer.colours })
    end,
    fits = function(computer) return names_of(computer.peripheral)[1] ~= nil end,
}
