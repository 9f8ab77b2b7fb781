//! Functions of a Lua program that nothing calls: a small model writes `local function count(path)` and its end, runs that, and sees
//! nothing printed. "-- count(\"/a.txt\")", which it may write below, is no call.

use super::lua_tokens::{Token, tokens};

/// The first function that a program defines by a plain name, and names nowhere else.
pub fn uncalled(program: &str) -> Option<&str> {
    all_uncalled(program).next()
}

/// A program with the call of its one function that nothing calls as its last line, which is given all that the program is; none where it has
/// several, or returns something to who loads it.
pub(in crate::strategy) fn with_call(program: &str) -> Option<String> {
    let mut all = all_uncalled(program);
    let name = all.next().filter(|_| all.next().is_none())?;
    let returns = |line: &str| line.starts_with("return");
    if program.lines().any(returns) {
        return None;
    }
    let words: Vec<&str> = program.split(|c| !is_of_name(c)).collect();
    let prints = words.iter().any(|word| ["print", "write"].contains(word));
    let call = match words.contains(&"return") && !prints {
        true => format!("print({name}(...))"),
        false => format!("{name}(...)"),
    };
    Some(format!("{}\n\n{call}\n", program.trim_end()))
}

fn all_uncalled(program: &str) -> impl Iterator<Item = &str> {
    const FUNCTION: &str = "function";
    let places = program.match_indices(FUNCTION);
    let names = places.filter_map(|(at, _)| {
        let before = &program[..at];
        let behind = program[at + FUNCTION.len()..]
            .strip_prefix(' ')?
            .trim_start_matches(' ');
        let name = &behind[..behind.find(|c| !is_of_name(c))?];
        let is_plain = behind[name.len()..]
            .trim_start_matches(' ')
            .starts_with('(');
        (is_plain && !name.is_empty() && !before.ends_with(is_of_name)).then_some(name)
    });
    let names: Vec<&str> = names.collect();
    names
        .into_iter()
        .filter(|name| mentions(program, name) == 1)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// How often a program has a name as a whole word: in its code, where that can be told from its comments and texts.
fn mentions(program: &str, name: &str) -> usize {
    if let Some(tokens) = tokens(program) {
        let names = tokens.iter().map(|(_, token)| token);
        return names.filter(|token| **token == Token::Name(name)).count();
    }
    let words = program.split(|c| !is_of_name(c));
    words.filter(|word| *word == name).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_function_that_is_named_once_is_called_nowhere() {
        for (program, found) in [
            ("local function wc(path) return 1 end", Some("wc")),
            ("function a() end\nfunction b() a() end", Some("b")),
            ("local function wc(path) return 1 end\nprint(wc(...))", None),
            ("function lib.count() end", None),
            ("local f = function(x) end", None),
            ("local my_function (x)", None),
            ("return { a = a }\nfunction a() end", None),
            (
                "local function wc(p) print(p) end\n-- wc(\"/a.txt\")",
                Some("wc"),
            ),
            ("", None),
        ] {
            assert_eq!(uncalled(program), found, "{program}");
        }
    }

    #[test]
    fn the_one_function_that_nothing_calls_is_called_with_what_the_program_is_given() {
        let prints = "local function wc(path)\n    print(path)\nend\n-- wc(1)";
        assert_eq!(with_call(prints).unwrap(), format!("{prints}\n\nwc(...)\n"));
        let gives = "local function wc(path)\n    return #path\nend";
        assert_eq!(
            with_call(gives).unwrap(),
            format!("{gives}\n\nprint(wc(...))\n")
        );
        for other in [
            "function a() end\nfunction b() end",
            "local m = {}\nfunction a() end\nreturn m",
            "local function wc(path) return 1 end\nprint(wc(...))",
        ] {
            assert_eq!(with_call(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(function| |wc|[(]|\\PC){0,20}") {
            let _ = uncalled(&text);
            let _ = with_call(&text);
        }
    }
}
