//! Lua programs that ask for what is there without being asked for: `local fs = require("fs")`. ComputerCraft's `require` finds files alone, and
//! there is none of that name.

/// What every program has, and hardly anybody calls a file of their own.
const THERE: [&str; 19] = [
    "assert",
    "colors",
    "colours",
    "error",
    "fs",
    "http",
    "io",
    "math",
    "os",
    "parallel",
    "peripheral",
    "rednet",
    "redstone",
    "shell",
    "string",
    "table",
    "term",
    "textutils",
    "turtle",
];

/// The program with the name itself in the place of such a `require`; none if it has none.
pub(super) fn without_requires(program: &str) -> Option<String> {
    if !program.contains("require") {
        return None;
    }
    let mut mended = program.to_owned();
    for name in THERE {
        for asked in [
            format!("require(\"{name}\")"),
            format!("require('{name}')"),
            format!("require \"{name}\""),
        ] {
            mended = mended.replace(&asked, name);
        }
    }
    (mended != program).then_some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_without_it_is_not_asked_for() {
        for (written, meant) in [
            (
                "local fs = require(\"fs\")\nlocal t = require 'x'",
                Some("local fs = fs\nlocal t = require 'x'"),
            ),
            (
                "require('os').sleep(1) local s = require \"shell\"",
                Some("os.sleep(1) local s = shell"),
            ),
            ("local m = require(\"mathx\")", None),
            ("local e = require(\"cc.expect\")", None),
            ("print(1)", None),
        ] {
            assert_eq!(without_requires(written).as_deref(), meant);
        }
    }
}
