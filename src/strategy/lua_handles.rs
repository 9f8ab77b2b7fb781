//! Lua programs that call a handle of `fs.open` with a colon, as Lua's own files are called: a handle of ComputerCraft is a table of functions
//! that take no handle, and `file:write(text)` writes the handle ("table: 6c1f2e40") in the place of the text, without a word. Small models
//! write so in every second program, and copy it when they mend.

/// What is called of a handle.
const METHODS: [&str; 8] = [
    "write",
    "writeLine",
    "read",
    "readLine",
    "readAll",
    "close",
    "flush",
    "seek",
];

/// The program with such calls as they are meant; none if it has none. A name that also holds a file of Lua's own stays as it is.
pub(super) fn with_dots(program: &str) -> Option<String> {
    let mut mended = program.to_owned();
    for name in opened_by(program, "fs.open") {
        if opened_by(program, "io.open").any(|other| other == name) {
            continue;
        }
        for method in METHODS {
            let colon = format!("{name}:{method}(");
            mended = replaced(&mended, &colon, &format!("{name}.{method}("));
        }
    }
    (mended != program).then_some(mended)
}

/// The names to which the results of such calls are given: `local file = fs.open(`.
fn opened_by<'p>(program: &'p str, open: &'p str) -> impl Iterator<Item = &'p str> {
    program.match_indices(open).filter_map(|(at, _)| {
        let before = program[..at].trim_end().strip_suffix('=')?.trim_end();
        let begin = before.rfind(|c| !is_of_name(c)).map_or(0, |at| at + 1);
        let name = before.get(begin..)?;
        // A field of a table is none: another table may have one of that name.
        let is_plain = !before[..begin].ends_with('.');
        (is_plain && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
            .then_some(name)
    })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A text in which a call that begins a name stands in another way.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(from) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| is_of_name(c) || matches!(c, '.' | ':')) {
            continue;
        }
        out.push_str(&text[done..at]);
        out.push_str(to);
        done = at + from.len();
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_handle_of_the_computer_is_called_with_a_dot() {
        for (written, meant) in [
            (
                "local file = fs.open(\"/a\", \"w\")\nfile:write(i .. \"\\n\")\nfile:close()",
                "local file = fs.open(\"/a\", \"w\")\nfile.write(i .. \"\\n\")\nfile.close()",
            ),
            (
                "h=fs.open(p, 'r') x = h:readAll() xh:close()",
                "h=fs.open(p, 'r') x = h.readAll() xh:close()",
            ),
        ] {
            assert_eq!(with_dots(written).as_deref(), Some(meant));
        }
    }

    #[test]
    fn other_calls_stay_as_they_are() {
        for program in [
            "local file = io.open('/a', 'w')\nfile:write('1')",
            "local f = fs.open('/a', 'r')\nf = io.open('/b')\nf:close()",
            "local f = fs.open('/a', 'r')\nf.close() g:close() s.f:close()",
            "local f = fs.open('/a', 'r')\nf:frobnicate()",
            "t.f = fs.open('/a', 'r')\nf:close()",
            "fs.open('/a', 'r')",
            "é = fs.open",
            "",
        ] {
            assert_eq!(with_dots(program), None, "{program}");
        }
    }

    proptest! {
        #[test]
        fn what_was_mended_has_nothing_to_mend(
            program in "((f|g|é) = (fs|io)\\.open\\(|f:write\\(|g:close\\(|\\.|:|f| ){0,10}"
        ) {
            if let Some(mended) = with_dots(&program) {
                prop_assert_eq!(mended.len(), program.len());
                prop_assert_eq!(with_dots(&mended), None);
            }
        }
    }
}
