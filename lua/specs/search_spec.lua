local check = require("check")
local fake_disk = require("fake_disk")
local glob = require("ccfleet.glob")

local specs = {}

local function call(contents, name, args)
    local disk = fake_disk.new()
    for path, content in pairs(contents) do disk.files[path] = content end
    local ok, result = pcall(require("ccfleet.tools.search").make(disk.fs)[name].handler, args)
    if ok then return result end
    return nil, result
end

local function paths(list)
    local out = {}
    for i, item in ipairs(list) do out[i] = item.path .. (item.line and ":" .. item.line or "") end
    return out
end

specs["glob: stars stay within a part, two of them cross parts"] = function()
    local function matches(pattern, path) return glob.matcher(pattern)(path) end
    check.same(matches("*.lua", "a/b/c.lua"), true, "without / it is about names")
    check.same(matches("a/*.lua", "a/b.lua"), true)
    check.same(matches("a/*.lua", "a/b/c.lua"), false)
    check.same(matches("a/**/c.lua", "a/b/x/c.lua"), true)
    check.same(matches("**/c.lua", "c.lua"), true)
    check.same(matches("/a/?", "a/b"), true)
    check.same(matches("a.b", "aXb"), false, "a dot is a dot")
end

specs["fs_find: finds by glob below a folder, in every folder, up to the limit"] = function()
    local disk = { ["/a.lua"] = "1", ["/t/b.lua"] = "22", ["/t/u/c.lua"] = "", ["/t/u/d.txt"] = "", ["/rom/e.lua"] = "" }
    local result = call(disk, "fs_find", { pattern = "*.lua" })
    check.same(paths(result.found), { "/a.lua", "/t/b.lua", "/t/u/c.lua" })
    check.same(result.found[2], { path = "/t/b.lua", is_dir = false, size = 2 })
    check.same(paths(call(disk, "fs_find", { pattern = "u/*", path = "/t" }).found), { "/t/u/c.lua", "/t/u/d.txt" })
    check.same(paths(call(disk, "fs_find", { pattern = "*.lua", path = "/rom" }).found), { "/rom/e.lua" })
    check.same(paths(call(disk, "fs_find", { pattern = "u" }).found), { "/t/u" })
    check.same(paths(call(disk, "fs_find", { pattern = "C.Lua", ignore_case = true }).found), { "/t/u/c.lua" })
    check.same(paths(call(disk, "fs_find", { pattern = "C.Lua" }).found), {})
    local cut = call(disk, "fs_find", { pattern = "*.lua", limit = 2 })
    check.same({ #cut.found, cut.truncated }, { 2, true })
    check.contains(select(2, call(disk, "fs_find", { pattern = "*", path = "/a.lua" })), "not a folder")
end

specs["fs_grep: finds plain text with lines around it, in one file or below a folder"] = function()
    local disk = { ["/a.lua"] = "one\ntwo.\nthree\n", ["/d/b.txt"] = "two?\r\nfour" }
    local result = call(disk, "fs_grep", { pattern = "two.", context = 1 })
    check.same(result.matches, { { path = "/a.lua", line = 2, text = "two.", before = { "one" }, after = { "three" } } })
    check.same(paths(call(disk, "fs_grep", { pattern = "two" }).matches), { "/a.lua:2", "/d/b.txt:1" })
    check.same(paths(call(disk, "fs_grep", { pattern = "two", files = "*.txt" }).matches), { "/d/b.txt:1" })
    check.same(paths(call(disk, "fs_grep", { pattern = "TWO", ignore_case = true, path = "d/b.txt" }).matches),
        { "/d/b.txt:1" })
    check.same(call(disk, "fs_grep", { pattern = "two?", path = "/d" }).matches[1].text, "two?", "no carriage return")
end

specs["fs_grep: Lua patterns on demand, bad ones are named"] = function()
    local disk = { ["/a"] = "x = 12\ny = ab\n" }
    check.same(paths(call(disk, "fs_grep", { pattern = "= %d+$", is_lua_pattern = true }).matches), { "/a:1" })
    check.contains(select(2, call(disk, "fs_grep", { pattern = "[a", is_lua_pattern = true })), "bad Lua pattern")
    check.contains(select(2, call(disk, "fs_grep", { pattern = "" })), "pattern is empty")
end

specs["fs_grep: skips binary and big files, cuts long lines, and says when there is more"] = function()
    local disk = {
        ["/bin"] = "x\0x", ["/big"] = ("x"):rep(600 * 1024), ["/long"] = ("x"):rep(2000), ["/many"] = ("x\n"):rep(100),
    }
    local result = call(disk, "fs_grep", { pattern = "x", limit = 5 })
    check.same({ #result.matches, result.truncated, result.files_skipped }, { 5, true, 2 })
    check.same({ result.matches[1].path, #result.matches[1].text }, { "/long", 300 })
end

specs["fs_grep: lets other events through while it works long"] = function()
    local epoch, queued, now = os.epoch, 0, 0
    local queue = os.queueEvent
    os.epoch = function()
        now = now + 30
        return now
    end
    os.queueEvent = function(...)
        queued = queued + 1
        return queue(...)
    end
    local ok, err = pcall(call, { ["/many"] = ("x\n"):rep(100) }, "fs_grep", { pattern = "y" })
    os.epoch, os.queueEvent = epoch, queue
    check.same(ok, true, tostring(err))
    check.truthy(queued > 5, "breaths")
end

return specs
