//! Reads an answer that may call tools: over the server's own channel, as JSON in its text, or not at all.

use super::call_form;
use super::content_calls::{begins_a_call, calls_in_content};
use super::lua_lists;
use super::single_quotes;
use crate::domain::call::{Address, Target};
use crate::domain::chat::{ChatAnswer, StopReason, ToolCall};
use crate::domain::ids::ClientId;
use crate::domain::read::{Read, TurnRead};
use crate::strategy::directive::block::without_thinking;
use serde_json::Value;

/// What an answer calls and says. Total: any text is read.
pub fn read(answer: &ChatAnswer) -> TurnRead {
    let text = without_thinking(&answer.content).trim();
    if !answer.tool_calls.is_empty() {
        return TurnRead {
            text: text.to_owned(),
            calls: answer.tool_calls.clone(),
            native: true,
            problems: Vec::new(),
        };
    }
    let mut calls = calls_in_content(text);
    for readable in [single_quotes::as_double, lua_lists::in_brackets] {
        if calls.is_empty()
            && let Some(readable) = readable(text)
        {
            calls = calls_in_content(&readable);
        }
    }
    if !calls.is_empty() {
        return TurnRead {
            calls,
            ..TurnRead::default()
        };
    }
    if let Some(said) = call_form::read_words(text) {
        return said;
    }
    let cut = answer.stop == StopReason::Length;
    let mut problems = Vec::new();
    if begins_a_call(text) {
        let why = if cut {
            " (it was cut off: write less)"
        } else {
            ""
        };
        problems.push(format!("a call is begun, but its JSON cannot be read{why}"));
    } else if cut {
        problems.push("the answer was cut off at its length limit: write less".to_owned());
    } else if text.is_empty() {
        problems.push("the answer is empty".to_owned());
    }
    TurnRead {
        text: text.to_owned(),
        problems,
        ..TurnRead::default()
    }
}

/// The places that the calls of an answer name: a decision has to see those computers.
pub fn named(read: Option<&Read>) -> Vec<Address> {
    let Some(Read::Turn(turn)) = read else {
        return Vec::new();
    };
    let address = |call: &ToolCall| {
        let on = call.arguments.get("on").and_then(Value::as_str);
        let on = on
            .and_then(|on| ClientId::parse(on).ok())
            .map(|id| Address {
                target: Target::Computer(id),
                tool: call.name.clone(),
            });
        on.or_else(|| Address::parse(&call.name).ok())
    };
    turn.calls.iter().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::bench::answer;
    use proptest::prelude::*;

    #[test]
    fn words_alone_are_no_call_and_a_broken_call_is_no_words() {
        let said = read(&answer(
            "<think>\n{\"name\":\"x\"</think>All four commands work.",
        ));
        assert_eq!(
            (said.text.as_str(), said.problems.len()),
            ("All four commands work.", 0)
        );
        for text in [
            "{\"name\": \"fs_read\", \"arguments\": {\"path\": \"/a",
            "```json\n{\"tool\": \"fs_read\"",
            "<tool_call>\n{\"na",
            "",
        ] {
            let broken = read(&answer(text));
            assert!(
                broken.calls.is_empty() && broken.problems.len() == 1,
                "{text}: {broken:?}"
            );
        }
        let called = read(&answer(
            "Let me look.\n{\"tool\": \"fs_read\", \"args\": {\"path\": \"/a\"}}",
        ));
        assert_eq!(called.calls[0].name, "fs_read");
        let quoted = read(&answer(
            "```json\n{\"tool\": \"fs_write\", \"args\": {\"path\": \"/a\", \"content\": '{\"limit\": 30}'}}\n```",
        ));
        assert_eq!(quoted.calls[0].arguments["content"], "{\"limit\": 30}");
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in "(\\{|\\}|\"|name|tool|```|<think>|\\n|\\PC){0,40}") {
            let _ = read(&answer(&text));
        }
    }
}
