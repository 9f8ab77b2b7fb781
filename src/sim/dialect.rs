//! Differences between the Lua of the game and plain Lua 5.2 that are settled in a program's text.
//!
//! The game knows `\u{...}` in strings. Before 1.109 its language was Lua 5.1: `goto` and labels are syntax errors
//! there and `_ENV` is an ordinary name.

use std::borrow::Cow;

/// A syntax error of the older language.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Line of the offending word, from 1.
    pub(crate) line: usize,
    /// What the compiler says behind the position.
    pub(crate) message: String,
}

/// `source` as plain Lua 5.2. `old` reads it as Lua 5.1.
pub(crate) fn translate(source: &[u8], old: bool) -> Result<Cow<'_, [u8]>, Refused> {
    let holds = |word: &[u8]| source.windows(word.len()).any(|w| w == word);
    let dated = old && (holds(b"goto") || holds(b"::") || holds(b"_ENV"));
    if !dated && !holds(b"\\u{") {
        return Ok(Cow::Borrowed(source));
    }
    let mut scan = Scan {
        source,
        at: 0,
        line: 1,
        out: Vec::with_capacity(source.len() + 16),
    };
    scan.run(old)?;
    Ok(Cow::Owned(scan.out))
}

struct Scan<'a> {
    source: &'a [u8],
    at: usize,
    line: usize,
    out: Vec<u8>,
}

impl Scan<'_> {
    fn run(&mut self, old: bool) -> Result<(), Refused> {
        while let Some(&byte) = self.source.get(self.at) {
            match byte {
                b'-' if self.source[self.at..].starts_with(b"--") => self.comment(),
                b'[' => {
                    if let Some(level) = self.long_bracket(self.at) {
                        self.long_string(level);
                    } else {
                        self.copy(1);
                    }
                }
                b'"' | b'\'' => self.string(byte),
                b':' if old && self.source[self.at..].starts_with(b"::") => {
                    return Err(self.refuse("unexpected symbol near ':'"));
                }
                b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(old)?,
                b'0'..=b'9' => self.number(),
                _ => self.copy(1),
            }
        }
        Ok(())
    }

    fn refuse(&self, message: &str) -> Refused {
        Refused {
            line: self.line,
            message: message.to_owned(),
        }
    }

    fn copy(&mut self, count: usize) {
        let end = (self.at + count).min(self.source.len());
        let piece = &self.source[self.at..end];
        self.line += piece.iter().filter(|&&b| b == b'\n').count();
        self.out.extend_from_slice(piece);
        self.at = end;
    }

    /// Number of `=` of a long bracket that opens at `at`.
    fn long_bracket(&self, at: usize) -> Option<usize> {
        let rest = self.source.get(at + 1..)?;
        let level = rest.iter().take_while(|&&b| b == b'=').count();
        (rest.get(level) == Some(&b'[')).then_some(level)
    }

    fn long_string(&mut self, level: usize) {
        let close = [&b"]"[..], &vec![b'='; level], b"]"].concat();
        let rest = &self.source[self.at..];
        let end = rest.windows(close.len()).position(|w| w == close);
        self.copy(end.map_or(rest.len(), |at| at + close.len()));
    }

    fn comment(&mut self) {
        self.copy(2);
        match self.source.get(self.at) {
            Some(b'[') => match self.long_bracket(self.at) {
                Some(level) => self.long_string(level),
                None => self.rest_of_line(),
            },
            _ => self.rest_of_line(),
        }
    }

    fn rest_of_line(&mut self) {
        let rest = &self.source[self.at..];
        let end = rest.iter().position(|&b| b == b'\n');
        self.copy(end.unwrap_or(rest.len()));
    }

    fn string(&mut self, quote: u8) {
        self.copy(1);
        while let Some(&byte) = self.source.get(self.at) {
            if byte == b'\\' {
                if let Some((code, length)) = unicode_escape(&self.source[self.at..]) {
                    let mut bytes = [0; 6];
                    for byte in encode(code, &mut bytes) {
                        self.out
                            .extend_from_slice(format!("\\{byte:03}").as_bytes());
                    }
                    self.at += length;
                } else {
                    let skips_blanks = self.source.get(self.at + 1) == Some(&b'z');
                    self.copy(2);
                    if skips_blanks {
                        let rest = &self.source[self.at..];
                        self.copy(rest.len() - rest.trim_ascii_start().len());
                    }
                }
                continue;
            }
            self.copy(1);
            if byte == quote || byte == b'\n' {
                return;
            }
        }
    }

    fn number(&mut self) {
        let rest = &self.source[self.at..];
        let end = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'.' || *b == b'_'));
        self.copy(end.unwrap_or(rest.len()));
    }

    fn word(&mut self, old: bool) -> Result<(), Refused> {
        let rest = &self.source[self.at..];
        let length = word_length(rest);
        match &rest[..length] {
            b"goto" if old => {
                let after = rest[length..].trim_ascii_start();
                let name = &after[..word_length(after)];
                if !name.is_empty() {
                    let name = String::from_utf8_lossy(name);
                    return Err(self.refuse(&format!("'=' expected near '{name}'")));
                }
                // `goto` as a name, which Lua 5.2 does not allow.
                self.out.extend_from_slice(b"goto_");
                self.at += length;
            }
            b"_ENV" if old => {
                self.out.extend_from_slice(b"__ENV");
                self.at += length;
            }
            _ => self.copy(length),
        }
        Ok(())
    }
}

