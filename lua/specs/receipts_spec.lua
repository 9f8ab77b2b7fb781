local check = require("check")
local breath = require("ccfleet.breath")
local world = require("fake_world")
local Receipts = require("ccfleet.receipts")

local specs = {}

local function open(disk)
    return Receipts.open(disk.fs, "/s")
end

local function new_store(disk)
    local store = open(disk)
    store:use_server("srv", 1, "secret")
    return store
end

local function call(id, seq)
    return { call_id = id, task_id = "t", seq = seq, args_hash = "hash-" .. id }
end

local function total_bytes(disk)
    local sum = 0
    for _, content in pairs(disk.files) do sum = sum + #content end
    return sum
end

specs["receipts: a call goes from not_started over started to done and is forgotten when stored"] = function()
    local store = new_store(world.disk())
    check.same(store:judge("a", 1), "not_started")
    check.truthy(store:start(call("a", 1)))
    check.same(store:judge("a", 1), "started")
    store:finish("a", { ok = true, result = { x = 1 } })
    local state, receipt = store:judge("a", 1)
    check.same(state, "done")
    check.same(receipt.result, { x = 1 })
    store:stored("a")
    check.same(store:judge("a", 1), "unknown")
end

specs["receipts: what had started before a restart is unknown, what was done is done"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    store:start(call("a", 1))
    store:finish("a", { ok = false, error = "no", code = "handler_error" })
    store:start(call("b", 2))
    local later = open(disk)
    check.same(later:judge("a", 1), "done")
    check.same(later:judge("b", 2), "unknown")
    check.same(later:judge("c", 2), "unknown", "a number that was used")
    check.same(later:judge("c", 3), "not_started")
    check.same(later:identity(), { server_id = "srv", journal_epoch = 1, session_secret = "secret", high_seq = 2 })
end

specs["receipts: other arguments under the same call_id are a mismatch"] = function()
    local store = new_store(world.disk())
    store:start(call("a", 1))
    check.same(store:judge("a", 1, "hash-a"), "started")
    check.same(store:judge("a", 1, "other"), "mismatch")
end

specs["receipts: a crash at any byte of a write loses nothing that was written before"] = function()
    local breathe = breath.new()
    for bytes = 0, 420, 7 do
        breathe()
        local disk = world.disk()
        local store = new_store(disk)
        store:start(call("a", 1))
        store:finish("a", { ok = true, result = { x = 1 } })
        disk.bytes_until_crash = bytes
        local started = store:start(call("b", 2))
        disk.bytes_until_crash = nil

        local later = open(disk)
        check.same(later:judge("a", 1), "done", "after " .. bytes .. " bytes")
        if started then check.same(later:judge("b", 2), "unknown", "after " .. bytes .. " bytes") end
        if not started then check.same(store:judge("b", 2), "not_started", "in memory") end
        check.truthy(later:start(call("c", 3)), "goes on")
        check.same(open(disk):judge("a", 1), "done", "after going on")
    end
end

specs["receipts: a disk that cannot be written refuses the start and leaves no trace"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    disk.is_read_only = true
    local ok, err = store:start(call("a", 5))
    check.same(ok, nil)
    check.contains(err, "Access denied")
    check.same(store:judge("a", 5), "not_started")
    check.same(store:identity().high_seq, 0)
end

specs["receipts: a damaged file counts as absent"] = function()
    local disk = world.disk()
    new_store(disk):start(call("a", 1))
    for path, content in pairs(disk.files) do disk.files[path] = content:gsub("secret", "Secret") end
    check.same(open(disk):identity().server_id, nil)
end

specs["receipts: a long result is kept as digest and ends"] = function()
    local store = new_store(world.disk())
    store:start(call("a", 1))
    store:finish("a", { ok = true, result = { text = ("x"):rep(5000) } })
    local receipt = store:find("a")
    check.same(receipt.truncated, true)
    check.same(receipt.result.bytes, 5011)
    check.truthy(#receipt.result.head == 512 and receipt.result.digest)
end

specs["receipts: a result that was cut before keeps its own digest and size"] = function()
    local store = new_store(world.disk())
    store:start(call("a", 1))
    local cut = { digest = "adler32:0", bytes = 9000000, head = ("h"):rep(9000), tail = ("t"):rep(9000) }
    store:finish("a", { ok = true, truncated = true, result = cut })
    local kept = store:find("a").result
    check.same({ kept.digest, kept.bytes, #kept.head, #kept.tail }, { "adler32:0", 9000000, 512, 512 })
end

-- A call with ids as long as the server's are.
local function long_call(i)
    local call_id = ("cal_01JABCDEFGHJKMNPQRSTVWXYZ_%d_12_0"):format(i)
    return { call_id = call_id, task_id = "tsk_01JABCDEFGHJKMNPQRSTVWXYZ", seq = i, args_hash = "arg_0123456789abcdef" }
end

specs["receipts: 64 unconfirmed results have room, the latest whole, then new calls are refused"] = function()
    local disk = world.disk()
    local store = open(disk)
    store:use_server("srv_0123456789abcdef0123456789abcdef", 1, "secret-0123456789abcdef")
    local started, refused, breathe = 0, nil, breath.new()
    for i = 1, 200 do
        breathe()
        local ok, err = store:start(long_call(i))
        if not ok then
            refused = err
            break
        end
        started = i
        store:finish(long_call(i).call_id, { ok = true, result = { text = ('"x\n'):rep(1000) } })
        check.truthy(total_bytes(disk) < 65536, "size after " .. i)
    end
    check.truthy(started >= 64, "started " .. started)
    check.contains(refused, "not confirmed")
    local again = open(disk)
    check.same(#again:unconfirmed(), started, "all are on the disk")
    local oldest = again:unconfirmed()[1]
    check.same({ oldest.truncated, oldest.result.bytes }, { true, 5011 })
    check.truthy(oldest.result.digest and #oldest.result.head <= 24 and #oldest.result.tail <= 24)
    store:stored(long_call(1).call_id)
    check.truthy(store:start({ call_id = "new", task_id = "t", seq = 999 }))
end

specs["receipts: failures are shortened like results"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    local breathe = breath.new()
    for i = 1, 64 do
        breathe()
        check.truthy(store:start(long_call(i)), "start " .. i)
        store:finish(long_call(i).call_id, { ok = false, code = "handler_error", error = ("e"):rep(3000) })
    end
    check.same(#open(disk):unconfirmed(), 64)
    check.truthy(#store:unconfirmed()[64].error > 200 and #store:unconfirmed()[1].error < 300)
end

specs["receipts: unknown ones make room, since they stay unknown"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    local breathe = breath.new()
    for i = 1, 400 do
        breathe()
        check.truthy(store:start(call("call-with-a-rather-long-identifier-" .. i, i)), "start " .. i)
        if i % 50 == 0 then store = open(disk) end
    end
    check.same(store:judge("call-with-a-rather-long-identifier-1", 1), "unknown")
    check.truthy(total_bytes(disk) < 65536, "size")
end

specs["receipts: each server has its own numbers, also after going back"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    store:start(call("a", 9))
    store:use_server("other", 1, "secret-2")
    check.same(store:judge("a", 9), "not_started")
    store:start(call("b", 1))
    store:use_server("srv", 1, "secret-3")
    check.same(store:identity().high_seq, 9)
    check.same(store:judge("b", 1), "unknown", "a number below")
    check.same(open(disk):judge("a", 9), "unknown")
end

return specs
