--- A disk with folders whose power can fail after any step, and whose room can end.
--
-- A step is one change. Moving a file is copying and deleting it, as before CC 1.105: a failure in between leaves both,
-- and the copy may be half.

local fragile_disk = {}

local MIN_COST = 500

local function clean(path)
    local parts = {}
    for part in path:gmatch("[^/]+") do
        if part == ".." then table.remove(parts) elseif part ~= "." then table.insert(parts, part) end
    end
    return table.concat(parts, "/")
end

local function parent(path)
    return path:match("^(.*)/[^/]*$") or ""
end

--- A disk. `files` (path -> content), `dirs` (path -> true), `steps_left` (nil: the power stays on), `capacity`,
-- `is_read_only`.
function fragile_disk.new(capacity)
    local disk = { files = {}, dirs = { [""] = true }, capacity = capacity or 1000000, steps = 0 }

    local function used()
        local total = 0
        for _, content in pairs(disk.files) do total = total + math.max(MIN_COST, #content) end
        for path in pairs(disk.dirs) do total = total + (path ~= "" and MIN_COST or 0) end
        return total
    end

    -- Counts a change. `half` is done if the power fails in the middle of it.
    local function step(half)
        if disk.is_off then error("power", 0) end
        if disk.is_read_only then error("Access denied", 0) end
        disk.steps = disk.steps + 1
        if disk.steps_left then
            disk.steps_left = disk.steps_left - 1
            if disk.steps_left < 0 then
                if half then half() end
                disk.is_off = true
                error("power", 0)
            end
        end
    end

    local function put(path, content)
        local before = disk.files[path]
        disk.files[path] = content
        if used() > disk.capacity then
            disk.files[path] = before
            error("Out of space", 0)
        end
    end

    local function make_dir(path)
        if path == "" or disk.dirs[path] then return end
        if disk.files[path] then error("/" .. path .. ": File exists", 0) end
        make_dir(parent(path))
        step()
        disk.dirs[path] = true
    end

    local function below(path, candidate)
        return candidate == path or candidate:sub(1, #path + 1) == path .. "/"
    end

    local function writer(path, kept)
        local content, is_open = kept, true
        put(path, content)
        return {
            write = function(data)
                step(function() put(path, content .. data:sub(1, math.floor(#data / 2))) end)
                put(path, content .. data)
                content = content .. data
            end,
            flush = function() end,
            close = function()
                if not is_open then error("attempt to use a closed file", 0) end
                is_open = false
            end,
        }
    end

    local fs = {}
    function fs.combine(...) return clean(table.concat({ ... }, "/")) end
    function fs.getDir(path) return parent(clean(path)) end
    function fs.getName(path) return clean(path):match("[^/]*$") end
    function fs.exists(path)
        path = clean(path)
        return disk.files[path] ~= nil or disk.dirs[path] == true
    end
    function fs.isDir(path) return disk.dirs[clean(path)] == true end
    function fs.isReadOnly() return disk.is_read_only == true end
    function fs.getSize(path)
        local content = disk.files[clean(path)]
        if not content then error(path .. ": No such file", 0) end
        return #content
    end
    function fs.getFreeSpace() return disk.capacity - used() end
    function fs.list(path)
        path = clean(path)
        if not disk.dirs[path] then error("/" .. path .. ": Not a directory", 0) end
        local names = {}
        for _, set in ipairs({ disk.files, disk.dirs }) do
            for candidate in pairs(set) do
                if candidate ~= "" and parent(candidate) == path then table.insert(names, fs.getName(candidate)) end
            end
        end
        table.sort(names)
        return names
    end
    function fs.makeDir(path) make_dir(clean(path)) end
    function fs.delete(path)
        path = clean(path)
        -- One file after the other, as Java does it.
        local doomed = {}
        for _, set in ipairs({ disk.files, disk.dirs }) do
            for candidate in pairs(set) do
                if candidate ~= "" and below(path, candidate) then table.insert(doomed, candidate) end
            end
        end
        table.sort(doomed, function(a, b) return a > b end)
        for _, candidate in ipairs(doomed) do
            step()
            disk.files[candidate], disk.dirs[candidate] = nil, nil
        end
    end
    function fs.copy(from, to)
        from, to = clean(from), clean(to)
        local content = disk.files[from]
        if not content then error("/" .. from .. ": No such file", 0) end
        if fs.exists(to) then error("/" .. to .. ": File exists", 0) end
        make_dir(parent(to))
        step(function() put(to, content:sub(1, math.floor(#content / 2))) end)
        put(to, content)
    end
    function fs.move(from, to)
        fs.copy(from, to)
        step()
        disk.files[clean(from)] = nil
    end
    function fs.open(path, mode)
        path = clean(path)
        if mode:find("r") then
            local content = disk.files[path]
            if not content then return nil, "/" .. path .. ": No such file" end
            return { readAll = function() return content end, close = function() end }
        end
        if disk.is_off then error("power", 0) end
        if disk.is_read_only then return nil, "/" .. path .. ": Access denied" end
        if disk.dirs[path] then return nil, "/" .. path .. ": Not a file" end
        make_dir(parent(path))
        step()
        local ok, result = pcall(writer, path, mode:find("a") and disk.files[path] or "")
        if not ok then return nil, "/" .. path .. ": " .. tostring(result) end
        return result
    end
    disk.fs = fs

    --- Write a file, whatever the power does.
    function disk.put(path, content)
        local folder = parent(clean(path))
        while folder ~= "" do
            disk.dirs[folder] = true
            folder = parent(folder)
        end
        disk.files[clean(path)] = content
    end

    --- The power is back.
    function disk.restore()
        disk.is_off, disk.steps_left = false, nil
    end

    --- All of it, to compare and to start again from.
    function disk.copy()
        local copy = fragile_disk.new(disk.capacity)
        for path, content in pairs(disk.files) do copy.files[path] = content end
        for path in pairs(disk.dirs) do copy.dirs[path] = true end
        return copy
    end

    return disk
end

return fragile_disk
