-- CraftOS' `fs`: refusals of the disk become errors at the caller's line.
local native = ...
local expect = native.expect
fs = {}

local function raise(message) error(message, 3) end


local function text(index, value) return expect(index, value, "string") end

function fs.combine(path, ...)
  text(1, path)
  for i = 1, select("#", ...) do text(i + 1, (select(i, ...))) end
  return native.fs_combine(path, ...)
end

function fs.getName(path)
  text(1, path)
  local clean = native.fs_combine(path)
  if clean == "" then return "root" end
  return clean:match("[^/]+$")
end

function fs.getDir(path)
  text(1, path)
  local clean = native.fs_combine(path)
  if clean == "" then return ".." end
  return clean:match("^(.*)/[^/]+$") or ""
end

function fs.exists(path)
  text(1, path)
  local found = native.fs_attributes(path)
  return found ~= nil
end

function fs.isDir(path)
  text(1, path)
  local found = native.fs_attributes(path)
  return found ~= nil and found.isDir
end

function fs.isReadOnly(path)
  text(1, path)
  local clean = native.fs_combine(path)
  return clean == "rom" or clean:sub(1, 4) == "rom/"
end

function fs.isDriveRoot(path)
  text(1, path)
  local clean = native.fs_combine(path)
  return clean == "" or clean == "rom"
end

function fs.getDrive(path)
  text(1, path)
  if not native.fs_attributes(path) then return nil end
  return fs.isReadOnly(path) and "rom" or "hdd"
end

function fs.attributes(path)
  text(1, path)
  local found, err = native.fs_attributes(path)
  if err then raise(err) end
  if not found then raise("/" .. native.fs_combine(path) .. ": No such file") end
  return found
end

function fs.getSize(path)
  text(1, path)
  local found, err = native.fs_attributes(path)
  if err then raise(err) end
  if not found then raise("/" .. native.fs_combine(path) .. ": No such file") end
  return found.size
end

function fs.getFreeSpace(path)
  text(1, path)
  if fs.isReadOnly(path) then return 0 end
  return native.fs_free()
end

function fs.getCapacity(path)
  text(1, path)
  if fs.isReadOnly(path) then return nil end
  return native.fs_capacity()
end

-- Operations that return nothing and raise what the disk says.
local function operation(call, count)
  return function(a, b)
    text(1, a)
    if count == 2 then text(2, b) end
    local _, err = call(a, b)
    if err then raise(err) end
  end
end
fs.makeDir = operation(native.fs_make_dir, 1)
fs.delete = operation(native.fs_delete, 1)
fs.move = operation(native.fs_move, 2)
fs.copy = operation(native.fs_copy, 2)

function fs.list(path)
  text(1, path)
  local names, err = native.fs_list(path)
  if err then raise(err) end
  return names
end

-- Handles -------------------------------------------------------------------------------------------------

-- Every function of a handle checks that it is open, then does its work and raises what went wrong.
local function finish(value, err)
  if err then error(err, 3) end
  return value
end

local function add_reading(handle, file, binary)
  function handle.readAll() return finish(native.h_all(file)) end
  function handle.readLine(with_newline)
    local line, err = native.h_line(file)
    if err then error(err, 2) end
    if line == nil then return end
    if with_newline then return line end
    return (line:gsub("\r?\n$", ""))
  end
  function handle.read(count)
    expect(1, count, "number", "nil")
    if count and count < 0 then error("Cannot read a negative number of bytes", 2) end
    local bytes, err = native.h_read(file, count or 1)
    if err then error(err, 2) end
    if bytes == nil then return end
    if binary and count == nil then return bytes:byte() end
    return bytes
  end
end

