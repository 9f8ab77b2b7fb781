--- The conversation with the server: who we are, what is acknowledged, which message goes where.
--
-- @module[kind=internal] ccfleet.session

local Connection = require("ccfleet.connection")
local Window = require("ccfleet.window")
local chunks = require("ccfleet.chunks")
local json = require("ccfleet.json")
local version = require("ccfleet.version")

local WINDOW_SIZE = 8
-- CC's limit; one byte more kills the connection.
local MAX_FRAME_BYTES = 131072
local WELCOME_SECONDS = 15
-- Room for an `ack` that rides along, so that adding it never makes a frame too long.
local ACK_ROOM = 32
-- How long a message in chunks may be, if the server does not say.
local DEFAULT_MESSAGE_BYTES = 1024 * 1024

local Session = {}
Session.__index = Session

--- @tparam table parts `options` (of @{ccfleet.new}), `boot_id`, `platform`, `log`, `toolbox`, `receipts`, `handlers`
-- (message type -> function(message)), `on_ready(welcome)`, `on_lost(reason, code, was_ready)`.
function Session.new(parts)
    local self = setmetatable({
        _options = parts.options,
        _boot_id = parts.boot_id,
        _platform = parts.platform,
        _log = parts.log,
        _toolbox = parts.toolbox,
        _receipts = parts.receipts,
        _handlers = parts.handlers,
        _on_ready = parts.on_ready,
        _on_lost = parts.on_lost,
        _frame_limit = MAX_FRAME_BYTES,
        _chunk_ids = 0,
        _is_ready = false,
    }, Session)
    self._connection = Connection.new({
        url = parts.options.url,
        client_id = parts.options.client_id,
        boot_id = parts.boot_id,
        longest_wait = parts.options.reconnect_seconds,
        platform = parts.platform,
        log = parts.log,
        on_open = function() self:_greet() end,
        on_text = function(frame) self:_receive(frame) end,
        on_lost = function(reason, code) self:_lost(reason, code) end,
    })
    return self
end

--- Whether the server has welcomed us on the present connection.
function Session:is_ready()
    return self._is_ready
end

-- How long a frame may be, with room for what the session adds.
function Session:_room()
    return self._frame_limit - ACK_ROOM
end

--- How long a message may be: a frame, or what the server takes in chunks.
function Session:message_limit()
    return self._chunked_limit or self:_room()
end

function Session:start()
    self._connection:start()
end

function Session:close()
    self._is_ready = false
    self._connection:close()
end

-- Sending ------------------------------------------------------------------------------------------------------

--- Send a message to the server.
--
-- @treturn boolean|nil true, or nil and `offline`, `too large` or what the computer said.
function Session:send(message)
    if not self._is_ready then return nil, "offline" end
    return self:_transmit(message)
end

-- Put the acknowledgement that is due in front of a frame.
function Session:_with_ack(frame)
    local ack = self._window:take_ack()
    if not ack then return frame end
    -- Every message is an object with a type, so there is a first field to put this in front of.
    return ('{"ack":%d,'):format(ack) .. frame:sub(2)
end

function Session:_transmit(message)
    local frame = json.encode(message)
    if #frame <= self:_room() then return self._connection:send(self:_with_ack(frame)) end
    if #frame > self:message_limit() then return nil, "too large" end
    self._chunk_ids = self._chunk_ids + 1
    for _, piece in ipairs(chunks.split(frame, ("%s-%d"):format(self._boot_id, self._chunk_ids), self:_room())) do
        local ok, err = self._connection:send(self:_with_ack(piece))
        if not ok then return nil, err end
    end
    return true
end

function Session:_hello()
    local options, identity = self._options, self._receipts:identity()
    return {
        type = "hello",
        protocol = version.PROTOCOL,
        client_id = options.client_id,
        boot_id = self._boot_id,
        label = options.label,
        token = options.token,
        library_version = options.library_version or version.LIBRARY,
        computer = {
            id = self._platform.computer_id(),
            kind = self._platform.computer_kind(),
            version = self._platform.version,
        },
        groups = json.array(options.groups),
        commands = self._toolbox:describe_all(),
        features = json.array({ "receipts", "progress", "questions", "chunks" }),
        max_frame_bytes = MAX_FRAME_BYTES,
        frames = "binary",
        window = WINDOW_SIZE,
        high_seq = identity.high_seq,
        server_id = identity.server_id,
        journal_epoch = identity.journal_epoch,
        session_secret = identity.session_secret,
    }
end

-- A hello that is too long says nothing of the tools: they follow after the welcome, in several messages.
function Session:_hello_frame()
    local hello = self:_hello()
    local frame = json.encode(hello)
    self._owes_tools = #frame > MAX_FRAME_BYTES
    if not self._owes_tools then return frame end
    hello.commands = json.array()
    return json.encode(hello)
end

-- Register all tools, as many in one message as fit into a frame.
function Session:_register_all()
    local batch, bytes = json.array(), 0
    local function flush()
        if not batch[1] then return end
        local ok, err = self:_transmit({ type = "register_commands", commands = batch })
        if not ok then self._log:error("tool %s and others not registered: %s", batch[1].name, tostring(err)) end
        batch, bytes = json.array(), 0
    end
    for _, tool in ipairs(self._toolbox:describe_all()) do
        local size = #json.encode(tool) + 1
        if bytes + size > self:_room() - ACK_ROOM - 64 then flush() end
        table.insert(batch, tool)
        bytes = bytes + size
    end
    flush()
