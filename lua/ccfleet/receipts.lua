--- What this computer remembers of the calls it must not run twice.
--
-- Before the handler of an `effect` call is entered, its receipt (`started`) and the highest sequence number are on
-- disk; afterwards the result is. Whatever happens in between, a call that may have been entered is never entered
-- again: a number that is not above `high_seq` and has no receipt is `unknown`.
--
-- ComputerCraft cannot replace a file in one step, so there are two slots. A write goes to the slot that does not
-- hold the newest good state, with a generation number and a checksum in front; a crash in the middle leaves the
-- other slot as it was. After that come a line about the servers and a line for each receipt.
--
-- Numbers belong to one server (`server_id`); each server's `high_seq` is kept, so that going back to an earlier
-- one does not forget what ran for it.
--
-- @module[kind=internal] ccfleet.receipts

local json = require("ccfleet.json")
local text = require("ccfleet.text")
local files = require("ccfleet.files")
local results = require("ccfleet.results")

-- Both slots together stay under 64 KiB.
local SLOT_LIMIT = 31 * 1024
-- Kept free when a call starts, so that its end can be written at least with a short result.
local RESERVE = 1024
local RESULT_LIMIT = 4 * 1024
local ERROR_LIMIT = 1024
local END_BYTES = 512
-- How much of each end of old results stays when room is needed, step by step. With the last one the store holds over
-- 64 results that the server has not confirmed.
local SHORTER_ENDS = { 512, 128, 24 }
-- What a shortened result has beside its ends.
local DIGEST_BYTES = 80
local MAX_SERVERS = 8

local Receipts = {}
Receipts.__index = Receipts

-- Slots --------------------------------------------------------------------------------------------------------

local function read_slot(fs, path)
    local content = fs.exists(path) and files.read(fs, path)
    if not content then return nil end
    local generation, checksum, body = content:match("^ccfleet%-receipts (%d+) (%x+)\n(.*)$")
    if not generation or text.checksum(body) ~= checksum then return nil end
    return body, tonumber(generation)
end

local function decode_lines(body)
    local values = {}
    for line in body:gmatch("[^\n]+") do table.insert(values, json.decode(line)) end
    return values
end

function Receipts:_slot(generation)
    return ("%s/receipts.%d"):format(self._dir, generation % 2)
end

-- A receipt's line is kept until the receipt changes: every call writes the whole file twice.
function Receipts:_line(receipt)
    local line = self._lines[receipt] or json.encode(receipt)
    self._lines[receipt] = line
    return line
end

function Receipts:_header()
    return json.encode({
        current = self._server and self._server.server_id,
        session_secret = self._secret,
        servers = json.array(self._servers),
    })
end

-- How long @{_encode}'s text would be.
function Receipts:_bytes()
    local sum = #self:_header()
    for _, receipt in ipairs(self._receipts) do sum = sum + 1 + #self:_line(receipt) end
    return sum
end

