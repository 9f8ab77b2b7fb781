local check = require("check")
local fake_disk = require("fake_disk")
local files = require("ccfleet.files")
local sha256 = require("ccfleet.sha256")

local specs = {}

-- Tools on a disk: `disk`, and `call(name, args)`: the result, or nil and the error.
local function tools(contents)
    local disk = fake_disk.new()
    for path, content in pairs(contents or {}) do disk.files[path] = content end
    local set = {}
    for _, name in ipairs({ "files", "patch", "search" }) do
        for tool_name, tool in pairs(require("ccfleet.tools." .. name).make(disk.fs)) do set[tool_name] = tool end
    end
    return {
        disk = disk,
        call = function(name, args)
            local ok, result = pcall(set[name].handler, args, "t", "c", nil)
            if ok then return result end
            return nil, result
        end,
    }
end

local function names(disk)
    local list = {}
    for path in pairs(disk.files) do list[#list + 1] = path end
    table.sort(list)
    return list
end

specs["fs_write: keeps the old content when the disk is full, at any byte, and leaves nothing lying about"] = function()
    for bytes = 0, 40, 8 do
        local world = tools({ ["/a"] = "old" })
        world.disk.bytes_until_crash = bytes
        local result, err = world.call("fs_write", { path = "a", content = ("n"):rep(41) })
        check.same(result, nil)
        check.contains(err, "/a: ")
        check.contains(err, "nothing was changed")
        check.same(world.disk.files, { ["/a"] = "old" })
    end
end

specs["fs_write: a move that fails puts the old content back"] = function()
    local world = tools({ ["/a"] = "old" })
    world.disk.fail = function(operation, path) return operation == "move" and path == "/a.ccfleet-new" and "Broken" end
    check.contains(select(2, world.call("fs_write", { path = "a", content = "new" })), "Broken")
    check.same(world.disk.files, { ["/a"] = "old" })
end

specs["fs_write: what a crash between two moves put aside is found again"] = function()
    local world = tools({ ["/a"] = "old" })
    world.disk.files["/a.ccfleet-old"], world.disk.files["/a"] = "old", nil
    world.disk.files["/a.ccfleet-new"] = "ne"
    check.same(world.call("fs_read", { path = "/a" }).content, "old")
    check.same(world.call("fs_write", { path = "/a", content = "new" }).created, false)
    check.same(world.disk.files, { ["/a"] = "new" })
end

specs["fs_read and fs_write: tell the hash of the content"] = function()
    local world = tools()
    check.same(world.call("fs_write", { path = "a", content = "abc" }).hash, "sha256:" .. sha256.hex("abc"):sub(1, 16))
    check.same(world.call("fs_read", { path = "a", max_bytes = 1 }).hash, sha256.short("abc"))
    check.same(files.hash(("x"):rep(256 * 1024 + 1)), nil)
end

specs["fs_copy: copies a file or a folder, and what is copied stays"] = function()
    local world = tools({ ["/a"] = "one", ["/dir/x"] = "two", ["/dir/deep/y"] = "three" })
    check.same(world.call("fs_copy", { from = "a", to = "/new/b" }), { from = "/a", to = "/new/b" })
    check.same(world.call("fs_copy", { from = "/dir", to = "other" }), { from = "/dir", to = "/other" })
    check.same(world.disk.files, {
        ["/a"] = "one", ["/new/b"] = "one", ["/dir/x"] = "two", ["/dir/deep/y"] = "three",
        ["/other/x"] = "two", ["/other/deep/y"] = "three",
    })
end

specs["fs_copy: a copy that is made again finds its own"] = function()
    local world = tools({ ["/a"] = "one" })
    world.call("fs_copy", { from = "a", to = "b" })
    check.same(world.call("fs_copy", { from = "a", to = "b" }), { from = "/a", to = "/b", there_already = true })
    world.call("fs_write", { path = "b", content = "two" })
    check.contains(select(2, world.call("fs_copy", { from = "a", to = "b" })), "/b: is there already")
end

specs["fs_move: a move that is made again is told that it was perhaps made already"] = function()
    local world = tools({ ["/a"] = "one" })
    check.same(world.call("fs_move", { from = "a", to = "b" }), { from = "/a", to = "/b" })
    local again = select(2, world.call("fs_move", { from = "a", to = "b" }))
    check.contains(again, "/a: no such file or folder; /b is there, so it was perhaps moved already")
    check.contains(select(2, world.call("fs_move", { from = "c", to = "d" })), "/c: no such file or folder; fs_list")
end

specs["fs_move: what was copied before lies in its place already, and only the old one goes"] = function()
    local world = tools({ ["/a"] = "one", ["/b"] = "two", ["/dir/x"] = "three" })
    world.call("fs_copy", { from = "a", to = "/dir/a" })
    check.same(world.call("fs_move", { from = "a", to = "/dir/a" }), { from = "/a", to = "/dir/a", there_already = true })
    local left = { ["/b"] = "two", ["/dir/a"] = "one", ["/dir/x"] = "three" }
    check.same(world.disk.files, left)
    for _, case in ipairs({
        { "b", "/dir/a", "/dir/a: is there already, and nothing was moved; delete it first" },
        { "b", "/dir", "/dir: is there already, and is a folder; nothing was moved" },
        { "b", "/dir", "To move it in there, name its place: /dir/b" },
        { "b", "b", "/b: is there already" }, { "dir", "b", "/b: is there already" },
    }) do
        check.contains(select(2, world.call("fs_move", { from = case[1], to = case[2] })), case[3])
        check.same(world.disk.files, left)
    end
end

specs["fs_copy: replaces nothing, and says what is wrong"] = function()
    local world = tools({ ["/a"] = "one", ["/b"] = "two", ["/dir/x"] = "three" })
    local before = { ["/a"] = "one", ["/b"] = "two", ["/dir/x"] = "three" }
    for _, case in ipairs({
        { "a", "b", "/b: is there already, and nothing was copied" }, { "a", "dir", "/dir: is there already" },
        { "c", "d", "/c: no such file or folder" }, { "dir", "dir/in", "inside itself" },
    }) do
        check.contains(select(2, world.call("fs_copy", { from = case[1], to = case[2] })), case[3])
        check.same(world.disk.files, before)
    end
end

specs["fs_copy: a disk that fills up in the middle has nothing of the copy"] = function()
    local world = tools({ ["/dir/x"] = "one", ["/dir/y"] = "two" })
    world.disk.capacity = 1500
    local _, err = world.call("fs_copy", { from = "dir", to = "other" })
    check.contains(err, "Out of space")
    check.contains(err, "nothing was changed")
    check.same(names(world.disk), { "/dir/x", "/dir/y" })
end

specs["fs_write: folders and read-only disks are refused with their reason"] = function()
    local world = tools({ ["/dir/x"] = "" })
    check.contains(select(2, world.call("fs_write", { path = "dir", content = "" })), "/dir: is a folder")
    world.disk.is_read_only = true
    check.contains(select(2, world.call("fs_write", { path = "b", content = "" })), "read-only")
    check.contains(select(2, world.call("fs_read", { path = "none" })), "fs_list and fs_find")
end

specs["fs_write: a file that its writer has not seen as it is now is kept and shown"] = function()
    local world = tools({ ["/a"] = "old" })
    local result = world.call("fs_write", { path = "a", content = "new", if_hash = "none" })
    check.same({ result.success, result.kept, result.content, result.hash }, { false, true, "old", sha256.short("old") })
    check.contains(result.error, "/a: is there already")
    check.same(world.disk.files, { ["/a"] = "old" })
    result = world.call("fs_write", { path = "a", content = "new", if_hash = sha256.short("older") })
    check.contains(result.error, "/a: has changed since it was read")
    -- Who knows what it holds may replace it.
    check.same(world.call("fs_write", { path = "a", content = "new", if_hash = sha256.short("old") }).success, nil)
    check.same(world.disk.files, { ["/a"] = "new" })
end

specs["fs_write: if_hash keeps nobody from a new file, from writing the same again, or from one that is gone"] = function()
    local world = tools()
    for _, if_hash in ipairs({ "none", "none", sha256.short("other") }) do
        check.same(world.call("fs_write", { path = "a", content = "new", if_hash = if_hash }).bytes, 3)
    end
    world.disk.files = {}
    check.same(world.call("fs_write", { path = "a", content = "x", if_hash = sha256.short("new") }).created, true)
end

specs["fs_write: of a long file that was kept the beginning is shown; one without a hash has its size"] = function()
    local long = ("x"):rep(256 * 1024 + 1)
    local world = tools({ ["/a"] = long })
    local result = world.call("fs_write", { path = "a", content = "new", if_hash = "none" })
    check.same({ #result.content, result.truncated, result.hash }, { 1024, true, "bytes:" .. #long })
    check.contains(result.error, "at its beginning")
    check.same(world.call("fs_write", { path = "a", content = "new", if_hash = result.hash }).bytes, 3)
end

specs["fs_write_many: one file that is kept keeps all"] = function()
    local world = tools({ ["/a"] = "old" })
    local result = world.call("fs_write_many", { files = {
        { path = "b", content = "1", if_hash = "none" }, { path = "a", content = "2", if_hash = "none" },
    } })
    check.same({ result.success, #result.files, result.files[1].path }, { false, 1, "/a" })
    check.same(world.disk.files, { ["/a"] = "old" })
end

specs["fs_write_many: all files are written and reported"] = function()
    local world = tools({ ["/a"] = "old" })
    local two = { { path = "a", content = "1" }, { path = "/d/b", content = "22" } }
    local result = world.call("fs_write_many", { files = two })
    check.same({ result.files[1].created, result.files[2].created, result.files[2].bytes }, { false, true, 2 })
    check.same(world.disk.files, { ["/a"] = "1", ["/d/b"] = "22" })
end

specs["fs_write_many: one that cannot be written leaves all as they were"] = function()
    for _, operation in ipairs({ "write", "move" }) do
        local world = tools({ ["/a"] = "old", ["/c"] = "c" })
        world.disk.fail = function(what, path) return what == operation and path:find("^/b") and "Broken" end
        local result, err = world.call("fs_write_many", {
            files = { { path = "a", content = "1" }, { path = "b", content = "2" }, { path = "c", content = "3" } },
        })
        check.same(result, nil)
        check.contains(err, "/b")
        world.disk.fail = nil
        check.same(world.disk.files, { ["/a"] = "old", ["/c"] = "c" }, operation)
    end
end

specs["fs_write_many: space, empty lists and a path named twice are checked before anything is written"] = function()
    local world = tools({ ["/a"] = "old" })
    world.disk.capacity = 1200
    local two = { { path = "b", content = "1" }, { path = "c", content = "1" } }
    check.contains(select(2, world.call("fs_write_many", { files = two })), "1000 bytes are needed, 700 are free")
    local twice = { { path = "b", content = "1" }, { path = "/b", content = "2" } }
    check.contains(select(2, world.call("fs_write_many", { files = twice })), "named twice")
    check.contains(select(2, world.call("fs_write_many", { files = {} })), "at least one")
    check.same(names(world.disk), { "/a" })
end

specs["fs_patch: changes the file and tells the new hash"] = function()
    local world = tools({ ["/a"] = "one\ntwo\n" })
    local hash = sha256.short("one\ntwo\n")
    local result = world.call("fs_patch", { path = "a", diff = "@@ -2 +2 @@\n-two\n+2\n", if_hash = hash })
    check.same(world.disk.files["/a"], "one\n2\n")
    check.same({ result.hash, result.lines_added, result.lines_removed }, { sha256.short("one\n2\n"), 1, 1 })
    world.call("fs_patch", { path = "a", edits = { { search = "one", replace = "1" } } })
    check.same(world.disk.files["/a"], "1\n2\n")
end

specs["fs_patch: drift, another hash, a full disk and unclear arguments change nothing"] = function()
    local world = tools({ ["/a"] = "one\ntwo\n" })
    local diff = "@@ -2 +2 @@\n-two\n+2\n"
    local function err(args)
        args.path = args.path or "a"
        return select(2, world.call("fs_patch", args))
    end
    check.contains(err({ diff = "@@ -2 +2 @@\n-Two\n+2\n" }), "hunk 1 does not fit")
    check.contains(err({ diff = diff, if_hash = "sha256:0000000000000000" }), "its hash is sha256:")
    check.contains(err({}), "either diff or edits")
    check.contains(err({ diff = diff, edits = { { search = "a", replace = "b" } } }), "either diff or edits")
    check.contains(err({ diff = "30", edits = {} }), '"edits": [{"search": ')
    check.contains(err({ edits = {} }), "edits is empty")
    check.contains(err({ path = "b", diff = diff }), "no such file")
    world.disk.bytes_until_crash = 2
    check.contains(err({ diff = diff }), "nothing was changed")
    check.same(world.disk.files, { ["/a"] = "one\ntwo\n" })
end

specs["fs_patch: an empty list of edits beside a diff is none"] = function()
    local world = tools({ ["/a"] = "one\ntwo\n" })
    world.call("fs_patch", { path = "a", diff = "@@ -2 +2 @@\n-two\n+2\n", edits = {} })
    check.same(world.disk.files["/a"], "one\n2\n")
end

return specs
