//! Reading the tools that a computer registers: one bad tool refuses only itself.

use super::incoming::field_error;
use super::outgoing::{CommandsRegistered, RefusedTool};
use crate::domain::tool::{EffectClass, ToolSpec, ToolState, is_tool_name};
use crate::wire::codes::ErrorCode;
use serde_json::Value;
use std::collections::BTreeMap;

/// The most tools that one computer may have.
pub const MAX_TOOLS: usize = 256;

/// Sorts tools into those that are good, by name, and those that are refused with a reason.
pub fn read_tools(commands: Vec<Value>) -> (BTreeMap<String, ToolSpec>, Vec<RefusedTool>) {
    let mut good = BTreeMap::new();
    let mut refused = Vec::new();
    for (index, command) in commands.into_iter().enumerate() {
        let name = command.get("name").and_then(Value::as_str);
        let name: String = name.unwrap_or("?").chars().take(64).collect();
        let refuse = |code: ErrorCode, field: Option<String>, why: &str| RefusedTool {
            name: name.clone(),
            code: code.as_str(),
            field: field.map(|f| match f.as_str() {
                "." => format!("commands[{index}]"),
                f => format!("commands[{index}].{f}"),
            }),
            hint: format!("{why}; {}", code.hint()),
        };
        if good.len() >= MAX_TOOLS {
            refused.push(refuse(ErrorCode::TooManyTools, None, "one too many"));
            continue;
        }
        match read_tool(command) {
            Ok(tool) => {
                if good.insert(tool.name.clone(), tool).is_some() {
                    let why = "registered twice in one message";
                    refused.push(refuse(ErrorCode::DuplicateTool, Some("name".into()), why));
                }
            }
            Err((code, field, why)) => refused.push(refuse(code, field, &why)),
        }
    }
    (good, refused)
}

fn read_tool(mut command: Value) -> Result<ToolSpec, (ErrorCode, Option<String>, String)> {
    // Lua writes an empty schema as `[]`.
    if let Some(schema) = command.get_mut("args_schema")
        && schema.as_array().is_some_and(Vec::is_empty)
    {
        *schema = serde_json::json!({});
    }
    let tool: ToolSpec = serde_path_to_error::deserialize(command).map_err(|error| {
        let error = field_error(&error);
        (error.code, error.field, error.message)
    })?;
    if !is_tool_name(&tool.name) {
        let why = format!("\"{}\" is no tool name", tool.name);
        return Err((ErrorCode::BadToolName, Some("name".into()), why));
    }
    if tool.args_schema.as_ref().is_some_and(|s| !s.is_object()) {
        let why = "the schema is no object".to_owned();
        return Err((ErrorCode::BadToolSchema, Some("args_schema".into()), why));
    }
    Ok(tool)
}

/// What a computer is told of its tools.
pub fn registered<'a>(
    tools: impl IntoIterator<Item = &'a ToolSpec>,
    refused: Vec<RefusedTool>,
) -> CommandsRegistered {
    CommandsRegistered {
        accepted: tools
            .into_iter()
            .map(|tool| (tool.name.clone(), tool.rev()))
            .collect(),
        refused,
    }
}

/// A tool of which only the name is known: those of a client that speaks only document 001. Its effect class
/// is the known one for the core tools (001 §7), else the careful one.
pub fn tool_by_name(name: &str) -> ToolSpec {
    let effect = match name {
        "fs_list" | "fs_read" => EffectClass::Read,
        "fs_write" | "fs_delete" => EffectClass::Idempotent,
        _ => EffectClass::Effect,
    };
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        args_schema: None,
        args: None,
        result: None,
        effect,
        timeout_ms: None,
        verify: None,
        tool_version: None,
        state: ToolState::Active,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_bad_tool_refuses_only_itself() {
        let (good, refused) = read_tools(vec![
            json!({"name": "dig", "args_schema": []}),
            json!({"name": "two words"}),
            json!({"description": "nameless"}),
            json!({"name": "fly", "effect": "magic"}),
            json!(7),
        ]);
        assert_eq!(good.keys().collect::<Vec<_>>(), ["dig"]);
        assert_eq!(good["dig"].args_schema, Some(json!({})));
        let told: Vec<_> = refused
            .iter()
            .map(|r| (r.name.as_str(), r.code, r.field.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("two words", "bad_tool_name", Some("commands[1].name")),
                ("?", "missing_field", Some("commands[2].name")),
                ("fly", "bad_field", Some("commands[3].effect")),
                ("?", "bad_field", Some("commands[4]")),
            ]
        );
    }

    #[test]
    fn a_flood_of_tools_is_cut_off() {
        let many = (0..300).map(|i| json!({"name": format!("t{i}")})).collect();
        let (good, refused) = read_tools(many);
        assert_eq!((good.len(), refused.len()), (MAX_TOOLS, 44));
    }
}