function Receipts:_encode()
    local lines = { self:_header() }
    for _, receipt in ipairs(self._receipts) do lines[#lines + 1] = self:_line(receipt) end
    return table.concat(lines, "\n")
end

function Receipts:_persist()
    local body = self:_encode()
    if #body > SLOT_LIMIT then return nil, "the receipt store is full" end
    local generation = self._generation + 1
    local head = ("ccfleet-receipts %d %s\n"):format(generation, text.checksum(body))
    local ok, err = files.write(self._fs, self:_slot(generation), head .. body)
    if not ok then return nil, err end
    self._generation = generation
    return true
end

local function find_server(servers, server_id)
    for i, server in ipairs(servers) do
        if server.server_id == server_id then return server, i end
    end
    return nil
end

--- Open the store in a folder; a missing or damaged one is empty.
--
-- @tparam table fs The file system API.
-- @tparam string dir The folder.
function Receipts.open(fs, dir)
    local self = setmetatable({
        _fs = fs, _dir = dir, _generation = 0, _servers = {}, _receipts = {},
        _lines = setmetatable({}, { __mode = "k" }),
        _ends = setmetatable({}, { __mode = "k" }), -- receipt -> how much of each end of its result is left at most
        was_interrupted = false,
    }, Receipts)
    local newest
    for slot = 0, 1 do
        local body, generation = read_slot(fs, self:_slot(slot))
        if body and generation > self._generation then
            newest, self._generation = body, generation
        end
    end
    if newest then
        self._receipts = decode_lines(newest)
        local state = table.remove(self._receipts, 1)
        self._servers = state.servers
        self._secret = state.session_secret
        self._server = find_server(self._servers, state.current)
    end
    -- Whatever had started runs no longer: this is a new start of the program.
    for _, receipt in ipairs(self._receipts) do
        if receipt.state == "started" then
            receipt.state = "unknown"
            self.was_interrupted = true
        end
    end
    return self
end

-- Servers ------------------------------------------------------------------------------------------------------

--- What `hello` tells about the last server: server_id, journal_epoch, session_secret, high_seq (all may be nil).
function Receipts:identity()
    local server = self._server or {}
    return {
        server_id = server.server_id,
        journal_epoch = server.journal_epoch,
        high_seq = server.high_seq,
        session_secret = self._secret,
    }
end

--- The server has introduced itself.
--
-- @treturn boolean|nil true, or nil and why this could not be written down.
function Receipts:use_server(server_id, journal_epoch, session_secret)
    local server, index = find_server(self._servers, server_id)
    if index then table.remove(self._servers, index) end
    server = server or { server_id = server_id, high_seq = 0 }
    table.insert(self._servers, server)
    if #self._servers > MAX_SERVERS then table.remove(self._servers, 1) end
    server.journal_epoch = journal_epoch
    self._server = server
    self._secret = session_secret
    return self:_persist()
end

-- Calls --------------------------------------------------------------------------------------------------------

--- The receipt of a call of the current server, or nil.
function Receipts:find(call_id)
    local server_id = self._server and self._server.server_id
    for i, receipt in ipairs(self._receipts) do
        if receipt.call_id == call_id and receipt.server_id == server_id then return receipt, i end
    end
    return nil
end

--- What is known of a call.
--
-- @tparam string call_id
-- @tparam number|nil seq Its number in the lane.
-- @tparam string|nil args_hash Its arguments, as the server names them.
-- @treturn string `not_started`, `started`, `done`, `unknown`, or `mismatch` (same id, other arguments).
-- @treturn table|nil The receipt, if there is one.
function Receipts:judge(call_id, seq, args_hash)
    local receipt = self:find(call_id)
    if receipt then
        if args_hash and receipt.args_hash and args_hash ~= receipt.args_hash then return "mismatch", receipt end
        return receipt.state, receipt
    end
    if seq and seq <= (self._server and self._server.high_seq or 0) then return "unknown" end
    return "not_started"
end

-- Receipts that may go without changing any answer: those of `unknown` calls (without one they are unknown as
-- well) and those of servers that we are not talking to (they stay covered by that server's `high_seq`).
function Receipts:_drop_one()
    for i, receipt in ipairs(self._receipts) do
        local foreign = receipt.server_id ~= (self._server and self._server.server_id)
        if receipt.seq and (foreign or receipt.state == "unknown") then
            table.remove(self._receipts, i)
            return true
        end
    end
    return false
end

-- A result that was shortened before, with less of its ends.
local function cut_ends(result, ends)
    return {
        digest = result.digest, bytes = result.bytes,
        head = text.head(result.head, ends), tail = text.tail(result.tail, ends),
    }
end

-- Shorten what an ended call left to so much of each end. Returns by how many bytes its line became shorter.
function Receipts:_shorten(receipt, ends)
    if (self._ends[receipt] or math.huge) <= ends then return 0 end
    self._ends[receipt] = ends
    local before, result = #self:_line(receipt), receipt.result
    if receipt.truncated then
        receipt.result = cut_ends(result, ends)
    elseif result ~= nil then
        receipt.result, receipt.truncated = results.shorten(result, 2 * ends + DIGEST_BYTES, ends)
    end
    receipt.error = receipt.error and text.head(receipt.error, 2 * ends)
    self._lines[receipt] = nil
    return before - #self:_line(receipt)
end

-- Make the store smaller than its limit by so many bytes: first by what costs nothing, then by the ends of old results.
function Receipts:_make_room(reserve)
    local excess = self:_bytes() + reserve - SLOT_LIMIT
    while excess > 0 and self:_drop_one() do excess = self:_bytes() + reserve - SLOT_LIMIT end
    for _, ends in ipairs(SHORTER_ENDS) do
        for _, receipt in ipairs(self._receipts) do
            if excess <= 0 then return true end
            if receipt.state == "done" then excess = excess - self:_shorten(receipt, ends) end
        end
    end
    if excess <= 0 then return true end
    return nil, "too many results the server has not confirmed"
end

--- Write down that the handler of a call is about to be entered.
--
-- @tparam table call `call_id`, `task_id`, and if the server gave them `seq` and `args_hash`.
-- @treturn boolean|nil true, or nil and the reason; then the call must not run.
function Receipts:start(call)
    local server, seq = self._server, call.seq
    local receipt = {
        call_id = call.call_id,
        task_id = call.task_id,
        server_id = server and server.server_id,
        seq = seq,
        args_hash = call.args_hash,
        state = "started",
    }
    table.insert(self._receipts, receipt)
    local ok, err = self:_make_room(RESERVE)
    local high_seq = server and server.high_seq
    if ok then
        if server and seq then server.high_seq = math.max(server.high_seq, seq) end
        ok, err = self:_persist()
    end
    if ok then return true end

    if server then server.high_seq = high_seq end
    local _, index = self:find(call.call_id)
    table.remove(self._receipts, index)
    return nil, err
end

--- Write down how a call ended.
--
-- @tparam table outcome `ok`, and `result` or `error` and `code`.
-- @treturn boolean|nil true, or nil and why it is known in memory only.
function Receipts:finish(call_id, outcome)
    local receipt = self:find(call_id)
    self._lines[receipt] = nil
    receipt.state = "done"
    receipt.ok = outcome.ok
    receipt.code = outcome.code
    receipt.error = outcome.error and text.head(outcome.error, ERROR_LIMIT)
    if outcome.ok and outcome.truncated then
        receipt.result, receipt.truncated = cut_ends(outcome.result, END_BYTES), true
    elseif outcome.ok then
        receipt.result, receipt.truncated = results.shorten(outcome.result, RESULT_LIMIT, END_BYTES)
    end
    self:_make_room(0)
    return self:_persist()
end

--- The server has the result; the receipt may go.
function Receipts:stored(call_id)
    local _, index = self:find(call_id)
    if not index then return true end
    table.remove(self._receipts, index)
    return self:_persist()
end

--- The receipts of the current server that hold a result the server has not confirmed.
function Receipts:unconfirmed()
    local list = {}
    for _, receipt in ipairs(self._receipts) do
        if receipt.state == "done" and self:find(receipt.call_id) == receipt then list[#list + 1] = receipt end
    end
    return list
end

return Receipts
