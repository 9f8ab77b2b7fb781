--- Tool packs: tools for what is built onto the computer, there as long as it is.
--
-- @module ccfleet.packs

local expect = require("cc.expect").expect

local packs = {}

--- The names of the packs, as the setting `ccfleet.packs` takes them.
packs.NAMES = { "turtle", "redstone", "peripheral", "inventory", "monitor" }

-- Packs whose file the installer puts only on the computers that have this API.
local ONLY_WITH = { turtle = "turtle" }

local Rack = {}
Rack.__index = Rack

local function this_computer()
    return {
        turtle = turtle, redstone = redstone, peripheral = peripheral, gps = gps, fs = fs, colours = colours,
        state_dir = "/.ccfleet",
    }
end

function Rack:_add(name)
    local names = {}
    for tool_name, tool in pairs(require("ccfleet.tools." .. name).make(self._computer)) do
        if self._fleet:has_tool(tool_name) then
            self._fleet:log("warn", ("tool %s of pack %s is left out: there is one of that name"):format(tool_name, name))
        else
            require("ccfleet.tools").register(self._fleet, tool_name, tool)
            names[#names + 1] = tool_name
        end
    end
    self._packs[name] = names
end

function Rack:_remove(name)
    for _, tool_name in ipairs(self._packs[name]) do self._fleet:unregister(tool_name) end
    self._packs[name] = nil
end

-- Something was attached or taken away.
function Rack:_refresh()
    for _, name in ipairs(self._wanted) do
        local api = ONLY_WITH[name]
        local fits = (not api or self._computer[api] ~= nil)
            and require("ccfleet.tools." .. name).fits(self._computer)
        if fits and not self._packs[name] then self:_add(name) end
        if not fits and self._packs[name] then self:_remove(name) end
    end
end

--- Offer the packs that fit, now and as things are attached and taken away.
--
-- @tparam Fleet fleet From `ccfleet.new`.
-- @tparam[opt] table wanted Names of packs; all if absent.
-- @tparam[opt] table computer Stands in for the computer's APIs; for specs.
function packs.attach(fleet, wanted, computer)
    expect(1, fleet, "table")
    expect(2, wanted, "table", "nil")
    expect(3, computer, "table", "nil")
    local rack = setmetatable({
        _fleet = fleet, _computer = computer or this_computer(), _wanted = {}, _packs = {},
    }, Rack)
    local known = {}
    for _, name in ipairs(packs.NAMES) do known[name] = true end
    for _, name in ipairs(wanted or packs.NAMES) do
        if known[name] then
            table.insert(rack._wanted, name)
        else
            fleet:log("warn", ("no tool pack %s; there are: %s"):format(tostring(name), table.concat(packs.NAMES, ", ")))
        end
    end
    rack:_refresh()
    fleet:on_event("peripheral", function() rack:_refresh() end)
    fleet:on_event("peripheral_detach", function() rack:_refresh() end)
end

return packs
