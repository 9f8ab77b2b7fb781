-- Lua's `io` on top of `fs` and the terminal.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local io = {}

local Handle = {}
Handle.__index = Handle
Handle.__name = "FILE*"
function Handle:__tostring()
  return self._closed and "file (closed)" or ("file (%s)"):format(tostring(self._raw):match("0x%x+") or "stream")
end

local function check(handle)
  if type(handle) ~= "table" or getmetatable(handle) ~= Handle then
    error("bad argument #1 (FILE expected, got " .. type(handle) .. ")", 3)
  end
  if handle._closed then error("attempt to use a closed file", 3) end
end

local function make(raw) return setmetatable({ _raw = raw }, Handle) end

local function read_one(raw, format)
  if type(format) == "number" then
    if format == 0 then
      local at = raw.read(1)
      if not at then return nil end
      raw.seek("cur", -1)
      return ""
    end
    return (raw.read(format))
  end
  if type(format) ~= "string" then error("bad argument (invalid format)", 3) end
  local kind = format:gsub("^%*", ""):sub(1, 1)
  if kind == "l" then return (raw.readLine()) end
  if kind == "L" then return (raw.readLine(true)) end
  if kind == "a" then return raw.readAll() or "" end
  if kind == "n" then return nil end -- The mod skips numbers.
  error("bad argument (invalid format)", 3)
end

function Handle:read(...)
  check(self)
  if not self._raw.readLine then return nil, "Not opened for reading" end
  local count = select("#", ...)
  if count == 0 then return (self._raw.readLine()) end
  local results = {}
  for i = 1, count do
    results[i] = read_one(self._raw, (select(i, ...)))
    if results[i] == nil then break end
  end
  return table.unpack(results, 1, count)
end

function Handle:write(...)
  check(self)
  if not self._raw.write then return nil, "Not opened for writing" end
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    expect(i, part, "string", "number")
    self._raw.write(tostring(part))
  end
  return self
end

function Handle:lines(...)
  check(self)
  local formats = table.pack(...)
  return function()
    if self._closed then error("file is already closed", 2) end
    return self:read(table.unpack(formats, 1, formats.n))
  end
end

function Handle:seek(whence, offset)
  check(self)
  if not self._raw.seek then return nil, "file is not seekable" end
  return self._raw.seek(whence, offset)
end

function Handle:flush()
  check(self)
  if self._raw.flush then self._raw.flush() end
  return self
end

function Handle:setvbuf() end

function Handle:close()
  check(self)
  if self._keep then return nil, "cannot close standard stream" end
  self._closed = true
  self._raw.close()
  return true
end

local typed = make({
  readLine = function(with_newline) return read() .. (with_newline and "\n" or "") end,
  readAll = function() return read() end,
  read = function(count) return read():sub(1, count) end,
})
local shown = make({ write = function(text) write(text) end })
local complained = make({
  write = function(text)
    local old = term.getTextColour()
    term.setTextColour(colors.red)
    write(text)
    term.setTextColour(old)
  end,
})
typed._keep, shown._keep, complained._keep = true, true, true
io.stdin, io.stdout, io.stderr = typed, shown, complained
local input, output = typed, shown

local MODES = { r = true, w = true, a = true, ["r+"] = true, ["w+"] = true, ["a+"] = true }

function io.open(path, mode)
  expect(1, path, "string")
  expect(2, mode, "string", "nil")
  mode = (mode or "r"):gsub("b", "")
  if not MODES[mode] then error("Unsupported mode", 2) end
  local raw, err = fs.open(path, mode == "a+" and "a" or mode)
  if not raw then return nil, err end
  return make(raw)
end

function io.close(file)
  if file == nil then return output:close() end
  check(file)
  return file:close()
end

local function stream(mode, get, set)
  return function(file)
    if type(file) == "string" then
      local opened, err = io.open(file, mode)
      if not opened then error(err, 2) end
      set(opened)
    elseif file ~= nil then
      check(file)
      set(file)
    end
    return get()
  end
end
io.input = stream("r", function() return input end, function(file) input = file end)
io.output = stream("w", function() return output end, function(file) output = file end)

function io.lines(path, ...)
  expect(1, path, "string", "nil")
  if path == nil then return input:lines(...) end
  local file, err = io.open(path, "r")
  if not file then error(err, 2) end
  local formats = table.pack(...)
  return function()
    if file._closed then error("file is already closed", 2) end
    local results = table.pack(file:read(table.unpack(formats, 1, formats.n)))
    if results[1] == nil then
      file:close()
      return nil
    end
    return table.unpack(results, 1, results.n)
  end
end

function io.read(...) return input:read(...) end
function io.write(...) return output:write(...) end
function io.flush() return output:flush() end
function io.type(file)
  if type(file) ~= "table" or getmetatable(file) ~= Handle then return nil end
  return file._closed and "closed file" or "file"
end

return io
