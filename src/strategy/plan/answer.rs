//! Reading an executor's answer for one step: a call, a list of calls, words, or that something is unclear.

use super::json_text;
use super::parse::nothing_found;
use crate::domain::chat::{ChatAnswer, StopReason, ToolCall};
use crate::domain::work::plan::{StepCall, StepRead};
use crate::strategy::directive::block::without_thinking;
use serde_json::{Map, Value, json};

/// Reads an answer. Calls made natively count before anything that stands in the text.
pub fn read(answer: &ChatAnswer) -> StepRead {
    if !answer.tool_calls.is_empty() {
        let calls = answer.tool_calls.iter().map(native).collect();
        return StepRead::Calls { calls };
    }
    let found = json_text::find(&answer.content);
    let meant = found.values.iter().filter_map(shape).collect::<Vec<_>>();
    match meant.as_slice() {
        [one] => one.read(),
        [] => StepRead::Invalid {
            problems: vec![nothing_found(
                answer,
                &found,
                "call with \"tool\" and \"args\"",
            )],
        },
        // One call after the other, without a list around them.
        many if many.iter().all(|shape| matches!(shape, Shape::Calls(_))) => {
            let all = many.iter().flat_map(|shape| match shape {
                Shape::Calls(calls) => calls.clone(),
                _ => Vec::new(),
            });
            Shape::Calls(all.collect()).read()
        }
        _ => StepRead::Invalid {
            problems: vec![
                "the answer says several different things: give one JSON answer".to_owned(),
            ],
        },
    }
}

/// Reads the answer of a step that is done by thinking: its words, whatever they are.
pub fn words(answer: &ChatAnswer) -> StepRead {
    let text = without_thinking(&answer.content).trim();
    if !text.is_empty() {
        let text = text.to_owned();
        return StepRead::Words { text };
    }
    let why = if answer.stop == StopReason::Length {
        "the answer was cut off at its length limit before it began: think less"
    } else {
        "the answer is empty"
    };
    StepRead::Invalid {
        problems: vec![why.to_owned()],
    }
}

fn native(call: &ToolCall) -> StepCall {
    StepCall {
        tool: call.name.clone(),
        args: object(Some(&call.arguments)),
        reasoning: None,
    }
}

enum Shape<'a> {
    Calls(Vec<&'a Value>),
    Words(String),
    Unclear(Vec<String>),
}

/// What a JSON value of the answer is, if it is anything that counts.
fn shape(value: &Value) -> Option<Shape<'_>> {
    match value {
        Value::Array(calls) => {
            let all = calls.iter().all(is_call);
            (!calls.is_empty() && all).then(|| Shape::Calls(calls.iter().collect()))
        }
        Value::Object(fields) => {
            let listed = ["calls", "tool_calls"]
                .iter()
                .find_map(|n| fields.get(*n)?.as_array());
            if let Some(calls) = listed.filter(|calls| !calls.is_empty()) {
                return Some(Shape::Calls(calls.iter().collect()));
            }
            if is_call(value) {
                return Some(Shape::Calls(vec![value]));
            }
            if let Some(missing) = fields.get("unclear").or(fields.get("missing")) {
                return Some(Shape::Unclear(texts(missing)));
            }
            let words = ["analysis", "answer", "text"]
                .iter()
                .find_map(|n| fields.get(*n)?.as_str());
            words.map(|words| Shape::Words(words.trim().to_owned()))
        }
        _ => None,
    }
}

impl Shape<'_> {
    fn read(&self) -> StepRead {
        match self {
            Shape::Words(text) if text.is_empty() => StepRead::Invalid {
                problems: vec!["the answer is empty".to_owned()],
            },
            Shape::Words(text) => StepRead::Words { text: text.clone() },
            Shape::Unclear(missing) => StepRead::Unclear {
                missing: missing.clone(),
            },
            Shape::Calls(calls) => {
                let read: Result<Vec<StepCall>, String> = calls
                    .iter()
                    .enumerate()
                    .map(|(at, value)| call(at, value))
                    .collect();
                match read {
                    Ok(calls) => StepRead::Calls { calls },
                    Err(problem) => StepRead::Invalid {
                        problems: vec![problem],
                    },
                }
            }
        }
    }
}

const TOOL: [&str; 3] = ["tool", "name", "tool_name"];
const ARGS: [&str; 4] = ["args", "arguments", "parameters", "params"];

fn is_call(value: &Value) -> bool {
    let named = |name: &str| value.get(name).is_some_and(Value::is_string);
    TOOL.into_iter().any(named) || value.get("function").is_some_and(Value::is_object)
}

