local check = require("check")
local Job = require("ccfleet.job")

local specs = {}

-- The tool with the hosts it may reach; `requests` are those that were made.
local function tool(hosts)
    local made = { requests = {} }
    local http = {
        request = function(options)
            if options.url:find("bad%-port") then return false, "URL malformed" end
            table.insert(made.requests, options)
            return true
        end,
    }
    local settings = { get = function(name) return name == "ccfleet.http_hosts" and hosts or nil end }
    local handler = require("ccfleet.tools.http").make(http, settings).http_request.handler
    function made.start(args)
        made.job = Job.new(function() return handler(args, "t", "c", nil) end)
        made.job:resume()
        return made.job
    end
    return made
end

local function response(status, body)
    return {
        getResponseCode = function() return status end,
        getResponseHeaders = function() return { ["content-type"] = "text/plain" } end,
        readAll = function() return body end,
        close = function() end,
    }
end

specs["http_request: gets an answer; other events do not disturb it"] = function()
    local made = tool("example.com")
    local job = made.start({ url = "http://example.com/x", headers = { A = 5 } })
    check.same(made.requests[1], {
        url = "http://example.com/x", method = "GET", headers = { A = "5" }, binary = true, redirect = false,
    })
    job:resume("http_success", "http://other/", response(500, ""))
    job:resume("key", 5)
    check.same(job.ended, false)
    job:resume("http_success", "http://example.com/x", response(200, "\233"))
    check.same(job.results[1], {
        url = "http://example.com/x", status = 200, headers = { ["content-type"] = "text/plain" }, body = "\195\169",
        bytes = 1, truncated = false,
    })
end

specs["http_request: a status of failure is a result, no connection is an error"] = function()
    local made = tool({ "example.com" })
    local job = made.start({ url = "https://example.com", body = "x" })
    check.same(made.requests[1].method, "POST")
    job:resume("http_failure", "https://example.com", "Not found", response(404, "none"))
    check.same({ job.results[1].status, job.results[1].body }, { 404, "none" })
    job = made.start({ url = "https://example.com" })
    job:resume("http_failure", "https://example.com", "Could not connect")
    check.contains(job.error, "https://example.com: Could not connect")
    check.contains(made.start({ url = "https://example.com/bad-port" }).error, "URL malformed")
end

specs["http_request: hosts are denied unless the setting names them, and the error names the setting"] = function()
    local denied = tool(nil).start({ url = "http://example.com/" })
    check.contains(denied.error, "example.com is not among the hosts")
    check.contains(denied.error, "a person at it can allow more, with its setting ccfleet.http_hosts")
    local made = tool("*.example.com, localhost:8080")
    for url, allowed in pairs({
        ["http://a.EXAMPLE.com/"] = true, ["http://example.com/"] = false, ["http://a.example.com.evil.org/"] = false,
        ["http://localhost:8080/"] = true, ["http://localhost:80/"] = false, ["http://evil.org/?a.example.com"] = false,
        ["http://evil.org#a.example.com"] = false,
    }) do
        local job = made.start({ url = url })
        check.same(job.ended, not allowed, url)
    end
end

specs["http_request: addresses that could mean another host are refused"] = function()
    local made = tool("*")
    for _, url in ipairs({
        "http://good.com@evil.com/", "ftp://x/", "http:///x", "http://a b/", "http://a\\@b/", "http://a:b/", "file",
    }) do
        check.truthy(made.start({ url = url }).error, url)
    end
    check.same(#made.requests, 0)
    check.same(made.start({ url = "http://[::1]:80/" }).ended, false)
end

specs["http_request: no answer in time is an error; a long body keeps both ends"] = function()
    local made = tool("x")
    local timers = {}
    local start_timer = os.startTimer
    os.startTimer = function(seconds)
        timers[#timers + 1] = seconds
        return 4711
    end
    local job = made.start({ url = "http://x/", timeout_ms = 500 })
    os.startTimer = start_timer
    check.same(timers, { 0.5 })
    job:resume("timer", 4711)
    check.contains(job.error, "no answer within 500 ms")
    job = made.start({ url = "http://x/" })
    job:resume("http_success", "http://x/", response(200, "<" .. ("x"):rep(100000) .. ">"))
    local result = job.results[1]
    check.same({ result.bytes, result.truncated, result.body:sub(1, 1), result.body:sub(-1) }, { 100002, true, "<", ">" })
    check.contains(made.start({ url = "http://x/", method = "GET", body = "b" }).error, "takes no body")
end

return specs
