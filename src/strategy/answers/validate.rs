//! Validation of a strict request: the tool exists and is allowed, the arguments match its schema, and
//! nothing in them was invented. Validation only bounces; it mends arguments only where the schema leaves one meaning.

use super::coerce::coerce;
use crate::domain::guard_rules::ArgLimits;
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::schema::Schema;
use crate::domain::task::TaskState;
use crate::domain::tool::EffectClass;
use crate::domain::toolbox::Tool;
use crate::strategy::fleet::{Found, Owner, ToolLookup, is_allowed, is_allowed_name};
use crate::strategy::text::{head_and_tail, one_line};
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NotAllowed(String),
    /// No computer that is meant has the tool; perhaps another one.
    UnknownTool {
        tool: String,
        elsewhere: Option<ClientId>,
    },
    /// The tool is there, but has to be tested and activated first.
    Draft {
        tool: String,
        on: ClientId,
    },
    /// A computer that was never seen is named.
    UnknownComputer(ClientId),
    /// The computer that would know the tool has shown no tools yet: wait, do not refuse.
    CannotTell,
    Arguments(Vec<String>),
}

/// The longest words about one broken argument, in bytes.
const MAX_PROBLEM: usize = 400;

/// Checks a tool call against what is online and allowed. The answer holds the arguments where they had to be mended to
/// match the schema; none if they match as they are.
pub fn check_call(
    state: &TaskState,
    profile: &Profile,
    tools: &ToolLookup<'_>,
    tool: &str,
    args: &Value,
) -> Result<Option<Value>, Refusal> {
    let not_allowed = || Refusal::NotAllowed(tool.to_owned());
    let found = tools.find(tool);
    let owners: Vec<Owner<'_>> = match &found {
        Found::Tools(owners) => {
            let mut owners = owners.clone();
            owners.retain(|owner| is_allowed(state, profile, owner));
            owners
        }
        _ => Vec::new(),
    };
    match found {
        Found::Tools(_) if owners.is_empty() => return Err(not_allowed()),
        Found::Tools(_) => {}
        _ if !is_allowed_name(state, profile, tool) => return Err(not_allowed()),
        Found::Draft(on) => {
            let (tool, on) = (tool.to_owned(), on.clone());
            return Err(Refusal::Draft { tool, on });
        }
        Found::Unknown { elsewhere } => {
            let (tool, elsewhere) = (tool.to_owned(), elsewhere.cloned());
            return Err(Refusal::UnknownTool { tool, elsewhere });
        }
        Found::NoComputer(name) => return Err(Refusal::UnknownComputer(name.clone())),
        Found::CannotTell => return Err(Refusal::CannotTell),
    }
    check_args(&owners, args, profile.guards.args)
}

