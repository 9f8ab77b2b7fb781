-- CraftOS' `http`: requests and WebSockets.
local native = ...
local expect = native.expect
http = {}

local DEFAULT_TIMEOUT = 30

-- Headers as a list of pairs. Values that are not strings are dropped, as the mod does.
local function header_list(headers)
  local list = {}
  for name, value in pairs(headers or {}) do
    if type(name) == "string" and type(value) == "string" then
      if name:find("[%c]") or value:find("[%c]") then
        error("Failed to convert object value for header '" .. name .. "'", 4)
      end
      list[#list + 1] = { name, value }
    end
  end
  return list
end

local function check_timeout(value)
  value = value or DEFAULT_TIMEOUT
  if value < 0 or value > 60 or value ~= value then error("timeout out of range (between 0.0 and 60.0)", 4) end
  return value
end

-- Handles of native objects -------------------------------------------------------------------------------

local function socket_handle(socket)
  local url = native.ws_info(socket)
  local handle = {}
  local function check_open()
    local _, is_open = native.ws_info(socket)
    if not is_open then error("attempt to use a closed file", 3) end
  end
  function handle.receive(timeout)
    expect(1, timeout, "number", "nil")
    check_open()
    local timer = timeout and os.startTimer(timeout)
    while true do
      local event, which, message, binary = os.pullEvent()
      if event == "websocket_message" and which == url then
        if timer then os.cancelTimer(timer) end
        return message, binary
      elseif event == "websocket_closed" and which == url then
        local _, is_open = native.ws_info(socket)
        if not is_open then return end
      elseif event == "timer" and which == timer then
        return
      end
    end
  end
  function handle.send(message, binary)
    local err = native.ws_send(socket, tostring(message), binary and true or false)
    if err then error(err, 2) end
  end
  function handle.close() native.ws_close(socket) end
  return handle
end

local function response_handle(response)
  local body, code, reason, headers, binary = native.response(response)
  local handle = native.handle(body, true, false, binary)
  function handle.getResponseCode() return code, reason end
  function handle.getResponseHeaders() return headers end
  return handle
end

function native.wrap(kind, object)
  if kind == "socket" then return socket_handle(object) end
  return response_handle(object)
end

-- WebSockets ----------------------------------------------------------------------------------------------

local function open(url, headers, timeout)
  local ok, err = native.ws_open(url, header_list(headers), check_timeout(timeout))
  if ok then return true end
  if err then
    os.queueEvent("websocket_failure", url, err)
    return false, err
  end
  error("Too many websockets already open", 3)
end

local function arguments(url, headers)
  if type(url) == "table" and native.has.websocket_options then
    expect(1, url.url, "string")
    return url.url, url.headers, url.timeout
  end
  expect(1, url, "string")
  expect(2, headers, "table", "nil")
  return url, headers
end

function http.websocketAsync(url, headers)
  local timeout
  url, headers, timeout = arguments(url, headers)
  return open(url, headers, timeout)
end

function http.websocket(url, headers)
  local timeout
  url, headers, timeout = arguments(url, headers)
  local ok, err = open(url, headers, timeout)
  if not ok then return false, err end
  while true do
    local event, which, result = os.pullEvent()
    if event == "websocket_success" and which == url then
      return result
    elseif event == "websocket_failure" and which == url then
      return false, result
    end
  end
end

-- Requests ------------------------------------------------------------------------------------------------

local function check_url(url)
  if not url:find("^%a[%w+.-]*://") then return "Must specify http or https" end
  local scheme = url:match("^(%a[%w+.-]*)://"):lower()
  if scheme ~= "http" and scheme ~= "https" then return "Invalid protocol '" .. scheme .. "'" end
  if url:find("[%s%c]") or not url:find("^%a+://[^/?#]") then return "URL malformed" end
end

function http.checkURLAsync(url)
  expect(1, url, "string")
  local err = check_url(url)
  if err then return false, err end
  native.http_check(url)
  return true
end

function http.checkURL(url)
  expect(1, url, "string")
  local err = check_url(url)
  if err then return false, err end
  native.http_check(url)
  while true do
    local _, which, ok, problem = os.pullEvent("http_check")
    if which == url then return ok, problem end
  end
end

local function send(options)
  local err = check_url(options.url)
  local headers, timeout = header_list(options.headers), check_timeout(options.timeout)
  if err then
    os.queueEvent("http_failure", options.url, err)
    return false, err
  end
  local method = options.method or (options.body and "POST" or "GET")
  if options.body and not (options.headers and (options.headers["Content-Type"] or options.headers["content-type"])) then
    headers[#headers + 1] = { "Content-Type", "application/x-www-form-urlencoded; charset=utf-8" }
  end
  native.http_request({
    url = options.url, method = method, headers = headers, body = options.body, timeout = timeout,
    redirect = options.redirect ~= false, binary = options.binary and true or false,
  })
  return true
end

local function as_options(url, body, headers, binary)
  if type(url) == "table" then
    expect(1, url.url, "string")
    return url
  end
  expect(1, url, "string")
  return { url = url, body = body, headers = headers, binary = binary }
end

function http.request(url, body, headers, binary) return send(as_options(url, body, headers, binary)) end

local function wait(options)
  local ok, err = send(options)
  if not ok then return nil, err end
  while true do
    local event, which, result, response = os.pullEvent()
    if event == "http_success" and which == options.url then
      return result
    elseif event == "http_failure" and which == options.url then
      return nil, result, response
    end
  end
end

function http.get(url, headers, binary) return wait(as_options(url, nil, headers, binary)) end
function http.post(url, body, headers, binary)
  if type(url) ~= "table" then expect(2, body, "string") end
  return wait(as_options(url, body, headers, binary))
end

if not native.has.http then http = nil end
