local check = require("check")
local Capture = require("ccfleet.capture")
local Typist = require("ccfleet.typist")
local programs = require("ccfleet.programs")

local specs = {}

-- What a function prints.
local function printed(body, limit)
    local capture = Capture.new()
    local before = term.redirect(capture.terminal)
    body()
    term.redirect(before)
    return capture:output(limit or 16384)
end

specs["capture: lines stay lines, also long ones"] = function()
    check.same(printed(function()
        print("one")
        print()
        write("two ")
        print(("x"):rep(300))
    end), "one\n\ntwo " .. ("x"):rep(300))
end

specs["capture: cursor moves on a line are honoured"] = function()
    check.same(printed(function()
        term.write("abcdef")
        term.setCursorPos(3, 1)
        term.write("XY")
        term.setCursorPos(10, 1)
        term.blit("z", "0", "f")
    end), "abXYef   z")
end

specs["capture: what scrolls away or is cleared is kept"] = function()
    local output = printed(function()
        for i = 1, 1500 do print(i) end
        term.clear()
        term.setCursorPos(1, 1)
        print("end")
    end)
    check.contains(output, "1\n2\n3\n")
    check.contains(output, "1499\n1500\nend")
end

specs["capture: too much output keeps its head and tail"] = function()
    local output, was_cut = printed(function()
        for i = 1, 4000 do print("line " .. i) end
    end, 2000)
    check.truthy(was_cut and #output <= 2000)
    check.contains(output, "line 1\nline 2\n")
    check.contains(output, "bytes cut")
    check.truthy(output:find("line 4000$"))
end

specs["capture: all terminal functions are there, in both spellings"] = function()
    local terminal = Capture.new().terminal
    local names = "write blit clear clearLine scroll getSize getCursorPos setCursorPos getCursorBlink setCursorBlink "
        .. "isColour getTextColour setTextColour getBackgroundColour setBackgroundColour getPaletteColour setPaletteColour"
    for name in (names .. " " .. names:gsub("Colour", "Color")):gmatch("%S+") do
        check.same(type(terminal[name]), "function", name)
    end
    check.same(terminal.isColor(), terminal.isColour())
end

specs["typist: a line becomes its keys, then enter"] = function()
    local typist = Typist.new({ "a1" })
    local names = {}
    local event = typist:next(nil, true)
    while event do
        table.insert(names, event[1] .. (event[1] == "char" and ":" .. event[2] or ""))
        event = typist:next(nil, true)
    end
    check.same(table.concat(names, " "), "key char:a key_up key char:1 key_up key key_up")
end

specs["typist: a program that does not wait for a person gets nothing"] = function()
    local typist = Typist.new({ "a" })
    check.same(typist:next("timer", true), nil)
    check.same(typist:next(nil, false), nil)
    check.same(typist:next("char", false)[2], "a")
end

specs["typist: the rest of a line that a menu took a key of does not answer the next question"] = function()
    local typist = Typist.new({ "y", "bob" })
    typist:next("char", false)
    typist:next(nil, true)
    check.same(typist:next(nil, true)[2], "b")
end

specs["programs: output, reading and success are reported"] = function()
    local report = programs.watch(function()
        print("name?")
        print("hello " .. read())
    end, { input = { "bob" } })
    check.same(report.success, true)
    check.same(report.output, "name?\nbob\nhello bob")
end

specs["programs: an error comes with a traceback that has no frame of ours"] = function()
    local body = load("local function inner() error('broken') end\ninner()\nprint('never')", "@/demo.lua", "t", _G)
    local report = programs.watch(body, {})
    check.same(report.success, false)
    check.same(report.error, "/demo.lua:1: broken")
    check.contains(report.traceback, "/demo.lua:2")
    check.same(report.traceback:find("ccfleet", 1, true), nil)
end

specs["programs: a program that does not end is stopped, even if it will not"] = function()
    local report = programs.watch(function()
        while true do pcall(sleep, 1) end
    end, { timeout_ms = 200 })
    check.same(report.timed_out, true)
    check.same(report.success, false)
    report = programs.watch(function() read() end, { timeout_ms = 200 })
    check.contains(report.error, "waiting for input")
end

specs["programs: a program is stopped before its call runs out of time, so that its output is not lost"] = function()
    local function body()
        print("begun")
        sleep(60)
    end
    local function with(remaining) return { remaining_ms = function() return remaining end } end
    local report = programs.watch(body, {}, with(400))
    check.same({ report.timed_out, report.output }, { true, "begun" })
    check.contains(report.error, "stopped after 300 ms")
    -- More than enough time changes nothing, and neither does a call without a limit.
    for _, remaining in ipairs({ 60000, false }) do
        report = programs.watch(body, { timeout_ms = 100 }, with(remaining or nil))
        check.contains(report.error, "stopped after 100 ms")
    end
end

specs["programs: time in which the computer stood still does not count"] = function()
    local clock, offset = os.clock, 0
    rawset(os, "clock", function() return clock() + offset end)
    local function body()
        sleep(0.4)
        print("woken")
    end
    local report
    local ok, err = pcall(parallel.waitForAll, function()
        report = programs.watch(body, { timeout_ms = 30000 })
    end, function()
        sleep(0.1)
        offset = 60
    end)
    rawset(os, "clock", clock)
    check.same(ok, true, err)
    check.same({ report.success, report.output }, { true, "woken" })
end

-- Run a program file that the spec writes, with others beside it.
local function run_files(contents)
    for path, content in pairs(contents) do
        local file = fs.open(path, "w")
        file.write(content)
        file.close()
    end
    local queue = os.queueEvent
    local ok, report = pcall(programs.watch, programs.load(shell, "ccfleet-spec-program.lua", {}), { timeout_ms = 2000 })
    for path in pairs(contents) do fs.delete(path) end
    check.same(os.queueEvent == queue, true, "os.queueEvent is what it was")
    check.same(ok, true, tostring(report))
    return report
end

specs["programs: a program that queues terminate ends itself, not the host"] = function()
    local report = run_files({
        ["/ccfleet-spec-program.lua"] = "os.queueEvent('terminate') print('queued') os.pullEvent('never')",
    })
    check.same({ report.success, report.output, report.error }, { false, "queued", "Terminated" })
end

specs["programs: one that is started by a program cannot end the host either"] = function()
    local report = run_files({
        ["/ccfleet-spec-program.lua"] = "shell.run('/ccfleet-spec-other.lua') print('after')",
        ["/ccfleet-spec-other.lua"] = "os.queueEvent('terminate') print('queued') os.pullEvent('never')",
    })
    check.contains(report.output, "queued")
    check.contains(report.output, "Terminated")
end

specs["programs: the terminal is the caller's again afterwards"] = function()
    local before = term.current()
    programs.watch(function() term.redirect(window.create(term.current(), 1, 1, 5, 5)) end, {})
    check.same(term.current() == before, true)
end

specs["programs: shell, arg, require and extra globals are there"] = function()
    local path = "/ccfleet-spec-program.lua"
    local file = fs.open(path, "w")
    file.write("print(shell.getRunningProgram(), arg[0], arg[1], (...), type(require), extra)")
    file.close()
    local body = programs.load(shell, "ccfleet-spec-program.lua", { [0] = "name", "a b" }, { extra = 5 })
    local report = programs.watch(body, {})
    fs.delete(path)
    check.same(report.output, "ccfleet-spec-program.lua\tname\ta b\ta b\tfunction\t5")
end

return specs
