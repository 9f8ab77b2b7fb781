local check = require("check")
local Job = require("ccfleet.job")
local tool_file = require("ccfleet.tool_file")
local world = require("fake_world")

local specs = {}

local function load_error(source)
    local tools, err = tool_file.load(source, "/tools/x.lua")
    check.same(tools, nil)
    return err
end

specs["tool file: a syntax error comes with its line"] = function()
    local err = load_error("return {\n  name = 'x',\n  handler = function( end\n}")
    check.contains(err, "syntax error")
    check.contains(err, "3:   handler = function( end")
end

specs["tool file: what is wrong with a tool is said with what is right"] = function()
    check.contains(load_error("local x = 1"), "must return a tool or a list of tools")
    check.contains(load_error("return {}"), "returns no tool")
    check.contains(load_error("return { name = 'x' }"), "tool x: handler is missing")
    check.contains(load_error("return { handler = print }"), "name is missing")
    check.contains(load_error("return { name = 'a b', handler = print }"), "use 1 to 64 of")
    check.contains(load_error("return { name = 'x', handler = print, effect = 'write' }"), "read (changes nothing)")
    check.contains(load_error("return { name = 'x', handler = print, parameters = {} }"), "unknown field parameters")
    check.contains(load_error("return { name = 'x', handler = print, args = { a = 1 } }"), "args: a must be")
    check.contains(load_error("local t = { name = 'x', handler = print } return { t, t }"), "twice")
    check.contains(load_error("error('boom')"), "boom")
    check.contains(load_error("sleep(1) return {}"), "waits while it is loaded")
end

specs["tool file: what it writes to globals and libraries stays its own"] = function()
    local tools = tool_file.load([[
        leaked = 1
        _G.leaked_too = 2
        os.pullEvent = nil
        string.format = nil
        function print() end
        return { name = "x", handler = function() return { os.pullEvent == nil, leaked, _G.leaked_too } end }]], "/x.lua")
    check.same(tools[1].handler(), { true, 1, 2 })
    check.same({ _G.leaked, _G.leaked_too, type(os.pullEvent), type(string.format) }, { nil, nil, "function", "function" })
end

-- What a host answers when a tool does something bad; it must answer, and go on.
local function outcome(handler)
    local computer = world.computer()
    world.fleet(computer, function(fleet)
        local tool = tool_file.load("return { name = 'bad', effect = 'read', handler = function() " .. handler .. " end }",
            "/tools/bad.lua")[1]
        fleet:register("bad", function(args, _, _, context) return tool.handler(args, context) end, { effect = "read" })
        fleet:register("good", function() return { fine = true } end, { effect = "read" })
    end)
    computer:say({ type = "command_call", task_id = "t", call_id = "a", command = "bad", args = {} })
    local answer = computer:last_sent("command_result")
    computer:say({ type = "command_call", task_id = "t", call_id = "b", command = "good", args = {} })
    check.same(computer:last_sent("command_result").result, { fine = true })
    return answer
end

specs["tool file: functions, cycles and infinities in a result become placeholders"] = function()
    local result = outcome("local t = { f = print, n = 1/0 } t.t = t return t").result
    check.same({ result.f, result.n, result.t }, { "<function>", nil, "<cycle>" })
end

specs["tool file: results that fight back are errors of the tool, not of the host"] = function()
    check.same(outcome("error(setmetatable({}, { __tostring = function() error('x') end }))").ok, false)
    check.same(outcome("error()").ok, false)
    check.same(outcome("return setmetatable({}, { __index = function() error('x') end })").ok, true)
    check.same(outcome("local function f() return f() + 1 end return { f() }").ok, false)
end

specs["tool file: a tool that queues terminate ends nobody"] = function()
    local queued, queue = {}, os.queueEvent
    os.queueEvent = function(name) table.insert(queued, name) end
    local ok, err = pcall(outcome, "os.queueEvent('terminate') os.queueEvent('hello') return {}")
    os.queueEvent = queue
    check.same(ok, true, tostring(err))
    check.same(queued, { "ccfleet_terminate", "hello" })
end

specs["job: one that never waits is ended, also if it catches the error"] = function()
    if not (debug and debug.sethook) then return end
    for _, body in ipairs({
        function() while true do end end,
        function() while true do pcall(function() while true do end end) end end,
    }) do
        local job = Job.new(body, nil, 100)
        job:resume()
        check.same({ job.ended, job.ok }, { true, false })
        check.contains(job.error, "Too long without yielding")
    end
end

specs["job: the time of an inner job is not the outer one's"] = function()
    if not (debug and debug.sethook) then return end
    -- On a clock of its own: a busy computer may stand still at any time.
    local epoch, now = os.epoch, 0
    os.epoch = function() return now end -- luacheck: ignore 122
    local outer = Job.new(function()
        local inner = Job.new(function()
            now = now + 200
            while true do end
        end, nil, 150)
        inner:resume()
        local sum = 0
        for i = 1, 300000 do sum = sum + i end
        return inner.ok
    end, nil, 120)
    local ok, err = pcall(outer.resume, outer)
    os.epoch = epoch -- luacheck: ignore 122
    check.same(ok, true, tostring(err))
    check.same({ outer.ok, outer.results and outer.results[1] }, { true, false })
end

return specs
