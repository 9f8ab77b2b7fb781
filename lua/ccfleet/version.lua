--- Version numbers, alone in a file so that the installer can read them.
--
-- @module[kind=internal] ccfleet.version

return {
    --- This library's.
    LIBRARY = "0.1.0",
    --- The wire contract's; changes only when something breaks.
    PROTOCOL = 1,
}
