-- Helpers for text.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local strings = {}

function strings.wrap(text, width)
  expect(1, text, "string")
  expect(2, width, "number", "nil")
  width = width or term.getSize()
  local lines, line = {}, ""
  local function flush()
    lines[#lines + 1] = line
    line = ""
  end
  local at = 1
  while at <= #text do
    local blank = text:match("^[ \t]+", at)
    if blank then
      line = (line .. blank):sub(1, width)
      at = at + #blank
    end
    if text:sub(at, at) == "\n" then
      flush()
      at = at + 1
    end
    local word = text:match("^[^ \t\n]+", at)
    if word then
      at = at + #word
      if #line > 0 and #line + #word > width then flush() end
      while #word > width do
        line = word:sub(1, width)
        word = word:sub(width + 1)
        flush()
      end
      line = line .. word
    end
  end
  flush()
  return lines
end

function strings.ensure_width(text, width)
  expect(1, text, "string")
  expect(2, width, "number", "nil")
  width = width or term.getSize()
  text = text:sub(1, width)
  return text .. (" "):rep(width - #text)
end

function strings.split(text, delimiter, plain, limit)
  expect(1, text, "string")
  expect(2, delimiter, "string")
  expect(3, plain, "boolean", "nil")
  expect(4, limit, "number", "nil")
  local parts, at = {}, 1
  while not limit or #parts < limit - 1 do
    local first, last = text:find(delimiter, at, plain)
    if not first then break end
    if last < first then error("separator is empty", 2) end
    parts[#parts + 1] = text:sub(at, first - 1)
    at = last + 1
  end
  parts[#parts + 1] = text:sub(at)
  return parts
end

return strings
