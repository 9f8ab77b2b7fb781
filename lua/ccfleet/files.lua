--- Whole-file reading and writing that reports failure instead of raising it.
--
-- Always in binary mode: before 1.109 text mode converts every byte from 128 up.
--
-- @module[kind=internal] ccfleet.files

local files = {}

-- Errors of mod functions carry the caller's position on some versions and not on others.
local function clean(err)
    return (tostring(err):gsub("^[^:]+:%d+: ", ""))
end

--- Read a file.
--
-- @treturn string|nil Its bytes, or nil and the reason.
function files.read(fs, path)
    local ok, file, err = pcall(fs.open, path, "rb")
    if not ok then return nil, clean(file) end
    if not file then return nil, clean(err or "cannot open " .. path) end
    local read_ok, content = pcall(file.readAll)
    pcall(file.close)
    if not read_ok then return nil, clean(content) end
    return content or ""
end

--- Replace a file's content.
--
-- @treturn boolean|nil true, or nil and the reason; then the file may hold part of the content.
function files.write(fs, path, content)
    local ok, file, err = pcall(fs.open, path, "wb")
    if not ok then return nil, clean(file) end
    if not file then return nil, clean(err or "cannot open " .. path) end
    local write_ok, write_err = pcall(file.write, content)
    local close_ok, close_err = pcall(file.close)
    if not write_ok then return nil, clean(write_err) end
    if not close_ok then return nil, clean(close_err) end
    -- A write that was cut short is not always reported.
    local size_ok, size = pcall(fs.getSize, path)
    if not size_ok or size ~= #content then return nil, "the file was not written whole" end
    return true
end

files.clean_error = clean

return files
