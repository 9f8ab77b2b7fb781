-- CraftOS' `term` and what is built on it: write, print, printError, read.
local native = ...
local expect = native.expect

colors = {
  white = 1, orange = 2, magenta = 4, lightBlue = 8, yellow = 16, lime = 32, pink = 64, gray = 128,
  lightGray = 256, cyan = 512, purple = 1024, blue = 2048, brown = 4096, green = 8192, red = 16384, black = 32768,
}
function colors.combine(...) return bit32.bor(...) end
function colors.subtract(set, ...) return bit32.band(set, bit32.bnot(bit32.bor(...))) end
function colors.test(set, colour) return bit32.band(set, colour) == colour end
function colors.packRGB(r, g, b)
  return bit32.band(r * 255, 0xFF) * 2 ^ 16 + bit32.band(g * 255, 0xFF) * 2 ^ 8 + bit32.band(b * 255, 0xFF)
end
function colors.unpackRGB(rgb)
  return bit32.band(bit32.rshift(rgb, 16), 0xFF) / 255, bit32.band(bit32.rshift(rgb, 8), 0xFF) / 255,
    bit32.band(rgb, 0xFF) / 255
end
function colors.rgb8(r, g, b)
  if g == nil and b == nil then return colors.unpackRGB(r) end
  return colors.packRGB(r, g, b)
end
function colors.toBlit(colour) return ("%x"):format(math.floor(math.log(colour, 2) + 0.5)) end
function colors.fromBlit(digit)
  local value = #digit == 1 and tonumber(digit, 16)
  return value and 2 ^ value or nil
end
colours = {}
for name, value in pairs(colors) do
  colours[(name:gsub("gray", "grey"):gsub("Gray", "Grey"))] = value
end

-- The screen as a redirect target -------------------------------------------------------------------------

local function index_of(colour)
  expect(1, colour, "number")
  if colour < 1 or colour > 65535 then error("Colour out of range", 3) end
  return math.floor(math.log(colour, 2) + 1e-9)
end

-- A screen as a redirect target: the computer's own (nil), or that of the monitor with this name.
local targets = {}
function native.target(which)
  local key = which or 1
  if targets[key] then return targets[key] end
  local screen = {}
  targets[key] = screen
  function screen.write(text) native.t_write(which, tostring(text)) end
  function screen.blit(text, fg, bg)
    expect(1, text, "string")
    expect(2, fg, "string")
    expect(3, bg, "string")
    if #fg ~= #text or #bg ~= #text then error("Arguments must be the same length", 2) end
    native.t_blit(which, text, fg:lower(), bg:lower())
  end
  function screen.clear() native.t_clear(which) end
  function screen.clearLine() native.t_clear_line(which) end
  function screen.getCursorPos() return native.t_cursor(which) end
  function screen.setCursorPos(x, y)
    expect(1, x, "number")
    expect(2, y, "number")
    native.t_set_cursor(which, x, y)
  end
  function screen.getCursorBlink() return native.t_blink(which) end
  function screen.setCursorBlink(blink)
    expect(1, blink, "boolean")
    native.t_set_blink(which, blink)
  end
  function screen.getSize() return native.t_size(which) end
  function screen.scroll(lines)
    expect(1, lines, "number")
    native.t_scroll(which, lines)
  end
  function screen.isColour() return which ~= nil or native.has.advanced end
  function screen.getTextColour() return 2 ^ (native.t_colours(which)) end
  function screen.getBackgroundColour() return 2 ^ select(2, native.t_colours(which)) end
  function screen.setTextColour(colour) native.t_set_fg(which, index_of(colour)) end
  function screen.setBackgroundColour(colour) native.t_set_bg(which, index_of(colour)) end
  function screen.getPaletteColour(colour) return colors.unpackRGB(native.t_palette(which, index_of(colour))) end
  function screen.setPaletteColour(colour, r, g, b)
    local rgb = g and math.floor(r * 255) * 65536 + math.floor(g * 255) * 256 + math.floor(b * 255) or r
    native.t_set_palette(which, index_of(colour), rgb)
  end
  local british = {}
  for name, fn in pairs(screen) do
    if name:find("Colour") then british[name:gsub("Colour", "Color")] = fn end
  end
  for name, fn in pairs(british) do screen[name] = fn end
  return screen
end

