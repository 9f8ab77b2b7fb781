-- Downloads a file, or runs it: `wget run <url> [arguments]`.
local args = { ... }
local run = args[1] == "run"
if run then table.remove(args, 1) end
local url = args[1]
if not url then
  print("Usage:")
  print("wget <url> [filename]")
  print("wget run <url>")
  return
end

local ok, err = http.checkURL(url)
if not ok then
  printError(err or "Invalid URL.")
  return
end
write("Connecting to " .. url .. "... ")
local response, problem = http.get(url)
if not response then
  print("Failed.")
  printError(problem or "Unknown error")
  return
end
print("Success.")
local body = response.readAll()
response.close()

if run then
  local fn, syntax = load(body, fs.getName(url), "t", _ENV)
  if not fn then
    printError(syntax)
    return
  end
  local fine, message = pcall(fn, table.unpack(args, 2))
  if not fine then printError(message) end
  return
end

local target = shell.resolve(args[2] or url:gsub("[?#].*$", ""):match("([^/]+)/*$") or "download")
if fs.exists(target) then
  printError("File already exists")
  return
end
local file, denied = fs.open(target, "wb")
if not file then
  printError("Cannot save file: " .. denied)
  return
end
file.write(body)
file.close()
print("Downloaded as " .. target)
