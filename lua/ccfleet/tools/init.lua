--- The tools that every agent host offers.
--
-- @module ccfleet.tools

local expect = require("cc.expect").expect

local tools = {}

-- Modules whose `make` takes the file system.
local ON_DISK = { "files", "patch", "search" }

--- Register one tool of a tool module.
--
-- @tparam Fleet fleet The fleet.
-- @tparam string name Its name.
-- @tparam table tool `handler` (as of @{ccfleet.Fleet:register}), `description`, `effect`, `properties`, and if need be
-- `required`, `result`, `timeout_ms`.
function tools.register(fleet, name, tool)
    local ok, err = fleet:register(name, tool.handler, {
        description = tool.description,
        effect = tool.effect,
        result = tool.result,
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

local function register_each(fleet, set)
    for name, tool in pairs(set) do tools.register(fleet, name, tool) end
end

--- Register all core tools.
--
-- @tparam Fleet fleet From `ccfleet.new`.
-- @tparam table shell The `shell` API of the host program; programs run by tools see it too.
function tools.register_all(fleet, shell)
    expect(1, fleet, "table")
    expect(2, shell, "table")
    for _, name in ipairs(ON_DISK) do register_each(fleet, require("ccfleet.tools." .. name).make(fs)) end
    register_each(fleet, require("ccfleet.tools.programs").make(shell))
    register_each(fleet, require("ccfleet.tools.http").make(http, settings))
end

--- Register everything that a host offers: the core tools, the packs for what is built onto the computer, and the tools
-- of the tools folder. Settings say which folder and which packs; see @{ccfleet.options}.
--
-- @tparam Fleet fleet From `ccfleet.new`.
-- @tparam table shell The `shell` API of the host program.
function tools.equip(fleet, shell)
    local options = require("ccfleet.options")
    tools.register_all(fleet, shell)
    require("ccfleet.packs").attach(fleet, options.list(settings, "ccfleet.packs"))
    require("ccfleet.loader").attach(fleet, {
        dir = settings.get("ccfleet.tools_dir"), max_versions = settings.get("ccfleet.tool_versions"), shell = shell,
    })
end

return tools
