-- Windows: a part of a terminal with a memory of its own.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local window = {}

local BLIT = {}
for i = 0, 15 do BLIT[2 ^ i] = ("%x"):format(i) end

local function overlay(line, at, text)
  return line:sub(1, at - 1) .. text .. line:sub(at + #text)
end

function window.create(parent, x, y, width, height, visible)
  expect(1, parent, "table")
  expect(2, x, "number")
  expect(3, y, "number")
  expect(4, width, "number")
  expect(5, height, "number")
  expect(6, visible, "boolean", "nil")
  if parent == term then
    error("term is not a recommended window parent, try term.current() instead", 2)
  end
  if visible == nil then visible = true end
  local win, lines, palette = {}, {}, {}
  local cursor_x, cursor_y, blink, fg, bg = 1, 1, false, 1, 32768
  for i = 0, 15 do palette[2 ^ i] = { parent.getPaletteColour(2 ^ i) } end

  local function blank() return { (" "):rep(width), BLIT[fg]:rep(width), BLIT[bg]:rep(width) } end
  for i = 1, height do lines[i] = blank() end

  local function show_line(at)
    local line = lines[at]
    parent.setCursorPos(x, y + at - 1)
    parent.blit(line[1], line[2], line[3])
  end
  local function show_cursor()
    local inside = cursor_x >= 1 and cursor_x <= width and cursor_y >= 1 and cursor_y <= height
    parent.setTextColour(fg)
    parent.setCursorPos(inside and x + cursor_x - 1 or 0, inside and y + cursor_y - 1 or 0)
    parent.setCursorBlink(blink and inside)
  end
  local function show_palette()
    for colour, rgb in pairs(palette) do parent.setPaletteColour(colour, rgb[1], rgb[2], rgb[3]) end
  end

  local function put(text, text_fg, text_bg)
    local start = cursor_x
    local first, last = math.max(start, 1), math.min(start + #text - 1, width)
    if cursor_y >= 1 and cursor_y <= height and first <= last then
      local from, to = first - start + 1, last - start + 1
      local line = lines[cursor_y]
      line[1] = overlay(line[1], first, text:sub(from, to))
      line[2] = overlay(line[2], first, text_fg:sub(from, to))
      line[3] = overlay(line[3], first, text_bg:sub(from, to))
      if visible then show_line(cursor_y) end
    end
    cursor_x = start + #text
    if visible then show_cursor() end
  end

  function win.write(text)
    text = tostring(text)
    put(text, BLIT[fg]:rep(#text), BLIT[bg]:rep(#text))
  end
  function win.blit(text, text_fg, text_bg)
    expect(1, text, "string")
    expect(2, text_fg, "string")
    expect(3, text_bg, "string")
    if #text ~= #text_fg or #text ~= #text_bg then error("Arguments must be the same length", 2) end
    put(text, text_fg:lower(), text_bg:lower())
  end
  function win.clear()
    for i = 1, height do lines[i] = blank() end
    if visible then win.redraw() end
  end
  function win.clearLine()
    if lines[cursor_y] then
      lines[cursor_y] = blank()
      if visible then
        show_line(cursor_y)
        show_cursor()
      end
    end
  end
  function win.getCursorPos() return cursor_x, cursor_y end
  function win.setCursorPos(new_x, new_y)
    expect(1, new_x, "number")
    expect(2, new_y, "number")
    cursor_x, cursor_y = math.floor(new_x), math.floor(new_y)
    if visible then show_cursor() end
  end
  function win.getCursorBlink() return blink end
  function win.setCursorBlink(value)
    expect(1, value, "boolean")
    blink = value
    if visible then show_cursor() end
  end
  function win.isColour() return parent.isColour() end
  win.isColor = win.isColour
  local function check(colour)
    expect(1, colour, "number")
    if not BLIT[colour] then error("Invalid color (got " .. colour .. ")", 3) end
  end
  function win.setTextColour(colour)
    check(colour)
    fg = colour
    if visible then parent.setTextColour(fg) end
  end
  function win.setBackgroundColour(colour)
    check(colour)
    bg = colour
  end
  function win.getTextColour() return fg end
  function win.getBackgroundColour() return bg end
  function win.setPaletteColour(colour, r, g, b)
    check(colour)
    if not g then r, g, b = colors.unpackRGB(r) end
    palette[colour] = { r, g, b }
    if visible then parent.setPaletteColour(colour, r, g, b) end
  end
  function win.getPaletteColour(colour)
    check(colour)
    return table.unpack(palette[colour])
  end
  for _, name in ipairs({ "setText", "setBackground", "getText", "getBackground", "setPalette", "getPalette" }) do
    win[name .. "Color"] = win[name .. "Colour"]
  end
  function win.getSize() return width, height end
  function win.scroll(count)
    expect(1, count, "number")
    if count == 0 then return end
    local moved = {}
    for i = 1, height do moved[i] = lines[i + count] or blank() end
    lines = moved
    if visible then win.redraw() end
  end
  function win.getLine(at)
    expect(1, at, "number")
    if at < 1 or at > height then error("Line is out of range.", 2) end
    return lines[at][1], lines[at][2], lines[at][3]
  end
  function win.setVisible(value)
    expect(1, value, "boolean")
    if visible ~= value then
      visible = value
      if visible then win.redraw() end
    end
  end
  function win.isVisible() return visible end
  function win.redraw()
    if not visible then return end
    for i = 1, height do show_line(i) end
    show_palette()
    show_cursor()
  end
  function win.restoreCursor()
    if visible then show_cursor() end
  end
  function win.getPosition() return x, y end
  function win.reposition(new_x, new_y, new_width, new_height, new_parent)
    x, y, parent = new_x, new_y, new_parent or parent
    if new_width and new_height then
      local kept = {}
      local old_lines = lines
      width, height = new_width, new_height
      for i = 1, height do
        local line, old = blank(), old_lines[i]
        if old then
          for part = 1, 3 do line[part] = overlay(line[part], 1, old[part]):sub(1, width) end
        end
        kept[i] = line
      end
      lines = kept
    end
    if visible then win.redraw() end
  end

  if visible then win.redraw() end
  return win
end

return window
