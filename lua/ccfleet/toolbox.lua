--- The tools of this computer: what they are called, what they do, who handles them.
--
-- @module[kind=internal] ccfleet.toolbox

local json = require("ccfleet.json")

local EFFECTS = { read = true, idempotent = true, effect = true }

local Toolbox = {}
Toolbox.__index = Toolbox

function Toolbox.new()
    return setmetatable({ _tools = {} }, Toolbox)
end

--- Add or replace a tool.
--
-- @treturn table|nil The tool, or nil and what is wrong with it.
function Toolbox:add(name, handler, spec)
    if not name:find("^[%w_%.%-]+$") or #name > 64 then
        return nil, ("tool name %q: use 1 to 64 of A-Z a-z 0-9 _ . -"):format(name)
    end
    local effect = spec.effect or "effect"
    if not EFFECTS[effect] then return nil, ("tool %s: effect must be read, idempotent or effect"):format(name) end
    -- The server told the old tool's revision; until it has told this one's, calls for the old one are refused.
    local is_new = self._tools[name] == nil
    local tool = { name = name, handler = handler, spec = spec, effect = effect, awaits_revision = not is_new }
    self._tools[name] = tool
    return tool
end

function Toolbox:remove(name)
    local tool = self._tools[name]
    self._tools[name] = nil
    return tool ~= nil
end

function Toolbox:get(name)
    return self._tools[name]
end

--- A tool as it is told to the server.
function Toolbox.describe(tool)
    local spec = tool.spec
    return {
        name = tool.name,
        description = spec.description or "",
        args_schema = spec.args_schema,
        result = spec.result,
        effect = tool.effect,
        timeout_ms = spec.timeout_ms,
        verify = spec.verify,
        tool_version = spec.tool_version,
        state = spec.state,
    }
end

--- All tools as they are told to the server, by name.
function Toolbox:describe_all()
    local list = json.array()
    for _, tool in pairs(self._tools) do list[#list + 1] = Toolbox.describe(tool) end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

--- Note the revisions that the server gave.
--
-- @tparam table accepted name -> `tool_rev`.
function Toolbox:set_revisions(accepted)
    for name, revision in pairs(accepted) do
        local tool = self._tools[name]
        if tool then tool.revision, tool.awaits_revision = revision, false end
    end
end

--- Whether a call that was made for this revision may run on the tool as it is now.
function Toolbox.fits(tool, revision)
    if revision == nil then return true end
    if tool.awaits_revision then return false end
    return tool.revision == nil or tool.revision == revision
end

return Toolbox
