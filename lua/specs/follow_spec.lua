local check = require("check")
local screen = require("ccfleet.screen")

local specs = {}

-- Run a body on this computer's real events beside a host that is played: `ops[op](args)` returns what is answered, and
-- `ops.after` is called once that is on its way. Returns what was printed, and the body's results.
local function with_played_host(ops, body)
    local lines, results = {}, nil
    local real_say = screen.say
    screen.say = function(_, text) table.insert(lines, text) end
    local ok, err = pcall(parallel.waitForAny, function()
        while true do
            local _, id, op, args = os.pullEvent("ccfleet_request")
            local act = ops[op]
            if act then
                local result, problem, code = act(args)
                if result ~= nil then
                    os.queueEvent("ccfleet_response", id, true, result)
                elseif problem then
                    os.queueEvent("ccfleet_response", id, false, problem, code)
                end
                if ops.after then ops.after() end
            end
        end
    end, function()
        results = { pcall(body) }
    end, function()
        sleep(60)
        results = { false, "still waiting after 60 seconds" }
    end)
    screen.say = real_say
    check.truthy(ok, err)
    check.truthy(results[1], results[2])
    return lines, results[2], results[3]
end

local function follow(...)
    return require("ccfleet.follow")(...)
end

specs["follow: status, progress and message are shown as they change, and the end with its message"] = function()
    local course = {
        { status = "queued" }, { status = "queued" }, { status = "running", progress = 0.5, message = "digs" },
        { status = "completed", result = { success = true, message = "dug", details = { doubts = { "no call" } } } },
    }
    local looks = 0
    local lines, task = with_played_host({
        task = function()
            looks = math.min(looks + 1, #course)
            os.queueEvent("ccfleet_task_update", "t", course[looks].status)
            return { task = course[looks] }
        end,
    }, function() return follow("t") end)
    check.same(lines, { ". queued", "> running 50% - digs", "dug", "not confirmed: no call" })
    check.same(task.status, "completed")
end

specs["follow: a task not heard of here is asked of the server, and a failure gives its reason"] = function()
    local lines = with_played_host({
        task = function() return {} end,
        tasks = function(args)
            check.same(args.task_id, "t")
            return { tasks = { { task_id = "t", status = "failed", error = "no fuel" } } }
        end,
    }, function() return follow("t") end)
    check.same(lines, { "failed: no fuel" })
end

specs["follow: a question is answered by the number of its option"] = function()
    local answered
    local lines = with_played_host({
        task = function()
            if answered then return { task = { status = "completed" } } end
            return {
                task = { status = "waiting_for_user" },
                question = { question_id = "q", question = "Which way?", options = { "left", "right" } },
            }
        end,
        answer = function(args)
            answered = args.answer
            return true
        end,
        after = function()
            if answered then return end
            os.queueEvent("char", "2")
            os.queueEvent("key", keys.enter, false)
        end,
    }, function() return follow("t") end)
    check.same(answered, "right")
    check.same(lines[2], "? Which way?")
end

specs["follow: a question that somebody else answers does not hold the screen"] = function()
    local is_closed
    local lines = with_played_host({
        after = function()
            is_closed = true
            os.queueEvent("ccfleet_question_closed", "q", "left", "a person")
        end,
        task = function()
            if is_closed then return { task = { status = "cancelled" } } end
            return { task = { status = "waiting_for_user" }, question = { question_id = "q", question = "Which way?" } }
        end,
    }, function() return follow("t") end)
    check.same(lines[3], "Somebody else has answered.")
    check.contains(lines[#lines], "cancelled")
end

specs["follow: Ctrl+T ends the watching, not the task, and says so"] = function()
    local cancelled = false
    local lines = with_played_host({
        task = function() return { task = { status = "running" } } end,
        cancel_task = function() cancelled = true end,
    }, function()
        -- The event reaches the follower alone: for `parallel` it would end the played host as well.
        local co = coroutine.create(function() return follow("tsk_0123456789") end)
        local ok, filter = coroutine.resume(co)
        while ok and coroutine.status(co) ~= "dead" do
            local event = { os.pullEventRaw() }
            if event[1] == "timer" then event = { "terminate" } end
            if filter == nil or filter == event[1] or event[1] == "terminate" then
                ok, filter = coroutine.resume(co, unpack(event))
            end
        end
        return check.truthy(ok, filter)
    end)
    check.contains(table.concat(lines, "\n"), "the task goes on")
    check.contains(table.concat(lines, "\n"), "fleet task 456789")
    check.same(cancelled, false)
end

specs["client: without a host nothing waits longer than it takes to see that"] = function()
    local client = require("ccfleet.client")
    local begun = os.clock()
    check.same(client.has_host(), false)
    check.truthy(os.clock() - begun < 10, "about half a second")
end

specs["client: a refusal comes with its code"] = function()
    local _, result = with_played_host({
        cancel_task = function() return nil, "no such task", "no_such_task" end,
    }, function()
        local ok, err, code = require("ccfleet.client").request("cancel_task", { task_id = "t" })
        return { ok == nil, err, code }
    end)
    check.same(result, { true, "no such task", "no_such_task" })
end

return specs
