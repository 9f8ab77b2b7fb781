-- What may follow in a line that is being typed: each function returns the endings of what fits.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local completion = {}

local function endings(text, choices, add_space)
  local results = {}
  for i = 1, #choices do
    local choice = choices[i]
    if #choice + (add_space and 1 or 0) > #text and choice:sub(1, #text) == text then
      local ending = choice:sub(#text + 1)
      results[#results + 1] = add_space and ending .. " " or ending
    end
  end
  return results
end

local function check(text, add_space, position)
  expect(1, text, "string")
  expect(position, add_space, "boolean", "nil")
end

function completion.choice(text, choices, add_space)
  check(text, add_space, 3)
  expect(2, choices, "table")
  return endings(text, choices, add_space)
end

function completion.peripheral(text, add_space)
  check(text, add_space, 2)
  return endings(text, peripheral.getNames(), add_space)
end

function completion.side(text, add_space)
  check(text, add_space, 2)
  return endings(text, redstone.getSides(), add_space)
end

function completion.setting(text, add_space)
  check(text, add_space, 2)
  return endings(text, settings.getNames(), add_space)
end

function completion.command(text, add_space)
  check(text, add_space, 2)
  return {}
end

return completion
