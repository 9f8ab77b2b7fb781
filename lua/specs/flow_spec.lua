local check = require("check")
local Backoff = require("ccfleet.backoff")
local Lane = require("ccfleet.lane")
local Window = require("ccfleet.window")
local schema = require("ccfleet.schema")

local specs = {}

specs["backoff: doubles from one second to the cap of sixty"] = function()
    local backoff = Backoff.new(function() return 1 end)
    local waits = {}
    for i = 1, 8 do waits[i] = backoff:next() end
    check.same(waits, { 1, 2, 4, 8, 16, 32, 60, 60 })
    backoff:reset()
    check.same(backoff:next(), 1)
    check.same(backoff:next(true), 60, "hopeless")
end

specs["backoff: jitter takes up to half of the wait"] = function()
    check.same(Backoff.new(function() return 0 end):next(), 0.5)
end

specs["window: numbers are handled once and in order"] = function()
    local window = Window.new(8)
    check.same(window:accept(1, 0), "handle")
    check.same(window:accept(1, 0), "seen")
    check.same(window:accept(3, 0), "gap")
    check.same(window:accept(2, 0), "handle")
    check.same(window:accept(3, 0), "handle")
end

specs["window: a lone message is acknowledged after 0.2 s"] = function()
    local window = Window.new(8)
    check.same(window:take_ack(), nil)
    window:accept(1, 10)
    check.same(window:is_due(10.1), false)
    check.same(window:is_due(10.2), true)
    check.same(window:take_ack(), 1)
    check.same(window:is_due(99), false)
end

specs["window: half a window is acknowledged at once"] = function()
    local window = Window.new(8)
    for n = 1, 3 do window:accept(n, 0) end
    check.same(window:is_due(0), false)
    window:accept(4, 0)
    check.same(window:is_due(0), true)
end

specs["window: a gap is told once, with the last number before it"] = function()
    local window = Window.new(8)
    window:accept(1, 0)
    window:take_ack()
    window:accept(3, 0)
    check.same(window:is_due(0), true)
    check.same(window:take_ack(), 1)
    window:accept(4, 0)
    check.same(window:is_due(99), false)
    window:accept(2, 0)
    window:accept(4, 0)
    check.same(window:take_ack(), 2)
end

specs["lane: one change at a time in order, two reads beside it"] = function()
    local lane = Lane.new()
    for id, effect in ipairs({ "effect", "idempotent", "read", "read", "read", "effect" }) do
        lane:push({ call_id = id, effect = effect })
    end
    local first = lane:take()
    check.same(first.call_id, 1)
    check.same(lane:take().call_id, 3)
    check.same(lane:take().call_id, 4)
    check.same(lane:take(), nil)
    lane:release(first)
    check.same(lane:take().call_id, 2)
    check.same(lane:take(), nil)
    check.same(lane:remove(6).call_id, 6)
    check.same(lane:remove(6), nil)
end

specs["schema: the first thing wrong is named"] = function()
    local rule = {
        type = "object", required = { "path" }, additionalProperties = false,
        properties = {
            path = { type = "string", maxLength = 3 },
            count = { type = "integer", minimum = 1 },
            words = { type = "array", items = { type = "string" } },
            mode = { enum = { "a", "b" } },
        },
    }
    local function wrong(args) return select(2, schema.check(rule, args)) end
    check.same(wrong({ path = "abc", count = 1, words = {}, mode = "b" }), nil)
    check.same(wrong({}), "args.path is missing")
    check.same(wrong({ path = "\195\169\195\169\195\169" }), nil, "characters, not bytes")
    check.contains(wrong({ path = "abcd" }), "args.path: longer than 3")
    check.contains(wrong({ path = 1 }), "args.path: expected string, got number")
    check.contains(wrong({ path = "a", more = 1 }), "args.more is not known")
    check.contains(wrong({ path = "a", count = 1.5 }), "args.count: expected integer")
    check.contains(wrong({ path = "a", words = { "x", 2 } }), "args.words[2]")
    check.contains(wrong({ path = "a", words = { x = 1 } }), "args.words: expected array")
    check.contains(wrong({ path = "a", mode = "c" }), "args.mode")
end

return specs
