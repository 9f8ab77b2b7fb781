//! JSON in a model's text: fences, chatter and thinking around it, a comma too many, a text that was cut off.

use crate::strategy::directive::block::without_thinking;
use serde_json::Value;

/// The JSON objects and arrays of a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Those that can be read, in order; none stands inside another.
    pub values: Vec<Value>,
    /// Why the last one that cannot be read is no JSON.
    pub error: Option<String>,
    /// The text ends inside of one.
    pub cut_off: bool,
}

/// Reads every object and array that stands in a text by itself. One that is broken is never looked into: a piece of it
/// would mean something else than the whole.
pub fn find(text: &str) -> Found {
    let text = without_thinking(text);
    let mut found = Found::default();
    let mut at = 0;
    while let Some(next) = text[at..].find(['{', '[']) {
        let start = at + next;
        at = start + 1;
        if !begins_json(&text[start..]) {
            continue;
        }
        let Some(length) = balanced(&text[start..]) else {
            found.cut_off = true;
            break;
        };
        at = start + length;
        match read(&text[start..at]) {
            Ok(value) => found.values.push(value),
            Err(error) => found.error = Some(error.to_string()),
        }
    }
    found
}

/// Whether a bracket begins JSON that can be of use, and not a word in brackets.
fn begins_json(text: &str) -> bool {
    let inside = text[1..].trim_start();
    let starts = if text.starts_with('{') { "\"}" } else { "{[]" };
    inside.is_empty() || inside.starts_with(|c| starts.contains(c))
}

/// The length of the text up to the bracket that closes the first one, brackets in strings left aside.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn read(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(json).or_else(|error| {
        serde_json::from_str(&without_spare_commas(&with_escaped_lines(json))).map_err(|_| error)
    })
}

/// Leaves out commas before a closing bracket, a habit from other languages.
fn without_spare_commas(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for (at, c) in json.char_indices() {
        let spare = c == ',' && !in_string && json[at + 1..].trim_start().starts_with(['}', ']']);
        if !spare {
            out.push(c);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
    }
    out
}

/// Escapes line ends and tabs inside of strings: models write a program's text as it is.
fn with_escaped_lines(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            '\n' if in_string => out.push_str("\\n"),
            '\r' if in_string => out.push_str("\\r"),
            '\t' if in_string => out.push_str("\\t"),
            c => out.push(c),
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn json_is_found_in_fences_chatter_and_behind_thinking() {
        for text in [
            "{\"a\": [1, {\"b\": \"}\"}]}",
            "<think>maybe {\"a\": 2}?</think>\nHere {it} is [1]:\n```json\n{\"a\": [1, {\"b\": \"}\"}],}\n```\nDone.",
            "{\"a\": [1, {\"b\": \"}\"},]}",
        ] {
            let found = find(text);
            assert_eq!(found.values, [json!({"a": [1, {"b": "}"}]})], "{text}");
            assert!(!found.cut_off);
        }
    }

    #[test]
    fn a_text_that_was_cut_off_is_told_and_gives_no_pieces() {
        let found =
            find("```json\n{\"steps\": [{\"id\": 1, \"action\": \"read_file\"}, {\"id\": 2, \"act");
        assert_eq!((found.values.len(), found.cut_off), (0, true));
        let found = find("{\"steps\": [{\"id\": 1} {\"id\": 2}]}");
        assert_eq!((found.values.len(), found.cut_off), (0, false));
        assert!(found.error.unwrap().contains("line 1"));
    }

    #[test]
    fn a_programs_lines_may_stand_in_a_string_as_they_are() {
        let found = find("{\"content\": \"a\n\tb, }\\\"\"}");
        assert_eq!(found.values, [json!({"content": "a\n\tb, }\""})]);
    }

    proptest! {
        #[test]
        fn noise_never_panics_and_what_is_json_is_found(text in "(\\{|\\}|\\[|\\]|\"|\\\\|,|:|\n|```|<think>|\\PC){0,60}", key in "\\PC{0,8}") {
            find(&text);
            let value = json!({key: [text, {"x": 1}]});
            let told = format!("Look:\n```json\n{value}\n```\nso");
            prop_assert_eq!(find(&told).values, vec![value]);
        }
    }
}
