//! Validation of a strict request: the tool exists and is allowed, the arguments match its schema, and
//! nothing in them was invented. Validation only bounces; it never repairs.

use super::fleet::{Found, ToolLookup, is_allowed};
use super::text::head_and_tail;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use serde_json::Value;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NotAllowed(String),
    UnknownTool(String),
    /// A computer that was never seen is named.
    UnknownComputer(ClientId),
    /// The computer that would know the tool has shown no tools yet: wait, do not refuse.
    CannotTell,
    Arguments(Vec<String>),
}

/// How deep arguments may nest (the depth that the JSON library on computers reads safely is 250).
const MAX_DEPTH: usize = 64;

/// The longest words about one broken argument, in bytes.
const MAX_PROBLEM: usize = 400;

/// Checks a tool call against what is online and allowed.
pub fn check_call(
    state: &TaskState,
    profile: &Profile,
    tools: &ToolLookup<'_>,
    tool: &str,
    args: &Value,
) -> Result<(), Refusal> {
    if !is_allowed(state, profile, tool) {
        return Err(Refusal::NotAllowed(tool.to_owned()));
    }
    let spec = match tools.find(tool) {
        Found::Tool(spec) => spec,
        Found::Unknown => return Err(Refusal::UnknownTool(tool.to_owned())),
        Found::NoComputer(name) => return Err(Refusal::UnknownComputer(name.clone())),
        Found::CannotTell => return Err(Refusal::CannotTell),
    };
    if !args.is_object() {
        return Err(Refusal::Arguments(vec![
            "the arguments are no JSON object".to_owned(),
        ]));
    }
    if depth(args) > MAX_DEPTH {
        return Err(Refusal::Arguments(vec![format!(
            "the arguments nest deeper than {MAX_DEPTH}"
        )]));
    }
    match &spec.args_schema {
        Some(schema) => check_schema(schema, args).map_err(Refusal::Arguments),
        None => Ok(()),
    }
}

/// Each way in which `args` break `schema`, at most five. A schema that is itself broken refuses nothing: its
/// tool was accepted at registration, so this cannot be the caller's fault.
pub fn check_schema(schema: &Value, args: &Value) -> Result<(), Vec<String>> {
    let Ok(validator) = jsonschema::validator_for(schema) else {
        return Ok(());
    };
    let problems: Vec<String> = validator
        .iter_errors(args)
        .take(5)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => words(&error),
            path => format!("{path}: {}", words(&error)),
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// What is wrong, without the value if that is long: a model that sent a whole file need not read it again.
fn words(error: &jsonschema::ValidationError<'_>) -> String {
    let whole = error.to_string();
    if whole.len() <= MAX_PROBLEM {
        return whole;
    }
    let masked = error.masked().to_string();
    head_and_tail(&masked, MAX_PROBLEM)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The texts in `args` that do not stand in `source`: a translator that adds any has invented it. A leading
/// slash and the end of lines may differ.
pub fn invented(args: &Value, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect_invented(args, &source.replace("\r\n", "\n"), &mut found);
    found
}

fn collect_invented(value: &Value, source: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let text = text.replace("\r\n", "\n");
            let core = text.trim().trim_start_matches('/');
            let as_json = serde_json::json!(core).to_string();
            let escaped = as_json.trim_matches('"');
            if !core.is_empty() && !source.contains(core) && !source.contains(escaped) {
                found.push(text.chars().take(60).collect());
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_invented(item, source, found)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_invented(field, source, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_error_names_the_field() {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
            "additionalProperties": false});
        assert_eq!(check_schema(&schema, &json!({"path": "/a"})), Ok(()));
        let wrong = check_schema(&schema, &json!({"path": 3})).unwrap_err();
        assert!(wrong[0].starts_with("/path: "), "{wrong:?}");
        assert!(check_schema(&schema, &json!({})).unwrap_err()[0].contains("path"));
    }

    #[test]
    fn a_schema_error_does_not_repeat_a_whole_file() {
        let schema = json!({"type": "object", "properties": {"content": {"type": "string", "maxLength": 1000}}});
        let wrong = check_schema(&schema, &json!({"content": "z".repeat(5000)})).unwrap_err();
        assert_eq!(wrong, ["/content: value is longer than 1000 characters"]);
        let many = json!({"content": 1, "more": "z".repeat(5000)});
        let closed = json!({"enum": ["y".repeat(5000)]});
        assert!(check_schema(&closed, &many).unwrap_err()[0].len() < 600);
    }

    #[test]
    fn what_the_directive_does_not_say_is_invented() {
        let source = "run TODO.lua with \"buy milk\"\nprint(\"a\\nb\")";
        assert!(invented(&json!({"path": "/TODO.lua", "args": ["buy milk"]}), source).is_empty());
        assert_eq!(
            invented(&json!({"path": "/other.lua"}), source),
            ["/other.lua"]
        );
    }
}
