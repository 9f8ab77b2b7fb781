local check = require("check")
local fragile_disk = require("fragile_disk")
local setup = require("ccfleet.setup")
local sha256 = require("ccfleet.sha256")
local slots = require("ccfleet.slots")
local Update = require("ccfleet.update")

local specs = {}

-- A server with files, and a computer that asks it. `server.fail[path]` is an error, `server.asked` what was fetched.
local function world(disk, files)
    local server = { files = files, fail = {}, asked = {}, version = "v2", extra = {} }
    local function manifest()
        local list = {}
        for path, content in pairs(server.files) do
            local entry = { path = path, bytes = #content, sha256 = sha256.hex(content) }
            for name, value in pairs(server.extra[path] or {}) do entry[name] = value end
            table.insert(list, entry)
        end
        table.sort(list, function(a, b) return a.path < b.path end)
        return textutils.serialiseJSON({ version = server.version, files = list })
    end
    local function get(url)
        local path = url:match("^http://server/lua/(.*)$")
        check.truthy(path, url)
        if server.fail[path] then return nil, server.fail[path], "the body" end
        if path == "manifest.json" then return server.manifest or manifest() end
        table.insert(server.asked, path)
        return server.sends and server.sends[path] or server.files[path]
    end
    local versions = slots.new(disk.fs)
    local update = Update.new({
        fs = disk.fs, versions = versions, base = "http://server", kind = "turtle", get = get, pause = function() end,
    })
    return server, update, versions
end

local FILES = { ["host.lua"] = "host 2", ["ccfleet/init.lua"] = ("init 2 "):rep(100), ["ccfleet/same.lua"] = "same" }

local function staged(update)
    local manifest = update:manifest()
    return update:stage(manifest)
end

specs["update: a version is downloaded, checked and whole"] = function()
    local disk = fragile_disk.new()
    local _, update, versions = world(disk, FILES)
    check.truthy(staged(update))
    check.same(versions:whole(slots.NEW), "v2")
    for path, content in pairs(FILES) do check.same(disk.files["ccfleet.new/" .. path], content) end
end

specs["update: only files that changed are fetched"] = function()
    local disk = fragile_disk.new()
    local server, update, versions = world(disk, { ["host.lua"] = "host 1", ["ccfleet/same.lua"] = "same" })
    staged(update)
    versions:swap()
    versions:confirm()
    server.files, server.version, server.asked = FILES, "v3", {}
    check.truthy(staged(update))
    table.sort(server.asked)
    check.same(server.asked, { "ccfleet/init.lua", "host.lua" })
    check.same(versions:whole(slots.NEW), "v3")
    -- A file that was changed here is fetched again.
    versions:swap()
    disk.put("/ccfleet/ccfleet/same.lua", "mine")
    server.version, server.asked = "v4", {}
    check.truthy(staged(update))
    check.same(server.asked, { "ccfleet/same.lua" })
end

specs["update: a file that arrives changed is refused and nothing is put in place"] = function()
    local disk = fragile_disk.new()
    local server, update, versions = world(disk, FILES)
    for _, wrong in ipairs({ "host 3", "host", "host 2 " }) do
        server.sends = { ["host.lua"] = wrong }
        local ok, problem = staged(update)
        check.same({ ok == nil, problem.code }, { true, "hash_mismatch" })
        check.contains(problem.text, "host.lua")
        check.same(versions:whole(slots.NEW), nil)
    end
end

specs["update: a server that goes away in the middle is named, and the next attempt goes on"] = function()
    local disk = fragile_disk.new()
    local server, update, versions = world(disk, FILES)
    server.fail["host.lua"] = "Could not connect"
    local ok, problem = staged(update)
    check.same({ ok == nil, problem.code }, { true, "unreachable" })
    check.contains(problem.text, "http://server/lua/host.lua: Could not connect (the body)")
    check.same(versions:whole(slots.NEW), nil)
    server.fail, server.asked = {}, {}
    check.truthy(staged(update))
    check.same(server.asked, { "host.lua" })
end

specs["update: a full disk is told with figures before anything is fetched"] = function()
    local disk = fragile_disk.new(3000)
    local server, update = world(disk, FILES)
    local ok, problem = staged(update)
    check.same({ ok == nil, problem.code }, { true, "no_space" })
    check.truthy(problem.text:find("%d+ bytes are needed and %d+ are free"), problem.text)
    check.same(#server.asked, 0)
end

specs["update: what an earlier update has left makes room"] = function()
    local disk = fragile_disk.new(12000)
    disk.put("/ccfleet.old/big.lua", ("x"):rep(8000))
    local _, update, versions = world(disk, FILES)
    check.truthy(staged(update))
    check.same(versions:whole(slots.NEW), "v2")
end

specs["update: a disk that cannot be written is told"] = function()
    local disk = fragile_disk.new()
    disk.is_read_only = true
    local _, update = world(disk, FILES)
    local ok, problem = staged(update)
    check.same({ ok == nil, problem.code }, { true, "unwritable" })
    check.contains(problem.text, "Access denied")
end

specs["update: losing power at any step of the download is made good by the next attempt"] = function()
    local steps, done = 0
    repeat
        local disk = fragile_disk.new()
        local _, update, versions = world(disk, FILES)
        disk.steps_left = steps
        local ok = staged(update)
        done = ok == true
        disk.restore()
        check.same(versions:whole(slots.NEW), ok and "v2" or nil, ("whole after %d steps"):format(steps))
        check.truthy(staged(update))
        for path, content in pairs(FILES) do check.same(disk.files["ccfleet.new/" .. path], content) end
        steps = steps + 1
    until done
    check.truthy(steps > 8)
end

specs["update: a list that leads out of the folder, or is none, is refused"] = function()
    local disk = fragile_disk.new()
    local server, update = world(disk, FILES)
    local hash = ("a"):rep(64)
    for _, path in ipairs({ "../startup.lua", "/startup.lua", "a/../../b", "", "manifest.json", 'a"b' }) do
        server.manifest = textutils.serialiseJSON({ version = "v", files = { { path = path, bytes = 1, sha256 = hash } } })
        local manifest, problem = update:manifest()
        check.same({ manifest == nil, problem.code }, { true, "bad_manifest" }, path)
    end
    for _, text in ipairs({ "", "<html>", "[]", "{}", '{"version": 1, "files": []}', '{"version": "v", "files": []}',
        '{"version": "v", "files": [{"path": "a", "bytes": "1", "sha256": "x"}]}' }) do
        server.manifest = text
        local manifest, problem = update:manifest()
        check.same({ manifest == nil, problem.code }, { true, "bad_manifest" }, text)
    end
end

specs["update: files for another kind of computer stay on the server"] = function()
    local disk = fragile_disk.new()
    local server, update, versions = world(disk, FILES)
    server.extra = { ["host.lua"] = { only = "turtle" }, ["ccfleet/same.lua"] = { only = "pocket" } }
    check.truthy(staged(update))
    check.same(versions:whole(slots.NEW), "v2")
    check.same(disk.files["ccfleet.new/ccfleet/same.lua"], nil)
    check.same(disk.files["ccfleet.new/host.lua"], "host 2")
end

-- Setup --------------------------------------------------------------------------------------------------------

local function installed(disk)
    disk.put("/ccfleet/boot.lua", "boot")
    disk.put("/ccfleet/ccfleet/slots.lua", "slots")
    setup.place_boot(disk.fs)
    return setup.add_startup(disk.fs)
end

-- What runs at boot, in the order of CC's own startup.
local function runs_at_boot(disk)
    local list, fs = {}, disk.fs
    for _, path in ipairs({ "/startup", "/startup.lua" }) do
        if fs.exists(path) and not fs.isDir(path) then
            table.insert(list, disk.files[path:sub(2)])
            break
        end
    end
    if fs.isDir("/startup") then
        for _, name in ipairs(fs.list("/startup")) do table.insert(list, disk.files["startup/" .. name]) end
    end
    return list
end

local CASES = {
    ["nothing"] = {},
    ["startup.lua"] = { ["/startup.lua"] = "mine" },
    ["a file startup"] = { ["/startup"] = "mine" },
    ["both files"] = { ["/startup"] = "mine", ["/startup.lua"] = "never ran" },
    ["a folder"] = { ["/startup/a.lua"] = "mine" },
    ["a folder and startup.lua"] = { ["/startup/a.lua"] = "mine", ["/startup.lua"] = "first" },
}

for name, files in pairs(CASES) do
    specs["setup: what ran at boot still does, and uninstalling leaves it as it was: " .. name] = function()
        local disk = fragile_disk.new()
        for path, content in pairs(files) do disk.put(path, content) end
        local before = runs_at_boot(disk)
        local files_before = textutils.serialiseJSON(disk.files)
        installed(disk)
        installed(disk)
        local after = runs_at_boot(disk)
        check.contains(table.remove(after), "/.ccfleet/boot.lua")
        check.same(after, before)
        check.same(disk.files[".ccfleet/boot.lua"], "boot")
        setup.uninstall(disk.fs)
        check.same(runs_at_boot(disk), before)
        check.same(textutils.unserialiseJSON(textutils.serialiseJSON(disk.files)),
            textutils.unserialiseJSON(files_before))
    end
end

specs["setup: losing power while it makes room for the folder loses no file of the person's"] = function()
    local steps, done = 0
    repeat
        local disk = fragile_disk.new()
        disk.put("/startup", "mine")
        disk.put("/startup.lua", "never ran")
        disk.steps_left = steps
        done = pcall(setup.add_startup, disk.fs)
        disk.restore()
        setup.add_startup(disk.fs)
        local found = {}
        for path, content in pairs(disk.files) do
            if not path:find("^%.ccfleet") then found[content] = true end
        end
        check.truthy(found.mine and found["never ran"], ("both after %d steps"):format(steps))
        steps = steps + 1
    until done
end

return specs
