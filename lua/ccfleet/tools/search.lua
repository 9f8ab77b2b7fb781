--- The tools that look through the disk: `fs_find`, `fs_grep`.
--
-- @module[kind=internal] ccfleet.tools.search

local breath = require("ccfleet.breath")
local files = require("ccfleet.files")
local glob = require("ccfleet.glob")
local json = require("ccfleet.json")
local text = require("ccfleet.text")
local common = require("ccfleet.tools.common")

local DEFAULT_FOUND, MAX_FOUND = 200, 1000
local DEFAULT_MATCHES, MAX_MATCHES = 50, 200
local MAX_CONTEXT = 10
-- A bigger file is data, and a longer line is no text that anybody reads.
local MAX_FILE_BYTES, MAX_LINE_BYTES, SHOWN_BYTES = 512 * 1024, 8192, 300
local SNIFFED_BYTES = 4096

-- Call `visit(path, is_dir)` for everything below a folder, folders before what is in them; stops when it returns true.
-- `/rom` is left out unless it is where the search begins: it is the same on every computer.
local function walk(fs, root, breathe, visit)
    local waiting = { root }
    while waiting[1] do
        local folder = table.remove(waiting)
        local ok, names = pcall(fs.list, folder)
        table.sort(ok and names or {})
        for _, name in ipairs(ok and names or {}) do
            breathe()
            local path = common.absolute(fs, fs.combine(folder, name))
            local is_dir = fs.isDir(path)
            if visit(path, is_dir) then return end
            if is_dir and not (path == "/rom" and root == "/") then table.insert(waiting, path) end
        end
    end
end

local function require_folder(fs, path)
    common.require_existing(fs, path)
    if not fs.isDir(path) then error(path .. ": not a folder", 0) end
end

-- The part of a path below the folder where the search began.
local function below(root, path)
    return path:sub(root == "/" and 2 or #root + 2)
end

local function find(fs, args)
    local root, limit = common.absolute(fs, args.path or "/"), args.limit or DEFAULT_FOUND
    require_folder(fs, root)
    local is_wanted, found, truncated = glob.matcher(args.pattern, args.ignore_case), json.array(), false
    walk(fs, root, breath.new(), function(path, is_dir)
        if not is_wanted(below(root, path)) then return false end
        if #found >= limit then
            truncated = true
            return true
        end
        found[#found + 1] = { path = text.to_utf8(path), is_dir = is_dir, size = is_dir and 0 or fs.getSize(path) }
        return false
    end)
    return { path = root, found = found, truncated = truncated }
end

-- Grep ---------------------------------------------------------------------------------------------------------

-- A function that tells where in a line the words or the pattern are.
local function make_finder(args)
    local wanted, is_plain = args.pattern, not args.is_lua_pattern
    if wanted == "" then error("pattern is empty", 0) end
    if args.ignore_case then
        if not is_plain then error("ignore_case is for plain text only; write [aA] in a Lua pattern", 0) end
        wanted = wanted:lower()
        return function(line) return line:lower():find(wanted, 1, true) end
    end
    local ok, err = pcall(string.find, "", wanted, 1, is_plain)
    if not ok then error("bad Lua pattern: " .. files.clean_error(err), 0) end
    return function(line) return line:find(wanted, 1, is_plain) end
end

local function shown(line)
    return text.to_utf8(text.head(line, SHOWN_BYTES))
end

local function lines_of(content)
    local lines = {}
    for line in (content:sub(-1) == "\n" and content or content .. "\n"):gmatch("(.-)\r?\n") do lines[#lines + 1] = line end
    return lines
end

local function around(lines, first, last)
    local out = json.array()
    for i = math.max(1, first), math.min(#lines, last) do out[#out + 1] = shown(lines[i]) end
    return out
end

-- Why a file is not searched, or nil.
local function reason_to_skip(fs, path)
    if fs.getSize(path) > MAX_FILE_BYTES then return "big" end
    local content = files.read(fs, path)
    if not content then return "unreadable" end
    if content:sub(1, SNIFFED_BYTES):find("\0", 1, true) then return "binary" end
    return nil, content
end

local function search_file(search, path, content)
    local lines, context = lines_of(content), search.context
    for number, line in ipairs(lines) do
        search.breathe()
        -- The end of a line that long is not looked at: a pattern could take for ever on it.
        if search.find(line:sub(1, MAX_LINE_BYTES)) then
            if #search.matches >= search.limit then
                search.truncated = true
                return
            end
            local match = { path = path, line = number, text = shown(line) }
            if context > 0 then
                match.before = around(lines, number - context, number - 1)
                match.after = around(lines, number + 1, number + context)
            end
            table.insert(search.matches, match)
        end
    end
end

local function visit_file(fs, search, path)
    local skip, content = reason_to_skip(fs, path)
    if skip then
        search.skipped = search.skipped + 1
    else
        search.files = search.files + 1
        search_file(search, text.to_utf8(path), content)
    end
end

local function grep(fs, args)
    local root = common.absolute(fs, args.path or "/")
    common.require_existing(fs, root)
    local search = {
        find = make_finder(args), breathe = breath.new(), context = args.context or 0,
        limit = args.limit or DEFAULT_MATCHES, matches = json.array(), files = 0, skipped = 0, truncated = false,
    }
    local is_wanted = glob.matcher(args.files or "*")
    if not fs.isDir(root) then
        visit_file(fs, search, root)
    else
        walk(fs, root, search.breathe, function(path, is_dir)
            if not is_dir and is_wanted(below(root, path)) then visit_file(fs, search, path) end
            return search.truncated
        end)
    end
    return {
        path = root, matches = search.matches, files_searched = search.files, files_skipped = search.skipped,
        truncated = search.truncated,
    }
end

local TOOLS = {
    fs_find = {
        handler = find,
        effect = "read",
        description = "Find files and folders by a glob over their paths below a folder: * and ? within a name, ** across "
            .. "folders. A glob without / is about names in every folder. /rom is searched only if path begins there.",
        result = "path, found [path, is_dir, size], truncated",
        properties = {
            pattern = { type = "string", maxLength = 256, description = "The glob, such as *.lua or tools/**/dig*.lua." },
            path = common.described(common.PATH, "Folder to search; default /."),
            -- For the server, which looks for what a task has named wrongly.
            ignore_case = { type = "boolean", ["x-internal"] = true, description = "Default false." },
            limit = { type = "integer", minimum = 1, maximum = MAX_FOUND, description = "How many to return; default 200." },
        },
        required = { "pattern" },
    },
    fs_grep = {
        handler = grep,
        effect = "read",
        description = "Find lines by plain text or a Lua pattern in the text files below a folder, or in one file. Binary "
            .. "files and files over 512 KiB are skipped, and /rom unless path begins there.",
        result = "path, matches [path, line, text, before?, after?], files_searched, files_skipped, truncated",
        properties = {
            pattern = { type = "string", maxLength = 256, description = "The text to find." },
            is_lua_pattern = { type = "boolean", description = "Take pattern as a Lua pattern; default false: plain text." },
            ignore_case = { type = "boolean", description = "Plain text only; default false." },
            path = common.described(common.PATH, "Folder or file to search; default /."),
            files = { type = "string", maxLength = 256, description = "Glob of the files to search; default all." },
            context = {
                type = "integer", minimum = 0, maximum = MAX_CONTEXT, description = "Lines before and after; default 0.",
            },
            limit = {
                type = "integer", minimum = 1, maximum = MAX_MATCHES, description = "Matches to return; default 50.",
            },
        },
        required = { "pattern" },
    },
}

return { make = function(fs) return common.bind(TOOLS, fs) end }
