//! Sections 12 and 13: the language, and what differs between versions.

use super::{Fact, Shown, by_test, fact};

pub(super) fn facts() -> Vec<Fact> {
    vec![
        fact(
            "12.1",
            "From 1.109 on the language is Lua 5.2: `_ENV`, `goto`, `__pairs`, hex floats, `\\x`, `\\z` and `\\u{}`.",
            Shown::Lua(
                r##"
            local _ENV = setmetatable({ own = 5 }, { __index = _ENV })
            assert(own == 5)
            do goto out end
            error("not skipped")
            ::out::
            local seen = {}
            for k in pairs(setmetatable({}, { __pairs = function() return next, { z = 1 } end })) do seen[#seen + 1] = k end
            assert(seen[1] == "z" and 0x1.8p1 == 3 and "\x41\z
              b" == "Ab" and "\u{e9}\u{1F600}" == "\195\169\240\159\152\128")
            "##,
            ),
        ),
        fact(
            "12.2",
            "`utf8`, `bit32`, `table.move`, `table.pack`, `coroutine.isyieldable` and `string.rep` with a separator are there.",
            Shown::Lua(
                r##"
            assert(utf8.char(233) == "\195\169" and bit32.band(6, 3) == 2 and table.pack(1, nil).n == 2)
            assert(table.concat(table.move({ 1, 2 }, 1, 2, 2), ",") == "1,1,2" and coroutine.isyieldable())
            assert(("ab"):rep(3, "-") == "ab-ab-ab")
            "##,
            ),
        ),
        fact(
            "12.3",
            "`string.pack`, `unpack` and `packsize` are there.",
            Shown::Lua(
                r##"
            local function hex(s) return (s:gsub(".", function(c) return ("%02X"):format(c:byte()) end)) end
            assert(hex(string.pack("<i4 >I2 b", -2, 513, -1)) == "FEFFFFFF0201FF")
            assert(hex(string.pack("z s1 c4", "ab", "cd", "e")) == "61620002636465000000")
            assert(hex(string.pack(">d", 1.5)) == "3FF8000000000000" and hex(string.pack("<f", -2)) == "000000C0")
            assert(hex(string.pack("!4 b i4", 1, 2)) == "0100000002000000")
            local a, b, c, at = string.unpack("<i4 s2 d", string.pack("<i4 s2 d", -77, "text", 0.25))
            assert(a == -77 and b == "text" and c == 0.25 and at == 19)
            assert(string.packsize("<i4 d") == 12 and not pcall(string.packsize, "s"))
            local ok, err = pcall(string.unpack, "i4", "abc")
            assert(not ok and err:find("data string too short", 1, true), err)
            assert(not pcall(string.pack, "b", 200) and not pcall(string.pack, "i4", "x") and not pcall(string.pack, "y"))
            "##,
            ),
        ),
        fact(
            "12.4",
            "There is no integer type, no `//`, no operators for bits, no `math.type`.",
            Shown::Lua(
                r##"
            for _, text in ipairs({ "return 7 // 2", "return 3 & 1", "return 3 | 1", "return ~1", "return 1 << 2" }) do
              assert(load(text) == nil, text)
            end
            assert(math.type == nil and math.tointeger == nil and 10 / 2 == 5 and tostring(10 / 2) == "5")
            "##,
            ),
        ),
        fact(
            "12.5",
            "What Lua 5.1 had is still there: `unpack`, `loadstring`, `getfenv`, `table.getn`, `math.pow`, `string.gfind`.",
            by_test!(lua::what_the_mod_keeps_from_lua_51_is_there),
        ),
        fact(
            "12.6",
            "`collectgarbage`, `module`, `io.popen`, `os.execute`, `os.exit`, `os.getenv` and `__gc` are not.",
            by_test!(lua::what_the_mod_removes_is_gone),
        ),
        fact(
            "12.7",
            "`io` has close, flush, input, lines, open, output, read, stderr, stdin, stdout, type and write.",
            Shown::Lua(
                r##"
            local names = {}
            for name in pairs(io) do names[#names + 1] = name end
            table.sort(names)
            local got = table.concat(names, " ")
            assert(got == "close flush input lines open output read stderr stdin stdout type write", got)
            "##,
            ),
        ),
        fact(
            "12.8",
            "`io` reads lines and all, but no numbers.",
            by_test!(files::io_reads_lines_but_no_numbers),
        ),
        fact(
            "12.9",
            "The debug library works on a program's own functions.",
            by_test!(lua::the_host_cannot_be_reached_through_the_debug_library),
        ),
        fact(
            "12.10",
            "`os.time`, `os.date`, `os.day` and alarms are the game's.",
            by_test!(events::alarms_dates_and_times_work),
        ),
        fact(
            "12.11",
            "A stack overflow is an error that can be caught.",
            Shown::Lua(
                r##"
            local function deep() return 1 + deep() end
            local ok, err = pcall(deep)
            assert(not ok and err:find("overflow"), err)
            "##,
            ),
        ),
        fact(
            "12.12",
            "Calls of `pcall` nest only about 98 deep.",
            Shown::Not(
                "they nest to the host's limit, about 190; a program that works here at that depth does not there",
            ),
        ),
        fact(
            "12.13",
            "`(\"%d\"):format(3.5)` is 3.",
            Shown::Lua(r##"assert(("%d|%5d"):format(3.5, -2.5) == "3|   -2")"##),
        ),
        fact(
            "12.14",
            "Whole numbers print in full: `tostring(2^53)`.",
            Shown::Lua(
                r##"assert(tostring(2 ^ 53) == "9007199254740992" and tostring(1e15) == "1000000000000000")"##,
            ),
        ),
        fact(
            "12.15",
            "Whole numbers from 1e14 on are joined in full by `..`.",
            Shown::Not("the host's `..` writes 14 digits; `tostring` and JSON are right"),
        ),
        fact(
            "12.16",
            "`_HOST` names the version, `os.version()` is `CraftOS 1.9`.",
            Shown::Lua(
                r##"assert(_HOST:find("^ComputerCraft 1.113.1 ") and os.version() == "CraftOS 1.9" and _VERSION == "Lua 5.2")"##,
            ),
        ),
        fact(
            "12.17",
            "A program that needs too much memory gets an error.",
            by_test!(lua::a_table_too_big_for_the_host_is_an_error_of_the_program),
        ),
        fact(
            "12.18",
            "A pattern that matches for ever is stopped by the seven-second rule.",
            Shown::Not("the host's matcher cannot be interrupted inside of one call"),
        ),
    ]
}

pub(super) fn versions() -> Vec<Fact> {
    vec![
        fact(
            "13.1",
            "Before 1.109 the language is Lua 5.1: `goto` and labels are syntax errors, `_ENV` is nil.",
            Shown::On(
                "1.108.4",
                r##"
            assert(_VERSION == "Lua 5.1" and os.version() == "CraftOS 1.8" and _HOST:find("1.108.4", 1, true))
            local fn, err = load("do goto out end ::out::", "=x")
            assert(fn == nil and err == "x:1: '=' expected near 'out'", err)
            assert(load("\n\n::out::", "=x") == nil and _ENV == nil and load("return _ENV")() == nil)
            assert(utf8 and string.pack and table.move and "\u{e9}" == "\195\169")
            "##,
            ),
        ),
        fact(
            "13.2",
            "In 1.100 `table.move` and `coroutine.isyieldable` are missing too.",
            Shown::On(
                "1.100.10",
                "assert(table.move == nil and coroutine.isyieldable == nil and table.pack and utf8)",
            ),
        ),
        fact(
            "13.3",
            "Before 1.109 empty statements are syntax errors, `%g` is unknown, and `xpcall` takes no arguments in 1.100.",
            Shown::Not(
                "the host is Lua 5.2: it takes what 5.1 refuses, except `goto`, labels and `_ENV`",
            ),
        ),
        fact(
            "13.4",
            "The user agent names the version.",
            Shown::On(
                "1.105.0",
                r##"
            local head = assert(http.websocket("ws://SERVER/headers")).receive()
            assert(head:find("user-agent: computercraft/1.105.0\r\n", 1, true))
            "##,
            ),
        ),
        fact(
            "13.5",
            "Unsent messages are limited from 1.109.3 on; before, thousands may wait.",
            Shown::On(
                "1.109.2",
                r##"
            local ws = assert(http.websocket("ws://SERVER/never-read"))
            for i = 1, 2000 do ws.send("x") end
            "##,
            ),
        ),
    ]
}
