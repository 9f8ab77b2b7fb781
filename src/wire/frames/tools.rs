//! Reading the tools that a computer registers: one bad tool refuses only itself.

use super::decode::field_error;
use super::outgoing::{CommandsRegistered, RefusedTool};
use crate::domain::tool::{EffectClass, ToolSpec, ToolState, is_tool_name};
use crate::domain::toolbox::{Tool, Toolbox};
use crate::wire::codes::ErrorCode;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// The most tools that one computer may have.
pub const MAX_TOOLS: usize = 256;
/// The most bytes of one tool as JSON, its schema included.
pub const MAX_TOOL_BYTES: usize = 16 * 1024;
/// The most bytes of all tools of one computer.
pub const MAX_TOOLS_BYTES: usize = 256 * 1024;
/// Refused tools that are told one by one; the rest is counted.
const MAX_TOLD: usize = 64;

/// The tools that a computer has registered on its connection, by size: however they come, in `hello` or one by one,
/// they stay within the bounds.
#[derive(Debug, Default)]
pub struct ToolShelf {
    sizes: BTreeMap<String, usize>,
    bytes: usize,
}

impl ToolShelf {
    /// Sorts tools into those that are good, by name, and those that are refused with a reason.
    pub fn read(&mut self, commands: Vec<Value>) -> (Toolbox, Vec<RefusedTool>) {
        let mut good: BTreeMap<String, Tool> = BTreeMap::new();
        let mut refused = Vec::new();
        let mut untold = 0usize;
        for (index, command) in commands.into_iter().enumerate() {
            let name = command.get("name").and_then(Value::as_str);
            let name: String = name.unwrap_or("?").chars().take(64).collect();
            let (code, field, why) = match self.take(command) {
                Ok(tool) => match good.insert(tool.name.clone(), tool) {
                    None => continue,
                    Some(_) => (
                        ErrorCode::DuplicateTool,
                        Some("name".into()),
                        "registered twice in one message".to_owned(),
                    ),
                },
                Err(refusal) => refusal,
            };
            if refused.len() >= MAX_TOLD {
                untold += 1;
                continue;
            }
            refused.push(RefusedTool {
                name,
                code: code.as_str(),
                field: field.map(|f: String| match f.as_str() {
                    "." => format!("commands[{index}]"),
                    f => format!("commands[{index}].{f}"),
                }),
                hint: format!("{why}; {}", code.hint()),
            });
        }
        if untold > 0 {
            refused.push(RefusedTool {
                name: "?".to_owned(),
                code: ErrorCode::TooManyTools.as_str(),
                field: None,
                hint: format!("{untold} more were refused; mend the others first"),
            });
        }
        (good.into_values().collect(), refused)
    }

    fn take(&mut self, command: Value) -> Result<Tool, Refusal> {
        let text = command.to_string();
        let bytes = text.len();
        if bytes > MAX_TOOL_BYTES {
            let why = format!("it has {bytes} bytes");
            return Err((ErrorCode::ToolTooLarge, None, why));
        }
        let tool = read_once(&text, command)?;
        if self.keep(&tool.name, bytes) {
            return Ok(tool);
        }
        let why = "one too many, or too much together".to_owned();
        Err((ErrorCode::TooManyTools, None, why))
    }

    /// Takes a tool of which the server itself wrote the description; false if there are too many.
    pub fn put(&mut self, tool: &ToolSpec) -> bool {
        self.keep(&tool.name, tool.name.len())
    }

    /// Takes tools off.
    pub fn remove(&mut self, names: &[String]) {
        for name in names {
            self.bytes -= self.sizes.remove(name).unwrap_or(0);
        }
    }

    fn keep(&mut self, name: &str, bytes: usize) -> bool {
        let before = self.sizes.get(name).copied();
        let sum = self.bytes - before.unwrap_or(0) + bytes;
        let fits = sum <= MAX_TOOLS_BYTES && (before.is_some() || self.sizes.len() < MAX_TOOLS);
        if fits {
            self.sizes.insert(name.to_owned(), bytes);
            self.bytes = sum;
        }
        fits
    }
}

