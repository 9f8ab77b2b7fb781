//! Calls as messages: over the server's own channel where the model takes tools, as JSON in the text where it does not.

use super::MARK_TOOL;
use crate::domain::chat::{Message, Speaker, ToolCall, ToolCallRef, ToolDef};
use crate::domain::directive::ASK_USER_TOOL;
use crate::domain::read::TurnRead;
use crate::strategy::act::Turn;
use serde_json::json;

/// The tools of a consult; none if the model's server refused native tools.
pub fn tools(turn: &Turn<'_>) -> Vec<ToolDef> {
    if turn.state.no_native_tools {
        return Vec::new();
    }
    let usable = turn.tools(None).usable(turn.profile);
    let mut tools: Vec<ToolDef> = usable
        .into_iter()
        .map(|tool| {
            let anything = || json!({"type": "object"});
            ToolDef {
                name: tool.name.clone(),
                description: tool.description.clone(),
                parameters: tool
                    .args_schema
                    .as_deref()
                    .cloned()
                    .unwrap_or_else(anything),
            }
        })
        .collect();
    tools.extend(pseudo_tools());
    tools
}

/// Those that no computer owns.
fn pseudo_tools() -> [ToolDef; 2] {
    let text = json!({"type": "string"});
    [
        ToolDef {
            name: MARK_TOOL.to_owned(),
            description: "Say that the current subtask is over: success true if what it asks for is done and was seen to \
                          work, false if it cannot be done. This is the only way to the next subtask."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"success": {"type": "boolean"}, "reason": text},
                "required": ["success", "reason"],
            }),
        },
        ToolDef {
            name: ASK_USER_TOOL.to_owned(),
            description: "Ask a person, only if nothing but an answer helps; why: why you cannot find out yourself."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"question": text, "why": text},
                "required": ["question", "why"],
            }),
        },
    ]
}

/// What a model said, and what came of it, as messages. `results` has one text for each call, in order; the last one
/// stands for all that are missing.
pub fn exchange(
    said: &TurnRead,
    results: &[String],
    native: bool,
    most: impl Fn(&str) -> String,
) -> Vec<Message> {
    let result = |at: usize| {
        results
            .get(at)
            .or(results.last())
            .cloned()
            .unwrap_or_default()
    };
    if !(native && said.native) {
        let calls = said
            .calls
            .iter()
            .map(|call| json!({"tool": call.name, "args": call.arguments}).to_string());
        let text = Some(said.text.clone()).filter(|text| !text.is_empty());
        let words: Vec<String> = text
            .into_iter()
            .chain(calls)
            .map(|part| most(&part))
            .collect();
        return vec![
            Message::assistant(words.join("\n")),
            Message::user(results.join("\n\n")),
        ];
    }
    let mut messages = vec![Message {
        tool_calls: said.calls.clone(),
        ..Message::assistant(most(&said.text))
    }];
    messages.extend(said.calls.iter().enumerate().map(|(at, call)| Message {
        speaker: Speaker::Tool,
        content: result(at),
        tool_calls: Vec::new(),
        answers: Some(named(call)),
    }));
    messages
}

fn named(call: &ToolCall) -> ToolCallRef {
    ToolCallRef {
        id: call.id.clone(),
        name: call.name.clone(),
    }
}