end

function Session:_greet()
    self._window = Window.new(WINDOW_SIZE)
    self._joiner = chunks.joiner()
    self._frame_limit, self._chunked_limit = MAX_FRAME_BYTES, nil
    self._welcome_by = self._platform.clock() + WELCOME_SECONDS
    local ok, err = self._connection:send(self:_hello_frame())
    if not ok then
        self._log:error("cannot say hello: %s", tostring(err))
        self._connection:drop("hello not sent")
    end
end

-- Receiving ----------------------------------------------------------------------------------------------------

function Session:_note_tools(answer)
    self._toolbox:set_revisions(type(answer.accepted) == "table" and answer.accepted or {})
    for _, refused in ipairs(type(answer.refused) == "table" and answer.refused or {}) do
        self._log:warn("tool %s refused by the server: %s %s", tostring(refused.name), tostring(refused.code),
            tostring(refused.hint or ""))
    end
end

local function has_feature(message, wanted)
    for _, feature in ipairs(type(message.features) == "table" and message.features or {}) do
        if feature == wanted then return true end
    end
    return false
end

function Session:_welcomed(message)
    local server_id = message.server_id
    -- Receipts hang on it: a guess here could let a call run twice.
    if type(server_id) ~= "string" then error("welcome without server_id", 0) end
    local ok, err = self._receipts:use_server(server_id, message.journal_epoch, message.session_secret)
    if not ok then self._log:warn("state not written: %s", tostring(err)) end
    self._window:resize(tonumber(message.window) or WINDOW_SIZE)
    self._frame_limit = math.min(MAX_FRAME_BYTES, tonumber(message.max_frame_bytes) or MAX_FRAME_BYTES)
    if has_feature(message, "chunks") then
        self._chunked_limit = math.max(self:_room(), tonumber(message.max_from_computer) or DEFAULT_MESSAGE_BYTES)
    end
    self._welcome_by = nil
    self._is_ready = true
    if self._owes_tools then self:_register_all() end
    if type(message.commands) == "table" then self:_note_tools(message.commands) end
    self._log:info("connected to %s as %s", server_id, tostring(message.client_id or self._options.client_id))
    self._on_ready(message)
end

-- Messages that belong to the conversation itself.
local OWN = {}

function OWN:welcome(message) self:_welcomed(message) end

-- Also before the welcome: the server may probe us first.
function OWN:ping(message) self:_transmit({ type = "pong", nonce = message.nonce }) end

function OWN:pong(message) self._handlers.pong(message) end

function OWN:commands_registered(message) self:_note_tools(message) end

function OWN:chunk(message)
    local whole, err = self._joiner:take(message, self._platform.clock())
    if err then self._log:error("message in chunks thrown away: %s", err) end
    local joined = whole and self:_read(whole)
    if joined and joined.type ~= "chunk" then self:_dispatch(joined) end
end

-- The id without which a message means nothing.
local NEEDED = {
    command_call = "call_id", command_cancel = "call_id", call_status = "call_id", result_stored = "call_id",
    task_created = "task_id", task_update = "task_id", task_completed = "task_id", task_failed = "task_id",
    user_question = "question_id", question_closed = "question_id", task_list = "request_id",
}

function Session:_dispatch(message)
    local needed = NEEDED[message.type]
    if needed and type(message[needed]) ~= "string" then error(needed .. " is missing", 0) end
    local own, handler = OWN[message.type], self._handlers[message.type]
    if own then
        own(self, message)
    elseif handler then
        handler(message)
    else
        self._log:warn("message of unknown type %s ignored", tostring(message.type))
    end
end

function Session:_read(frame)
    local message, err = json.decode(frame)
    if type(message) == "table" then return message end
    self._log:error("unreadable message from the server: %s", tostring(err or "not an object"))
    return nil
end

function Session:_receive(frame)
    local message = self:_read(frame)
    if not message then return end
    local n = tonumber(message.n)
    if n and self._window:accept(n, self._platform.clock()) ~= "handle" then return end
    -- Whatever the server sends, the program goes on.
    local ok, failure = pcall(self._dispatch, self, message)
    if not ok then self._log:error("message %s: %s", tostring(message.type), tostring(failure)) end
end

function Session:_lost(reason, code)
    local was_ready = self._is_ready
    self._is_ready, self._welcome_by = false, nil
    self._on_lost(reason, code, was_ready)
end

-- Events and time ----------------------------------------------------------------------------------------------

--- Take an event; true if it was about the connection.
function Session:handle(event)
    return self._connection:handle(event)
end

--- Take the time.
--
-- @tparam number now The clock.
-- @treturn number|nil Seconds until this has to be called again.
function Session:tick(now)
    if self._welcome_by and now >= self._welcome_by then
        self._welcome_by = nil
        self._connection:drop("no welcome from the server")
    end
    local wait = self._connection:tick(now)
    if not self._is_ready then
        return self._welcome_by and math.min(wait or math.huge, self._welcome_by - now) or wait
    end
    if self._window:is_due(now) then self:send({ type = "ack", n = self._window:take_ack() }) end
    return math.min(wait or math.huge, self._window:seconds_left(now) or math.huge)
end

return Session
