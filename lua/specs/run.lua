--- Runs all specs on this computer: one line a spec, then what failed once more and `N passed, N failed`. These also go
-- to /ccfleet-specs.txt, because whoever cuts a long output keeps its end.
--
-- A spec file returns a table: sentence -> function that raises if the sentence is not true.

local dir = fs.getDir(shell.getRunningProgram())
package.path = ("/%s/?.lua;/%s/?/init.lua;/%s/?.lua;"):format(fs.getDir(dir), fs.getDir(dir), dir) .. package.path

local passed, failures = 0, {}

local function fail(sentence, err)
    table.insert(failures, ("FAIL %s\n%s"):format(sentence, tostring(err)))
    print(failures[#failures])
end

local function run_one(sentence, spec)
    local ok, err = xpcall(spec, function(e) return debug.traceback(tostring(e), 2) end)
    if ok then
        passed = passed + 1
        print("ok   " .. sentence)
    else
        fail(sentence, err)
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
        if not ok then fail(name .. " cannot be loaded", err) end
    end
end

local summary = ("%d passed, %d failed"):format(passed, #failures)
local report = table.concat(failures, "\n") .. (#failures > 0 and "\n" or "") .. summary
print(report)
local file = fs.open("/ccfleet-specs.txt", "w")
file.write(report .. "\n")
file.close()
