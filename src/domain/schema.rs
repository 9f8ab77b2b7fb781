//! The schema of a tool's arguments: checked at registration, compiled once, held once however many computers
//! have it.

use super::grammar::without_large_bounds;
use super::schema_brief::brief_schema;
use super::shared::{Shared, content_hash};
use super::tokens::json_bytes;
use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

/// The largest schema, in bytes of its JSON text. That of a core tool has some hundred.
pub const MAX_BYTES: usize = 16 * 1024;

/// Marks a property that models are not told of, in its schema. Those who write OpenAPI mark what is not for everybody so.
const INTERNAL: &str = "x-internal";

/// How deep a schema may nest.
pub const MAX_DEPTH: usize = 32;

/// How many values a schema may have once every reference is replaced by what it names: checking arguments costs
/// about as much.
pub const MAX_EXPANDED: usize = 4096;

/// The most memory that one `pattern` may compile to, in bytes.
const MAX_PATTERN: usize = 256 * 1024;

/// A JSON Schema of an args object. Cheap to clone; equal schemas are one in memory.
#[derive(Clone)]
pub struct Schema(Arc<Held>);

struct Held {
    value: Value,
    /// The length of its JSON text.
    bytes: OnceLock<usize>,
    brief: OnceLock<String>,
    /// None where it is the schema itself.
    for_grammars: OnceLock<Option<Schema>>,
    compiled: OnceLock<Result<Validator, SchemaFault>>,
}

static SCHEMAS: LazyLock<Shared<Held>> = LazyLock::new(Shared::default);

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    #[error("the schema is no object")]
    NoObject,
    #[error("the schema has {0} bytes; at most {MAX_BYTES} are taken")]
    TooLarge(usize),
    #[error("the schema nests deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error(
        "\"{0}\" refers to something outside the schema; write it out, or put it under \"$defs\""
    )]
    Outside(String),
    #[error("\"{0}\" names nothing in the schema")]
    Dangling(String),
    #[error("\"{0}\" leads back to itself; a schema of arguments must end")]
    Endless(String),
    #[error("with its references replaced the schema has more than {MAX_EXPANDED} parts")]
    TooManyParts,
    #[error("\"{0}\" is not taken; only \"$ref\" with \"#/…\" is")]
    Keyword(&'static str),
    #[error("it does not compile: {0}")]
    Broken(String),
}

impl Schema {
    /// The schema of this value, shared with everybody who holds the same one. Nothing is checked yet.
    pub fn of(value: Value) -> Self {
        let hash = content_hash(&value);
        Schema(SCHEMAS.get(hash, || Held {
            value,
            bytes: OnceLock::new(),
            brief: OnceLock::new(),
            for_grammars: OnceLock::new(),
            compiled: OnceLock::new(),
        }))
    }

