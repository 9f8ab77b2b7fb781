--- The tool `fs_patch`.
--
-- @module[kind=internal] ccfleet.tools.patch

local files = require("ccfleet.files")
local patch = require("ccfleet.patch")
local common = require("ccfleet.tools.common")

local MAX_EDITS = 64

local function require_hash(path, content, wanted)
    if not wanted then return end
    local hash = files.hash(content)
    if not hash then error(path .. ": is too big for if_hash (over 256 KiB); leave it out", 0) end
    if hash ~= wanted then
        error(("%s: has changed; its hash is %s now, not %s. Nothing was changed: read the file again."):format(path, hash,
            wanted), 0)
    end
end

local function apply(args, content)
    local edits = args.edits
    -- Small models fill in what they do not use.
    if args.diff and edits and not edits[1] then edits = nil end
    if (args.diff == nil) == (edits == nil) then error("give either diff or edits: " .. patch.EDITS_FORM, 0) end
    if args.diff then return patch.apply_diff(content, args.diff) end
    if not edits[1] then error("edits is empty: give " .. patch.EDITS_FORM, 0) end
    return patch.apply_edits(content, edits)
end

local function fs_patch(fs, args)
    local path = common.absolute(fs, args.path)
    common.require_writable(fs, path)
    local content = common.read_file(fs, path)
    require_hash(path, content, args.if_hash)
    local changed, report = apply(args, content)
    if not changed then error(path .. ": " .. report, 0) end
    local ok, err = files.replace(fs, path, changed)
    if not ok then error(common.write_error(path, err), 0) end
    return {
        path = path, bytes = #changed, hash = files.hash(changed), hunks = report.hunks,
        lines_added = report.added, lines_removed = report.removed,
    }
end

local EDIT = {
    type = "object", additionalProperties = false, required = { "search", "replace" },
    properties = {
        search = { type = "string", description = "Exactly the text to replace, blanks and line ends included." },
        replace = { type = "string", description = "What to put there." },
        all = { type = "boolean", description = "Replace every occurrence; without it there must be exactly one." },
    },
}

local TOOLS = {
    fs_patch = {
        handler = fs_patch,
        effect = "effect",
        description = "Change parts of a text file by a list of edits, all of them or none. What an edit searches for must "
            .. "be exactly what the file has.",
        result = "path, bytes, hash, hunks [line, moved_by or count], lines_added, lines_removed",
        properties = {
            path = common.PATH,
            -- Models are told of one way alone: of two they mix them, and small ones write no diff that fits.
            diff = {
                type = "string", maxLength = common.MAX_CONTENT_CHARACTERS, ["x-internal"] = true,
                description = "In place of edits a unified diff of this one file: hunks of lines that begin with ' ', '-' "
                    .. "or '+' after @@ -LINE +LINE @@. Lines of a hunk may have moved, but their content must be exactly "
                    .. "what the file has.",
            },
            edits = { type = "array", maxItems = MAX_EDITS, items = EDIT, description = "Edits, made one after the other." },
            if_hash = {
                type = "string", ["x-internal"] = true,
                description = "Change the file only if this is its hash (from fs_read).",
            },
        },
        required = { "path" },
    },
}

return { make = function(fs) return common.bind(TOOLS, fs) end }
