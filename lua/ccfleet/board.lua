--- A board with this computer's tasks, on a monitor or the screen.
--
-- Drawing is apart from waiting: @{Board:draw} only writes to a terminal, @{Board:handle} only takes events.
--
-- @module[kind=internal] ccfleet.board

local screen = require("ccfleet.screen")

local Board = {}
Board.__index = Board

--- @tparam table target A terminal: a monitor, a window or `term.current()`.
-- @tparam[opt] string monitor The monitor's name, if it is one.
function Board.new(target, monitor)
    return setmetatable({ _target = target, _monitor = monitor, _tasks = {}, _top = 1, _head = "ccfleet ..." }, Board)
end

local RANK = { waiting_for_user = 1, running = 2, waiting_for_command = 2, queued = 3, sleeping = 4 }

-- What needs a person comes first, then what runs; ended tasks last, the newest first.
local function before(a, b)
    local rank_a, rank_b = RANK[a.status] or 5, RANK[b.status] or 5
    if rank_a ~= rank_b then return rank_a < rank_b end
    return a.task_id > b.task_id
end

--- Take over what is to be shown.
--
-- @tparam table tasks The tasks.
-- @tparam table questions The open questions.
-- @tparam table status The host's status.
function Board:update(tasks, questions, status)
    local asked = {}
    for _, question in ipairs(questions) do asked[question.task_id] = question end
    self._tasks = {}
    for i, task in ipairs(tasks) do
        self._tasks[i] = setmetatable({ open_question = asked[task.task_id] }, { __index = task })
        if asked[task.task_id] and not screen.is_ended(task.status) then self._tasks[i].status = "waiting_for_user" end
    end
    table.sort(self._tasks, before)
    self._is_known = true
    self._head = status.is_connected and ("%s  %d tasks"):format(status.client_id, #tasks)
        or ("%s  offline"):format(tostring(status.client_id))
    self:_clamp()
end

-- Every task has two lines.
function Board:_rows()
    local _, height = self._target.getSize()
    return math.max(1, math.floor((height - 1) / 2))
end

function Board:_clamp()
    self._top = math.max(1, math.min(self._top, #self._tasks - self:_rows() + 1))
end

--- Scroll by so many tasks.
function Board:scroll(count)
    self._top = self._top + count
    self:_clamp()
end

-- Drawing ------------------------------------------------------------------------------------------------------

function Board:_line(y, foreground, background, text)
    local target = self._target
    local width, height = target.getSize()
    if y > height then return end
    if target.isColour() then
        target.setTextColour(foreground)
        target.setBackgroundColour(background)
    end
    target.setCursorPos(1, y)
    text = screen.fit(text, width)
    target.write(text .. (" "):rep(width - #text))
end

local function detail(task)
    if task.open_question then return "? " .. tostring(task.open_question.question) end
    if task.status == "failed" then return tostring(task.error or "") end
    if task.status == "completed" then return task.result and tostring(task.result.message or "") or "" end
    return tostring(task.message or "")
end

--- Draw everything.
function Board:draw()
    local target, rows = self._target, self:_rows()
    local colour = target.isColour()
    local below = #self._tasks - self._top - rows + 1
    local more = (self._top > 1 and " ^" or "") .. (below > 0 and " v" or "")
    self:_line(1, colours.black, colour and colours.lightBlue or colours.black, self._head .. more)
    local y = 2
    for i = self._top, math.min(#self._tasks, self._top + rows - 1) do
        local task = self._tasks[i]
        local head = ("%s %s %s %s"):format(screen.mark(task.status), screen.short_id(task.task_id),
            screen.status_text(task), screen.percent(task))
        self:_line(y, screen.colour(task.status), colours.black, head)
        self:_line(y + 1, colours.white, colours.black, "  " .. (detail(task) ~= "" and detail(task) or task.prompt or ""))
        y = y + 2
    end
    local _, height = target.getSize()
    for rest = y, height do self:_line(rest, colours.white, colours.black, "") end
    if self._is_known and not self._tasks[1] then
        self:_line(3, colours.lightGrey, colours.black, " No tasks yet. fleet ask \"...\"")
    end
end

-- Events -------------------------------------------------------------------------------------------------------

--- Take an event.
--
-- @tparam string event Its name.
-- @param a Its first argument, and so on.
-- @treturn string|nil `draw` if the picture changes, `quit` if the person wants to leave.
function Board:handle(event, a, _, c)
    local _, height = self._target.getSize()
    if event == "monitor_touch" and a == self._monitor or event == "mouse_click" and not self._monitor then
        self:scroll((c or 1) > height / 2 and self:_rows() or -self:_rows())
        return "draw"
    elseif event == "mouse_scroll" and not self._monitor then
        self:scroll(a)
        return "draw"
    elseif event == "monitor_resize" and a == self._monitor or event == "term_resize" and not self._monitor then
        self:_clamp()
        return "draw"
    elseif event == "key" and not self._monitor then
        if a == keys.down then self:scroll(1) return "draw" end
        if a == keys.up then self:scroll(-1) return "draw" end
        if a == keys.q then return "quit" end
    elseif event == "peripheral_detach" and a == self._monitor then
        return "quit"
    end
    return nil
end

return Board
