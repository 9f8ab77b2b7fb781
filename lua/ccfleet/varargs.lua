--- `table.pack` and `table.unpack`, also where Lua 5.1 has them under other names or not at all.
--
-- @module[kind=internal] ccfleet.varargs

return {
    pack = table.pack or function(...) return { n = select("#", ...), ... } end,
    unpack = table.unpack or unpack,
}
