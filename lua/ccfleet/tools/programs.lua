--- The core tools that run programs: `run_program`, `write_and_run`, `shell_exec`.
--
-- @module[kind=internal] ccfleet.tools.programs

local commands = require("ccfleet.commands")
local common = require("ccfleet.tools.common")
local files = require("ccfleet.tools.files")
local programs = require("ccfleet.programs")

local MAX_TIMEOUT_MS = 600000

local PATH = { type = "string", maxLength = 1024, description = "Path of the program from the root, such as /todo.lua." }
local ARGS = {
    type = "array", maxItems = 64, items = { type = "string", maxLength = 4096 },
    description = "Arguments of the program, each passed as it is.",
}
local INPUT = {
    type = "array", maxItems = 256, items = { type = "string", maxLength = 4096 },
    description = "Lines to type when the program reads (read(), io.read(), key and char events), in order.",
}
local ENV = { type = "object", description = "More globals for the program: name to value." }
local TIMEOUT = {
    type = "integer", minimum = 50, maximum = MAX_TIMEOUT_MS,
    description = "Stop the program after this many milliseconds; default 30000.",
}

-- How long a call may take on the whole, if the server sets no deadline: longer than any program in it.
local CALL_TIMEOUT_MS = MAX_TIMEOUT_MS + 10000

-- Run what is loaded, or report why it could not be loaded in the same form.
local function watch(body, err, args, context)
    if not body then
        return { success = false, output = "", error = err, duration_ms = 0 }
    end
    return programs.watch(body, args, context)
end

local function run_program(shell, args, context)
    local path = "/" .. fs.combine(args.path, "")
    if not fs.exists(path) or fs.isDir(path) then
        return watch(nil, path .. ": no such program; write it with fs_write first, or look where it is with fs_list")
    end
    local arguments = { [0] = path }
    for i, argument in ipairs(args.args or {}) do arguments[i] = argument end
    local body, err = programs.load(shell, fs.combine(path, ""), arguments, args.env)
    return watch(body, err, args, context)
end

local function write_and_run(shell, args, context)
    local ok, written = pcall(files.write, fs, args)
    if not ok then
        return { success = false, write = { success = false, bytes = 0, error = tostring(written) } }
    end
    if written.kept then
        -- What was kept is the result of the writing, and nothing ran.
        return { success = false, write = written }
    end
    local run = run_program(shell, args, context)
    return { success = run.success, write = { success = true, bytes = written.bytes, hash = written.hash }, run = run }
end

-- Commands -----------------------------------------------------------------------------------------------------

local function run_command(shell, args, context)
    local path, words = commands.resolve(shell, args.command)
    if not path then return watch(nil, words) end
    local body, err = programs.load(shell, path, words, args.env)
    return watch(body, err, args, context)
end

-- Each command starts in the folder it names, whatever the one before did; only one runs at a time.
local function shell_exec(shell, args, context)
    local cwd = fs.combine(args.cwd or "/", "")
    if not fs.isDir(cwd) then error("/" .. cwd .. ": not a folder", 0) end
    local dir_before = shell.dir()
    shell.setDir(cwd)
    local ok, report = pcall(run_command, shell, args, context)
    local cwd_after = "/" .. fs.combine(shell.dir(), "")
    shell.setDir(dir_before)
    if not ok then error(report, 0) end
    report.cwd = cwd_after
    report.duration_ms, report.traceback = nil, nil
    return report
end

-- The tools, with the shell that programs see.
local function make(shell)
    local function with_shell(handler)
        return function(args, _, _, context) return handler(shell, args, context) end
    end
    return {
        shell_exec = {
            handler = with_shell(shell_exec),
            effect = "effect",
            timeout_ms = CALL_TIMEOUT_MS,
            description = "Run one CraftOS command line, such as `ls /` or `copy a.lua b.lua`, and get all it printed. "
                .. "Quote words with spaces. success is false if the command failed; error says why. cwd in the result "
                .. "is the folder it ended in.",
            properties = {
                command = { type = "string", maxLength = 8192, description = "The command line." },
                cwd = { type = "string", maxLength = 1024, description = "Folder to start in; default /." },
                env = ENV, input = INPUT, timeout_ms = TIMEOUT,
            },
            required = { "command" },
        },
        run_program = {
            handler = with_shell(run_program),
            effect = "effect",
            timeout_ms = CALL_TIMEOUT_MS,
            description = "Run a Lua program file and get its output, error text and traceback. success says whether it "
                .. "ended without an error.",
            properties = { path = PATH, args = ARGS, input = INPUT, env = ENV, timeout_ms = TIMEOUT },
            required = { "path" },
        },
        write_and_run = {
            handler = with_shell(write_and_run),
            effect = "effect",
            timeout_ms = CALL_TIMEOUT_MS,
            description = "Write a Lua program file, then run it. The writing and the run are reported apart; if the "
                .. "writing fails there is no run.",
            properties = {
                path = PATH,
                content = { type = "string", maxLength = 120000, description = "The whole new content of the file." },
                args = ARGS, input = INPUT, env = ENV, timeout_ms = TIMEOUT, if_hash = common.IF_HASH,
            },
            required = { "path", "content" },
        },
    }
end

return { make = make }
