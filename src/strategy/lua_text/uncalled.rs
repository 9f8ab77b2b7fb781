//! Functions of a Lua program that nothing calls: a small model writes `local function count(path)` and its end, runs that, and sees
//! nothing printed.

/// The first function that a program defines by a plain name, and names nowhere else.
pub fn uncalled(program: &str) -> Option<&str> {
    const FUNCTION: &str = "function";
    let places = program.match_indices(FUNCTION);
    let mut names = places.filter_map(|(at, _)| {
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
    names.find(|name| mentions(program, name) == 1)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// How often a text has a name as a whole word.
fn mentions(program: &str, name: &str) -> usize {
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
            ("", None),
        ] {
            assert_eq!(uncalled(program), found, "{program}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(function| |wc|[(]|\\PC){0,20}") {
            let _ = uncalled(&text);
        }
    }
}
