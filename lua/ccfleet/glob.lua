--- Globs over paths and names: `*` and `?` stay within a part, `**` crosses parts.
--
-- @module[kind=internal] ccfleet.glob

local glob = {}

local function escape(char)
    return char:gsub("%p", "%%%0")
end

-- The Lua pattern of a glob. `**/` also stands for nothing, so that `**/x` finds `x` at the top.
local function to_pattern(s)
    local out, i = { "^" }, 1
    while i <= #s do
        if s:sub(i, i + 1) == "**" then
            out[#out + 1] = ".*"
            i = i + (s:sub(i + 2, i + 2) == "/" and 3 or 2)
        else
            local char = s:sub(i, i)
            out[#out + 1] = char == "*" and "[^/]*" or char == "?" and "[^/]" or escape(char)
            i = i + 1
        end
    end
    return table.concat(out) .. "$"
end

--- A function that tells whether a path matches.
--
-- @tparam string s The glob. Without a `/` it is about the last part of the path alone.
-- @tparam[opt] boolean ignore_case Upper and lower case are the same.
-- @treturn function `function(path)`; the path has no `/` in front.
function glob.matcher(s, ignore_case)
    local is_about_name = not s:find("/", 1, true)
    local pattern = to_pattern(((ignore_case and s:lower() or s):gsub("^/", "")))
    return function(path)
        local subject = is_about_name and path:match("[^/]*$") or path
        return (ignore_case and subject:lower() or subject):find(pattern) ~= nil
    end
end

--- Whether a whole text, such as a host name, matches a glob in which `*` stands for anything. Case does not matter.
function glob.matches_text(s, text)
    local pattern = "^" .. s:lower():gsub("[^%*]", escape):gsub("%*+", ".*") .. "$"
    return text:lower():find(pattern) ~= nil
end

return glob
