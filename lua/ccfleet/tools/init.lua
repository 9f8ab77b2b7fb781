--- The tools that every agent host offers.
--
-- @module ccfleet.tools

local expect = require("cc.expect").expect
local files = require("ccfleet.tools.files")
local programs = require("ccfleet.tools.programs")

local tools = {}

local function register(fleet, name, tool)
    local ok, err = fleet:register(name, tool.handler, {
        description = tool.description,
        effect = tool.effect,
        timeout_ms = tool.timeout_ms,
        args_schema = {
            type = "object",
            properties = tool.properties,
            required = tool.required,
            additionalProperties = false,
        },
    })
    assert(ok, err)
end

--- Register all core tools.
--
-- @tparam Fleet fleet From `ccfleet.new`.
-- @tparam table shell The `shell` API of the host program; programs run by tools see it too.
function tools.register_all(fleet, shell)
    expect(1, fleet, "table")
    expect(2, shell, "table")
    for name, tool in pairs(files.tools) do register(fleet, name, tool) end
    for name, tool in pairs(programs.make(shell)) do register(fleet, name, tool) end
end

return tools
