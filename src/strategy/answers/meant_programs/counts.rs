//! Lua programs that ask for the length of what `gmatch` gives: `#line:gmatch("%S+")`. That is a function, which has none, so such a line always
//! fails ("attempt to get length of a function value"). What is meant is how often the pattern is found, which `gsub` tells as its second
//! result. Small models write so where words are counted, and copy it when they mend.

/// The program with the number itself in the place of such a length; none if it has none.
pub(super) fn counted(program: &str) -> Option<String> {
    let mut mended = String::with_capacity(program.len());
    let mut rest = program;
    while let Some(at) = rest.find('#') {
        let (before, behind) = rest.split_at(at);
        mended.push_str(before);
        rest = match length_of_matches(&behind[1..]) {
            Some((number, after)) => {
                mended.push_str(&number);
                after
            }
            None => {
                mended.push('#');
                &behind[1..]
            }
        };
    }
    mended.push_str(rest);
    (mended != program).then_some(mended)
}

/// The number of matches in the place of what stands at the beginning, `line:gmatch("%S+")` or `string.gmatch(line, "%S+")`, and what
/// follows it.
fn length_of_matches(text: &str) -> Option<(String, &str)> {
    let end = text.find('(')?;
    let name = text[..end].strip_suffix("gmatch")?;
    let of = name.strip_suffix(['.', ':'])?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if of.is_empty() || !of.chars().all(is_name) || (name.ends_with('.') && of != "string") {
        return None;
    }
    let (given, after) = in_brackets(&text[end..])?;
    Some((format!("select(2, {name}gsub({given}, \"\"))"), after))
}

/// What stands in the brackets with which a text begins, none of it empty or over several lines, and what follows them.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (_, '\n') => return None,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let given = &text[1..at];
                    return (!given.trim().is_empty()).then_some((given, &text[at + 1..]));
                }
            }
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_length_of_matches_is_their_number() {
        for (written, meant) in [
            (
                "words = words + #line:gmatch(\"%S+\")\nprint(#words)",
                "words = words + select(2, line:gsub(\"%S+\", \"\"))\nprint(#words)",
            ),
            (
                "n = n + (#string.gmatch(lower(line), '%)\\'(')) -- é",
                "n = n + (select(2, string.gsub(lower(line), '%)\\'(', \"\"))) -- é",
            ),
        ] {
            assert_eq!(counted(written).as_deref(), Some(meant));
        }
        for program in [
            "n = #line:gsub(\"%S+\", \"\")",
            "for w in line:gmatch(\"%S+\") do n = n + #w end",
            "#lists.gmatch(\"a\")",
            "#:gmatch(\"a\")",
            "#line:gmatch()",
            "#line:gmatch(\"a\n\")",
            "#line:gmatch(\"a",
            "#é",
            "",
        ] {
            assert_eq!(counted(program), None, "{program}");
        }
    }

    /// What the rule writes does what it says in Lua itself.
    #[test]
    fn the_number_is_right() {
        let program = "local line = 'the moon is out'\nreturn #line:gmatch(\"%S+\")";
        let mended = counted(program).unwrap();
        let lua = mlua::Lua::new();
        assert!(lua.load(program).eval::<i64>().is_err());
        assert_eq!(lua.load(mended).eval::<i64>().unwrap(), 4);
    }

    proptest! {
        #[test]
        fn what_was_mended_has_nothing_to_mend(program in "(#|x:gmatch|string\\.gmatch|\\(|\"|'|\\\\|%S\\+|,|\\)|\n|é| ){0,14}") {
            if let Some(mended) = counted(&program) {
                prop_assert_eq!(counted(&mended), None);
            }
        }
    }
}
