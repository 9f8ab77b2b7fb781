local check = require("check")
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
    for bytes = 0, 420, 7 do
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

specs["receipts: unconfirmed results fill the store, then new calls are refused, and it stays under 64 KiB"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    local refused
    for i = 1, 40 do
        local ok, err = store:start(call("c" .. i, i))
        if not ok then
            refused = err
            break
        end
        store:finish("c" .. i, { ok = true, result = { text = ("x"):rep(4000) } })
    end
    check.contains(refused, "not confirmed")
    check.truthy(total_bytes(disk) < 65536, "size")
    check.truthy(#store:unconfirmed() >= 6, "kept results")
    store:stored("c1")
    check.truthy(store:start(call("new", 99)))
end

specs["receipts: unknown ones make room, since they stay unknown"] = function()
    local disk = world.disk()
    local store = new_store(disk)
    for i = 1, 400 do
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
