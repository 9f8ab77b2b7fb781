--- What a handler's end means, and how much of its result is kept.
--
-- @module[kind=internal] ccfleet.results

local json = require("ccfleet.json")
local text = require("ccfleet.text")

local results = {}

local ERROR_LIMIT = 4 * 1024

--- A result that fits: itself, or the digest and both ends of its JSON.
--
-- @tparam table result The result.
-- @tparam number limit How many bytes of JSON may stay whole.
-- @tparam number ends How many bytes to keep of each end otherwise.
-- @treturn table
-- @treturn boolean Whether it was cut.
function results.shorten(result, limit, ends)
    local encoded = json.encode(result)
    if #encoded <= limit then return result, false end
    return {
        digest = "adler32:" .. text.checksum(encoded),
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
    return { ok = true, result = value }
end

return results
