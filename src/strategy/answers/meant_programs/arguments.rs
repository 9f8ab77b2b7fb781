//! The table of a program's arguments taken for the first of them: `tonumber(arg)` is nil whatever the program is given. No model that was told
//! "'for' limit must be a number" saw it.

use crate::strategy::lua_text::lua_tokens::{Token, tokens};

/// What Lua calls that table.
const ARG: &str = "arg";

const TO_NUMBER: &str = "tonumber";

/// The program with the first argument in the place of all of them; none if it makes no number of them all.
pub(super) fn first_of_them(program: &str) -> Option<String> {
    let tokens = tokens(program)?;
    let mut mended = program.to_owned();
    let mut was_mended = false;
    for (at, window) in tokens.windows(4).enumerate().rev() {
        let [
            (_, Token::Name(TO_NUMBER)),
            (_, Token::Mark('(')),
            (place, Token::Name(name)),
            (_, Token::Mark(')')),
        ] = window
        else {
            continue;
        };
        if holds_all(&tokens[..at], name) {
            mended.insert_str(place + name.len(), "[1]");
            was_mended = true;
        }
    }
    was_mended.then_some(mended)
}

/// Whether a name is the table of all arguments behind these pieces: `arg` by itself, any other by `local name = {...}`, and neither is
/// given to anything else before.
fn holds_all(before: &[(usize, Token<'_>)], name: &str) -> bool {
    // `local arg = tonumber(arg)` gives it a value that is made of the table.
    let makes_it = match before {
        [
            ..,
            (_, Token::Name("local")),
            (_, Token::Name(given)),
            (_, Token::Mark('=')),
        ] => *given == name,
        _ => false,
    };
    let before = match makes_it {
        true => &before[..before.len() - 3],
        false => before,
    };
    let is_name = |token: &Token<'_>| *token == Token::Name(name);
    let table = before.windows(6).position(|window| {
        let pieces: Vec<&Token<'_>> = window.iter().map(|(_, token)| token).collect();
        matches!(
            pieces.as_slice(),
            [Token::Name("local"), given, Token::Mark('='), Token::Mark('{'), Token::Rest, Token::Mark('}')]
                if is_name(given)
        )
    });
    let behind = match table {
        Some(at) => &before[at + 6..],
        None if name == ARG => before,
        None => return false,
    };
    // A parameter, a loop's name, or a new value.
    let is_bound = |(at, (_, token)): (usize, &(usize, Token<'_>))| {
        let next = behind.get(at + 1).map(|(_, next)| next);
        let former = at.checked_sub(1).map(|at| &behind[at].1);
        let reads = matches!(next, Some(Token::Mark('[' | '.')))
            || matches!(former, Some(Token::Mark('#')))
            || (matches!(former, Some(Token::Mark('('))) && follows(behind, at, TO_NUMBER));
        is_name(token) && !reads
    };
    !behind.iter().enumerate().any(is_bound)
}

/// Whether the piece before the bracket before this one is such a name.
fn follows(pieces: &[(usize, Token<'_>)], at: usize, name: &str) -> bool {
    at.checked_sub(2)
        .is_some_and(|at| pieces[at].1 == Token::Name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_made_of_all_arguments_is_one_of_the_first() {
        for (written, meant) in [
            (
                "for i = 2, tonumber(arg) do print(i) end",
                "for i = 2, tonumber(arg[1]) do print(i) end",
            ),
            (
                "local arg = tonumber(arg)\nprint(arg)",
                "local arg = tonumber(arg[1])\nprint(arg)",
            ),
            (
                "local args = {...}\nlocal n = tonumber(args) or 1\nlocal m = tonumber(args)",
                "local args = {...}\nlocal n = tonumber(args[1]) or 1\nlocal m = tonumber(args[1])",
            ),
            (
                "if #arg < 1 then return end\nprint(tonumber(arg))",
                "if #arg < 1 then return end\nprint(tonumber(arg[1]))",
            ),
        ] {
            assert_eq!(first_of_them(written).as_deref(), Some(meant));
        }
        for plain in [
            "print(tonumber(arg[1]))",
            "local arg = ...\nprint(tonumber(arg))",
            "local function f(arg) return tonumber(arg) end",
            "for _, arg in ipairs({...}) do print(tonumber(arg)) end",
            "local n = ...\nprint(tonumber(n))",
            "local args = {...}\nargs = args[1]\nprint(tonumber(args))",
            "-- tonumber(arg)\nprint(\"tonumber(arg)\")",
        ] {
            assert_eq!(first_of_them(plain), None, "{plain}");
        }
    }
}
