//! JSON whose texts stand in single quotes, as models write it that have a text full of double ones to quote:
//! `{"tool": "fs_write", "args": {"content": '{"limit": 30}'}}`.

use serde_json::Value;

/// The text with every text in single quotes as a JSON text; none if there is none. Only what stands where JSON has a text is taken
/// for one: behind `{`, `[`, `,` or `:`, up to a quote before `}`, `]`, `,` or `:`. Total: noise stays noise.
pub fn as_double(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The last character outside of texts that is no space.
    let mut before = ' ';
    let mut found = false;
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '"' => double_quoted(rest),
            '\'' if "{[,:".contains(before) => match single_quoted(rest) {
                Some((inner, taken)) => {
                    out.push_str(&Value::from(inner).to_string());
                    found = true;
                    before = '"';
                    rest = rest.get(taken..).unwrap_or_default();
                    continue;
                }
                None => next.len_utf8(),
            },
            _ => next.len_utf8(),
        };
        let (done, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        out.push_str(done);
        if !next.is_whitespace() {
            before = next;
        }
        rest = after;
    }
    found.then_some(out)
}

/// How many bytes a text in double quotes takes, its quotes included; one that never ends takes its quote alone.
pub(in crate::strategy) fn double_quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            '\n' => break,
            _ => {}
        }
    }
    1
}

/// What a text in single quotes holds, and how many bytes it takes with them.
fn single_quoted(text: &str) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => {
                let behind = text.get(at + 1..)?.trim_start();
                if behind.starts_with(['}', ']', ',', ':']) {
                    return Some((inner, at + 1));
                }
                // An apostrophe.
                inner.push(c);
            }
            '\\' => match chars.next()?.1 {
                'n' => inner.push('\n'),
                't' => inner.push('\t'),
                'r' => inner.push('\r'),
                other => inner.push(other),
            },
            _ => inner.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Option<Value> {
        serde_json::from_str(&as_double(text)?).ok()
    }

    #[test]
    fn texts_in_single_quotes_are_read_with_the_double_ones_in_them() {
        for (text, meant) in [
            (
                r#"{"tool": "fs_write", "args": {"content": '{"limit": 30}', "path": "/a"}}"#,
                json!({"tool": "fs_write", "args": {"content": "{\"limit\": 30}", "path": "/a"}}),
            ),
            (
                r#"{'args':{'path':'/a'},'tool':'fs_read'}"#,
                json!({"args": {"path": "/a"}, "tool": "fs_read"}),
            ),
            (
                "{'content': 'print(\"it\\'s\")\\nprint(\\'b\\')', 'list': ['a' , 'don't']}",
                json!({"content": "print(\"it's\")\nprint('b')", "list": ["a", "don't"]}),
            ),
        ] {
            assert_eq!(read(text), Some(meant), "{text}");
        }
    }

    #[test]
    fn quotes_that_are_no_texts_stay_as_they_are() {
        for text in [
            r#"{"content": "print('a', 'b')"}"#,
            "it's mine, isn't it",
            "{'never ended",
            "'",
            "",
        ] {
            assert_eq!(as_double(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "('|\"|\\\\|[{}\\[\\],:\n]|\\PC){0,60}") {
            let _ = as_double(&text);
        }

        #[test]
        fn any_text_in_single_quotes_comes_back(inner in "[^'\\\\]{0,40}") {
            let text = format!("{{'content': '{inner}'}}");
            prop_assert_eq!(read(&text), Some(json!({"content": inner})));
        }
    }
}