    /// Whether arguments can be checked with it.
    ///
    /// # Errors
    /// It is too large, names something outside itself, or is no JSON Schema.
    pub fn check(&self) -> Result<(), SchemaFault> {
        self.compiled().as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// The compiled schema; none if it cannot be used. Compiled at the first use, by whoever comes first.
    pub fn validator(&self) -> Option<&Validator> {
        self.compiled().as_ref().ok()
    }

    /// Whether `args` match. A schema that cannot be used refuses nothing: its tool was accepted before schemas
    /// were checked, so this cannot be the caller's fault.
    pub fn accepts(&self, args: &Value) -> bool {
        self.validator()
            .is_none_or(|validator| validator.is_valid(args))
    }

    /// The schema without the optional properties that are marked as internal: who calls a tool in a task need not know
    /// of what rules fill in.
    pub fn told(&self) -> Schema {
        let mut value = self.0.value.clone();
        match drop_internal(&mut value) {
            true => Schema::of(value),
            false => self.clone(),
        }
    }

    /// The schema as a model server can hold an answer to it ([`without_large_bounds`]); made at the first use.
    pub fn for_grammars(&self) -> Schema {
        let made = self.0.for_grammars.get_or_init(|| {
            let value = without_large_bounds(&self.0.value);
            (value != self.0.value).then(|| Schema::of(value))
        });
        made.as_ref().unwrap_or(self).clone()
    }

    /// The bytes of its JSON text, counted at the first use.
    pub fn bytes(&self) -> usize {
        *self.0.bytes.get_or_init(|| json_bytes(&self.0.value))
    }

    /// The schema in a few words ([`brief_schema`]); made at the first use.
    pub fn brief(&self) -> &str {
        self.0.brief.get_or_init(|| brief_schema(&self.0.value))
    }

    fn compiled(&self) -> &Result<Validator, SchemaFault> {
        self.0.compiled.get_or_init(|| compile(&self.0.value))
    }

    /// Whether both are the same schema.
    pub fn is(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Takes internal properties out, on all levels, and says whether there were any.
fn drop_internal(schema: &mut Value) -> bool {
    let mut any = false;
    for item in schema.as_array_mut().into_iter().flatten() {
        any |= drop_internal(item);
    }
    let Value::Object(keywords) = schema else {
        return any;
    };
    let required = keywords.get("required").cloned().unwrap_or_default();
    let is_required = |name: &String| {
        let mut names = required.as_array().into_iter().flatten();
        names.any(|required| required == name)
    };
    for (name, schema) in keywords.iter_mut() {
        match schema {
            Value::Object(properties) if name == "properties" => {
                let before = properties.len();
                properties.retain(|name, property| {
                    property.get(INTERNAL) != Some(&Value::Bool(true)) || is_required(name)
                });
                any |= properties.len() < before;
                for property in properties.values_mut() {
                    any |= drop_internal(property);
                }
            }
            schema => any |= drop_internal(schema),
        }
    }
    any
}

fn compile(schema: &Value) -> Result<Validator, SchemaFault> {
    check_bounds(schema)?;
    // Patterns run in linear time: no pattern that a computer registers can hold the server up.
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| {
            let place = error.instance_path().to_string();
            let words: String = error.masked().to_string().chars().take(200).collect();
            SchemaFault::Broken(if place.is_empty() {
                words
            } else {
                format!("{place}: {words}")
            })
        })
}

fn check_bounds(schema: &Value) -> Result<(), SchemaFault> {
    if !schema.is_object() {
        return Err(SchemaFault::NoObject);
    }
    if depth(schema, 0) > MAX_DEPTH {
        return Err(SchemaFault::TooDeep);
    }
    let bytes = schema.to_string().len();
    if bytes > MAX_BYTES {
        return Err(SchemaFault::TooLarge(bytes));
    }
    Expansion {
        root: schema,
        sizes: BTreeMap::new(),
        under_way: Vec::new(),
    }
    .size(schema, false)
    .map(|_| ())
}

fn depth(value: &Value, above: usize) -> usize {
    let inner = |values: &mut dyn Iterator<Item = &Value>| {
        let deepest = values.map(|v| depth(v, above + 1)).max();
        deepest.unwrap_or(above)
    };
    // Not deeper than needed to know that it is too deep.
    if above > MAX_DEPTH {
        return above;
    }
    match value {
        Value::Array(items) => inner(&mut items.iter()),
        Value::Object(fields) => inner(&mut fields.values()),
        _ => above,
    }
}

/// Counts what a schema has when its references are replaced by what they name.
struct Expansion<'a> {
    root: &'a Value,
    /// Of the references that were followed to their end.
    sizes: BTreeMap<&'a str, usize>,
    under_way: Vec<&'a str>,
}

/// Keywords whose value maps names of any kind to schemas.
const MAPS: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

impl<'a> Expansion<'a> {
    /// `is_map`: the keys of `value` are names that people chose, not keywords.
    fn size(&mut self, value: &'a Value, is_map: bool) -> Result<usize, SchemaFault> {
        let mut size = 1usize;
        match value {
            Value::Array(items) => {
                for item in items {
                    size = bounded(size + self.size(item, false)?)?;
                }
            }
            Value::Object(schemas) if is_map => {
                for schema in schemas.values() {
                    size = bounded(size + self.size(schema, false)?)?;
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    size = match (name.as_str(), field) {
                        ("$ref", Value::String(to)) => bounded(size + self.reference(to)?)?,
                        ("$dynamicRef", Value::String(_)) => {
                            return Err(SchemaFault::Keyword("$dynamicRef"));
                        }
                        ("$recursiveRef", Value::String(_)) => {
                            return Err(SchemaFault::Keyword("$recursiveRef"));
                        }
                        // Another base would give "#/…" another meaning.
                        ("$id" | "id", Value::String(_)) if !std::ptr::eq(value, self.root) => {
                            return Err(SchemaFault::Keyword("$id"));
                        }
                        // Data, not schemas: what looks like a reference there is none.
                        ("const" | "enum" | "default" | "examples", _) => size,
                        (name, _) => bounded(size + self.size(field, MAPS.contains(&name))?)?,
                    };
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn reference(&mut self, to: &'a str) -> Result<usize, SchemaFault> {
        let Some(pointer) = to.strip_prefix('#') else {
            return Err(SchemaFault::Outside(to.to_owned()));
        };
        if let Some(size) = self.sizes.get(to) {
            return Ok(*size);
        }
        if self.under_way.contains(&to) {
            return Err(SchemaFault::Endless(to.to_owned()));
        }
        let target = self.root.pointer(pointer);
        let target = target.ok_or_else(|| SchemaFault::Dangling(to.to_owned()))?;
        self.under_way.push(to);
        let size = self.size(target, false)?;
        self.under_way.pop();
        self.sizes.insert(to, size);
        Ok(size)
    }
}

fn bounded(size: usize) -> Result<usize, SchemaFault> {
    if size > MAX_EXPANDED {
        Err(SchemaFault::TooManyParts)
    } else {
        Ok(size)
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || self.0.value == other.0.value
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Schema::of(value)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Schema::of)
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
