-- Drawing with coloured blocks.
local paintutils = {}

function paintutils.drawPixel(x, y, colour)
  if colour then term.setBackgroundColour(colour) end
  term.setCursorPos(math.floor(x), math.floor(y))
  term.write(" ")
end

function paintutils.drawLine(x1, y1, x2, y2, colour)
  if colour then term.setBackgroundColour(colour) end
  local steps = math.max(math.abs(x2 - x1), math.abs(y2 - y1), 1)
  for i = 0, steps do
    local part = i / steps
    paintutils.drawPixel(math.floor(x1 + (x2 - x1) * part + 0.5), math.floor(y1 + (y2 - y1) * part + 0.5))
  end
end

function paintutils.drawFilledBox(x1, y1, x2, y2, colour)
  if colour then term.setBackgroundColour(colour) end
  local left, right = math.min(x1, x2), math.max(x1, x2)
  for y = math.min(y1, y2), math.max(y1, y2) do
    term.setCursorPos(left, y)
    term.write((" "):rep(right - left + 1))
  end
end

function paintutils.drawBox(x1, y1, x2, y2, colour)
  if colour then term.setBackgroundColour(colour) end
  paintutils.drawLine(x1, y1, x2, y1)
  paintutils.drawLine(x1, y2, x2, y2)
  paintutils.drawLine(x1, y1, x1, y2)
  paintutils.drawLine(x2, y1, x2, y2)
end

function paintutils.parseImage(text)
  local image = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local row = {}
    for i = 1, #line do
      local value = tonumber(line:sub(i, i), 16)
      row[i] = value and 2 ^ value or 0
    end
    image[#image + 1] = row
  end
  return image
end

function paintutils.loadImage(path)
  local file = fs.open(path, "r")
  if not file then return nil end
  local image = paintutils.parseImage(file.readAll())
  file.close()
  return image
end

function paintutils.drawImage(image, x, y)
  for row, line in ipairs(image) do
    for column, colour in ipairs(line) do
      if colour > 0 then paintutils.drawPixel(x + column - 1, y + row - 1, colour) end
    end
  end
end

return paintutils
