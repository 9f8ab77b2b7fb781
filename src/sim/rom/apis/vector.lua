-- Vectors of three numbers.
local vector, methods = {}, {}
local meta = { __index = methods, __name = "vector" }

function vector.new(x, y, z)
  return setmetatable({ x = tonumber(x) or 0, y = tonumber(y) or 0, z = tonumber(z) or 0 }, meta)
end
function methods:add(o) return vector.new(self.x + o.x, self.y + o.y, self.z + o.z) end
function methods:sub(o) return vector.new(self.x - o.x, self.y - o.y, self.z - o.z) end
function methods:mul(m) return vector.new(self.x * m, self.y * m, self.z * m) end
function methods:div(m) return vector.new(self.x / m, self.y / m, self.z / m) end
function methods:unm() return vector.new(-self.x, -self.y, -self.z) end
function methods:dot(o) return self.x * o.x + self.y * o.y + self.z * o.z end
function methods:cross(o)
  return vector.new(self.y * o.z - self.z * o.y, self.z * o.x - self.x * o.z, self.x * o.y - self.y * o.x)
end
function methods:length() return math.sqrt(self:dot(self)) end
function methods:normalize() return self:mul(1 / self:length()) end
function methods:round(step)
  step = step or 1
  local function r(n) return math.floor((n + step * 0.5) / step) * step end
  return vector.new(r(self.x), r(self.y), r(self.z))
end
function methods:tostring() return self.x .. "," .. self.y .. "," .. self.z end
function methods:equals(o) return self.x == o.x and self.y == o.y and self.z == o.z end
meta.__add, meta.__sub, meta.__unm, meta.__tostring, meta.__eq =
  methods.add, methods.sub, methods.unm, methods.tostring, methods.equals
meta.__div = methods.div
function meta.__mul(a, b)
  if type(a) == "number" then return b:mul(a) end
  return a:mul(b)
end

return vector
