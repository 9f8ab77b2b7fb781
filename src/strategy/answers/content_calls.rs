//! Tool calls that a model wrote into its text instead of calling natively.
//!
//! Qwen2.5-Coder and other small models answer with `{"name": …, "arguments": …}` in the content, bare,
//! in a code fence or in `<tool_call>` tags, and the server then reports no call.

use serde_json::{Map, Value, json};

use crate::domain::chat::ToolCall;

/// The calls in a text, in order. Pure and total: noise gives no calls.
///
/// A call is read where a line begins with JSON, fence marks and `<tool_call>` tags aside. The JSON is
/// read by its own grammar, so a fence inside an argument's text ends nothing. Objects of another
/// shape are skipped whole: what lies inside them is data.
pub fn calls_in_content(content: &str) -> Vec<ToolCall> {
    let mut calls = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let start = before_json(rest);
        if !start.starts_with(['{', '[']) {
            rest = next_line(rest);
            continue;
        }
        // Small models double the braces, as templates do.
        let doubled = start
            .strip_prefix('{')
            .filter(|inner| inner.starts_with("{\""));
        match first_value(start).or_else(|| first_value(doubled?)) {
            Some((value, after)) => {
                collect(&value, &mut calls);
                // Another value may follow on the same line.
                let after = after.trim_start_matches('}');
                rest = after.trim_start_matches([',', ';', ' ', '\t']);
            }
            None => rest = next_line(start),
        }
    }
    calls
}

/// Whether a line begins something that was meant as a call, readable or not: an object with the keys of one, also where
/// its brace is lost or its quotes are single ones.
pub fn begins_a_call(content: &str) -> bool {
    // Pretty printed JSON has its first key on the line after the brace.
    let joined = content.replace("{\n", "{");
    let names = |text: &str| NAMES.iter().any(|name| text.starts_with(name));
    let meant = |line: &str| {
        let start = before_json(line);
        let bare = start.trim_start_matches(['{', '[', ' ']);
        let key = bare.trim_start_matches(['"', '\'']);
        let in_braces = bare.len() < start.len() && start.starts_with(['{', '[']);
        line.contains("<tool_call>")
            || (in_braces && names(key))
            || (key.len() < bare.len() && is_key_of_a_call(key) && names_a_tool(line))
    };
    joined.lines().any(meant)
}

/// Whether a text goes on behind the quote of a key as in `args": {`.
fn is_key_of_a_call(text: &str) -> bool {
    let keys = NAMES.iter().chain(&ARGUMENTS);
    let mut behind = keys.filter_map(|key| text.strip_prefix(key)?.strip_prefix(['"', '\'']));
    behind.any(|rest| rest.trim_start().starts_with([':', '=']))
}

/// Whether a line has the key of a tool's name anywhere, in quotes.
fn names_a_tool(line: &str) -> bool {
    let quoted = |name: &&str| {
        ["\"", "'"]
            .iter()
            .any(|q| line.contains(&format!("{q}{name}{q}")))
    };
    NAMES.iter().any(quoted)
}

/// Skips what may stand between the start of a line and a call.
fn before_json(line: &str) -> &str {
    let mut rest = line.trim_start();
    if let Some(fence) = rest.strip_prefix("```") {
        let fence = fence.trim_start_matches('`');
        rest = fence.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        rest = rest.trim_start();
    }
    rest = rest
        .strip_prefix("</tool_call>")
        .unwrap_or(rest)
        .trim_start();
    rest.strip_prefix("<tool_call>")
        .unwrap_or(rest)
        .trim_start()
}

fn next_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

fn first_value(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, text.get(end..)?))
}

fn collect(value: &Value, calls: &mut Vec<ToolCall>) {
    match value {
        Value::Array(items) => {
            for item in items {
                calls.extend(item.as_object().and_then(one_call));
            }
        }
        Value::Object(object) => match object.get("tool_calls") {
            Some(list @ Value::Array(_)) => collect(list, calls),
            _ => calls.extend(one_call(object)),
        },
        _ => {}
    }
}

