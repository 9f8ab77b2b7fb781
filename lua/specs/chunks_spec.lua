local check = require("check")
local breath = require("ccfleet.breath")
local chunks = require("ccfleet.chunks")
local json = require("ccfleet.json")
local world = require("fake_world")

local specs = {}

local LIMIT = 131072

local function chunk(id, index, count, data, n)
    return { type = "chunk", chunk_id = id, index = index, count = count, data = data, n = n }
end

local function welcomed(prepare, welcome, options)
    local computer = world.computer()
    world.fleet(computer, prepare, options)
    computer:event("websocket_closed", computer:socket().url)
    computer:wait(1)
    computer:accept()
    computer:welcome(welcome or { features = json.array({ "chunks" }), max_from_computer = 1048576 })
    return computer
end

-- What the server makes of the chunks it was sent.
local function joined(computer)
    local pieces, count = {}, 0
    for _, message in ipairs(computer:sent("chunk")) do
        pieces[message.index + 1] = message.data
        count = message.count
    end
    check.same(#pieces, count, "pieces")
    return json.decode(table.concat(pieces))
end

specs["chunks: every frame fits, and together they are the message, whatever is in it"] = function()
    local breathe = breath.new()
    for _, unit in ipairs({ "a", '"', "\\", "\195\169", "\240\159\152\128", '"\226\130\172\\n' }) do
        local message = json.encode({ text = unit:rep(math.floor(30000 / #unit)) })
        local pieces = {}
        for i, frame in ipairs(chunks.split(message, "id", 5000)) do
            check.truthy(#frame <= 5000, "fits")
            local decoded = json.decode(frame)
            check.same({ decoded.type, decoded.chunk_id, decoded.index }, { "chunk", "id", i - 1 })
            pieces[i] = decoded.data
        end
        check.truthy(table.concat(pieces) == message, "joined")
        breathe()
    end
end

specs["chunks: a joiner takes pieces in any order, several messages at once, and repeats"] = function()
    local joiner = chunks.joiner()
    check.same(joiner:take(chunk("a", 1, 2, "B"), 0), nil)
    check.same(joiner:take(chunk("b", 0, 1, "x"), 0), "x")
    check.same(joiner:take(chunk("a", 1, 2, "other"), 0), nil)
    check.same(joiner:take(chunk("a", 0, 2, "A"), 0), "AB")
end

specs["chunks: a set ends 60 s after its last piece, and the ninth pushes the oldest out"] = function()
    local joiner = chunks.joiner()
    joiner:take(chunk("a", 0, 3, "A"), 0)
    joiner:take(chunk("a", 1, 3, "B"), 50)
    check.same(joiner:take(chunk("a", 2, 3, "C"), 109), "ABC")
    joiner:take(chunk("b", 0, 2, "A"), 0)
    check.same(joiner:take(chunk("b", 1, 2, "B"), 60), nil, "expired")
    joiner = chunks.joiner()
    for i = 1, 9 do joiner:take(chunk("s" .. i, 0, 2, "A"), 0) end
    check.same(joiner:take(chunk("s1", 1, 2, "B"), 0), nil)
    check.same(joiner:take(chunk("s9", 1, 2, "B"), 0), "AB")
end

specs["chunks: what makes no sense or is too much is thrown away with a reason"] = function()
    local joiner = chunks.joiner()
    local function reason(message) return select(2, joiner:take(message, 0)) end
    check.contains(reason({ index = 0, count = 1, data = "" }), "chunk_id")
    check.contains(reason(chunk("a", 0, 1)), "data")
    check.contains(reason(chunk("a", 0, 1e9, "")), "count")
    check.contains(reason(chunk("a", 2, 2, "")), "index")
    check.contains(reason(chunk("a", 0.5, 2, "")), "index")
    joiner:take(chunk("a", 0, 2, ""), 0)
    check.contains(reason(chunk("a", 1, 3, "")), "disagree")
    joiner:take(chunk("b", 0, 3, ("x"):rep(400000)), 0)
    check.contains(reason(chunk("b", 1, 3, ("x"):rep(200000))), "over 524288 bytes")
end

specs["session: a call that comes in chunks runs, each chunk acknowledged by its own number"] = function()
    local computer = welcomed(function(fleet)
        fleet:register("size", function(args) return { size = #args.text } end, { effect = "read" })
    end)
    local call = json.encode({
        type = "command_call", task_id = "t", call_id = "a", command = "size", args = { text = ("x"):rep(200000) },
    })
    computer:say(chunk("c", 0, 2, call:sub(1, 100000), 1))
    computer:say(chunk("c", 1, 2, call:sub(100001), 2))
    local result = computer:last_sent("command_result")
    check.same({ result.result.size, result.ack }, { 200000, 2 })
end

specs["session: chunks of a lost connection are not joined with those of the next"] = function()
    local computer = welcomed()
    computer:say(chunk("c", 0, 2, '{"type":"ping",'))
    computer:event("websocket_closed", computer:socket().url)
    computer:wait(2)
    computer:accept()
    computer:welcome()
    computer:say(chunk("c", 1, 2, '"nonce":1}'))
    check.same(#computer:sent("pong"), 0)
end

local function big(fleet)
    fleet:register("big", function(args) return { text = ("\"\n"):rep(args.n) } end, { effect = "read" })
    fleet:register("huge", function()
        local list = {}
        for i = 1, 150 do list[i] = ("\n"):rep(4097) end
        return { list = list }
    end, { effect = "read" })
end

specs["session: a result over a frame goes in chunks, whole, if the server takes them"] = function()
    local computer = welcomed(big)
    computer:say({ type = "command_call", task_id = "t", call_id = "a", command = "big", args = { n = 40000 }, n = 1 })
    computer:breathe()
    local message = joined(computer)
    check.same({ message.type, message.call_id, #message.result.text }, { "command_result", "a", 80000 })
    check.same(message.truncated, nil)
    check.same(computer:sent("chunk")[1].ack, 1)
    check.truthy(#computer:socket().last_frame <= LIMIT)
end

specs["session: a result over what the server takes is cut to its ends"] = function()
    local computer = welcomed(big, { features = json.array({ "chunks" }), max_from_computer = 150000 })
    computer:say({ type = "command_call", task_id = "t", call_id = "a", command = "big", args = { n = 40000 } })
    computer:breathe()
    check.same(computer:last_sent("command_result").truncated, true)
    local huge = welcomed(big)
    huge:say({ type = "command_call", task_id = "t", call_id = "a", command = "huge", args = {} })
    huge:breathe()
    local result = huge:last_sent("command_result")
    check.same(result.truncated, true)
    check.truthy(result.result.bytes > 1200000)
    local none = welcomed(big, {})
    none:say({ type = "command_call", task_id = "t", call_id = "a", command = "big", args = { n = 40000 } })
    none:breathe()
    check.same(none:last_sent("command_result").truncated, true)
    check.same(#none:sent("chunk"), 0)
end

specs["session: tools that do not fit into the hello follow after the welcome"] = function()
    local computer = world.computer()
    world.fleet(computer, function(fleet)
        for i = 1, 40 do fleet:register("t" .. i, function() return {} end, { description = ("d"):rep(8000) }) end
    end)
    check.same(#computer:sent("hello")[1].commands, 0)
    local names, messages = {}, computer:sent("register_commands")
    for _, message in ipairs(messages) do
        for _, tool in ipairs(message.commands) do names[#names + 1] = tool.name end
    end
    check.same({ #names, #messages }, { 40, 3 })
    computer:say({ type = "command_call", task_id = "t", call_id = "a", command = "t7", args = {} })
    check.same(computer:last_sent("command_result").ok, true)
end

-- Says how long it took; what is too long, the computer itself decides.
local function measure(what, encoded)
    os.queueEvent("ccfleet_breath")
    os.pullEvent("ccfleet_breath")
    local before = os.epoch("utc")
    local value = json.decode(encoded)
    print(("MEASURE %s: %d bytes read in %d ms"):format(what, #encoded, os.epoch("utc") - before))
    return value
end

specs["json: a quarter of the most that comes in chunks is read far from the seven seconds"] = function()
    local part = json.encode({ 1, "text", { a = true, list = { 1, 2, 3 } } })
    local count = math.floor(131072 / (#part + 1))
    check.same(#measure("objects", "[" .. (part .. ","):rep(count - 1) .. part .. "]"), count)
end

specs["json: a long text within a message costs little"] = function()
    check.same(#measure("text", json.encode({ text = ("line\n"):rep(20000) })).text, 100000)
end

return specs
