--- The settings of the host: what they are called, what they mean, what holds without them.
--
-- @module[kind=internal] ccfleet.options

local options = {}

--- name -> `type`, `default`, `description` as of `settings.define`.
options.SETTINGS = {
    ["ccfleet.url"] = { type = "string", description = "Address of the ccfleet server, ws://HOST:PORT/ws." },
    ["ccfleet.client_id"] = { type = "string", description = "Name of this computer in the fleet." },
    ["ccfleet.token"] = { type = "string", description = "Proves that this computer may join." },
    ["ccfleet.label"] = { type = "string", description = "Name of this computer for people." },
    -- A list, or words with commas: `set` of the shell writes text.
    ["ccfleet.groups"] = { description = "Groups that calls can be addressed to, with commas." },
    ["ccfleet.log"] = { type = "string", description = "File for the log." },
    ["ccfleet.log_bytes"] = { type = "number", default = 32768, description = "How big the log gets before it is turned." },
    ["ccfleet.log_files"] = { type = "number", default = 2, description = "How many old logs are kept." },
    ["ccfleet.reconnect_seconds"] = {
        type = "number", default = 60, description = "Longest wait between two attempts to connect.",
    },
    ["ccfleet.entry_log"] = { type = "string", description = "File that gets a line before each tool is entered." },
    ["ccfleet.auto_update"] = { type = "boolean", default = true, description = "Whether the host updates itself." },
    ["ccfleet.tools_dir"] = { type = "string", default = "/tools", description = "Folder of your own tools." },
    ["ccfleet.tool_versions"] = { type = "number", default = 10, description = "Versions kept of each tool file." },
    ["ccfleet.http_hosts"] = { description = "Hosts that http_request may reach, with commas; * is anything." },
    ["ccfleet.packs"] = { description = "Tool packs to offer, with commas; default all that fit the hardware." },
}

--- Make the settings known, so that `set` lists and completes them.
--
-- @tparam table settings The `settings` API.
function options.define(settings)
    for name, setting in pairs(options.SETTINGS) do settings.define(name, setting) end
end

--- A setting that is a list, or words with commas or blanks.
--
-- @tparam table settings The `settings` API.
-- @tparam string name The setting.
-- @treturn table|nil The list; nil if the setting is not set.
function options.list(settings, name)
    local value = settings.get(name)
    if value == nil or type(value) == "table" then return value end
    local list = {}
    for word in tostring(value):gmatch("[^,%s]+") do list[#list + 1] = word end
    return list
end

return options
