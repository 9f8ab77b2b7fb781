-- What the shell suggests while a line is typed.
local completion = {}

function completion.program(shell, text)
  if text:find("/") then return fs.complete(text, shell.dir(), true, false) end
  local results, seen = {}, {}
  local function offer(name)
    if #name > #text and name:sub(1, #text) == text and not seen[name] then
      seen[name] = true
      results[#results + 1] = name:sub(#text + 1)
    end
  end
  for alias in pairs(shell.aliases()) do offer(alias) end
  for _, name in ipairs(shell.programs()) do offer(name) end
  table.sort(results)
  return results
end

-- A program whose arguments can be completed is followed by a space.
local function first_word(shell, functions, word)
  local function knows(name)
    local program = shell.resolveProgram(name)
    return program and functions[program]
  end
  if word ~= "" and knows(word) then return { " " } end
  local results = completion.program(shell, word)
  for i, ending in ipairs(results) do
    if ending:sub(-1) ~= "/" and knows(word .. ending) then results[i] = ending .. " " end
  end
  return results
end

function completion.line(shell, functions, tokenise, line)
  if line == "" then return nil end
  local words = tokenise(line)
  if line:sub(-1) == " " then words[#words + 1] = "" end
  if #words <= 1 then return first_word(shell, functions, words[1] or "") end
  local program = shell.resolveProgram(words[1])
  local info = program and functions[program]
  if not info then return nil end
  local previous = { table.unpack(words, 1, #words - 1) }
  return info.fnComplete(shell, #words - 1, words[#words], previous)
end

return completion
