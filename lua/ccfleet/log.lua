--- The library's log: to a file, to a function, or both.
--
-- A log must never be the reason that something fails. The file is turned over when it is full: `name` becomes `name.1`,
-- that `name.2`, and so on; the oldest goes. When little is left of the disk the file is silent until there is room again.
--
-- @module[kind=internal] ccfleet.log

-- Small, because a computer's whole disk is one megabyte by default.
local DEFAULT_BYTES, DEFAULT_FILES = 32 * 1024, 2
-- What is left for receipts and other things that matter more.
local KEPT_FREE_BYTES = 64 * 1024
-- A line is cut at this: one must not be a whole log.
local MAX_LINE_BYTES = 2048

local text = require("ccfleet.text")

local Log = {}
Log.__index = Log

--- @tparam table options `path` (file to append to), `max_bytes` (32 KiB; when the file is turned over), `max_files` (2;
-- how many old ones stay), `sink(level, line)` (called with each line), `platform`.
function Log.new(options)
    return setmetatable({
        _path = options.path,
        _max_bytes = options.max_bytes or DEFAULT_BYTES,
        _max_files = options.max_files or DEFAULT_FILES,
        _sink = options.sink,
        _platform = options.platform,
        _bytes = 0,
        _dropped = 0,
    }, Log)
end

function Log:_open()
    local fs = self._platform.fs
    self._bytes = fs.exists(self._path) and fs.getSize(self._path) or 0
    self._file = fs.open(self._path, "a")
end

function Log:_old(number)
    return ("%s.%d"):format(self._path, number)
end

function Log:_rotate()
    local fs = self._platform.fs
    self:close()
    if self._max_files < 1 then return fs.delete(self._path) end
    fs.delete(self:_old(self._max_files))
    for number = self._max_files - 1, 1, -1 do
        if fs.exists(self:_old(number)) then fs.move(self:_old(number), self:_old(number + 1)) end
    end
    fs.move(self._path, self:_old(1))
end

-- Whether the disk has room for a line and for what matters more. Emulators may not know, or say something below zero.
function Log:_has_room(bytes)
    local free = self._platform.fs.getFreeSpace(self._path)
    return type(free) ~= "number" or free < 0 or free >= KEPT_FREE_BYTES + bytes
end

function Log:_write_line(line)
    self._file.write(line .. "\n")
    self._file.flush()
    self._bytes = self._bytes + #line + 1
end

function Log:_append(line)
    if not self:_has_room(#line) then
        self._dropped = self._dropped + 1
        return
    end
    if not self._file then self:_open() end
    if not self._file then return end
    if self._bytes > 0 and self._bytes + #line > self._max_bytes then
        self:_rotate()
        self:_open()
        if not self._file then return end
    end
    if self._dropped > 0 then
        self:_write_line(("(%d lines not written: the disk was nearly full)"):format(self._dropped))
        self._dropped = 0
    end
    self:_write_line(line)
end

function Log:_write(level, message, ...)
    local line = select("#", ...) > 0 and message:format(...) or message
    if self._sink then self._sink(level, line) end
    if not self._path then return end
    local stamped = ("%.3f %s %s"):format(self._platform.epoch_ms() / 1000, level, line)
    local ok = pcall(self._append, self, (text.cut_middle(stamped, MAX_LINE_BYTES)))
    -- A file that failed once is opened anew.
    if not ok then self:close() end
end

function Log:info(message, ...) self:_write("info", message, ...) end
function Log:warn(message, ...) self:_write("warn", message, ...) end
function Log:error(message, ...) self:_write("error", message, ...) end

--- Close the file; the next line opens it again.
function Log:close()
    if self._file then pcall(self._file.close) end
    self._file = nil
end

return Log