local function add_writing(handle, file, binary)
  -- What is no text is written as `tostring` gives it, the handle of a call with a colon, too. Before 1.109 binary modes refused
  -- that, and a text file held the UTF-8 of what Lua took for Latin-1.
  local encode = tostring
  if not binary and not native.has.raw_text then
    encode = function(value) return native.latin1_to_utf8(tostring(value)) end
  end
  function handle.write(value)
    if binary and type(value) == "number" then
      value = string.char(math.floor(value) % 256)
    elseif binary and not native.has.raw_text and type(value) ~= "string" then
      error("bad argument #1 (string or number expected, got " .. type(value) .. ")", 2)
    end
    local _, err = native.h_write(file, encode(value))
    if err then error(err, 2) end
  end
  function handle.writeLine(value)
    local _, err = native.h_write(file, encode(value) .. "\n")
    if err then error(err, 2) end
  end
  function handle.flush()
    local _, err = native.h_write(file, "")
    if err then error(err, 2) end
  end
end

function native.handle(file, reads, writes, binary)
  local handle = {}
  if reads then add_reading(handle, file, binary) end
  if writes then add_writing(handle, file, binary) end
  function handle.seek(whence, offset)
    expect(1, whence, "string", "nil")
    expect(2, offset, "number", "nil")
    whence = whence or "cur"
    if whence ~= "set" and whence ~= "cur" and whence ~= "end" then
      error("bad argument #1 (invalid option '" .. whence .. "')", 2)
    end
    local at = native.h_seek(file, whence, offset or 0)
    if not at then return nil, "Position is negative" end
    return at
  end
  function handle.close()
    if not native.h_close(file) then error("attempt to use a closed file", 2) end
  end
  return handle
end

function fs.open(path, mode)
  text(1, path)
  text(2, mode)
  local file, err, binary = native.fs_open(path, mode)
  if not file then
    if err == "Unsupported mode" then raise(err) end
    return nil, err
  end
  local update = mode:find("+", 1, true)
  return native.handle(file, update or mode:find("^r"), update or mode:find("^[wa]"), binary)
end

-- Searching -----------------------------------------------------------------------------------------------

local function glob(pattern)
  return "^" .. pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", "[^/]*"):gsub("%?", "[^/]") .. "$"
end

local function search(found, dir, parts, at)
  if at > #parts then
    found[#found + 1] = dir
  elseif parts[at]:find("[*?]") then
    if not fs.isDir(dir) then return end
    for _, name in ipairs(fs.list(dir)) do
      if name:find(glob(parts[at])) then search(found, fs.combine(dir, name), parts, at + 1) end
    end
  else
    local path = fs.combine(dir, parts[at])
    if fs.exists(path) then search(found, path, parts, at + 1) end
  end
end

function fs.find(pattern)
  text(1, pattern)
  local parts = {}
  for part in native.fs_combine(pattern):gmatch("[^/]+") do parts[#parts + 1] = part end
  local found = {}
  search(found, "", parts, 1)
  table.sort(found)
  return found
end

-- The third argument is a table of options, or the old pair of flags.
function fs.complete(partial, path, files, dirs)
  text(1, partial)
  text(2, path)
  local hidden = true
  if type(files) == "table" then
    files, dirs, hidden = files.include_files, files.include_dirs, files.include_hidden
    if hidden == nil then hidden = true end
  end
  if files == nil then files = true end
  if dirs == nil then dirs = true end
  local slash = partial:match("^.*()/")
  local dir = fs.combine(path, partial:sub(1, slash or 0))
  if partial:sub(1, 1) == "/" then dir = partial:sub(1, slash) end
  local prefix, results = partial:sub((slash or 0) + 1), {}
  if not fs.isDir(dir) then return results end
  for _, name in ipairs(fs.list(dir)) do
    local shown = hidden or name:sub(1, 1) ~= "." or prefix:sub(1, 1) == "."
    if shown and name:sub(1, #prefix) == prefix then
      local rest = name:sub(#prefix + 1)
      if fs.isDir(fs.combine(dir, name)) then
        results[#results + 1] = rest .. "/"
        if dirs and rest ~= "" then results[#results + 1] = rest end
      elseif files and rest ~= "" then
        results[#results + 1] = rest
      end
    end
  end
  return results
end