thread_local! {
    /// Good tools by the hash of their text: most computers of a fleet register the same ones.
    static READ: RefCell<HashMap<[u8; 32], Tool>> = RefCell::default();
}

/// How many tools a thread remembers to have read; beyond it, it begins anew.
const REMEMBERED: usize = 256;

/// As [`read_tool`], once for each text.
fn read_once(text: &str, command: Value) -> Result<Tool, Refusal> {
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    if let Some(tool) = READ.with_borrow(|read| read.get(&hash).cloned()) {
        return Ok(tool);
    }
    let tool = Tool::of(read_tool(command)?);
    READ.with_borrow_mut(|read| {
        if read.len() >= REMEMBERED {
            read.clear();
        }
        read.insert(hash, tool.clone());
    });
    Ok(tool)
}

/// Code, field and words.
type Refusal = (ErrorCode, Option<String>, String);

fn read_tool(mut command: Value) -> Result<ToolSpec, Refusal> {
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
        accepted.insert(tool.name.clone(), tool.rev().to_string());
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
        let (good, refused) = ToolShelf::default().read(vec![
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
        let (good, refused) = ToolShelf::default().read(vec![
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
        let (good, refused) =
            ToolShelf::default().read(vec![json!({"name": "dig", "args_schema": {
            "type": "object", "properties": [], "required": {}, "additionalProperties": [],
            "allOf": [{"properties": {"side": []}}]}})]);
        assert!(refused.is_empty(), "{refused:?}");
        let schema = good[0].args_schema.clone().unwrap();
        assert_eq!(schema["properties"], json!({}));
        assert_eq!(schema["required"], json!([]));
        assert_eq!(schema["allOf"][0]["properties"]["side"], json!({}));
    }

    fn names(count: std::ops::Range<usize>) -> Vec<Value> {
        count.map(|i| json!({"name": format!("t{i}")})).collect()
    }

    #[test]
    fn a_flood_of_tools_is_cut_off_also_when_it_comes_in_many_messages() {
        let mut shelf = ToolShelf::default();
        let (good, refused) = shelf.read(names(0..300));
        assert_eq!((good.len(), refused.len()), (MAX_TOOLS, 44));
        for from in 1..50 {
            let (good, refused) = shelf.read(names(from * 300..from * 300 + 10));
            assert_eq!((good.len(), refused.len()), (0, 10));
            assert_eq!(refused[0].code, "too_many_tools");
        }
        // One that is there may be replaced, and one that went makes room.
        assert_eq!(shelf.read(names(7..8)).0.len(), 1);
        shelf.remove(&["t7".to_owned(), "never was".to_owned()]);
        assert_eq!(shelf.read(names(1000..1002)).0.len(), 1);
    }

    #[test]
    fn a_tool_with_a_giant_schema_and_too_many_large_ones_are_refused() {
        let large = |name: &str, bytes: usize| json!({"name": name, "args_schema": {"description": "x".repeat(bytes)}});
        let mut shelf = ToolShelf::default();
        let (good, refused) = shelf.read(vec![large("a", MAX_TOOL_BYTES), json!({"name": "b"})]);
        assert_eq!(good.names().collect::<Vec<_>>(), ["b"]);
        assert_eq!(
            (refused[0].name.as_str(), refused[0].code),
            ("a", "tool_too_large")
        );
        let many = (0..40).map(|i| large(&format!("t{i}"), 10_000)).collect();
        let (good, refused) = shelf.read(many);
        assert!((20..30).contains(&good.len()), "{}", good.len());
        assert_eq!(refused[0].code, "too_many_tools");
        assert!(shelf.bytes <= MAX_TOOLS_BYTES);
    }

    #[test]
    fn a_message_full_of_rubbish_gets_a_short_answer() {
        let (_, refused) = ToolShelf::default().read(vec![json!({}); 40_000]);
        assert_eq!(refused.len(), MAX_TOLD + 1);
        assert!(
            refused[MAX_TOLD].hint.starts_with("39936 more"),
            "{}",
            refused[MAX_TOLD].hint
        );
    }
}
