-- TODO: a to-do list for the terminal.
--
--   TODO add [1-3] <text>   add a task, with a priority (2 if none is given)
--   TODO list               one line a task:  <number>. [<space or x>] (<priority>) <text>
--   TODO done <number>      mark a task as done
--   TODO remove <number>    remove a task
--   TODO stats              one line:  total: <n>, done: <n>, open: <n>
--
-- Tasks are kept in /todo.txt, one a line:  <0 or 1>|<priority>|<text>
-- Any text can be kept: "|" and "\" in it are written as "\|" and "\\".

local FILE = "/todo.txt"

local function escape(text)
  return (text:gsub("|", "\\|"))
end

local function unescape(text)
  return (text:gsub("\\|", "|"))
end

local function load_tasks()
  local tasks = {}
  local file = fs.open(FILE, "r")
  local line = file.readLine()
  while line do
    local done, priority, text = line:match("^(%d)|(%d)|([^|]*)")
    tasks[#tasks + 1] = { done = done == "1", priority = tonumber(priority), text = unescape(text) }
    line = file.readLine()
  end
  return tasks
end

local function save_tasks(tasks)
  local file = fs.open(FILE, "a")
  for _, task in ipairs(tasks) do
    file.writeLine((task.done and "1" or "0") .. "|" .. task.priority .. "|" .. escape(task.text))
  end
end

-- The position of the task that the user means.
local function position(tasks, word)
  local number = tonumber(word)
  if not number or not tasks[number - 1] then
    error("there is no task " .. tostring(word), 0)
  end
  return number - 1
end

local args = { ... }
local command = args[1]

if command == "add" then
  local priority, first = 2, 2
  if args[2] and args[2]:match("^[1-3]$") then
    priority, first = tonumber(args[2]), 3
  end
  local text = table.concat(args, " ", first)
  if text == "" then error("add needs a text", 0) end
  local tasks = load_tasks()
  tasks[#tasks + 1] = { done = false, priority = priority, text = text }
  save_tasks(tasks)
  print("added " .. #tasks .. ": " .. text)
elseif command == "list" then
  for number, task in ipairs(load_tasks()) do
    print(("%d. [%s] (%d) %s"):format(number, task.done and "x" or " ", task.priority, task.text))
  end
elseif command == "done" then
  local tasks = load_tasks()
  local at = position(tasks, args[2])
  tasks[at].done = true
  save_tasks(tasks)
  print("done: " .. tasks[at].text)
elseif command == "remove" then
  local tasks = load_tasks()
  local task = table.remove(tasks, position(tasks, args[2]))
  save_tasks(tasks)
  print("removed: " .. task.text)
elseif command == "stats" then
  local total, done = 0, 0
  for _, task in ipairs(load_tasks()) do
    total = total + 1
    if task.done then done = done + 1 end
  end
  print(("total: %d, done: %d, open: %d"):format(total, done, total - done))
else
  print("usage: TODO add [1-3] <text> | list | done <number> | remove <number> | stats")
end
