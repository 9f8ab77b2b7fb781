local check = require("check")
local Log = require("ccfleet.log")
local world = require("fake_world")

local specs = {}

local function log_on(disk, options)
    options = options or {}
    options.platform, options.path = world.computer(disk).platform, options.path or "/l"
    return Log.new(options)
end

specs["log: lines go to the file and to the sink, with level and time"] = function()
    local disk, heard = world.disk(), {}
    local log = log_on(disk, { sink = function(level, line) table.insert(heard, level .. " " .. line) end })
    log:info("a %d", 1)
    log:warn("100%")
    check.same(disk.files["/l"], "1600000000.000 info a 1\n1600000000.000 warn 100%\n")
    check.same(heard, { "info a 1", "warn 100%" })
end

specs["log: a full file is turned over, and only so many old ones stay"] = function()
    local disk = world.disk()
    local log = log_on(disk, { max_bytes = 200, max_files = 2 })
    for i = 1, 60 do log:info("line %03d", i) end
    check.contains(disk.files["/l"], "line 060")
    check.truthy(#disk.files["/l"] <= 200 and #disk.files["/l.1"] <= 200, "sizes")
    check.truthy(disk.files["/l.2"] and not disk.files["/l.3"], "files")
    check.truthy(disk.files["/l.1"] > disk.files["/l.2"], "order")
end

specs["log: goes on after a restart, also without old files"] = function()
    local disk = world.disk()
    log_on(disk, { max_files = 0, max_bytes = 100 }):info("one")
    local log = log_on(disk, { max_files = 0, max_bytes = 100 })
    log:info("two")
    check.contains(disk.files["/l"], "one")
    for _ = 1, 10 do log:info("more") end
    check.truthy(#disk.files["/l"] <= 100 and not disk.files["/l.1"])
end

specs["log: leaves room on the disk for what matters, and says what it left out"] = function()
    local disk = world.disk()
    disk.files["/big"] = ("x"):rep(disk.capacity - 60 * 1024)
    local log = log_on(disk)
    log:info("one")
    log:info("two")
    check.same(disk.files["/l"], nil)
    disk.files["/big"] = nil
    log:info("three")
    check.contains(disk.files["/l"], "(2 lines not written")
    check.contains(disk.files["/l"], "three")
end

specs["log: a disk that fails stops nothing, and a long line is cut"] = function()
    local disk = world.disk()
    local log = log_on(disk)
    disk.is_read_only = true
    log:info("one")
    disk.is_read_only = false
    disk.bytes_until_crash = 3
    log:info("two")
    disk.bytes_until_crash = nil
    log:info(("x"):rep(5000))
    check.contains(disk.files["/l"], "bytes cut")
    check.truthy(#disk.files["/l"] < 2200)
end

specs["settings: every one is defined with what it means, and lists may be words"] = function()
    local options = require("ccfleet.options")
    local defined, values = {}, { ["ccfleet.groups"] = "a, b c", ["ccfleet.packs"] = { "turtle" } }
    local settings = {
        define = function(name, setting) defined[name] = setting end,
        get = function(name) return values[name] end,
    }
    options.define(settings)
    local count = 0
    for name, setting in pairs(defined) do
        count = count + 1
        check.truthy(name:find("^ccfleet%.") and #setting.description > 10, name)
    end
    check.truthy(count >= 13)
    check.same(options.list(settings, "ccfleet.groups"), { "a", "b", "c" })
    check.same(options.list(settings, "ccfleet.packs"), { "turtle" })
    check.same(options.list(settings, "ccfleet.http_hosts"), nil)
end

return specs