fn word_length(text: &[u8]) -> usize {
    if text.first().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    text.iter()
        .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
        .unwrap_or(text.len())
}

/// The code of `\u{...}` at the start of `text`, and the bytes it takes.
fn unicode_escape(text: &[u8]) -> Option<(u32, usize)> {
    let rest = text.strip_prefix(b"\\u{")?;
    let end = rest.iter().position(|&b| b == b'}')?;
    let digits = std::str::from_utf8(&rest[..end]).ok()?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    (code <= 0x7FFF_FFFF).then_some((code, end + 4))
}

/// UTF-8 in its first form, with up to six bytes, as Lua writes it.
fn encode(code: u32, into: &mut [u8; 6]) -> &[u8] {
    if code < 0x80 {
        into[0] = code as u8;
        return &into[..1];
    }
    let (mut left, mut first_limit, mut at) = (code, 0x3F, 6);
    loop {
        at -= 1;
        into[at] = 0x80 | (left & 0x3F) as u8;
        left >>= 6;
        first_limit >>= 1;
        if left <= first_limit {
            break;
        }
    }
    at -= 1;
    into[at] = ((!first_limit << 1) | left) as u8;
    &into[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(source: &str) -> String {
        String::from_utf8(translate(source.as_bytes(), false).unwrap().into_owned()).unwrap()
    }

    #[test]
    fn unicode_escapes_become_bytes_but_only_in_strings() {
        assert_eq!(
            new(r#"x = "\u{e9}\u{1F600}!""#),
            r#"x = "\195\169\240\159\152\128!""#
        );
        assert_eq!(new(r"x = '\\u{41}' -- \u{41}"), r"x = '\\u{41}' -- \u{41}");
        assert_eq!(
            new(r"x = [[\u{41}]] y = '\u{41}'"),
            r"x = [[\u{41}]] y = '\065'"
        );
        assert_eq!(
            new(r"--[==[ ' ]] \u{41}]==] y = '\u{7FFFFFFF}'"),
            r"--[==[ ' ]] \u{41}]==] y = '\253\191\191\191\191\191'"
        );
    }

    #[test]
    fn a_string_goes_on_after_blanks_that_are_skipped() {
        assert_eq!(new("'a\\z\n  \\u{41}' -- '"), "'a\\z\n  \\065' -- '");
    }

    #[test]
    fn the_old_language_has_no_goto_no_labels_and_no_env() {
        let old = |source: &str| {
            translate(source.as_bytes(), true).map(|s| String::from_utf8(s.into_owned()).unwrap())
        };
        assert_eq!(
            old("x = 1\ngoto out").unwrap_err(),
            Refused {
                line: 2,
                message: "'=' expected near 'out'".into()
            }
        );
        assert_eq!(old("\n\n::out::").unwrap_err().line, 3);
        assert_eq!(
            old("print(_ENV, '_ENV goto ::')").unwrap(),
            "print(__ENV, '_ENV goto ::')"
        );
        assert_eq!(
            old("-- goto ::\nlocal goto = 1").unwrap(),
            "-- goto ::\nlocal goto_ = 1"
        );
        assert_eq!(old("t.a_ENV = not_goto").unwrap(), "t.a_ENV = not_goto");
    }
}
