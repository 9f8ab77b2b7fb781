--- What a handler's end means, and how much of its result is kept.
--
-- @module[kind=internal] ccfleet.results

local breath = require("ccfleet.breath")
local json = require("ccfleet.json")
local text = require("ccfleet.text")

local results = {}

local ERROR_LIMIT = 4 * 1024
-- No message holds more, so nothing bigger is carried around; what is left of it fits into a frame.
local MAX_BYTES, END_BYTES = 1024 * 1024, 24 * 1024

--- A result that fits: itself, or the digest and both ends of its JSON.
--
-- @tparam table result The result.
-- @tparam number limit How many bytes of JSON may stay whole.
-- @tparam number ends How many bytes to keep of each end otherwise.
-- @tparam[opt] function breathe Called often; may wait.
-- @treturn table
-- @treturn boolean Whether it was cut.
function results.shorten(result, limit, ends, breathe)
    local encoded = json.encode(result, breathe)
    if #encoded <= limit then return result, false end
    return {
        digest = "adler32:" .. text.checksum(encoded, breathe),
        bytes = #encoded,
        head = text.head(encoded, ends),
        tail = text.tail(encoded, ends),
    }, true
end

--- Any thrown value as a text for people and models.
function results.error_text(err)
    if type(err) == "table" then
        err = err.message or err.error or json.encode(err)
    end
    return (text.cut_middle(text.to_utf8(tostring(err)), ERROR_LIMIT))
end

--- A failure.
--
-- @tparam string code One of the words of the protocol.
-- @tparam string err What went wrong.
function results.failure(code, err)
    return { ok = false, code = code, error = results.error_text(err) }
end

--- What a handler has returned, made ready to be sent. Called in the handler's own coroutine, because a result can be big
-- and its tables can have metamethods that fail or never end.
--
-- @param value The first returned value.
-- @param err The second.
-- @treturn table|nil The result, or nil if the handler failed.
-- @return The handler's error, or whether the result was cut.
function results.seal(value, err)
    if value == nil and err ~= nil then return nil, err end
    if value == nil then value = {} end
    if type(value) ~= "table" then value = { value = value } end
    local breathe = breath.new()
    local raw = json.raw(json.encode(value, breathe))
    return results.shorten(raw, MAX_BYTES, END_BYTES, breathe)
end

--- What a job that ended means. A handler returns a table, or raises, or returns nil and a message; a single other
-- value is wrapped.
--
-- @tparam table job The ended @{ccfleet.job}.
function results.of_job(job)
    if not job.ok then return results.failure("handler_error", job.error) end
    local value, err = job.results[1], job.results[2]
    if value == nil and err ~= nil then return results.failure("handler_error", err) end
    if value == nil then value = {} end
    if type(value) ~= "table" then value = { value = value } end
    return { ok = true, result = value, truncated = err == true or nil }
end

return results