fn call(at: usize, value: &Value) -> Result<StepCall, String> {
    let wrong = |words: &str| format!("call {}: {words}", at + 1);
    let value = value
        .get("function")
        .filter(|f| f.is_object())
        .unwrap_or(value);
    let fields: &Map<String, Value> = value
        .as_object()
        .ok_or_else(|| wrong("is no JSON object"))?;
    let tool = TOOL.iter().find_map(|name| fields.get(*name)?.as_str());
    let tool = tool.map(str::trim).filter(|tool| !tool.is_empty());
    let args = ARGS.iter().find_map(|name| fields.get(*name));
    let args = object(args);
    if !args.is_object() {
        return Err(wrong("args is no JSON object"));
    }
    let reasoning = fields.get("reasoning").and_then(Value::as_str);
    Ok(StepCall {
        tool: tool.ok_or_else(|| wrong("names no tool"))?.to_owned(),
        args,
        reasoning: reasoning
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()),
    })
}

/// Arguments as an object: nothing is an empty one, and a text that holds JSON is what it holds.
fn object(args: Option<&Value>) -> Value {
    match args {
        None | Some(Value::Null) => json!({}),
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(other) => other.clone(),
    }
}

fn texts(value: &Value) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Value::Array(items) => items.iter().map(one).collect(),
        other => vec![one(other)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::bench::answer;
    use proptest::prelude::*;

    fn calls(text: &str) -> Vec<(String, Value)> {
        match read(&answer(text)) {
            StepRead::Calls { calls } => calls
                .into_iter()
                .map(|call| (call.tool, call.args))
                .collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn one_call_or_several_are_read_however_they_are_written() {
        let expected = [("fs_read".to_owned(), json!({"path": "/a"}))];
        for text in [
            r#"{"tool": "fs_read", "args": {"path": "/a"}}"#,
            r#"Sure: ```json [{"tool": "fs_read", "args": {"path": "/a"},}] ``` done"#,
            r#"{"calls": [{"name": "fs_read", "arguments": "{\"path\": \"/a\"}", "reasoning": "to see it"}]}"#,
            r#"{"kind": "tool", "explanation": "x", "tool": "fs_read", "parameters": {"path": "/a"}}"#,
            r#"<think>{"tool": "no"}</think>{"type": "function", "function": {"name": "fs_read", "arguments": {"path": "/a"}}}"#,
        ] {
            assert_eq!(calls(text), expected, "{text}");
        }
        assert_eq!(calls("{\"tool\": \"a\"}\n{\"tool\": \"b\"}").len(), 2);
    }

    #[test]
    fn native_calls_count_first_and_reasoning_is_kept() {
        let mut said = answer("{\"tool\": \"x\"}");
        said.tool_calls = vec![ToolCall {
            id: None,
            name: "fs_list".into(),
            arguments: Value::Null,
        }];
        let StepRead::Calls { calls } = read(&said) else {
            panic!()
        };
        assert_eq!(
            (calls[0].tool.as_str(), &calls[0].args),
            ("fs_list", &json!({}))
        );
        let StepRead::Calls { calls } =
            read(&answer("{\"tool\": \"x\", \"reasoning\": \" see \"}"))
        else {
            panic!()
        };
        assert_eq!(calls[0].reasoning.as_deref(), Some("see"));
    }

    #[test]
    fn words_and_doubts_are_read_and_anything_else_is_told() {
        assert_eq!(
            read(&answer("{\"analysis\": \"line 3\"}")),
            StepRead::Words {
                text: "line 3".into()
            }
        );
        assert_eq!(
            read(&answer("{\"unclear\": [\"which file\"]}")),
            StepRead::Unclear {
                missing: vec!["which file".into()]
            }
        );
        for (text, expected) in [
            ("I would read it.", "holds no JSON call"),
            (
                "{\"tool\": \"x\", \"args\": [1]}",
                "call 1: args is no JSON object",
            ),
            (
                "[{\"tool\": \"x\"}, {\"tool\": \"\"}]",
                "call 2: names no tool",
            ),
            ("{\"calls\": [7]}", "call 1: is no JSON object"),
            ("{\"tool\": \"x\", \"args\": {\"path\": \"/a", "cut off"),
            (
                "{\"tool\": \"x\"} or {\"unclear\": \"y\"}",
                "several different things",
            ),
            ("{\"analysis\": \" \"}", "empty"),
        ] {
            let StepRead::Invalid { problems } = read(&answer(text)) else {
                panic!("{text}")
            };
            assert!(problems[0].contains(expected), "{text}: {problems:?}");
        }
        let mut cut = answer("{\"tool\": \"x\", \"args\": {");
        cut.stop = StopReason::Length;
        assert!(
            matches!(read(&cut), StepRead::Invalid { problems } if problems[0].contains("length limit"))
        );
    }

    #[test]
    fn the_words_of_a_thinking_step_are_its_result() {
        assert_eq!(
            words(&answer("<think>hm</think>\nLine 3 is wrong.")),
            StepRead::Words {
                text: "Line 3 is wrong.".into()
            }
        );
        assert!(matches!(
            words(&answer("<think>hm</think> ")),
            StepRead::Invalid { .. }
        ));
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "(\\{|\\}|\\[|\\]|\"|:|,|\"tool\": ?|\"args\"|\"calls\"|function|\\PC){0,40}") {
            read(&answer(&text));
        }
    }
}