/// Finds an owner whose schema takes the arguments: as they are, else mended.
fn check_args(
    owners: &[Owner<'_>],
    args: &Value,
    limits: ArgLimits,
) -> Result<Option<Value>, Refusal> {
    // Lua writes an empty object as `[]`, and models leave out what is empty.
    let empty = args.is_null() || args.as_array().is_some_and(Vec::is_empty);
    let object = if empty { &json!({}) } else { args };
    if !object.is_object() {
        let problem = "the arguments are no JSON object".to_owned();
        return Err(Refusal::Arguments(vec![problem]));
    }
    if let Some(problem) = too_large(object, limits) {
        return Err(Refusal::Arguments(vec![problem]));
    }
    let schemas = || owners.iter().map(|owner| owner.tool.args_schema.as_ref());
    if schemas().any(|schema| schema.is_none_or(|schema| schema.accepts(object))) {
        return Ok(empty.then(|| object.clone()));
    }
    let mended = schemas().flatten().find_map(|schema| mend(schema, object));
    // Whoever only looks does no harm by what nobody reads.
    let looks = owners
        .iter()
        .all(|owner| owner.tool.effect == EffectClass::Read);
    let mended = mended.or_else(|| {
        let mut schemas = schemas().flatten().filter(|_| looks);
        schemas.find_map(|schema| without_unknown(schema, object))
    });
    match (mended, schemas().flatten().next()) {
        (Some(mended), _) => Ok(Some(mended)),
        // What can be mended is not told: a small model takes each line for what it has to change.
        (None, Some(schema)) => check_schema(schema, &coerce(schema, object).0)
            .map(|()| None)
            .map_err(Refusal::Arguments),
        (None, None) => Ok(None),
    }
}

/// Whom refused arguments would suit: weak models write a file with the tool that writes tools, again and again. Told only;
/// which tool was meant, the model has to say.
pub fn meant_for(
    tools: &ToolLookup<'_>,
    profile: &Profile,
    called: &str,
    args: &Value,
) -> Option<String> {
    // One argument would suit half of all tools.
    let given = args.as_object().filter(|given| given.len() > 1)?;
    let knows_all = |schema: &Schema| {
        let known = schema.get("properties").and_then(Value::as_object);
        known.is_some_and(|known| given.keys().all(|key| known.contains_key(key)))
    };
    let usable = tools.usable(profile);
    let of = |tool: &&Tool| tool.args_schema.clone();
    let own = usable.iter().find(|tool| tool.name == called).and_then(of);
    // Where it knows every argument, it was the one that was meant, and something is wrong or missing in it.
    if own.is_none_or(|own| knows_all(&own)) {
        return None;
    }
    let suits = |schema: &Schema| knows_all(schema) && schema.accepts(args);
    let named: Vec<&str> = usable
        .iter()
        .filter(|tool| tool.args_schema.as_ref().is_some_and(suits))
        .map(|tool| tool.name.as_str())
        .take(3)
        .collect();
    (!named.is_empty()).then(|| format!("these arguments would suit {}", named.join(", ")))
}

/// What the tool takes, for whoever called it wrongly.
pub fn takes(tools: &ToolLookup<'_>, called: &str) -> Option<String> {
    let Found::Tools(owners) = tools.find(called) else {
        return None;
    };
    let schema = owners.first()?.tool.told_args()?;
    Some(one_line(
        &format!("{called} takes {}", schema.brief()),
        MAX_PROBLEM,
    ))
}

/// What is too much in arguments. They are measured before any schema looks at them.
fn too_large(args: &Value, limits: ArgLimits) -> Option<String> {
    let most = limits.depth as usize;
    if depth(args, most) > most {
        return Some(format!("the arguments nest deeper than {most}"));
    }
    let bytes = args.to_string().len();
    (bytes > limits.bytes).then(|| {
        format!(
            "the arguments have {bytes} bytes, at most {} are taken: write less at once",
            limits.bytes
        )
    })
}

/// The arguments as the schema must mean them; none if they do not match even so.
pub fn mend(schema: &Schema, args: &Value) -> Option<Value> {
    let renamed = renamed(schema, args);
    let (mended, changes) = coerce(schema, renamed.as_ref().unwrap_or(args));
    let changed = renamed.is_some() || !changes.is_empty();
    (changed && schema.accepts(&mended)).then_some(mended)
}

/// Names that models give to the same argument.
const SAME_NAMES: [&[&str]; 4] = [
    &[
        "path",
        "from",
        "source",
        "src",
        "file",
        "filename",
        "file_path",
        "program",
        "script",
    ],
    &["path", "to", "target", "dest", "destination", "new_path"],
    &["content", "contents", "text", "data"],
    &["command", "cmd"],
];

/// The arguments with the one that the schema does not know under the name of the one that it needs and was not given, if these
/// two names mean the same.
fn renamed(schema: &Schema, args: &Value) -> Option<Value> {
    let (known, given) = (schema.get("properties")?.as_object()?, args.as_object()?);
    let required = schema
        .get("required")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str);
    let mut missing = required.filter(|name| !given.contains_key(*name));
    let mut unknown = given.keys().filter(|name| !known.contains_key(*name));
    let (Some(missing), None, Some(unknown), None) = (
        missing.next(),
        missing.next(),
        unknown.next(),
        unknown.next(),
    ) else {
        return None;
    };
    let same = |names: &&[&str]| names.contains(&missing) && names.contains(&unknown.as_str());
    SAME_NAMES.iter().find(|names| same(names))?;
    let mut renamed = given.clone();
    let value = renamed.remove(unknown)?;
    renamed.insert(missing.to_owned(), value);
    Some(Value::Object(renamed))
}

/// The arguments without those that the schema does not know, mended; none if they do not match even so.
fn without_unknown(schema: &Schema, args: &Value) -> Option<Value> {
    let known = schema.get("properties")?.as_object()?;
    let fields = args.as_object()?.iter();
    let kept: Map<String, Value> = fields
        .filter(|(name, _)| known.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let (mended, _) = coerce(schema, &Value::Object(kept));
    schema.accepts(&mended).then_some(mended)
}

/// Each way in which `args` break `schema`, at most five.
pub fn check_schema(schema: &Schema, args: &Value) -> Result<(), Vec<String>> {
    let Some(validator) = schema.validator() else {
        return Ok(());
    };
    // Most are valid, and that is known faster than what is wrong.
    if validator.is_valid(args) {
        return Ok(());
    }
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

/// Of an object that breaks `schema` the fields that do not: each is looked at as if it stood alone.
pub fn fitting_fields(schema: &Schema, args: &Value) -> Map<String, Value> {
    let Some(validator) = schema.validator() else {
        return Map::new();
    };
    let fits = |name: &str, value: &Value| {
        let alone = json!({name: value});
        let mut errors = validator.iter_errors(&alone);
        errors.all(|error| {
            let others_lack = matches!(error.kind(), ValidationErrorKind::Required { .. });
            others_lack && error.instance_path().to_string().is_empty()
        })
    };
    let fields = args.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, value)| fits(name, value));
    fields.map(|(n, v)| (n.clone(), v.clone())).collect()
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

/// How deep a value nests; what is deeper than `most` is not looked at.
fn depth(value: &Value, most: usize) -> usize {
    let deepest = |inner: &mut dyn Iterator<Item = &Value>| match most {
        0 => 0,
        _ => inner.map(|item| depth(item, most - 1)).max().unwrap_or(0),
    };
    match value {
        Value::Array(items) => 1 + deepest(&mut items.iter()),
        Value::Object(fields) => 1 + deepest(&mut fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
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
#[path = "validate_tests.rs"]
mod tests;