local screen, names = native.target(), {}
for name in pairs(screen) do names[#names + 1] = name end

-- `term` passes every call to the current target ----------------------------------------------------------

term = {}
local current = screen
for _, name in ipairs(names) do
  term[name] = function(...) return current[name](...) end
end
function term.native() return screen end
function term.current() return current end
function term.nativePaletteColour(colour) return colors.unpackRGB(native.t_native_colour(index_of(colour))) end
term.nativePaletteColor = term.nativePaletteColour
function term.redirect(target)
  expect(1, target, "table")
  if target == term or target == _G.term then
    error("term is not a recommended redirect target, try term.current() instead", 2)
  end
  for _, name in ipairs(names) do
    if type(target[name]) ~= "function" then
      target[name] = function() error("Redirect object is missing method " .. name .. ".", 2) end
    end
  end
  local old = current
  current = target
  return old
end

-- Printing ------------------------------------------------------------------------------------------------

function write(text)
  expect(1, text, "string", "number")
  text = tostring(text)
  local width, height = term.getSize()
  local x, y = term.getCursorPos()
  local lines = 0
  local function new_line()
    if y + 1 <= height then
      term.setCursorPos(1, y + 1)
    else
      term.setCursorPos(1, height)
      term.scroll(1)
    end
    x, y = term.getCursorPos()
    lines = lines + 1
  end
  local function put(part)
    term.write(part)
    x, y = term.getCursorPos()
  end
  local at = 1
  while at <= #text do
    local blank = text:match("^[ \t]+", at)
    if blank then
      put(blank)
      at = at + #blank
    end
    if text:sub(at, at) == "\n" then
      new_line()
      at = at + 1
    end
    local word = text:match("^[^ \t\n]+", at)
    if word then
      at = at + #word
      if #word > width then
        while #word > 0 do
          if x > width then new_line() end
          local fits = width - x + 1
          put(word:sub(1, fits))
          word = word:sub(fits + 1)
        end
      else
        if x + #word - 1 > width then new_line() end
        put(word)
      end
    end
  end
  return lines
end

function print(...)
  local lines, count = 0, select("#", ...)
  for i = 1, count do
    local text = tostring((select(i, ...)))
    lines = lines + write(i < count and text .. "\t" or text)
  end
  return lines + write("\n")
end

function printError(...)
  local old = term.getTextColour()
  if term.isColour() then term.setTextColour(colors.red) end
  print(...)
  if term.isColour() then term.setTextColour(old) end
end

-- Reading a line ------------------------------------------------------------------------------------------

local KEY = { enter = 257, keypad = 335, left = 263, right = 262, up = 265, down = 264, back = 259, del = 261,
  home = 268, last = 269, tab = 258 }

function read(mask, history, complete, default)
  expect(1, mask, "string", "nil")
  expect(2, history, "table", "nil")
  expect(3, complete, "function", "nil")
  expect(4, default, "string", "nil")
  mask = mask and mask:sub(1, 1)
  local line = default or ""
  local pos, shift, entry = #line, 0, nil
  local start_x = term.getCursorPos()
  local width = term.getSize()
  local suggestions, chosen

  local function suggest()
    suggestions, chosen = nil, nil
    if complete and pos == #line then
      suggestions = complete(line)
      chosen = suggestions and #suggestions > 0 and 1 or nil
    end
  end
  local function draw(blank)
    local room = width - start_x
    if pos - shift > room then shift = pos - room end
    if pos < shift then shift = pos end
    local _, y = term.getCursorPos()
    term.setCursorPos(start_x, y)
    local shown = mask and mask:rep(#line) or line
    shown = shown:sub(shift + 1)
    term.write(blank and (" "):rep(#shown) or shown)
    if chosen then
      local text, old = suggestions[chosen], term.getTextColour()
      term.setTextColour(colors.gray)
      term.write(blank and (" "):rep(#text) or text)
      term.setTextColour(old)
    end
    term.setCursorPos(start_x + pos - shift, y)
  end
  local function change(new, at)
    draw(true)
    line, pos = new, at
    suggest()
    draw()
  end
  local function accept()
    if chosen then change(line .. suggestions[chosen], #line + #suggestions[chosen]) end
  end
  local function recall(step)
    if not history or #history == 0 then return end
    local at = (entry or #history + 1) + step
    if at < 1 then return end
    entry = at <= #history and at or nil
    local text = entry and history[entry] or ""
    change(text, #text)
  end
  local function cycle(step)
    draw(true)
    chosen = (chosen - 1 + step) % #suggestions + 1
    draw()
  end

  local on_key = {
    [KEY.left] = function() if pos > 0 then change(line, pos - 1) end end,
    [KEY.right] = function() if pos < #line then change(line, pos + 1) else accept() end end,
    [KEY.home] = function() change(line, 0) end,
    [KEY.last] = function() change(line, #line) end,
    [KEY.back] = function() if pos > 0 then change(line:sub(1, pos - 1) .. line:sub(pos + 1), pos - 1) end end,
    [KEY.del] = function() if pos < #line then change(line:sub(1, pos) .. line:sub(pos + 2), pos) end end,
    [KEY.up] = function() if chosen then cycle(-1) else recall(-1) end end,
    [KEY.down] = function() if chosen then cycle(1) else recall(1) end end,
    [KEY.tab] = accept,
  }

  term.setCursorBlink(true)
  suggest()
  draw()
  while true do
    local event, value = os.pullEvent()
    if event == "char" or event == "paste" then
      change(line:sub(1, pos) .. value .. line:sub(pos + 1), pos + #value)
    elseif event == "key" and (value == KEY.enter or value == KEY.keypad) then
      draw(true)
      suggestions, chosen = nil, nil
      draw()
      break
    elseif event == "key" and on_key[value] then
      on_key[value]()
    elseif event == "term_resize" then
      width = term.getSize()
      draw()
    end
  end
  term.setCursorBlink(false)
  local _, y = term.getCursorPos()
  term.setCursorPos(width + 1, y)
  print()
  return line
end
