-- The part of cc.pretty that programs use to show a value.
local pretty = {}

function pretty.render(value)
  local ok, text = pcall(textutils.serialise, value, { allow_repetitions = true })
  if type(value) == "string" then return ("%q"):format(value) end
  return ok and text or tostring(value)
end

function pretty.pretty(value) return { text = pretty.render(value) } end
function pretty.text(text) return { text = text } end
function pretty.print(document) print(type(document) == "table" and document.text or document) end
pretty.write = function(document) write(type(document) == "table" and document.text or document) end
function pretty.pretty_print(value) print(pretty.render(value)) end

return pretty
