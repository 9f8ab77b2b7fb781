--- Comparisons for specs. Each raises with both values if it does not hold.

local json = require("ccfleet.json")

local check = {}

local function show(value)
    return type(value) == "table" and json.encode(value) or ("%s (%s)"):format(tostring(value), type(value))
end

--- Both are the same: equal, or tables with the same JSON.
function check.same(actual, expected, what)
    if actual == expected then return end
    if type(actual) == "table" and type(expected) == "table" and json.encode(actual) == json.encode(expected) then
        return
    end
    error(("%s: expected %s, got %s"):format(what or "value", show(expected), show(actual)), 2)
end

--- The value is neither nil nor false.
function check.truthy(value, what)
    if not value then error((what or "value") .. ": expected something, got " .. show(value), 2) end
end

--- The text contains the words.
function check.contains(text, words)
    if type(text) ~= "string" or not text:find(words, 1, true) then
        error(("expected %q in %s"):format(words, show(text)), 2)
    end
end

return check
