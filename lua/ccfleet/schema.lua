--- Checks arguments against the part of JSON Schema that tools are described with: `type`, `properties`, `required`,
-- `additionalProperties = false`, `items`, `enum`, `minimum`, `maximum`, `maxLength`, `maxItems`.
--
-- The server checks them first; this holds for servers and clients that do not, and it is what lets a handler
-- trust its arguments. An empty table is both an empty object and an empty array, as on the wire.
--
-- @module[kind=internal] ccfleet.schema

local schema = {}

local function is_array(value)
    return next(value) == nil or #value > 0
end

local function is_object(value)
    return next(value) == nil or #value == 0
end

local TYPES = {
    string = function(value) return type(value) == "string" end,
    number = function(value) return type(value) == "number" end,
    integer = function(value) return type(value) == "number" and value % 1 == 0 end,
    boolean = function(value) return type(value) == "boolean" end,
    object = function(value) return type(value) == "table" and is_object(value) end,
    array = function(value) return type(value) == "table" and is_array(value) end,
    null = function(value) return value == nil end,
}

local function check_type(rule, value, path)
    local allowed = type(rule.type) == "table" and rule.type or { rule.type }
    for _, name in ipairs(allowed) do
        if TYPES[name] == nil or TYPES[name](value) then return true end
    end
    return nil, ("%s: expected %s, got %s"):format(path, table.concat(allowed, " or "), type(value))
end

local function check_enum(rule, value, path)
    for _, allowed in ipairs(rule.enum) do
        if allowed == value then return true end
    end
    return nil, ("%s: %s is not one of the allowed values"):format(path, tostring(value))
end

local function character_count(value)
    return select(2, value:gsub("[^\128-\191]", ""))
end

local function check_bounds(rule, value, path)
    if type(value) == "number" then
        if rule.minimum and value < rule.minimum then return nil, ("%s: less than %s"):format(path, rule.minimum) end
        if rule.maximum and value > rule.maximum then return nil, ("%s: more than %s"):format(path, rule.maximum) end
    elseif type(value) == "string" and rule.maxLength and character_count(value) > rule.maxLength then
        return nil, ("%s: longer than %d characters"):format(path, rule.maxLength)
    elseif type(value) == "table" and rule.maxItems and #value > rule.maxItems then
        return nil, ("%s: more than %d entries"):format(path, rule.maxItems)
    end
    return true
end

local function check_object(rule, value, path)
    for _, name in ipairs(rule.required or {}) do
        if value[name] == nil then return nil, ("%s.%s is missing"):format(path, name) end
    end
    for name, member in pairs(value) do
        local member_rule = rule.properties and rule.properties[name]
        local member_path = path .. "." .. tostring(name)
        if member_rule then
            local ok, err = schema.check(member_rule, member, member_path)
            if not ok then return nil, err end
        elseif rule.additionalProperties == false then
            return nil, member_path .. " is not known"
        end
    end
    return true
end

local function check_items(rule, value, path)
    for i, item in ipairs(value) do
        local ok, err = schema.check(rule.items, item, ("%s[%d]"):format(path, i))
        if not ok then return nil, err end
    end
    return true
end

--- Check a value.
--
-- @tparam table rule The schema.
-- @param value The value.
-- @tparam[opt="args"] string path What to call the value in messages.
-- @treturn boolean|nil true, or nil and what is wrong.
function schema.check(rule, value, path)
    path = path or "args"
    local ok, err = true, nil
    if rule.type then ok, err = check_type(rule, value, path) end
    if ok and rule.enum then ok, err = check_enum(rule, value, path) end
    if ok then ok, err = check_bounds(rule, value, path) end
    if ok and type(value) == "table" and (rule.properties or rule.required) then
        ok, err = check_object(rule, value, path)
    end
    if ok and type(value) == "table" and rule.items then ok, err = check_items(rule, value, path) end
    return ok, err
end

return schema
