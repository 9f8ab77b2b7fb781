//! JSON with lists in braces, as Lua writes them: `{"args": {"2", "3"}}`; and with Lua's names, `{search = "a", all = true}`.

use super::single_quotes::double_quoted;

/// The text with every such list in brackets; none if there is none. Only braces whose first text or number has no colon behind it
/// are those of a list. Total: noise stays noise.
pub fn in_brackets(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    // Of each open brace, whether it is a list's.
    let mut open: Vec<bool> = Vec::new();
    let mut found = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '"' => double_quoted(rest),
            _ => next.len_utf8(),
        };
        let (done, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        match next {
            '{' => {
                let list = begins_a_list(after);
                open.push(list);
                found |= list;
                out.push(if list { '[' } else { '{' });
            }
            '}' => out.push(if open.pop().unwrap_or(false) {
                ']'
            } else {
                '}'
            }),
            _ => out.push_str(done),
        }
        rest = after;
    }
    found.then_some(out)
}

/// The text with each bare name and its equals sign as a JSON key; none if there is none. Total, as above.
pub fn with_keys(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut found = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let taken = match next {
            '"' => double_quoted(rest),
            // A mark behind it was copied from how tools are told.
            _ if is_name(next) => rest.find(|c| !is_name(c) && c != '?').unwrap_or(rest.len()),
            _ => next.len_utf8(),
        };
        let (done, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        let value = after.trim_start().strip_prefix('=');
        rest = match value.filter(|value| is_name(next) && !value.starts_with('=')) {
            Some(value) => {
                found = true;
                out.push_str(&format!("\"{}\":", done.trim_end_matches('?')));
                value
            }
            None => {
                out.push_str(done);
                after
            }
        };
    }
    found.then_some(out)
}

fn begins_a_list(text: &str) -> bool {
    let text = text.trim_start();
    let behind = match text.strip_prefix('"') {
        Some(_) => text.get(double_quoted(text)..).unwrap_or_default(),
        None => text.trim_start_matches(|c: char| c.is_ascii_digit() || ".-".contains(c)),
    };
    let is_item = behind.len() < text.len();
    is_item && behind.trim_start().starts_with([',', '}'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn lists_in_braces_are_read_and_objects_stay() {
        for (text, meant) in [
            (
                r#"{"path": "/a", "args": {"2", "3"}}"#,
                json!({"path": "/a", "args": ["2", "3"]}),
            ),
            (r#"{"args": {2, -3.5}}"#, json!({"args": [2, -3.5]})),
            (r#"{"args": { "a}b" }}"#, json!({"args": ["a}b"]})),
            (
                r#"{"args": {"a", {"b": 1}}}"#,
                json!({"args": ["a", {"b": 1}]}),
            ),
        ] {
            let read: Value = serde_json::from_str(&in_brackets(text).unwrap()).unwrap();
            assert_eq!(read, meant);
        }
        for text in [
            r#"{"a": {"b": "{\"c\", 1}"}, "d": {}}"#,
            "{",
            "\"",
            "{never",
            "{}}",
            "",
        ] {
            assert_eq!(in_brackets(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "(\"|\\\\|[{}\\[\\],:0-9\n-]|\\PC){0,60}") {
            let _ = in_brackets(&text);
        }
    }
}
