--- The tool `http_request`.
--
-- Which hosts it may reach is the computer's own policy, the setting `ccfleet.http_hosts`; without it, none. A redirect
-- is reported and not followed, or a permitted host could send the request anywhere.
--
-- @module[kind=internal] ccfleet.tools.http

local glob = require("ccfleet.glob")
local options = require("ccfleet.options")
local text = require("ccfleet.text")
local common = require("ccfleet.tools.common")

local SETTING = "ccfleet.http_hosts"
local DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS = 30000, 120000
local MAX_BODY_BYTES = 32 * 1024

-- Policy -------------------------------------------------------------------------------------------------------

-- Host and port of a URL, or nil and what is wrong with it.
local function parse_url(url)
    if url:find("[%c%s\\]") then return nil, "the URL has blanks, backslashes or control characters" end
    local authority = url:match("^https?://([^/%?#]+)")
    if not authority then return nil, "the URL must begin with http:// or https:// and a host" end
    if authority:find("@", 1, true) then return nil, "a user name in the URL is not allowed; use a header" end
    local host = authority:match("^(%[[%x:%.]+%])") or authority:match("^[^:]+")
    local port = host and authority:sub(#host + 1)
    if not host or port ~= "" and not port:find("^:%d+$") then return nil, "the URL's host is not readable" end
    return host:lower(), port:sub(2)
end

local function is_allowed(settings, host, port)
    for _, pattern in ipairs(options.list(settings, SETTING) or {}) do
        pattern = tostring(pattern)
        local subject = pattern:find(":%d+$") and host .. ":" .. port or host
        if glob.matches_text(pattern, subject) then return true end
    end
    return false
end

-- The request --------------------------------------------------------------------------------------------------

-- Wait for the answer. Returns the response, or nil, the reason and, for a status of failure, the response. Timers can be
-- lost in a full event queue, so the clock counts, too.
local function wait_for(url, timeout_ms)
    local deadline = os.epoch("utc") + timeout_ms
    local timer = os.startTimer(timeout_ms / 1000)
    while true do
        local event, subject, first, second = coroutine.yield()
        if event == "terminate" then error("Terminated", 0) end
        if event == "http_success" and subject == url then
            os.cancelTimer(timer)
            return first
        elseif event == "http_failure" and subject == url then
            os.cancelTimer(timer)
            return nil, first, second
        elseif os.epoch("utc") >= deadline or event == "timer" and subject == timer then
            return nil, ("no answer within %d ms"):format(timeout_ms)
        end
    end
end

local function report(response, url)
    local status = response.getResponseCode()
    local headers = response.getResponseHeaders and response.getResponseHeaders() or {}
    local body = response.readAll() or ""
    pcall(response.close)
    local kept, truncated = text.cut_middle(text.to_utf8(body), MAX_BODY_BYTES)
    return { url = url, status = status, headers = headers, body = kept, bytes = #body, truncated = truncated }
end

local function start(http, args)
    local method = args.method or (args.body and "POST" or "GET")
    if args.body and (method == "GET" or method == "HEAD") then error(method .. " takes no body", 0) end
    local headers = {}
    for name, value in pairs(args.headers or {}) do headers[name] = tostring(value) end
    local ok, started, err = pcall(http.request, {
        url = args.url, method = method, headers = headers, body = args.body, binary = true, redirect = false,
    })
    if not ok then error(tostring(started), 0) end
    if started == false then error(tostring(err), 0) end
end

local function http_request(parts, args, context)
    if not parts.http then error("HTTP is disabled on this server", 0) end
    local host, port = parse_url(args.url)
    if not host then error(port, 0) end
    if not is_allowed(parts.settings, host, port) then
        error(("%s is not among the hosts that this computer may reach. Only a person at it can allow more, with its "
            .. "setting %s: do without it, or ask"):format(host, SETTING), 0)
    end
    local timeout_ms = args.timeout_ms or DEFAULT_TIMEOUT_MS
    local remaining = context and context:remaining_ms()
    if remaining then timeout_ms = math.max(50, math.min(timeout_ms, math.floor(remaining * 0.9))) end
    start(parts.http, args)
    local response, err, failed = wait_for(args.url, timeout_ms)
    response = response or failed
    if not response then error(("%s: %s"):format(args.url, tostring(err)), 0) end
    return report(response, args.url)
end

local TOOLS = {
    http_request = {
        handler = http_request,
        effect = "effect",
        timeout_ms = MAX_TIMEOUT_MS + 10000,
        description = "Make an HTTP request to a host that this computer may reach (its setting ccfleet.http_hosts). A "
            .. "status of failure is a result, not an error. Redirects are reported, not followed: see the location header.",
        result = "url, status, headers, body (middle cut over 32 KiB), bytes, truncated",
        properties = {
            url = { type = "string", maxLength = 2048, description = "http:// or https:// address." },
            method = {
                enum = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS" },
                description = "Default GET, or POST with a body.",
            },
            headers = { type = "object", description = "Header name to value." },
            body = { type = "string", maxLength = common.MAX_CONTENT_CHARACTERS, description = "What to send." },
            timeout_ms = {
                type = "integer", minimum = 50, maximum = MAX_TIMEOUT_MS, description = "Default 30000.",
            },
        },
        required = { "url" },
    },
}

--- The tool.
--
-- @tparam table|nil http The `http` API; nil where the server has disabled it.
-- @tparam table settings The `settings` API.
-- @treturn table name -> tool.
local function make(http, settings)
    return common.bind(TOOLS, { http = http, settings = settings })
end

return { make = make }
