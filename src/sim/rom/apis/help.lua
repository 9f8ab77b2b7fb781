-- Help: this ROM has no pages of its own; a folder in the path may hold some.
local help = {}
local path = "/rom/help"

function help.path() return path end
function help.setPath(new) path = new end

function help.lookup(topic)
  for place in path:gmatch("[^:]+") do
    for _, ending in ipairs({ "", ".txt", ".md" }) do
      local file = fs.combine(place, topic .. ending)
      if fs.exists(file) and not fs.isDir(file) then return file end
    end
  end
end

function help.topics()
  local topics = { "index" }
  for place in path:gmatch("[^:]+") do
    if fs.isDir(place) then
      for _, name in ipairs(fs.list(place)) do topics[#topics + 1] = (name:gsub("%.%a+$", "")) end
    end
  end
  table.sort(topics)
  return topics
end

function help.completeTopic(text)
  local results = {}
  for _, topic in ipairs(help.topics()) do
    if #topic > #text and topic:sub(1, #text) == text then results[#results + 1] = topic:sub(#text + 1) end
  end
  return results
end

return help