/// The keys under which models write a tool's name and its arguments.
const NAMES: [&str; 2] = ["name", "tool"];
const ARGUMENTS: [&str; 4] = ["arguments", "args", "parameters", "params"];

/// `{"name","arguments"}` or `{"tool","args"}`, or the same under `function` as the OpenAI dialect nests it.
fn one_call(object: &Map<String, Value>) -> Option<ToolCall> {
    let function = match object.get("function") {
        Some(Value::Object(inner)) => inner,
        _ => object,
    };
    let one_of = |keys: &[&str]| keys.iter().find_map(|key| function.get(*key));
    let name = one_of(&NAMES)?.as_str()?.trim();
    let arguments = match one_of(&ARGUMENTS) {
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(inner)) => Value::Object(inner),
            // The words of the end, in the place of its one argument.
            _ if names_the_end(name) => json!({"answer": text}),
            _ => return None,
        },
        Some(Value::Null) => Value::Object(Map::new()),
        None if names_the_end(name) => json!({"answer": said_beside_name(function)?}),
        _ => return None,
    };
    (!name.is_empty()).then(|| ToolCall {
        id: object.get("id").and_then(Value::as_str).map(str::to_owned),
        name: name.to_owned(),
        arguments,
    })
}

/// The words of an end that stand beside its name: `{"tool": "FINAL ANSWER", "answer": "…"}`.
fn said_beside_name(end: &Map<String, Value>) -> Option<&str> {
    let mut others = end.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()));
    match (others.next(), others.next()) {
        (Some((_, Value::String(words))), None) => Some(words),
        _ => None,
    }
}

