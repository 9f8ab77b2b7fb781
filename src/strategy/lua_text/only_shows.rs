//! Whether a program does nothing but read and print, as far as its text tells: only such a one is tried out without being asked for. What is not
//! known to be harmless counts as a deed.

use super::lua_tokens::{KEYWORDS, Token, tokens};

/// Names of Lua and CraftOS that only read, reckon and print.
const HARMLESS: [&str; 21] = [
    "print",
    "printError",
    "write",
    "tonumber",
    "tostring",
    "type",
    "select",
    "next",
    "pairs",
    "ipairs",
    "unpack",
    "error",
    "assert",
    "pcall",
    "string",
    "table",
    "math",
    "textutils",
    "utf8",
    "colors",
    "colours",
];

/// Names of what acts, which stay what they are whatever a program calls so.
const ACTS: [&str; 28] = [
    "turtle",
    "redstone",
    "rs",
    "peripheral",
    "rednet",
    "http",
    "shell",
    "os",
    "io",
    "disk",
    "commands",
    "gps",
    "multishell",
    "parallel",
    "settings",
    "pocket",
    "load",
    "loadstring",
    "loadfile",
    "dofile",
    "require",
    "_G",
    "_ENV",
    "getfenv",
    "setfenv",
    "read",
    "sleep",
    "fs",
];

const FS: &str = "fs";

/// What of `fs` only looks. What it opens has to be opened for reading.
const LOOKS: [&str; 8] = [
    "exists",
    "list",
    "isDir",
    "isReadOnly",
    "getSize",
    "getName",
    "getDir",
    "combine",
];

/// What else a program has without giving it a name.
const OTHERS: [&str; 18] = [
    "arg",
    "bit",
    "bit32",
    "coroutine",
    "debug",
    "getmetatable",
    "help",
    "keys",
    "paintutils",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "setmetatable",
    "term",
    "vector",
    "window",
    "xpcall",
];

/// Whether Lua or CraftOS gives that name to every program.
pub(in crate::strategy) fn is_of_lua(name: &str) -> bool {
    let lists: [&[&str]; 4] = [&HARMLESS, &ACTS, &OTHERS, &[FS]];
    lists.iter().any(|list| list.contains(&name))
}

/// Whether it takes no arguments, calls nothing but what is harmless or its own, opens files for reading alone, and has no loop without an end.
pub(in crate::strategy) fn only_shows(program: &str) -> bool {
    let Some(pieces) = tokens(program) else {
        return false;
    };
    let tokens: Vec<Token<'_>> = pieces.into_iter().map(|(_, token)| token).collect();
    if tokens.contains(&Token::Rest) {
        return false;
    }
    let endless = [Token::Name("while"), Token::Name("true")];
    if tokens.windows(2).any(|two| two == endless) {
        return false;
    }
    let own = own_names(&tokens);
    let may = |at: usize| {
        let Token::Name(name) = tokens[at] else {
            return true;
        };
        let is_field = at > 0 && matches!(tokens[at - 1], Token::Mark('.' | ':'));
        match name {
            _ if is_field => true,
            FS => only_looks(&tokens[at + 1..]),
            name => KEYWORDS.contains(&name) || HARMLESS.contains(&name) || own.contains(&name),
        }
    };
    (0..tokens.len()).all(may)
}

/// Whether what stands behind `fs` is a call that only looks: `.exists(…)`, or `.open(path, "r")`. As a value of its own it may become anything.
fn only_looks(behind: &[Token<'_>]) -> bool {
    let [
        Token::Mark('.'),
        Token::Name(field),
        Token::Mark('('),
        call @ ..,
    ] = behind
    else {
        return false;
    };
    let call = call.iter().take_while(|token| **token != Token::Mark(')'));
    let mode = call.last();
    let reads = matches!(mode, Some(Token::Text("\"r\"" | "'r'" | "\"rb\"" | "'rb'")));
    // `fs.readLine` is not there, and ends the program.
    LOOKS.contains(field) || field.starts_with("read") || (*field == "open" && reads)
}

/// The names that a program gives itself: locals, functions, their parameters, loop variables, and globals that it sets.
fn own_names<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let mut own = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let behind = &tokens[at + 1..];
        match token {
            Token::Name("local" | "for") => own.extend(listed(behind)),
            Token::Name("function") => {
                let named = matches!(behind, [Token::Name(_), ..]);
                own.extend(listed(&behind[..usize::from(named)]));
                if let Some(Token::Mark('(')) = behind.get(usize::from(named)) {
                    own.extend(listed(&behind[usize::from(named) + 1..]));
                }
            }
            Token::Name(name) => {
                let is_set =
                    matches!(behind, [Token::Mark('='), next, ..] if *next != Token::Mark('='));
                let is_plain = at == 0 || tokens[at - 1] != Token::Mark('.');
                own.extend((is_set && is_plain).then_some(*name));
            }
            Token::Text(_) | Token::Mark(_) | Token::Rest => {}
        }
    }
    own.retain(|name| !ACTS.contains(name));
    own
}

/// The names that a list begins with, `a, b`.
fn listed<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for pair in tokens.chunks(2) {
        let Some(Token::Name(name)) = pair.first() else {
            break;
        };
        names.push(*name);
        if pair.get(1) != Some(&Token::Mark(',')) {
            break;
        }
    }
    names.retain(|name| !KEYWORDS.contains(name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_reads_and_prints_only_shows() {
        for program in [
            "print('hi')",
            "local file = fs.open(\"/scores.txt\", \"r\")\nfor line in file.readLine do\n  local name, points = line:match(\"(%a+) (%d+)\")\n  \
             print(name .. points)\nend\nfile.close() -- os.reboot()",
            "local function sum(a, b) return a + b end\nprint(sum(1, 2))",
            "local t = { a = 1, x = 2 }\nt.dig = 3\nprint(t.turtle, #t, 'turtle.dig()')",
            "total = 0\nfor i = 1, 3 do total = total + i end\nprint(string.format('%d', total))",
            "for _, name in ipairs(fs.list('/')) do if fs.exists(name) then print(name) end end",
            "for line in fs.readLine('/a.txt') do print(line) end",
        ] {
            assert!(only_shows(program), "{program}");
        }
    }

    #[test]
    fn what_is_not_known_to_be_harmless_is_a_deed() {
        for program in [
            "turtle.dig()",
            "local x\nturtle.dig()",
            "turtle = turtle\nturtle.dig()",
            "local x, y\nhonk(x)",
            "local o = fs.open\nprint(\"r\")\no('/a', 'w')",
            "pcall(fs.open, '/a', 'w')",
            "while true do end",
            "local t = turtle\nt.dig()",
            "print(...)",
            "print(arg[1])",
            "fs.delete('/a')",
            "local f = fs\nf.delete('/a')",
            "fs['delete']('/a')",
            "fs.open('/a', 'w').close()",
            "local mode = 'w'\nfs.open('/a', mode)",
            "fs.open('/a')",
            "load('x')()",
            "_G.turtle.dig()",
            "local name = read()",
            "rs.setOutput('top', true)",
            "require('x')",
            "shell.run('x')",
            "os.reboot()",
            "print('open",
            "--[[ x ]] print(1)",
            "print([[x]])",
        ] {
            assert!(!only_shows(program), "{program}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_program_is_read_without_a_panic(program in "(local |function |fs|\\.|open|\\(|\\)|\"r\"|'|,|=|x|--|\\[\\[|\n|\\PC){0,40}") {
            let _ = only_shows(&program);
        }
    }
}
