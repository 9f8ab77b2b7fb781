-- `require` and `package` for one program: it loads each module once, relative to the program's folder.
local expect = dofile("/rom/modules/main/cc/expect.lua").expect
local make = {}

local function preload_loader(package)
  return function(name)
    if package.preload[name] then return package.preload[name] end
    return nil, "no field package.preload['" .. name .. "']"
  end
end

local function file_loader(package, env, dir)
  return function(name)
    local file_name, tried = name:gsub("%.", "/"), ""
    for pattern in package.path:gmatch("[^;]+") do
      local path = pattern:gsub("%?", (file_name:gsub("%%", "%%%%")))
      if path:sub(1, 1) ~= "/" then path = fs.combine(dir, path) end
      if fs.exists(path) and not fs.isDir(path) then
        local fn, err = loadfile(path, nil, env)
        if fn then return fn, path end
        return nil, err
      end
      if #tried > 0 then tried = tried .. "\n  " end
      tried = tried .. "no file '" .. path .. "'"
    end
    return nil, tried
  end
end

function make.make(env, dir)
  expect(1, env, "table")
  expect(2, dir, "string")
  local package = {
    loaded = {
      _G = _G, bit32 = bit32, coroutine = coroutine, math = math, string = string, table = table, utf8 = utf8,
    },
    path = "?;?.lua;?/init.lua;/rom/modules/main/?;/rom/modules/main/?.lua;/rom/modules/main/?/init.lua",
    config = "/\n;\n?\n!\n-",
    preload = {},
  }
  if turtle then
    package.path = package.path
      .. ";/rom/modules/turtle/?;/rom/modules/turtle/?.lua;/rom/modules/turtle/?/init.lua"
  end
  package.loaded.package = package
  package.loaders = { preload_loader(package), file_loader(package, env, dir) }
  local loading = {}

  local function require(name)
    expect(1, name, "string")
    if package.loaded[name] == loading then
      error("loop or previous error loading module '" .. name .. "'", 2)
    end
    if package.loaded[name] ~= nil then return package.loaded[name] end
    local message = "module '" .. name .. "' not found:"
    for _, loader in ipairs(package.loaders) do
      local found = table.pack(loader(name))
      if found[1] then
        package.loaded[name] = loading
        local result = found[1](name, table.unpack(found, 2, found.n))
        if result == nil then result = true end
        if package.loaded[name] == loading then package.loaded[name] = result end
        return package.loaded[name]
      end
      message = message .. "\n  " .. tostring(found[2])
    end
    error(message, 2)
  end
  return require, package
end

return make
