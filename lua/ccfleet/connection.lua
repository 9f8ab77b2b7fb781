--- One WebSocket that is opened again whenever it is lost.
--
-- Driven from outside: @{Connection:handle} takes events, @{Connection:tick} takes time. Nothing here waits.
--
-- ComputerCraft's events name only the URL, not the handle, so every attempt gets a URL of its own; what arrives for
-- an earlier one is recognised by that.
--
-- @module[kind=internal] ccfleet.connection

local Backoff = require("ccfleet.backoff")
local text = require("ccfleet.text")

-- CC gives up a handshake after 30 s, but its answer may be lost in a full event queue.
local CONNECT_SECONDS = 40
-- The server sends a `ping` every 30 s. Three lost ones, and nobody is there.
local SILENCE_SECONDS = 90
-- A connection that lived this long was a good one.
local STABLE_SECONDS = 30
-- How soon to try again when the computer's send buffer is full.
local FLUSH_SECONDS = 0.2

local Connection = {}
Connection.__index = Connection

--- @tparam table options `url`, `client_id`, `boot_id`, `platform`, `log`, and the callbacks `on_open()`,
-- `on_text(text)`, `on_lost(reason, code)`; `longest_wait` in seconds may be nil.
function Connection.new(options)
    local separator = options.url:find("?", 1, true) and "&" or "?"
    local base = options.url .. separator .. "client_id=" .. text.percent_encode(options.client_id)
    return setmetatable({
        _prefix = base .. "&n=" .. text.percent_encode(options.boot_id) .. "-",
        _options = options,
        _platform = options.platform,
        _log = options.log,
        _backoff = Backoff.new(options.platform.random, options.longest_wait),
        _attempt = 0,
        _state = "idle",
        _outbox = {},
    }, Connection)
end

function Connection:is_open()
    return self._state == "open"
end

function Connection:_wait(hopeless)
    local seconds = self._backoff:next(hopeless)
    self._state = "waiting"
    self._deadline = self._platform.clock() + seconds
    self._log:info("next attempt in %.1f s", seconds)
end

function Connection:_connect()
    self._attempt = self._attempt + 1
    self._url = self._prefix .. self._attempt
    self._state = "connecting"
    self._deadline = self._platform.clock() + CONNECT_SECONDS
    -- The positional form: CraftOS-PC does not know the one with a table.
    local ok, started, err = pcall(self._platform.http.websocketAsync, self._url)
    if not ok then
        self:_failed(started)
    elseif started == false then
        self:_failed(err)
    end
end

function Connection:_failed(reason)
    self._url = nil
    self._log:warn("cannot connect to %s: %s", self._options.url, tostring(reason))
    self._options.on_lost(tostring(reason))
    self:_wait(false)
end

--- Begin to connect.
function Connection:start()
    self:_connect()
end

function Connection:_opened(handle)
    self._handle = handle
    self._state = "open"
    self._opened_at = self._platform.clock()
    self._heard_at = self._opened_at
    self._options.on_open()
end

-- `handle_is_closed`: a handle that closed by itself is left alone, since CraftOS-PC may hang when it is touched.
function Connection:_lost(reason, code, hopeless, handle_is_closed)
    local handle = self._handle
    self._handle, self._url, self._outbox = nil, nil, {}
    if handle and not handle_is_closed then pcall(handle.close) end
    self._log:warn("connection lost: %s%s", tostring(reason), code and (" (" .. tostring(code) .. ")") or "")
    self:_wait(hopeless)
    self._options.on_lost(tostring(reason), code)
end

--- Give the connection up and make a new one later.
--
-- @tparam string reason For the log.
function Connection:drop(reason)
    if self._state == "open" then self:_lost(reason) end
end

--- Close for good.
function Connection:close()
    local handle = self._handle
    self._handle, self._url, self._state = nil, nil, "closed"
    if handle then pcall(handle.close) end
end

-- Codes with which the server says no for a reason that time does not mend. 4409 (the name is in use) is not among
-- them: a computer that was cut off finds its own old connection there for a moment.
local HOPELESS_CODES = { [4400] = true, [4401] = true, [4403] = true }

local HANDLERS = {}

function HANDLERS:websocket_success(url, handle)
    if url == self._url and self._state == "connecting" then
        self:_opened(handle)
    else
        pcall(handle.close)
    end
end

function HANDLERS:websocket_failure(url, reason)
    if url == self._url and self._state == "connecting" then self:_failed(reason) end
end

function HANDLERS:websocket_message(url, message)
    if url ~= self._url or self._state ~= "open" then return end
    self._heard_at = self._platform.clock()
    self._options.on_text(message)
end

function HANDLERS:websocket_closed(url, reason, code)
    if url ~= self._url or self._state ~= "open" then return end
    if reason == nil or reason == "" then reason = "closed by the server" end
    self:_lost(reason, code, HOPELESS_CODES[code], true)
end

--- Take an event.
--
-- @tparam table event The packed event.
-- @treturn boolean Whether it was about this connection (or an earlier one).
function Connection:handle(event)
    local handler, url = HANDLERS[event[1]], event[2]
    if not handler or type(url) ~= "string" or url:sub(1, #self._prefix) ~= self._prefix then return false end
    handler(self, url, event[3], event[4])
    return true
end

--- Take the time.
--
-- @tparam number now The clock.
-- @treturn number|nil Seconds until this has to be called again.
function Connection:tick(now)
    if self._state == "waiting" and now >= self._deadline then
        self:_connect()
    elseif self._state == "connecting" and now >= self._deadline then
        self:_failed("no answer")
    elseif self._state == "open" then
        if now - self._opened_at >= STABLE_SECONDS then self._backoff:reset() end
        if now - self._heard_at >= SILENCE_SECONDS then self:_lost("the server is silent") end
    end
    self:_flush()

    if self._state == "open" then
        return self._outbox[1] and FLUSH_SECONDS or self._heard_at + SILENCE_SECONDS - now
    end
    return self._deadline and self._state ~= "closed" and math.max(0, self._deadline - now) or nil
end

-- Hand one frame to the computer. Returns true, or nil and the reason.
function Connection:_transmit(frame)
    local ok, err = pcall(self._handle.send, frame, true)
    if ok then return true end
    err = tostring(err)
    if err:find("closed", 1, true) then
        self:_lost("closed while sending", nil, nil, true)
        return nil, "offline"
    end
    return nil, err
end

function Connection:_flush()
    while self._state == "open" and self._outbox[1] do
        local ok, err = self:_transmit(self._outbox[1])
        if not ok and err:find("Too many ongoing", 1, true) then return end
        if not ok then self._log:warn("message dropped: %s", err) end
        table.remove(self._outbox, 1)
    end
end

--- Send a text as one binary frame, in order; kept for a moment if the computer has too much under way.
--
-- Binary, because text frames garble everything beyond ASCII before 1.109.
--
-- @treturn boolean|nil true, or nil and the reason.
function Connection:send(frame)
    if self._state ~= "open" then return nil, "offline" end
    if not self._outbox[1] then
        local ok, err = self:_transmit(frame)
        if ok or not err:find("Too many ongoing", 1, true) then return ok, err end
    end
    table.insert(self._outbox, frame)
    return true
end

return Connection
