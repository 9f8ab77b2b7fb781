-- Text and tables: serialise, JSON, tables on the screen.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local textutils = {}
local has = ... -- what this version of the mod knows

-- Lua tables ----------------------------------------------------------------------------------------------

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while"):gmatch("%a+") do
  KEYWORDS[word] = true
end

local function lua_value(value, seen, indent, options)
  local kind = type(value)
  if kind == "string" then return (("%q"):format(value):gsub("\\\n", "\\n")) end
  if kind == "number" then
    if value ~= value then return "0/0" end
    if value == math.huge then return "1/0" end
    if value == -math.huge then return "-1/0" end
    return tostring(value)
  end
  if kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind ~= "table" then error("Cannot serialize type " .. kind, 0) end
  if seen[value] ~= nil then
    if seen[value] == false then error("Cannot serialize table with repeated entries", 0) end
    error("Cannot serialize table with recursive entries", 0)
  end
  if next(value) == nil then return "{}" end
  seen[value] = true
  local compact = options.compact
  local open, step, equals, close = "{\n", indent .. "  ", " = ", indent .. "}"
  if compact then open, step, equals, close = "{", "", "=", "}" end
  local line = compact and "," or ",\n"
  local out, listed = { open }, {}
  for index, item in ipairs(value) do
    listed[index] = true
    out[#out + 1] = step .. lua_value(item, seen, step, options) .. line
  end
  for key, item in pairs(value) do
    if not listed[key] then
      local name
      if type(key) == "string" and not KEYWORDS[key] and key:match("^[%a_][%w_]*$") then
        name = key
      elseif compact then
        name = "[" .. lua_value(key, seen, step, options) .. "]"
      else
        name = "[ " .. lua_value(key, seen, step, options) .. " ]"
      end
      out[#out + 1] = step .. name .. equals .. lua_value(item, seen, step, options) .. line
    end
  end
  if options.allow_repetitions then seen[value] = nil else seen[value] = false end
  out[#out + 1] = close
  return table.concat(out)
end

function textutils.serialise(value, options)
  expect(2, options, "table", "nil")
  local ok, result = pcall(lua_value, value, {}, "", options or {})
  if not ok then error(result, 2) end
  return result
end

function textutils.unserialise(text)
  expect(1, text, "string")
  local fn = load("return " .. text, "unserialize", "t", {})
  if not fn then return nil end
  local ok, result = pcall(fn)
  if ok then return result end
end

-- JSON ----------------------------------------------------------------------------------------------------

local function sentinel(name, shown)
  return setmetatable({}, {
    __newindex = function() error("attempt to mutate textutils." .. name, 2) end,
    __tostring = function() return shown end,
  })
end
textutils.empty_json_array = sentinel("empty_json_array", "[]")
textutils.json_null = sentinel("json_null", "null")

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\b"] = "\\b", ["\f"] = "\\f", ['"'] = '\\"',
  ["\\"] = "\\\\" }
for byte = 0, 255 do
  if (byte < 32 or byte >= 127) and not ESCAPES[string.char(byte)] then
    ESCAPES[string.char(byte)] = ("\\u%04X"):format(byte)
  end
end

local function json_bytes(text) return '"' .. text:gsub('[%c"\\\127-\255]', ESCAPES) .. '"' end

local function json_unicode(text)
  if not utf8.len(text) then error("invalid UTF-8 code", 0) end
  local out = {}
  for _, code in utf8.codes(text) do
    if code >= 0x10000 then
      code = code - 0x10000
      out[#out + 1] = ("\\u%04X\\u%04X"):format(0xD800 + math.floor(code / 1024), 0xDC00 + code % 1024)
    elseif code >= 127 then
      out[#out + 1] = ("\\u%04X"):format(code)
    else
      local char = string.char(code)
      out[#out + 1] = ESCAPES[char] or char
    end
  end
  return '"' .. table.concat(out) .. '"'
end

local json_value

local function json_table(value, seen, options)
  if seen[value] ~= nil then
    local what = seen[value] and "recursive" or "repeated"
    error("Cannot serialize table with " .. what .. " entries", 0)
  end
  if next(value) == nil then return "{}" end
  seen[value] = true
  local fields, largest = {}, 0
  for key, item in pairs(value) do
    if type(key) == "string" then
      fields[#fields + 1] = (options.unicode_strings and json_unicode or json_bytes)(key) .. ":"
        .. json_value(item, seen, options)
    elseif type(key) == "number" and key > largest then
      largest = key
    end
  end
  local result
  if #fields > 0 then
    result = "{" .. table.concat(fields, ",") .. "}"
  else
    local items = {}
    for i = 1, largest do
      items[i] = value[i] == nil and "null" or json_value(value[i], seen, options)
    end
    result = #items == 0 and "{}" or "[" .. table.concat(items, ",") .. "]"
  end
  if options.allow_repetitions then seen[value] = nil else seen[value] = false end
  return result
end

function json_value(value, seen, options)
  if value == textutils.empty_json_array then return "[]" end
  if value == textutils.json_null then return "null" end
  local kind = type(value)
  if kind == "table" then return json_table(value, seen, options) end
  if kind == "string" then return options.unicode_strings and json_unicode(value) or json_bytes(value) end
  if kind == "number" then
    if value ~= value then return "nan" end
    if value == 0 then return "0" end
    return tostring(value)
  end
  if kind == "boolean" then return tostring(value) end
  error("Cannot serialize type " .. kind, 0)
end

function textutils.serialiseJSON(value, options)
  local kind = type(value)
  if kind ~= "table" and kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
    error("bad argument #1 (table, string, number or boolean expected, got " .. kind .. ")", 2)
  end
  expect(2, options, "table", "boolean", "nil")
  if type(options) ~= "table" then options = {} end
  options = {
    unicode_strings = has.unicode_strings and options.unicode_strings,
    allow_repetitions = has.raw_text and options.allow_repetitions,
  }
  local ok, result = pcall(json_value, value, {}, options)
  if not ok then error(result, 2) end
  return result
end

-- Reading JSON: `fail` raises a table, which the outermost call turns into nil and a message.
local function fail(at, message) error({ at = at, message = message }, 0) end

-- The complaint about a character that stands where something else is wanted.
local function expected(text, at, wanted)
  local found = text:sub(at, at)
  found = found == "" and "end of input" or ("%q"):format(found)
  fail(at, ("Unexpected %s, expected %s."):format(found, wanted))
end

local function skip(text, at) return text:match("^[ \n\r\t]*()", at) end

local UNESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function read_string(text, at)
  local out = {}
  while true do
    local plain, after = text:match('^([^"\\%c]*)()', at)
    out[#out + 1] = plain
    at = after
    local char = text:sub(at, at)
    if char == '"' then return table.concat(out), at + 1 end
    if char == "" then fail(at, "Unexpected end of input, expected '\"'.") end
    if char == "\\" then
      local escape = text:sub(at + 1, at + 1)
      if escape == "u" then
        local digits = text:match("^%x%x%x%x", at + 2)
        if not digits then fail(at, ("Malformed unicode escape %q."):format(text:sub(at + 2, at + 5))) end
        out[#out + 1] = utf8.char(tonumber(digits, 16))
        at = at + 6
      elseif UNESCAPES[escape] then
        out[#out + 1] = UNESCAPES[escape]
        at = at + 2
      elseif escape == "" then
        fail(at, "Unexpected end of input, expected escape sequence.")
      else
        fail(at + 1, ("Unknown escape character %q."):format(escape))
      end
    elseif char == "\127" then
      out[#out + 1] = char
      at = at + 1
    else
      fail(at + 1, ("Unescaped whitespace %q."):format(char))
    end
  end
end

local WORDS = { t = "true", f = "false", n = "null" }
local read_value

local function read_object(text, at, options)
  local object = {}
  at = skip(text, at)
  if text:sub(at, at) == "}" then return object, at + 1 end
  while true do
    if text:sub(at, at) ~= '"' then expected(text, at, "object key") end
    local key
    key, at = read_string(text, at + 1)
    at = skip(text, at)
    if text:sub(at, at) ~= ":" then expected(text, at, "':'") end
    object[key], at = read_value(text, skip(text, at + 1), options)
    at = skip(text, at)
    local char = text:sub(at, at)
    if char == "}" then return object, at + 1 end
    if char ~= "," then expected(text, at, "',' or '}'") end
    at = skip(text, at + 1)
  end
end

local function read_array(text, at, options)
  at = skip(text, at)
  if text:sub(at, at) == "]" then
    return has.parse_empty_array and options.parse_empty_array == false and {} or textutils.empty_json_array, at + 1
  end
  local array, count = {}, 0
  while true do
    count = count + 1
    array[count], at = read_value(text, at, options)
    at = skip(text, at)
    local char = text:sub(at, at)
    if char == "]" then return array, at + 1 end
    if char ~= "," then expected(text, at, "',' or ']'") end
    at = skip(text, at + 1)
  end
end

function read_value(text, at, options)
  local char = text:sub(at, at)
  if char == '"' then return read_string(text, at + 1) end
  if char == "{" then return read_object(text, at + 1, options) end
  if char == "[" then return read_array(text, at + 1, options) end
  local word = WORDS[char]
  if word and text:sub(at, at + #word - 1) == word then
    if char == "n" then return options.parse_null and textutils.json_null or nil, at + 4 end
    return char == "t", at + #word
  end
  local digits = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local number = digits and tonumber(digits)
  if number then return number, at + #digits end
  if char == "" then fail(at, "Unexpected end of input.") end
  fail(at, ("Unexpected character %q."):format(char))
end

function textutils.unserialiseJSON(text, options)
  expect(1, text, "string")
  expect(2, options, "table", "nil")
  local ok, value, at = pcall(read_value, text, skip(text, 1), options or {})
  if ok then
    at = skip(text, at)
    if at > #text then return value end
    value = { at = at, message = ("Unexpected trailing character %q."):format(text:sub(at, at)) }
  end
  if type(value) ~= "table" or not value.message then error(value, 0) end
  return nil, ("Malformed JSON at position %d: %s"):format(value.at, value.message)
end

-- On the screen -------------------------------------------------------------------------------------------

function textutils.urlEncode(text)
  expect(1, text, "string")
  text = text:gsub("\n", "\r\n"):gsub("[^%w %-%_%.]", function(char) return ("%%%02X"):format(char:byte()) end)
  return (text:gsub(" ", "+"))
end

function textutils.formatTime(time, use_24)
  expect(1, time, "number")
  local suffix = ""
  if not use_24 then
    suffix = time >= 12 and " PM" or " AM"
    if time >= 13 then time = time - 12 end
  end
  local hour = math.floor(time)
  local minute = math.floor((time - hour) * 60)
  if not use_24 and hour == 0 then hour = 12 end
  return ("%d:%02d%s"):format(hour, minute, suffix)
end

function textutils.slowWrite(text, rate)
  text = tostring(text)
  for i = 1, #text do
    sleep(1 / (rate or 20))
    write(text:sub(i, i))
  end
end

function textutils.slowPrint(text, rate)
  textutils.slowWrite(text, rate)
  print()
end

function textutils.pagedPrint(text, free_lines)
  local _, height = term.getSize()
  local left = free_lines or height - 2
  local total = 0
  for line in (tostring(text) .. "\n"):gmatch("(.-)\n") do
    if left <= 0 then
      write("Press any key to continue")
      os.pullEvent("key")
      term.clearLine()
      local _, y = term.getCursorPos()
      term.setCursorPos(1, y)
      left = height - 2
    end
    local used = print(line)
    left, total = left - used, total + used
  end
  return total
end

local function tabulate(paged, ...)
  local rows, widest = { ... }, 4
  for _, row in ipairs(rows) do
    if type(row) == "table" then
      for _, cell in ipairs(row) do widest = math.max(widest, #tostring(cell) + 1) end
    end
  end
  local width = term.getSize()
  local columns = math.max(1, math.floor(width / widest))
  local show = paged and textutils.pagedPrint or print
  for _, row in ipairs(rows) do
    if type(row) == "number" then
      term.setTextColour(row)
    else
      local line = {}
      for i, cell in ipairs(row) do
        line[#line + 1] = tostring(cell)
        if #line == columns or i == #row then
          for at = 1, #line - 1 do line[at] = line[at] .. (" "):rep(widest - #line[at]) end
          show(table.concat(line))
          line = {}
        end
      end
    end
  end
end
function textutils.tabulate(...) return tabulate(false, ...) end
function textutils.pagedTabulate(...) return tabulate(true, ...) end

function textutils.complete(text, env)
  env = env or _G
  local dot = text:match("^.*()[%.:]")
  local prefix = text:sub((dot or 0) + 1)
  if dot then
    for name in text:sub(1, dot - 1):gmatch("[^%.:]+") do
      env = type(env) == "table" and rawget(env, name) or nil
    end
  end
  local results = {}
  if type(env) ~= "table" or prefix == "" then return results end
  for name, value in pairs(env) do
    if type(name) == "string" and name:sub(1, #prefix) == prefix then
      results[#results + 1] = name:sub(#prefix + 1) .. (type(value) == "function" and "(" or "")
    end
  end
  table.sort(results)
  return results
end

for old, new in pairs({ serialise = "serialize", unserialise = "unserialize", serialiseJSON = "serializeJSON",
  unserialiseJSON = "unserializeJSON" }) do
  textutils[new] = textutils[old]
end

return textutils
