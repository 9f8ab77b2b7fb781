--- Reads a Lua file that defines tools.
--
-- A file returns one tool or a list of them:
--
--     return {
--         name = "count_coal",
--         description = "How much coal is in slot 1.",
--         effect = "read",
--         args = { type = "object", properties = { slot = { type = "integer" } } },
--         handler = function(args, context) return { coal = turtle.getItemCount(args.slot or 1) } end,
--     }
--
-- Each file has globals of its own: it sees those of the computer, and what it writes to them, or into `os`, `string` and
-- the like, stays its own. That keeps mistakes in; it is no wall against malice.
--
-- @module[kind=internal] ccfleet.tool_file

local Job = require("ccfleet.job")
local json = require("ccfleet.json")
local programs = require("ccfleet.programs")

local tool_file = {}

--- The biggest file that is loaded, in bytes.
tool_file.MAX_BYTES = 64 * 1024

local MAX_SCHEMA_BYTES = 16 * 1024
local FIELDS = {
    name = "string", description = "string", effect = "string", result = "string", verify = "string", args = "table",
    required = "table", timeout_ms = "number", handler = "function",
}
local EFFECTS = { read = true, idempotent = true, effect = true }
local TYPE_NAMES = {
    string = true, number = true, integer = true, boolean = true, object = true, array = true,
}

-- Globals ------------------------------------------------------------------------------------------------------

local function copy_of(value)
    local copy = {}
    for key, member in pairs(value) do copy[key] = member end
    return setmetatable(copy, getmetatable(value))
end

local function environment(path, shell)
    local env = {}
    setmetatable(env, {
        __index = function(_, key)
            local value = _G[key]
            if type(value) == "table" then
                value = copy_of(value)
                rawset(env, key, value)
            end
            return value
        end,
    })
    env._G = env
    env.shell = shell and programs.shell_for(shell, path)
    env.multishell = multishell
    env.require, env.package = require("cc.require").make(env, fs.getDir(path))
    return env
end

-- Schemas ------------------------------------------------------------------------------------------------------

-- `{ blocks = "integer" }` and `{ blocks = { type = "integer" } }` are short for the schema of an object.
local function schema_of(tool)
    local args = tool.args
    if not args then return { type = "object" } end
    if args.type == "object" or args.properties then
        return { type = "object", properties = args.properties, required = args.required or tool.required,
            additionalProperties = args.additionalProperties }
    end
    local properties = {}
    for name, member in pairs(args) do
        if type(member) == "string" then
            member = TYPE_NAMES[member] and { type = member } or { description = member }
        end
        properties[name] = member
    end
    return { type = "object", properties = properties, required = tool.required, additionalProperties = false }
end

-- Through JSON and back: what remains is what the server sees, and nothing in it changes later.
local function plain(schema)
    local encoded = json.encode(schema)
    if #encoded > MAX_SCHEMA_BYTES then return nil, "args is too big a schema" end
    return json.decode(encoded)
end

local function check_schema(schema)
    for name, member in pairs(schema.properties or {}) do
        if type(name) ~= "string" or type(member) ~= "table" then
            return nil, ("args: %s must be the JSON Schema of an argument, such as { type = \"string\" }")
                :format(tostring(name))
        end
    end
    return true
end

-- Tools --------------------------------------------------------------------------------------------------------

local function check_fields(tool)
    for field, value in pairs(tool) do
        local kind = FIELDS[field]
        if not kind then
            return nil, ("unknown field %s; a tool has name, description, args, result, effect, timeout_ms, verify, handler")
                :format(tostring(field))
        end
        if type(value) ~= kind then return nil, ("%s must be a %s, not a %s"):format(field, kind, type(value)) end
    end
    if not tool.handler then return nil, "handler is missing: handler = function(args, context) ... end" end
    if not tool.name then return nil, "name is missing" end
    if not tool.name:find("^[%w_%.%-]+$") or #tool.name > 64 then
        return nil, ("name %q: use 1 to 64 of A-Z a-z 0-9 _ . -"):format(tool.name)
    end
    if tool.effect and not EFFECTS[tool.effect] then
        return nil, "effect must be read (changes nothing), idempotent (may be repeated) or effect"
    end
    return true
end

local function read_tool(tool, number)
    local label = ("tool %d"):format(number)
    if type(tool) ~= "table" then return nil, label .. ": expected a table, got a " .. type(tool) end
    local ok, err = check_fields(tool)
    if type(tool.name) == "string" then label = "tool " .. tool.name end
    local schema = ok and schema_of(tool)
    if ok then ok, err = check_schema(schema) end
    if ok then schema, err = plain(schema) end
    if not ok or not schema then return nil, label .. ": " .. err end
    return {
        name = tool.name, handler = tool.handler, description = tool.description or "", effect = tool.effect or "effect",
        result = tool.result, verify = tool.verify, timeout_ms = tool.timeout_ms, args_schema = schema,
    }
end

local function read_tools(value)
    if type(value) ~= "table" then
        return nil, ("the file must return a tool or a list of tools, it returned a %s"):format(type(value))
    end
    if value.handler ~= nil or value.name ~= nil then value = { value } end
    local tools, seen = {}, {}
    for number, item in ipairs(value) do
        local tool, err = read_tool(item, number)
        if not tool then return nil, err end
        if seen[tool.name] then return nil, ("tool %s is there twice"):format(tool.name) end
        seen[tool.name] = true
        tools[number] = tool
    end
    if not tools[1] then return nil, "the file returns no tool" end
    return tools
end

-- Loading ------------------------------------------------------------------------------------------------------

-- The error of a compiler or a running file, with the line it is about.
local function with_line(err, source)
    err = tostring(err)
    local number = tonumber(err:match(":(%d+):"))
    if not number then return err end
    local current = 0
    for line in (source .. "\n"):gmatch("(.-)\r?\n") do
        current = current + 1
        if current == number then return ("%s\n%d: %s"):format(err, number, line:sub(1, 200)) end
    end
    return err
end

--- Load the tools of a file.
--
-- @tparam string source The file's content.
-- @tparam string path Its path, for messages and for `require`.
-- @tparam[opt] table shell The shell that its tools see.
-- @treturn table|nil The tools: `name`, `handler(args, context)`, `description`, `args_schema`, `effect`, `result`,
-- `timeout_ms`, `verify`; or nil and what is wrong, with the line.
function tool_file.load(source, path, shell)
    if #source > tool_file.MAX_BYTES then return nil, ("the file is over %d bytes"):format(tool_file.MAX_BYTES) end
    local body, err = load(source, "@/" .. fs.combine(path, ""), "t", environment(path, shell))
    if not body then return nil, "syntax error: " .. with_line(err, source) end
    local outcome
    local job = Job.new(function()
        local value = body(path)
        outcome = { read_tools(value) }
    end)
    job:resume()
    if not job.ended then
        job:stop()
        return nil, "the file waits while it is loaded; wait in the handler only"
    end
    if not job.ok then return nil, "the file fails when it is loaded: " .. with_line(job.error, source) end
    return outcome[1], outcome[2]
end

return tool_file
