--- One HTTP request with a deadline.
--
-- @module[kind=internal] ccfleet.fetch

local DEFAULT_SECONDS = 30

-- The body of a response, or nil and what went wrong with it.
local function body_of(response)
    local ok, body = pcall(response.readAll)
    pcall(response.close)
    if not ok then return nil, tostring(body) end
    return body or ""
end

--- Fetch what is at an address. Waits; for use in a coroutine that gets all events.
--
-- @tparam string url The address.
-- @tparam[opt=30] number seconds How long it may take.
-- @treturn string|nil The body, or nil, what went wrong, and the body of the refusal if there was one.
return function(url, seconds)
    seconds = seconds or DEFAULT_SECONDS
    local deadline, timer = os.clock() + seconds, os.startTimer(seconds)
    -- The positional form and binary: right in all versions.
    local asked, problem = pcall(http.request, url, nil, nil, true)
    if not asked then return nil, tostring(problem) end
    while true do
        local event, which, result, response = os.pullEvent()
        if event == "http_success" and which == url then
            os.cancelTimer(timer)
            return body_of(result)
        elseif event == "http_failure" and which == url then
            os.cancelTimer(timer)
            return nil, tostring(result), response and body_of(response) or nil
        elseif event == "timer" and which == timer or os.clock() >= deadline then
            return nil, ("no answer within %d s"):format(seconds)
        end
    end
end