/// Whether a call is named like the end of a task, `FINAL ANSWER`, in whatever spelling.
pub fn names_the_end(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphabetic);
    letters
        .map(|c| c.to_ascii_lowercase())
        .eq("finalanswer".chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall {
            id: None,
            name: name.into(),
            arguments,
        }
    }

    #[test]
    fn doubled_braces_are_read_as_single_ones() {
        let text = r#"{{"name": "run_program", "arguments": {"path": "/a.lua"}}}"#;
        let calls = calls_in_content(text);
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].arguments, json!({"path": "/a.lua"}));
        let two = format!("{text}\n{text}");
        assert_eq!(calls_in_content(&two).len(), 2);
    }

    #[test]
    fn a_bare_call_is_read() {
        let text = r#"{"name": "fs_read", "arguments": {"path": "/a.lua"}}"#;
        let expected = [call("fs_read", json!({"path": "/a.lua"}))];
        assert_eq!(calls_in_content(text), expected);
    }

    #[test]
    fn a_call_in_a_fence_with_chatter_around_is_read() {
        let text = "Sure, let me look:\r\n\r\n```json\r\n{\r\n  \"name\": \"fs_list\",\r\n  \"arguments\": {}\r\n}\r\n```\r\nThat lists it.";
        assert_eq!(calls_in_content(text), [call("fs_list", json!({}))]);
        let one_line = "```json {\"name\":\"fs_list\",\"arguments\":{}} ```";
        assert_eq!(calls_in_content(one_line), [call("fs_list", json!({}))]);
    }

    #[test]
    fn a_fence_inside_an_argument_ends_nothing() {
        let args = json!({"path": "a.md", "content": "```lua\nprint(1)\n```\n{\"name\":\"x\",\"arguments\":{}}"});
        let value = json!({"name": "fs_write", "arguments": args});
        let text = format!("```json\n{value:#}\n```\n");
        assert_eq!(calls_in_content(&text), [call("fs_write", args)]);
    }

    #[test]
    fn several_calls_are_read_in_order_from_lists_tags_and_lines() {
        let a = json!({"name": "a", "arguments": {}});
        let b = json!({"name": "b", "arguments": "{\"x\":1}"});
        let expected = [call("a", json!({})), call("b", json!({"x": 1}))];
        assert_eq!(calls_in_content(&json!([a, b]).to_string()), expected);
        assert_eq!(calls_in_content(&format!("{a}\n{b}")), expected);
        assert_eq!(calls_in_content(&format!("{a}, {b}")), expected);
        let tags = format!("<tool_call>\n{a}\n</tool_call>\n<tool_call>{b}</tool_call>");
        assert_eq!(calls_in_content(&tags), expected);
        assert_eq!(
            calls_in_content(&json!({"tool_calls": [a, b]}).to_string()),
            expected
        );
    }

    #[test]
    fn the_nested_shape_keeps_its_id() {
        let text = json!({"id": "call_1", "type": "function",
            "function": {"name": "a", "arguments": "{}"}});
        let expected = ToolCall {
            id: Some("call_1".into()),
            ..call("a", json!({}))
        };
        assert_eq!(calls_in_content(&text.to_string()), [expected]);
    }

    #[test]
    fn the_words_of_an_end_may_stand_for_its_arguments_or_beside_its_name() {
        let expected = [call("FINAL ANSWER", json!({"answer": "all is well"}))];
        for key in ["args", "answer", "text"] {
            let text = json!({"tool": "FINAL ANSWER", key: "all is well"}).to_string();
            assert_eq!(calls_in_content(&text), expected, "{text}");
        }
        for other in [
            json!({"tool": "FINAL ANSWER"}),
            json!({"tool": "FINAL ANSWER", "answer": "it is", "success": true}),
            json!({"tool": "FINAL ANSWER", "answer": 3}),
            json!({"tool": "fs_read", "path": "/a"}),
        ] {
            assert_eq!(calls_in_content(&other.to_string()), [], "{other}");
        }
    }

    #[test]
    fn other_json_and_broken_json_are_no_calls() {
        for text in [
            r#"{"what": "a", "parameters": {"name": "x", "arguments": {}}}"#,
            r#"{"name": "a", "arguments": {"#,
            r#"{"name": 3, "arguments": {}}"#,
            r#"{"name": "a", "arguments": "not json"}"#,
            "say {\"name\":\"a\",\"arguments\":{}} in prose",
            "```",
            "",
        ] {
            assert_eq!(calls_in_content(text), [], "{text}");
        }
    }

    #[test]
    fn a_call_that_lost_its_brace_or_has_other_quotes_is_begun_all_the_same() {
        for text in [
            r#"{"name": "a", "arguments": {"#,
            r#""args":{"reason":"it ran","success":true},"tool":"mark_subtask_complete"}"#,
            "{'args':{'path':'/a'},'tool':'fs_read'}",
            r#"{"args" =>{"path":"/a"},"tool":"fs_read"}"#,
            "Sure:\n```json\n\"tool\": \"fs_read\", \"args\": {}}\n```",
        ] {
            assert!(begins_a_call(text), "{text}");
        }
        for text in [
            "\"Args\" are what a program is given.",
            "\"args\" = what the program is given",
            "The tool \"fs_read\" says: \"name\": unknown",
            "{ local name = 1 }",
            "all is done",
        ] {
            assert!(!begins_a_call(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "(\\PC|[\\[\\]{}\"`:,\n<>]){0,200}") {
            calls_in_content(&text);
            begins_a_call(&text);
        }

        #[test]
        fn a_written_call_is_found_whatever_its_text_argument(
            content in "(\\PC|```|\n|[{}\"\\\\]){0,80}", fenced: bool, pretty: bool,
        ) {
            let arguments = json!({"content": content});
            let value = json!({"name": "fs_write", "arguments": arguments});
            let body = if pretty { format!("{value:#}") } else { value.to_string() };
            let text = if fenced { format!("Here:\n```json\n{body}\n```") } else { body };
            prop_assert_eq!(calls_in_content(&text), [call("fs_write", arguments)]);
        }
    }
}
