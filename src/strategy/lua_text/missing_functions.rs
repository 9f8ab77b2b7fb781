//! What Lua, as ComputerCraft has it, offers in the place of functions of other languages and systems: small models call them, read "a nil value",
//! and call them again.

/// A function that there is not, and what is written instead.
const INSTEAD: [(&str, &str); 27] = [
    ("split", SPLIT),
    ("explode", SPLIT),
    ("trim", TRIM),
    ("strip", TRIM),
    ("contains", HOLDS),
    ("includes", HOLDS),
    ("startsWith", BEGINS),
    ("startswith", BEGINS),
    ("endsWith", ENDS),
    ("endswith", ENDS),
    ("replace", "`text:gsub(from, to)`"),
    ("join", "`table.concat(list, \", \")`"),
    ("push", ADDS),
    ("append", ADDS),
    ("add", ADDS),
    ("length", COUNTS),
    ("size", COUNTS),
    ("count", COUNTS),
    ("getn", COUNTS),
    ("round", "`math.floor(number + 0.5)`"),
    ("lines", LINES),
    ("readlines", LINES),
    ("readLines", LINES),
    ("readLine", LINES),
    ("println", "`print(text)`"),
    ("printf", "`print(string.format(form, value))`"),
    (
        "exit",
        "`return` ends a program, and `error(text, 0)` ends it as failed",
    ),
];

const SPLIT: &str = "the words of a text are gone through with `for word in text:gmatch(\"%S+\") do … end`, what stands between commas with \
                     `text:gmatch(\"[^,]+\")`";
const TRIM: &str = "`text:match(\"^%s*(.-)%s*$\")`";
const HOLDS: &str =
    "`text:find(part, 1, true)` for a text, and a loop over `ipairs(list)` for a list";
const BEGINS: &str = "`text:sub(1, #part) == part`";
const ENDS: &str = "`text:sub(-#part) == part`";
const ADDS: &str = "`list[#list + 1] = value`";
const COUNTS: &str = "`#text` or `#list`";
const LINES: &str = "`for line in file.readLine do … end`, with what fs.open gave";

/// What Lua says of such a call.
const CALLED: &str = "attempt to call ";
const IS_NONE: &str = "a nil value";

/// What is written instead, where a failure says that such a function is not there.
pub(in crate::strategy) fn told(failure: &str) -> Option<String> {
    let (_, called) = failure.split_once(CALLED)?;
    let called = called
        .lines()
        .next()
        .filter(|line| line.contains(IS_NONE))?;
    let name = called.split(['\'', '"']).nth(1)?;
    let name = name.rsplit(['.', ':']).next()?;
    let (name, instead) = INSTEAD.iter().find(|(lacking, _)| *lacking == name)?;
    Some(format!("Lua has no {name} here; instead: {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_another_language_is_told_with_what_lua_has_for_it() {
        for (failure, begin) in [
            (
                "/wc.lua:10: attempt to call method 'split' (a nil value)",
                "Lua has no split here; instead: the words of a text",
            ),
            (
                "a.lua:1: attempt to call a nil value (field 'exit')",
                "Lua has no exit here; instead: `return` ends",
            ),
            (
                "a.lua:1: attempt to call global 'string.trim' (a nil value)\nstack",
                "Lua has no trim here; instead: `text:match",
            ),
        ] {
            let told = told(failure).unwrap_or_default();
            assert!(told.starts_with(begin), "{failure}: {told}");
        }
        for failure in [
            "attempt to call method 'mine_it' (a nil value)",
            "attempt to call a table value (field 'split')",
            "attempt to index local 'split' (a nil value)",
            "attempt to call ",
            "",
        ] {
            assert_eq!(told(failure), None, "{failure}");
        }
    }
}
