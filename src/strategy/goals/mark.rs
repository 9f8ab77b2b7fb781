//! The mark: how a model says that its subtask is over.

use super::MARK_TOOL;
use crate::domain::chat::{ChatAnswer, ToolCall, ToolDef};
use crate::domain::read::TurnRead;
use crate::domain::schema::Schema;
use crate::strategy::answers::turn_reader;
use serde_json::{Value, json};
use std::sync::LazyLock;

static MARK_ARGS: LazyLock<Schema> = LazyLock::new(|| {
    let args = json!({"type": "object", "required": ["success", "reason"],
        "properties": {"success": {"type": "boolean"}, "reason": {"type": "string"}}});
    args.into()
});

/// The pseudo tool as a model with native tools is told it.
pub(super) fn mark_tool() -> ToolDef {
    ToolDef {
        name: MARK_TOOL.to_owned(),
        description: "Say that the current subtask is over: success true if what it asks for is done and was seen to \
                      work, false if it cannot be done. This is the only way to the next subtask."
            .to_owned(),
        parameters: MARK_ARGS.clone(),
    }
}

pub(super) fn is_mark(call: &ToolCall) -> bool {
    call.name == MARK_TOOL
}

/// What a mark says: whether it went well, and why.
pub(super) fn mark_args(args: &Value) -> Result<(bool, String), String> {
    let reason = args
        .get("reason")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let success = match args.get("success") {
        Some(Value::Bool(success)) => *success,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
        _ => return Err(format!("{MARK_TOOL} needs \"success\": true or false")),
    };
    let reason = match reason.trim() {
        "" => "no reason was given",
        reason => reason,
    };
    Ok((success, reason.chars().take(400).collect()))
}

/// Reads an answer in a subtask: as any that may call tools, but the arguments of a mark at its end are a mark also without the
/// tool's name. Small models write "mark subtask complete with {…}", and no other tool takes these two.
pub fn read_answer(answer: &ChatAnswer) -> TurnRead {
    let said = turn_reader::read(answer);
    match bare_args(&said.text) {
        Some(arguments) if said.calls.is_empty() && said.problems.is_empty() => TurnRead {
            calls: vec![ToolCall {
                id: None,
                name: MARK_TOOL.to_owned(),
                arguments,
            }],
            ..TurnRead::default()
        },
        _ => said,
    }
}

fn bare_args(text: &str) -> Option<Value> {
    let (before, _) = text.split_once('{')?;
    let args = text[before.len()..].trim_end_matches(['`', '.', ' ', '\n']);
    let args: Value = serde_json::from_str(args).ok()?;
    let fields = args.as_object()?;
    let whole =
        fields.len() == 2 && fields.contains_key("success") && fields.contains_key("reason");
    whole.then_some(args)
}
