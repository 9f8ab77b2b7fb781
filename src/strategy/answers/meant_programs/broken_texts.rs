//! Lua programs whose texts have real line breaks in them: who writes `print("a\n")` into JSON and forgets to double the backslash has
//! broken the line in the middle of the text, which no Lua reads ("unfinished string").

/// The program with such line breaks as `\n`; none if it has none, or if a text does not end where one may end. Total: noise stays noise.
pub(super) fn whole(program: &str) -> Option<String> {
    let mut out = String::with_capacity(program.len() + 16);
    let mut rest = program;
    let mut mended = false;
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '-' if rest.starts_with("--") => {
                let long = long_text(&rest[2..]).map(|long| long + 2);
                long.unwrap_or_else(|| rest.find('\n').unwrap_or(rest.len()))
            }
            '[' => long_text(rest).unwrap_or(1),
            '"' | '\'' => {
                let (text, taken, was_broken) = short_text(rest, next)?;
                out.push_str(&text);
                mended |= was_broken;
                rest = &rest[taken..];
                continue;
            }
            _ => next.len_utf8(),
        };
        let (done, after) = rest.split_at(taken);
        out.push_str(done);
        rest = after;
    }
    mended.then_some(out)
}

/// How many bytes a text in long brackets takes (`[[…]]`, `[=[…]=]`), to the end of the program if it is never closed.
fn long_text(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    let body = inner[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    let begin = rest.len() - body.len();
    Some(match body.find(&close) {
        Some(at) => begin + at + close.len(),
        None => rest.len(),
    })
}

/// A text in quotes as it was meant, how many bytes it takes, and whether lines broke in it; none if nobody can tell where it ends.
fn short_text(rest: &str, quote: char) -> Option<(String, usize, bool)> {
    let mut text = String::from(quote);
    let mut was_broken = false;
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                text.push(c);
                text.push(chars.next()?.1);
            }
            '\r' => {}
            '\n' => {
                text.push_str("\\n");
                was_broken = true;
            }
            c if c == quote => {
                text.push(c);
                let behind = rest[at + 1..].chars().next();
                // A name or another text right behind it: a quote is missing somewhere, and this one opens a text.
                let opens = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'');
                let is_odd = was_broken && behind.is_some_and(opens);
                return (!is_odd).then_some((text, at + 1, was_broken));
            }
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_a_line_break_cuts_is_whole_again() {
        for (broken, meant) in [
            ("io.write(i .. '\n')\n", "io.write(i .. '\\n')\n"),
            ("print(\"a\nb\")", "print(\"a\\nb\")"),
            (
                "-- it's\nlocal s = [[\n'\n]]\nf(\"\n\")",
                "-- it's\nlocal s = [[\n'\n]]\nf(\"\\n\")",
            ),
            (
                "--[==[ '\n]]\" ]==] x = '\n\n'",
                "--[==[ '\n]]\" ]==] x = '\\n\\n'",
            ),
        ] {
            assert_eq!(whole(broken).as_deref(), Some(meant));
        }
    }

    #[test]
    fn a_program_that_is_whole_or_lacks_a_quote_stays_as_it_is() {
        for program in [
            "print('a\\n')",
            "print('a\\\nb')",
            "print(\"a\nprint(\"b\")",
            "print(\"a)\nprint(\"\")",
            "print('a\n",
            "x = [[a\n'b]] -- \"",
            "é = '",
            "",
        ] {
            assert_eq!(whole(program), None, "{program}");
        }
    }

    proptest! {
        #[test]
        fn what_was_mended_is_whole(program in "(--|\\[\\[|\\]\\]|\\[=\\[|\"|'|\\\\|\n|a|é| ){0,16}") {
            if let Some(mended) = whole(&program) {
                prop_assert_eq!(whole(&mended), None);
            }
        }
    }
}
