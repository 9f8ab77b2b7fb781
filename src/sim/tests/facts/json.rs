//! Section 4: JSON of `textutils`.

use super::{Fact, Shown, by_test, fact};

pub(super) fn facts() -> Vec<Fact> {
    vec![
        fact(
            "4.1",
            "An empty table is `{}`; `[]` and `null` need `empty_json_array` and `json_null`.",
            Shown::Lua(
                r##"
            local to = textutils.serialiseJSON
            assert(to({}) == "{}" and to({ textutils.empty_json_array, textutils.json_null }) == "[[],null]")
            "##,
            ),
        ),
        fact(
            "4.2",
            "A decoded `null` is nil and leaves a hole in arrays; with `parse_null` it is `json_null`.",
            Shown::Lua(
                r##"
            local from = textutils.unserialiseJSON
            local t = from("[1,null,3]")
            assert(t[1] == 1 and t[2] == nil and t[3] == 3)
            assert(from('{"a":null}').a == nil and from('{"a":null}', { parse_null = true }).a == textutils.json_null)
            "##,
            ),
        ),
        fact(
            "4.3",
            "A decoded `[]` is the shared sentinel, and writing to it raises.",
            Shown::Lua(
                r##"
            local t = textutils.unserialiseJSON("[]")
            assert(t == textutils.empty_json_array)
            local ok, err = pcall(function() t[1] = 1 end)
            assert(not ok and err:find("attempt to mutate textutils.empty_json_array", 1, true), err)
            "##,
            ),
        ),
        fact(
            "4.4",
            "`parse_empty_array = false` gives a plain table, from 1.100.6 on.",
            Shown::Lua(
                r##"
            local t = textutils.unserialiseJSON("[]", { parse_empty_array = false })
            t[1] = 1
            assert(textutils.serialiseJSON(t) == "[1]")
            "##,
            ),
        ),
        fact(
            "4.5",
            "Before 1.100.6 that option is not known.",
            Shown::On(
                "1.100.5",
                r##"
            assert(textutils.unserialiseJSON("[]", { parse_empty_array = false }) == textutils.empty_json_array)
            "##,
            ),
        ),
        fact(
            "4.6",
            "A mixed table loses its array part; holes become `null`.",
            Shown::Lua(
                r##"
            local to = textutils.serialiseJSON
            assert(to({ 1, 2, a = 3 }) == '{"a":3}' and to({ 1, nil, 3 }) == "[1,null,3]")
            assert(to({ [5] = 1 }) == "[null,null,null,null,1]")
            "##,
            ),
        ),
        fact(
            "4.7",
            "Functions and nil are errors.",
            Shown::Lua(
                r##"
            assert(not pcall(textutils.serialiseJSON, { print }))
            local ok, err = pcall(textutils.serialiseJSON, nil)
            assert(err:find("bad argument #1 (table, string, number or boolean expected, got nil)", 1, true), err)
            "##,
            ),
        ),
        fact(
            "4.8",
            "A table that comes twice is an error unless `allow_repetitions` (1.109); a cycle always is.",
            Shown::Lua(
                r##"
            local to, t = textutils.serialiseJSON, { 1 }
            local ok, err = pcall(to, { t, t })
            assert(not ok and err:find("Cannot serialize table with repeated entries", 1, true), err)
            assert(to({ t, t }, { allow_repetitions = true }) == "[[1],[1]]")
            t[2] = t
            ok, err = pcall(to, t, { allow_repetitions = true })
            assert(not ok and err:find("recursive entries", 1, true), err)
            "##,
            ),
        ),
        fact(
            "4.9",
            "Before 1.109 `allow_repetitions` is not known.",
            Shown::On(
                "1.108.4",
                r##"
            local t = { 1 }
            assert(not pcall(textutils.serialiseJSON, { t, t }, { allow_repetitions = true }))
            "##,
            ),
        ),
        fact(
            "4.10",
            "Infinity and NaN are written as `inf` and `nan`, which is no JSON.",
            Shown::Lua(
                r##"
            local to = textutils.serialiseJSON
            assert(to(1 / 0) == "inf" and to(0 / 0):find("nan"))
            "##,
            ),
        ),
        fact(
            "4.11",
            "Whole numbers are written in full, others with 14 digits; `-0.0` is `0`.",
            Shown::Lua(
                r##"
            local to = textutils.serialiseJSON
            assert(to(2 ^ 53) == "9007199254740992" and to(1e16) == "10000000000000000" and to(1e100) == "1e+100")
            assert(to(0.1 + 0.2) == "0.3" and to(1 / 3) == "0.33333333333333" and to(-0.0) == "0")
            "##,
            ),
        ),
        fact(
            "4.12",
            "Control bytes, 127 and every byte from 128 on are escaped one by one, so UTF-8 does not survive a usual reader.",
            Shown::Lua(
                r##"
            local to = textutils.serialiseJSON
            assert(to("\195\169") == '"\\u00C3\\u00A9"' and to("\127\1") == '"\\u007F\\u0001"')
            assert(to('a"\\\n') == '"a\\"\\\\\\n"')
            "##,
            ),
        ),
        fact(
            "4.13",
            "`unicode_strings` (1.106) reads the string as UTF-8, and refuses what is none.",
            Shown::Lua(
                r##"
            local to, options = textutils.serialiseJSON, { unicode_strings = true }
            assert(to("\195\169\240\159\152\128", options) == '"\\u00E9\\uD83D\\uDE00"')
            local ok, err = pcall(to, "\255", options)
            assert(not ok and err:find("invalid UTF-8 code", 1, true), err)
            "##,
            ),
        ),
        fact(
            "4.14",
            "Before 1.106 `unicode_strings` is not known.",
            Shown::On(
                "1.105.0",
                r##"
            assert(textutils.serialiseJSON("\195\169", { unicode_strings = true }) == '"\\u00C3\\u00A9"')
            "##,
            ),
        ),
        fact(
            "4.15",
            "`\\u` gives UTF-8, a pair of surrogates two sequences of three bytes; raw bytes pass.",
            Shown::Lua(
                r##"
            local from = textutils.unserialiseJSON
            assert(from('"\\u00e9"') == "\195\169")
            assert(from('"\\ud83d\\ude00"') == "\237\160\189\237\184\128")
            assert(from('"\233 \240\159\152\128"') == "\233 \240\159\152\128")
            "##,
            ),
        ),
        fact(
            "4.16",
            "Bad JSON is nil and `Malformed JSON at position N: …`, no error.",
            Shown::Lua(
                r##"
            local function fails(text, message)
              local value, err = textutils.unserialiseJSON(text)
              assert(value == nil and err == "Malformed JSON at position " .. message, tostring(err))
            end
            fails('{"a" 1}', [[6: Unexpected "1", expected ':'.]])
            fails('{a:1}', [[2: Unexpected "a", expected object key.]])
            fails('[1 2]', [[4: Unexpected "2", expected ',' or ']'.]])
            fails('"x', [[3: Unexpected end of input, expected '"'.]])
            fails('"\\q"', [[3: Unknown escape character "q".]])
            for _, bad in ipairs({ "", "{", "[1,]", "1 2", "tru", '"a\nb"' }) do
              local value, err = textutils.unserialiseJSON(bad)
              assert(value == nil and err:find("^Malformed JSON at position %d+: "), bad)
            end
            "##,
            ),
        ),
        fact(
            "4.17",
            "150 levels are encoded and 250 decoded.",
            Shown::Lua(
                r##"
            local t = { 1 }
            for i = 1, 149 do t = { t } end
            assert(#textutils.serialiseJSON(t) == 301)
            assert(type(textutils.unserialiseJSON(("["):rep(250) .. ("]"):rep(250))) == "table")
            "##,
            ),
        ),
        fact(
            "4.18",
            "Tables are written as Lua text that can be read back.",
            by_test!(text::tables_are_serialised_as_lua),
        ),
        fact(
            "4.19",
            "Coding 94 kB of JSON takes a good part of a second.",
            Shown::Not("Lua runs faster here than in the game; how fast is not imitated"),
        ),
    ]
}
