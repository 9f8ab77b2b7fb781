--- The library's log: to a file, to a function, or both.
--
-- A log must never be the reason that something fails: a full disk only silences the file.
--
-- @module[kind=internal] ccfleet.log

-- Small, because a computer's whole disk is one megabyte by default.
local ROTATE_BYTES = 32 * 1024

local Log = {}
Log.__index = Log

--- @tparam table options `path` (file to append to), `sink(level, line)` (called with each line), `platform`.
function Log.new(options)
    return setmetatable({
        _path = options.path,
        _sink = options.sink,
        _platform = options.platform,
        _bytes = 0,
    }, Log)
end

function Log:_open()
    local fs = self._platform.fs
    self._bytes = fs.exists(self._path) and fs.getSize(self._path) or 0
    self._file = fs.open(self._path, "a")
end

function Log:_rotate()
    local fs, old = self._platform.fs, self._path .. ".old"
    self._file.close()
    self._file = nil
    fs.delete(old)
    fs.move(self._path, old)
end

function Log:_append(line)
    if self._file and self._bytes > ROTATE_BYTES then self:_rotate() end
    if not self._file then self:_open() end
    if not self._file then return end
    self._file.write(line .. "\n")
    self._file.flush()
    self._bytes = self._bytes + #line + 1
end

function Log:_write(level, message, ...)
    local line = select("#", ...) > 0 and message:format(...) or message
    if self._sink then self._sink(level, line) end
    if self._path then
        pcall(self._append, self, ("%.3f %s %s"):format(self._platform.epoch_ms() / 1000, level, line))
    end
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
