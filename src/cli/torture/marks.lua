-- Tools of `ccfleet torture`: an effect that leaves a mark each time it is entered, and a look at the marks.

local DIR = "/marks"

local function path_of(mark)
    return DIR .. "/" .. mark:match("^(t%d+)m%d+$") .. ".txt"
end

local ARGS = { mark = { type = "string", pattern = "^t[0-9]+m[0-9]+$" } }

local function lines_of(path)
    local file = fs.open(path, "r")
    if not file then return {} end
    local lines = {}
    for line in file.readLine do lines[#lines + 1] = line end
    file.close()
    return lines
end

local function leave(args, context)
    -- Time in which a kill finds the handler at work: before its mark, and after it.
    sleep(math.random() < 0.5 and 0.05 or 0.1)
    local file, err = fs.open(path_of(args.mark), "a")
    if not file then return nil, err end
    local ok, problem = pcall(file.write, args.mark .. " " .. context.call_id .. "\n")
    file.close()
    if not ok then return nil, problem end
    if math.random() < 0.5 then sleep(0.05) end
    return { mark = args.mark, call_id = context.call_id }
end

return {
    {
        name = "torture_mark",
        description = "Leave a mark: one more line each time, never the same twice.",
        effect = "effect",
        args = ARGS,
        required = { "mark" },
        result = "mark, call_id",
        handler = leave,
    },
    {
        name = "torture_seal",
        description = "Leave a mark for good. Somebody has to allow it.",
        effect = "effect",
        args = ARGS,
        required = { "mark" },
        result = "mark, call_id",
        handler = leave,
    },
    {
        name = "torture_look",
        description = "Tell whether a mark is there, and how often; and which is the last one.",
        effect = "read",
        args = ARGS,
        required = { "mark" },
        result = "mark, count, last",
        handler = function(args)
            local count, last = 0, 0
            for _, line in ipairs(lines_of(path_of(args.mark))) do
                local mark = line:match("^%S+")
                if mark == args.mark then count = count + 1 end
                last = math.max(last, tonumber(mark:match("m(%d+)$")) or 0)
            end
            return { mark = args.mark, count = count, last = last }
        end,
    },
}
