local check = require("check")
local breath = require("ccfleet.breath")
local fragile_disk = require("fragile_disk")
local slots = require("ccfleet.slots")

local specs = {}

-- The files of a version: some change with it, one is new in `v2`, one only in `v1`.
local function files_of(version)
    local files = {
        ["host.lua"] = "host of " .. version, ["ccfleet/init.lua"] = ("init of %s "):format(version):rep(50),
        ["ccfleet/same.lua"] = "the same", ["programs/fleet.lua"] = "fleet " .. version,
    }
    files[version == "v1" and "ccfleet/former.lua" or "ccfleet/tools/later.lua"] = "only in " .. version
    return files
end

local function put_version(disk, folder, version)
    local entries = {}
    for path, content in pairs(files_of(version)) do
        disk.put(folder .. "/" .. path, content)
        table.insert(entries, { path = path, bytes = #content })
    end
    disk.put(folder .. "/manifest.json", textutils.serialiseJSON({ version = version, files = entries }))
end

local function check_whole(disk, folder, version)
    for path, content in pairs(files_of(version)) do
        check.same(disk.files[folder:sub(2) .. "/" .. path], content, folder .. "/" .. path)
    end
end

-- A computer that runs v1 and has downloaded v2.
local function ready()
    local disk = fragile_disk.new()
    put_version(disk, slots.LIVE, "v1")
    put_version(disk, slots.NEW, "v2")
    return disk, slots.new(disk.fs)
end

specs["slots: a downloaded version comes in place, the former one is kept until it has connected"] = function()
    local disk, versions = ready()
    versions:swap()
    check.same(versions:recover(), "v2")
    check_whole(disk, slots.LIVE, "v2")
    check_whole(disk, slots.OLD, "v1")
    check.same(versions:is_on_trial(), true)
    versions:confirm()
    check.same(versions:is_on_trial(), false)
    check.same(disk.fs.exists(slots.OLD), false)
    check.same(disk.fs.exists(slots.LIVE .. "/ccfleet/former.lua"), false)
end

specs["slots: a folder with a short, missing or unlisted file is known for what it is"] = function()
    local disk, versions = ready()
    check.same(versions:whole(slots.LIVE), "v1")
    disk.put("/ccfleet/more.lua", "the person's own")
    check.same(versions:whole(slots.LIVE), "v1")
    disk.put("/ccfleet/host.lua", "hos")
    check.same(versions:whole(slots.LIVE), nil)
    disk.files["ccfleet/host.lua"] = nil
    check.same(versions:whole(slots.LIVE), nil)
    check.same(versions:whole("/nothing"), nil)
    disk.put("/ccfleet.new/manifest.json", '{"version": "v2", "fil')
    check.same(versions:whole(slots.NEW), nil)
end

-- Run `act` on copies of a disk, the power failing after 0, 1, 2, ... steps, until one runs to its end.
local function with_every_power_loss(disk, act, look)
    local steps, breathe = 0, breath.new()
    repeat
        breathe()
        local copy = disk.copy()
        copy.steps_left = steps
        local ok, err = pcall(act, copy, slots.new(copy.fs))
        if not ok then check.same(err, "power") end
        copy.restore()
        look(copy, slots.new(copy.fs), steps)
        steps = steps + 1
        check.truthy(steps < 1000, "an end")
    until ok
    return steps
end

specs["slots: whatever step of a swap loses power, a whole version starts"] = function()
    local disk = ready()
    local seen = {}
    local steps = with_every_power_loss(disk, function(_, versions) versions:swap() end, function(copy, versions, at)
        local version = versions:recover()
        check.truthy(version, ("a version after %d steps"):format(at))
        check_whole(copy, slots.LIVE, version)
        seen[version] = true
        -- The new version has its trial, whichever way it came in place.
        if version == "v2" then check.same(versions:is_on_trial(), true, ("trial after %d steps"):format(at)) end
    end)
    check.truthy(seen.v1 and seen.v2, "both outcomes")
    check.truthy(steps > 20, "many steps")
end

specs["slots: losing power again while a swap is finished loses nothing either"] = function()
    local disk = ready()
    with_every_power_loss(disk, function(_, versions) versions:swap() end, function(copy)
        with_every_power_loss(copy, function(_, versions) versions:recover() end, function(again, versions, at)
            local version = versions:recover()
            check.truthy(version, ("a version after %d more steps"):format(at))
            check_whole(again, slots.LIVE, version)
        end)
    end)
end

specs["slots: a version that never connects is given up after three starts"] = function()
    local disk, versions = ready()
    versions:swap()
    for _ = 1, slots.MAX_TRIES do
        versions = slots.new(disk.fs)
        check.same(versions:recover(), "v2")
        check.same(versions:begin(), nil)
    end
    check.same(versions:begin(), "v2")
    check.same(versions:recover(), "v1")
    check_whole(disk, slots.LIVE, "v1")
    check.same(versions:state().bad, "v2")
    check.same(versions:is_on_trial(), false)
    check.same(versions:begin(), nil)
end

specs["slots: whatever step of going back loses power, a whole version starts"] = function()
    local disk, versions = ready()
    versions:swap()
    for _ = 1, slots.MAX_TRIES do versions:begin() end
    with_every_power_loss(disk, function(_, again) again:begin() end, function(copy, again, at)
        local version = again:recover()
        check.truthy(version, ("a version after %d steps"):format(at))
        check_whole(copy, slots.LIVE, version)
        -- Before the decision was noted the new one gets its next start, and is given up then.
        again:begin()
        check.same(again:recover(), "v1", ("after %d steps"):format(at))
        check_whole(copy, slots.LIVE, "v1")
    end)
end

specs["slots: a version that has connected once is never given up"] = function()
    local _, versions = ready()
    versions:swap()
    versions:begin()
    versions:confirm()
    for _ = 1, 10 do check.same(versions:begin(), nil) end
    check.same(versions:recover(), "v2")
end

specs["slots: the first installation has nothing to go back to and stays"] = function()
    local disk = fragile_disk.new()
    put_version(disk, slots.NEW, "v1")
    local versions = slots.new(disk.fs)
    versions:swap()
    for _ = 1, 10 do check.same(versions:begin(), nil) end
    check.same(versions:recover(), "v1")
end

specs["slots: a library that was copied by hand gives way"] = function()
    local disk = fragile_disk.new()
    disk.put("/ccfleet/host.lua", "by hand")
    put_version(disk, slots.NEW, "v1")
    local versions = slots.new(disk.fs)
    versions:swap()
    check.same(versions:recover(), "v1")
    check.same(disk.fs.exists(slots.OLD), false)
end

specs["slots: an incomplete download is never put in place"] = function()
    local disk, versions = ready()
    disk.files["ccfleet.new/host.lua"] = nil
    check.same(pcall(versions.swap, versions), false)
    check.same(versions:recover(), "v1")
    check_whole(disk, slots.LIVE, "v1")
end

specs["slots: what is kept survives losing power while it is written"] = function()
    local disk, versions = ready()
    versions:save({ bad = "a" })
    with_every_power_loss(disk, function(_, again) again:save({ bad = "b" }) end, function(_, again)
        local bad = again:state().bad
        check.truthy(bad == "a" or bad == "b", "the former or the new state")
    end)
end

return specs
