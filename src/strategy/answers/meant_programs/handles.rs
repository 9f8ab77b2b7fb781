//! Lua programs that use a handle of `fs.open` as Lua's own files are used. A handle of ComputerCraft is a table of functions that take no handle:
//! `file:write(text)` writes the handle ("table: 6c1f2e40") in the place of the text, without a word; `read()` reads one character and no
//! line, and there are no `lines()`. Small models write so in every second program, and copy it when they mend.

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

/// What Lua's own files are asked to read, and what a handle is asked for then.
const READS: [(&str, &str); 8] = [
    ("\"*a\"", "readAll"),
    ("'*a'", "readAll"),
    ("\"*all\"", "readAll"),
    ("'*all'", "readAll"),
    ("\"*l\"", "readLine"),
    ("'*l'", "readLine"),
    ("\"*line\"", "readLine"),
    ("'*line'", "readLine"),
];

/// The program with such calls as they are meant; none if it has none. A name that also holds a file of Lua's own stays as it is.
pub(super) fn as_handles(program: &str) -> Option<String> {
    let mut mended = program.to_owned();
    for name in opened_by(program, "fs.open") {
        if opened_by(program, "io.open").any(|other| other == name) {
            continue;
        }
        let lines = format!("{name}:lines()");
        mended = replaced(&mended, &lines, &format!("{name}.lines()"));
        for method in METHODS {
            let colon = format!("{name}:{method}(");
            mended = replaced(&mended, &colon, &format!("{name}.{method}("));
        }
        for (what, read) in READS {
            let own = format!("{name}.read({what})");
            mended = replaced(&mended, &own, &format!("{name}.{read}()"));
        }
        let each = format!(" in {name}.lines() do");
        mended = mended.replace(&each, &format!(" in {name}.readLine do"));
        // What is called a line is one.
        let one = format!("line = {name}.read()");
        mended = mended.replace(&one, &format!("line = {name}.readLine()"));
    }
    let mended = lines_of_opened(&mended).unwrap_or(mended);
    let mended = read_anew(&mended).unwrap_or(mended);
    (mended != program).then_some(mended)
}

/// A second loop over the lines of a handle that was opened once, over the file anew: the first loop has read it to its end.
fn read_anew(program: &str) -> Option<String> {
    let mut names = opened_by(program, "fs.open");
    names.find_map(|name| {
        let open = format!("{name} = fs.open(");
        let (_, given) = program.split_once(&open)?;
        let (given, after) = given.split_once(')')?;
        let is_plain = !given.contains(['(', '\n']) && !after.contains(&open);
        let over = format!(" in {name}.readLine do");
        let (first, rest) = program.split_once(&over)?;
        let anew = format!(" in fs.open({given}).readLine do");
        (is_plain && rest.contains(&over))
            .then(|| format!("{first}{over}{}", rest.replace(&over, &anew)))
    })
}

/// A loop over what `fs.open` gives, over its lines: `for line in fs.open(path, "r") do`.
fn lines_of_opened(program: &str) -> Option<String> {
    const OPENS: &str = " in fs.open(";
    let (before, rest) = program.split_once(OPENS)?;
    let (given, behind) = rest.split_once(") do")?;
    let is_plain = !given.contains(['\n', '(', ')']);
    let behind = lines_of_opened(behind).unwrap_or_else(|| behind.to_owned());
    is_plain.then(|| format!("{before}{OPENS}{given}).readLine do{behind}"))
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
            assert_eq!(as_handles(written).as_deref(), Some(meant));
        }
    }

    #[test]
    fn a_handle_reads_what_lua_s_own_files_would_read() {
        for (written, meant) in [
            ("local line = f.read()", "local line = f.readLine()"),
            ("nextline = f:read()", "nextline = f.readLine()"),
            ("for line in f:lines() do", "for line in f.readLine do"),
            ("local all = f:read(\"*a\")", "local all = f.readAll()"),
            ("local one = f.read('*l')", "local one = f.readLine()"),
            (
                "for line in fs.open(a, 'r') do end for line in fs.open(\"/b\", 'r') do",
                "for line in fs.open(a, 'r').readLine do end for line in fs.open(\"/b\", 'r').readLine do",
            ),
        ] {
            let program = |rest: &str| format!("local f = fs.open('/a', 'r')\n{rest}\n");
            let mended = as_handles(&program(written));
            assert_eq!(mended, Some(program(meant)));
        }
    }

    #[test]
    fn a_file_that_was_read_to_its_end_is_read_anew() {
        let loops = |second: &str| {
            format!(
                "local f = fs.open(\"/a\", \"r\")\nfor l in f.readLine do end\nfor l in {second} do end\n"
            )
        };
        let anew = loops("fs.open(\"/a\", \"r\").readLine");
        assert_eq!(as_handles(&loops("f.readLine")), Some(anew.clone()));
        assert_eq!(as_handles(&anew), None);
        let twice = format!(
            "{}f = fs.open(\"/a\", \"r\")\nfor l in f.readLine do end",
            loops("x")
        );
        assert_eq!(as_handles(&twice), None);
    }

    #[test]
    fn other_calls_stay_as_they_are() {
        for program in [
            "local file = io.open('/a', 'w')\nfile:write('1')",
            "local f = fs.open('/a', 'r')\nf = io.open('/b')\nf:close()",
            "local f = fs.open('/a', 'r')\nf.close() g:close() s.f:close()",
            "local f = fs.open('/a', 'r')\nf:frobnicate()",
            "local f = fs.open('/a', 'r')\nlocal c = f.read() c = f.read(2)",
            "local f = io.open('/a', 'r')\nfor line in f:lines() do print(f:read('*a')) end",
            "t.f = fs.open('/a', 'r')\nf:close()",
            "fs.open('/a', 'r')",
            "é = fs.open",
            "",
        ] {
            assert_eq!(as_handles(program), None, "{program}");
        }
    }

    proptest! {
        #[test]
        fn what_was_mended_has_nothing_to_mend(
            program in "((f|g|é) = (fs|io)\\.open\\(|f:write\\(|g:close\\(|line = f[.:]read\\(\\)|f:read\\('\\*a'\\)| in f:lines\\(\\) do|\\.|:|f| ){0,10}"
        ) {
            if let Some(mended) = as_handles(&program) {
                prop_assert_eq!(as_handles(&mended), None);
            }
        }
    }
}
