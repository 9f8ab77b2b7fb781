-- First thing that runs in a machine: takes away what could reach the host, and sets the hook that keeps a
-- program from running for ever. `native` is the table of Rust functions; programs never get it.
local native = ...

local error, type, select = error, type, select
local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local sethook, getinfo = debug.sethook, debug.getinfo
local raw = {}
for name, value in pairs(debug) do raw[name] = value end

-- The seven-second rule -----------------------------------------------------------------------------------

local STEP = 10000 -- instructions between two looks at the clock
local MESSAGE = "Too long without yielding"
local user_hooks = setmetatable({}, { __mode = "k" })

local function guard()
  local verdict = native.check()
  if verdict == 0 then return end
  -- From now on every instruction raises, in this coroutine and in each that it falls back to: no pcall helps.
  if verdict == 2 then sethook(guard, "", 1) end
  error(MESSAGE, 2)
end

function coroutine.create(fn)
  local co = create(fn)
  sethook(co, guard, "", STEP)
  return co
end

local function finish(co, ok, ...)
  if ok then return ... end
  error((...), 0)
end

function coroutine.wrap(fn)
  local co = coroutine.create(fn)
  return function(...) return finish(co, resume(co, ...)) end
end

function coroutine.isyieldable()
  local _, main = running()
  return not main
end

-- A program's own hook runs beside the guard, never instead of it.
function debug.sethook(...)
  local co, fn, mask, count = ...
  if type(co) ~= "thread" then
    co, fn, mask, count = running(), ...
  end
  if type(fn) ~= "function" then
    user_hooks[co] = nil
    return sethook(co, guard, "", STEP)
  end
  mask, count = mask or "", count or 0
  user_hooks[co] = { fn, mask, count }
  local function both(event, line)
    if event == "count" then
      local verdict = native.check()
      if verdict == 2 then sethook(guard, "", 1) end
      if verdict ~= 0 then error(MESSAGE, 2) end
      if count == 0 then return end
    end
    -- Inside of a hook no other hook runs: in a coroutine of its own the guard watches it too.
    finish(nil, resume(coroutine.create(fn), event, line))
  end
  return sethook(co, both, mask, count > 0 and math.min(count, STEP) or STEP)
end

function debug.gethook(co)
  local hook = user_hooks[co or running()]
  if hook then return hook[1], hook[2], hook[3] end
end

-- A message handler runs where the error was raised, which for the guard's error is inside of a hook, where
-- nothing would stop it. So that error reaches the handler after the stack is unwound.
local raw_xpcall, find, traceback = xpcall, string.find, debug.traceback
local function is_timeout(err) return type(err) == "string" and find(err, MESSAGE, 1, true) ~= nil end

local function handled(handler, late, ok, ...)
  if not ok and late() then return false, handler((...)) end
  return ok, ...
end

function xpcall(fn, handler, ...)
  if type(handler) ~= "function" or handler == traceback then return raw_xpcall(fn, handler, ...) end
  local missed = false
  local function careful(err)
    if is_timeout(err) then
      missed = true
      return err
    end
    return handler(err)
  end
  return handled(handler, function() return missed end, raw_xpcall(fn, careful, ...))
end

-- Finalisers do not exist in the game; here they would run where no hook runs.
local raw_setmetatable = setmetatable
function setmetatable(value, meta)
  local gc = type(meta) == "table" and rawget(meta, "__gc")
  if not gc then return raw_setmetatable(value, meta) end
  meta.__gc = nil
  local ok, result = pcall(raw_setmetatable, value, meta)
  meta.__gc = gc
  if not ok then error(result, 2) end
  return result
end

-- The debug library, without ways into native state --------------------------------------------------------

-- Functions of Rust and of the bios: their values lead to the table of natives.
local function is_protected(info) return info.what == "C" or info.source:sub(1, 6) == "@bios/" end
local function is_native(fn) return type(fn) == "function" and is_protected(getinfo(fn, "S")) end

-- Calls `name` unless the function it is about is native.
local function guarded(name, position)
  local original = raw[name]
  debug[name] = function(...)
    if is_native((select(position, ...))) then return nil end
    return original(...)
  end
end
guarded("getupvalue", 1)
guarded("setupvalue", 1)
guarded("upvalueid", 1)

function debug.upvaluejoin(f1, n1, f2, n2)
  if is_native(f1) or is_native(f2) then return end
  return raw.upvaluejoin(f1, n1, f2, n2)
end

-- Levels count from the caller: one is added for the wrapper around the original.
local function local_access(name)
  local original = raw[name]
  debug[name] = function(...)
    local first, level = ...
    if type(first) == "thread" then
      if type(level) == "number" then
        local info = getinfo(first, level, "S")
        if info and is_protected(info) then return nil end
      elseif is_native(level) then
        return nil
      end
      return original(...)
    end
    if type(first) == "number" then
      local info = getinfo(first + 1, "S")
      if not info then error("bad argument #1 (level out of range)", 2) end
      if is_protected(info) then return nil end
      local values = table.pack(original(first + 1, select(2, ...)))
      return table.unpack(values, 1, values.n)
    end
    if is_native(first) then return nil end
    return original(...)
  end
end
local_access("getlocal")
local_access("setlocal")

function debug.getmetatable(value)
  if type(value) == "userdata" then return nil end
  return raw.getmetatable(value)
end

function debug.setmetatable(value, meta)
  if type(value) == "userdata" then error("cannot change the metatable of userdata", 2) end
  if type(value) == "table" then return setmetatable(value, meta) end
  return raw.setmetatable(value, meta)
end

function debug.getregistry() return {} end
debug.getuservalue = function() return nil end
debug.setuservalue = function(value) return value end
debug.debug = nil

native.raw_upvaluejoin = raw.upvaluejoin
native.raw_getupvalue = raw.getupvalue
native.raw_setupvalue = raw.setupvalue

-- Base functions ------------------------------------------------------------------------------------------

native.load = load
function load(chunk, name, mode, env)
  local kind = type(chunk)
  if kind ~= "string" and kind ~= "function" then
    error("bad argument #1 (string expected, got " .. (kind == "nil" and "nil" or kind) .. ")", 2)
  end
  if mode == "b" then
    return nil, "attempt to load a text chunk (mode is 'b')"
  end
  name = name or (kind == "string" and chunk or "=(load)")
  if kind == "function" then
    local pieces = {}
    for piece in chunk do
      if piece == "" then break end
      if type(piece) ~= "string" then return nil, "reader function must return a string" end
      pieces[#pieces + 1] = piece
    end
    chunk = table.concat(pieces)
  end
  local text, line, problem = native.translate(chunk)
  if not text then
    local shown = name:match("^[@=](.*)$") or '[string "' .. name:match("^[^\n]*") .. '"]'
    return nil, shown .. ":" .. line .. ": " .. problem
  end
  return native.load(text, name, "t", env == nil and _G or env)
end

function string.dump() error("unable to dump given function", 2) end
collectgarbage = nil
dofile = nil
loadfile = nil
print = nil
package = nil
require = nil
module = nil
os = {}

native.has = native.features()
_HOST = "ComputerCraft " .. native.has.version .. " (ccfleet simulator)"
_VERSION = native.has.raw_text and "Lua 5.2" or "Lua 5.1"
_CC_DEFAULT_SETTINGS = ""
