--- How a program on this computer talks with the host: through its desk, or by running the host itself for as long as the
-- program lasts.
--
-- @module[kind=internal] ccfleet.client

local HOST_SECONDS = 0.5
-- Where a host starts at boot there is one, most likely, and only busy.
local BOOTED_HOST_SECONDS = 3
local ANSWER_SECONDS = 12

local STARTUP = require("ccfleet.setup").STARTUP

local client = {}

local requests = 0

-- Ask and wait for the answer. Returns ok, result or error, code; nil if nobody answers in time.
local function exchange(op, args, seconds)
    requests = requests + 1
    local id = ("r%.0f-%d-%06d"):format(os.epoch("utc"), requests, math.random(0, 999999))
    local deadline, timer = os.clock() + seconds, os.startTimer(seconds)
    os.queueEvent("ccfleet_request", id, op, args or {})
    while true do
        local event, which, ok, result, code = os.pullEvent()
        if event == "ccfleet_response" and which == id then
            os.cancelTimer(timer)
            return ok, result, code
        end
        -- The timer may be lost in a full queue; any later event does then.
        if event == "timer" and which == timer or os.clock() >= deadline then return nil end
    end
end

--- Whether a host runs on this computer and answers.
function client.has_host()
    if exchange("ping", nil, HOST_SECONDS) then return true end
    return fs.exists(STARTUP) and exchange("ping", nil, BOOTED_HOST_SECONDS) == true
end

--- Ask the host for something.
--
-- @tparam string op See @{ccfleet.desk}.
-- @tparam[opt] table args Of the request.
-- @return The result, or nil, the error and its code.
function client.request(op, args)
    local ok, result, code = exchange(op, args, ANSWER_SECONDS)
    if ok == nil then return nil, "the host on this computer does not answer", "no_host" end
    if not ok then return nil, tostring(result or "it could not be done"), code end
    if result == nil then return true end
    return result
end

-- Run `body` beside a host of our own, which ends with it.
local function with_own_host(body, shell, say)
    local membership = require("ccfleet.membership")
    local options = membership.options()
    local problem = membership.obstacle(options)
    if problem then return nil, problem end
    say(("No host runs here, so this program is the host of %s for as long as it runs."):format(options.client_id))
    local control, results = {}, nil
    local serve = membership.service(options, shell, {})
    parallel.waitForAll(function()
        serve({ control = control, in_background = true })
    end, function()
        local ok, err = pcall(body)
        results = { ok, err }
        control.quit = true
        os.queueEvent("ccfleet_quit")
    end)
    if not results[1] then error(results[2], 0) end
    return true
end

--- Run a program's work with a host at its side: the one that runs already, or one of its own.
--
-- @tparam function body The work; uses @{client.request}.
-- @tparam table shell The program's `shell`.
-- @tparam function say Prints a line for a person.
-- @treturn boolean|nil true, or nil and why no host can run.
function client.with_host(body, shell, say)
    if not client.has_host() then return with_own_host(body, shell, say) end
    body()
    return true
end

--- Wait until the host is connected.
--
-- @tparam number seconds How long.
-- @treturn table|nil The host's status, or nil, why it is not connected, and the last status.
function client.wait_for_connection(seconds)
    local deadline = os.clock() + seconds
    while true do
        local status, err = client.request("status")
        if not status then return nil, err end
        if status.is_connected then return status end
        if os.clock() >= deadline then
            local problem = status.problem
            return nil, problem and problem.text or "the server does not answer", status
        end
        sleep(0.5)
    end
end

return client
