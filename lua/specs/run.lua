--- Runs all specs on this computer: one line a spec, then `N passed, N failed`, which also goes to /ccfleet-specs.txt.
--
-- A spec file returns a table: sentence -> function that raises if the sentence is not true.

local dir = fs.getDir(shell.getRunningProgram())
package.path = ("/%s/?.lua;/%s/?/init.lua;/%s/?.lua;"):format(fs.getDir(dir), fs.getDir(dir), dir) .. package.path

local passed, failed = 0, 0

local function run_one(sentence, spec)
    local ok, err = xpcall(spec, function(e) return debug.traceback(tostring(e), 2) end)
    if ok then
        passed = passed + 1
        print("ok   " .. sentence)
    else
        failed = failed + 1
        print("FAIL " .. sentence)
        print(err)
    end
    -- A breath, so that the specs together do not count as too long without yielding.
    os.queueEvent("ccfleet_spec")
    os.pullEvent("ccfleet_spec")
end

local function run_file(name)
    local specs = require((name:gsub("%.lua$", "")))
    local sentences = {}
    for sentence in pairs(specs) do table.insert(sentences, sentence) end
    table.sort(sentences)
    for _, sentence in ipairs(sentences) do run_one(sentence, specs[sentence]) end
end

for _, name in ipairs(fs.list(dir)) do
    if name:find("_spec%.lua$") then
        local ok, err = pcall(run_file, name)
        if not ok then
            failed = failed + 1
            print("FAIL " .. name .. " cannot be loaded: " .. tostring(err))
        end
    end
end

local summary = ("%d passed, %d failed"):format(passed, failed)
print(summary)
local file = fs.open("/ccfleet-specs.txt", "w")
file.write(summary .. "\n")
file.close()
