--- The methods of a fleet about its tools, and about watching what goes on.
--
-- @module ccfleet
-- @see ccfleet

local expect = require("cc.expect").expect
local Toolbox = require("ccfleet.toolbox")
local json = require("ccfleet.json")

local Fleet = {}

--- Offer a tool, or replace one.
--
-- @tparam string name 1 to 64 of `A-Z a-z 0-9 _ . -`.
-- @tparam function handler `function(args, task_id, call_id, context)`: returns a table, or raises an error, or returns
-- nil and a message. It may wait (`sleep`, turtle functions, ...): it has a coroutine of its own.
-- `context` has `call_id`, `task_id` and `command`; `context:progress(fraction, message)` tells how far it is (0 to 1),
-- `context:remaining_ms()` how long it may still take, nil if nobody has set a limit.
-- @tparam[opt] table spec
--
--  - `description` (string): what the tool does, for the model;
--  - `args_schema` (table): JSON Schema of the arguments, checked before the handler is entered;
--  - `effect` (string): `read` changes nothing, `idempotent` may be repeated, `effect` (the default) is entered at most
--    once a call;
--  - `result` (string): what the result holds, in words;
--  - `timeout_ms` (number), `verify` (name of a `read` tool that tells whether a call happened), `tool_version`;
--  - `state` (string): a `draft` is told to the server but can be called by nobody.
-- @treturn boolean|nil true, or nil and what is wrong.
function Fleet:register(name, handler, spec)
    expect(1, name, "string")
    expect(2, handler, "function")
    expect(3, spec, "table", "nil")
    local tool, err = self._toolbox:add(name, handler, spec or {})
    if not tool then return nil, err end
    -- Without a connection `hello` tells it.
    self._session:send({ type = "register_commands", commands = json.array({ Toolbox.describe(tool) }) })
    return true
end

--- Whether there is a tool of this name.
--
-- @tparam string name The tool.
-- @treturn boolean Whether it is offered here, as a draft or not.
function Fleet:has_tool(name)
    return self._toolbox:get(name) ~= nil
end

--- Have functions called when the handler of a call is entered and when the call has ended. They must not wait.
--
-- @tparam table watcher `entered(call)` and `ended(call)`; a call has `call_id`, `command`, `args`, `effect`.
function Fleet:watch_calls(watcher)
    expect(1, watcher, "table")
    self._calls:watch(watcher)
end

--- Have a function called with each event of a name, besides all else that gets it. It must not wait.
--
-- @tparam string name The event's name.
-- @tparam function listener Gets the packed event.
function Fleet:on_event(name, listener)
    expect(1, name, "string")
    expect(2, listener, "function")
    self._listeners[name] = self._listeners[name] or {}
    table.insert(self._listeners[name], listener)
end

function Fleet:_tell_listeners(event)
    for _, listener in ipairs(self._listeners[event[1]] or {}) do
        local ok, err = pcall(listener, event)
        if not ok then self._log:error("listener to %s: %s", event[1], tostring(err)) end
    end
end

--- Whether the program ended in the middle of a call that changes something, the last time.
--
-- @treturn boolean Whether it did.
function Fleet:was_interrupted()
    return self._receipts.was_interrupted
end

--- Write a line to the log.
--
-- @tparam string level `info`, `warn` or `error`.
-- @tparam string line The line.
function Fleet:log(level, line)
    expect(1, level, "string")
    expect(2, line, "string")
    self._log[level](self._log, "%s", line)
end

--- Withdraw a tool.
--
-- @tparam string name The tool.
-- @treturn boolean Whether there was one.
function Fleet:unregister(name)
    expect(1, name, "string")
    if not self._toolbox:remove(name) then return false end
    self._session:send({ type = "unregister_commands", names = json.array({ name }) })
    return true
end

return Fleet
