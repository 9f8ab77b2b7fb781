//! Reading the tools that a computer registers: one bad tool refuses only itself.

use super::incoming::field_error;
use super::outgoing::{CommandsRegistered, RefusedTool};
use crate::domain::tool::{EffectClass, ToolSpec, ToolState, is_tool_name};
use crate::domain::toolbox::{Tool, Toolbox};
use crate::wire::codes::ErrorCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most tools that one computer may have.
pub const MAX_TOOLS: usize = 256;

/// Sorts tools into those that are good, by name, and those that are refused with a reason.
pub fn read_tools(commands: Vec<Value>) -> (Toolbox, Vec<RefusedTool>) {
    let mut good: BTreeMap<String, Tool> = BTreeMap::new();
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
                if good.insert(tool.name.clone(), tool.into()).is_some() {
                    let why = "registered twice in one message";
                    refused.push(refuse(ErrorCode::DuplicateTool, Some("name".into()), why));
                }
            }
            Err((code, field, why)) => refused.push(refuse(code, field, &why)),
        }
    }
    (good.into_values().collect(), refused)
}

fn read_tool(mut command: Value) -> Result<ToolSpec, (ErrorCode, Option<String>, String)> {
    if let Some(schema) = command.get_mut("args_schema") {
        mend_schema(schema);
    }
    let tool: ToolSpec = serde_path_to_error::deserialize(command).map_err(|error| {
        let error = field_error(&error);
        (error.code, error.field, error.message)
    })?;
    if !is_tool_name(&tool.name) {
        let why = format!("\"{}\" is no tool name", tool.name);
        return Err((ErrorCode::BadToolName, Some("name".into()), why));
    }
    if let Some(schema) = &tool.args_schema {
        let field = || Some("args_schema".to_owned());
        let checked = schema.check();
        checked.map_err(|fault| (ErrorCode::BadToolSchema, field(), fault.to_string()))?;
    }
    Ok(tool)
}

/// Lua cannot tell an empty list from an empty object: an empty one is read as what has to stand there.
fn mend_schema(schema: &mut Value) {
    const LISTS: [&str; 7] = [
        "required",
        "enum",
        "allOf",
        "anyOf",
        "oneOf",
        "examples",
        "prefixItems",
    ];
    const SCHEMAS: [&str; 9] = [
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "additionalItems",
    ];
    const MAPS: [&str; 5] = [
        "properties",
        "patternProperties",
        "$defs",
        "definitions",
        "dependentSchemas",
    ];
    let empty_list = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    if empty_list(schema) {
        *schema = json!({});
    }
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    for (keyword, value) in keywords {
        let keyword = keyword.as_str();
        if MAPS.contains(&keyword) {
            if empty_list(value) {
                *value = json!({});
            }
            let schemas = value.as_object_mut();
            schemas
                .into_iter()
                .flatten()
                .for_each(|(_, s)| mend_schema(s));
        } else if LISTS.contains(&keyword) {
            if value.as_object().is_some_and(|fields| fields.is_empty()) {
                *value = json!([]);
            }
            if matches!(keyword, "allOf" | "anyOf" | "oneOf" | "prefixItems") {
                let schemas = value.as_array_mut();
                schemas.into_iter().flatten().for_each(mend_schema);
            }
        } else if SCHEMAS.contains(&keyword) {
            mend_schema(value);
        }
    }
}

/// What a computer is told of its tools.
/// Tools that are not active for the server are named with their state.
pub fn registered<'a>(
    tools: impl IntoIterator<Item = &'a Tool>,
    refused: Vec<RefusedTool>,
) -> CommandsRegistered {
    let (mut accepted, mut states) = (BTreeMap::new(), BTreeMap::new());
    for tool in tools {
        accepted.insert(tool.name.clone(), tool.rev().to_owned());
        if tool.state != ToolState::Active {
            states.insert(tool.name.clone(), tool.state);
        }
    }
    CommandsRegistered {
        accepted,
        states,
        refused,
    }
}

/// A tool of which only the name is known: those of a client that speaks only document 001. Its effect class
/// is the known one for the core tools (001 §7), else the careful one.
pub fn tool_by_name(name: &str) -> Tool {
    let effect = match name {
        "fs_list" | "fs_read" => EffectClass::Read,
        "fs_write" | "fs_delete" => EffectClass::Idempotent,
        _ => EffectClass::Effect,
    };
    Tool::of(ToolSpec {
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
    })
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
        assert_eq!(good.names().collect::<Vec<_>>(), ["dig"]);
        assert_eq!(good[0].args_schema, Some(json!({}).into()));
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
    fn a_schema_that_cannot_be_used_refuses_its_tool_with_the_reason() {
        let (good, refused) = read_tools(vec![
            json!({"name": "dig", "args_schema": {"type": "object"}}),
            json!({"name": "fly", "args_schema": {"type": "objekt"}}),
            json!({"name": "swim", "args_schema": {"$ref": "http://host/schema.json"}}),
            json!({"name": "walk", "args_schema": 7}),
        ]);
        assert_eq!(good.names().collect::<Vec<_>>(), ["dig"]);
        for (refused, words) in refused.iter().zip(["compile", "outside", "no object"]) {
            assert_eq!(refused.code, "bad_tool_schema");
            assert!(refused.field.as_deref().unwrap().ends_with(".args_schema"));
            assert!(refused.hint.contains(words), "{}", refused.hint);
        }
        assert_eq!(refused.len(), 3);
    }

    #[test]
    fn empty_tables_of_lua_are_read_as_what_has_to_stand_there() {
        let (good, refused) = read_tools(vec![json!({"name": "dig", "args_schema": {
            "type": "object", "properties": [], "required": {}, "additionalProperties": [],
            "allOf": [{"properties": {"side": []}}]}})]);
        assert!(refused.is_empty(), "{refused:?}");
        let schema = good[0].args_schema.clone().unwrap();
        assert_eq!(schema["properties"], json!({}));
        assert_eq!(schema["required"], json!([]));
        assert_eq!(schema["allOf"][0]["properties"]["side"], json!({}));
    }

    #[test]
    fn a_flood_of_tools_is_cut_off() {
        let many = (0..300).map(|i| json!({"name": format!("t{i}")})).collect();
        let (good, refused) = read_tools(many);
        assert_eq!((good.len(), refused.len()), (MAX_TOOLS, 44));
    }
}
