//! Mends arguments where their schema leaves one meaning alone: models write `"5"` where a number has to stand, and Lua
//! cannot tell an empty list from an empty object. Where a schema allows several types that a value may mean nothing is guessed, and
//! what is valid is never touched.

use serde_json::{Map, Number, Value};

/// One change that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Coercion {
    /// Where, as a JSON pointer; empty for the arguments as a whole.
    pub at: String,
    pub what: Mend,
}

/// What was done to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// A text was read as the number in it.
    ToNumber,
    /// `"true"` or `"false"` was read as what it says.
    ToBoolean,
    /// A number or boolean became its text.
    ToText,
    /// A single value became a list of one.
    ToList,
    /// An object with numbers for keys, as Lua's lists are, or one that only wraps a list or a value, became that list.
    OutOfObject,
    /// `[]` became `{}` or the reverse.
    EmptyTable,
    /// `null` for a property that may be left out was left out.
    NullDropped,
    /// A time limit of 0, which is not allowed, was left out.
    ZeroTimeoutDropped,
    /// A time limit for a tool that takes none was left out.
    UnknownTimeoutDropped,
    /// A limit above the largest that is allowed became that one.
    Capped,
    /// A text became the one choice that differs only in upper and lower case.
    Choice,
}

/// The arguments as the schema must mean them, and what was changed. The result need not match the schema: other things
/// may be wrong with it.
pub fn coerce(schema: &Value, args: &Value) -> (Value, Vec<Coercion>) {
    let mut mended = args.clone();
    let mut walk = Walk::default();
    walk.value(schema, &mut mended);
    (mended, walk.changes)
}

#[derive(Default)]
struct Walk {
    path: Vec<String>,
    changes: Vec<Coercion>,
}

/// A type of JSON Schema; `integer` is a narrower `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    List,
    Object,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "string" => Kind::Text,
            "array" => Kind::List,
            "object" => Kind::Object,
            _ => return None,
        })
    }

    fn has(self, value: &Value) -> bool {
        match (self, value) {
            (Kind::Integer, Value::Number(number)) => {
                !number.is_f64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
            }
            (Kind::Null, Value::Null)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::Text, Value::String(_))
            | (Kind::List, Value::Array(_))
            | (Kind::Object, Value::Object(_)) => true,
            _ => false,
        }
    }
}

/// The one type that a schema allows; none if it allows several or says nothing.
fn only_kind(schema: &Map<String, Value>) -> Option<Kind> {
    match schema.get("type")? {
        Value::String(name) => Kind::named(name),
        Value::Array(names) => match names.as_slice() {
            [one] => Kind::named(one.as_str()?),
            [a, b] => match (Kind::named(a.as_str()?)?, Kind::named(b.as_str()?)?) {
                (Kind::Integer, Kind::Number) | (Kind::Number, Kind::Integer) => Some(Kind::Number),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The one of several types that a text can be read as, where none of them is a text, a list or an object: `"15"` is no boolean.
fn kind_in_text(schema: &Map<String, Value>, value: &Value) -> Option<Kind> {
    let names = schema
        .get("type")
        .filter(|_| value.is_string())?
        .as_array()?;
    let kinds: Option<Vec<Kind>> = names
        .iter()
        .map(|name| Kind::named(name.as_str()?))
        .collect();
    let kinds = kinds?;
    let is_plain = |kind: &Kind| {
        matches!(
            kind,
            Kind::Null | Kind::Boolean | Kind::Integer | Kind::Number
        )
    };
    if !kinds.iter().all(is_plain) {
        return None;
    }
    let mut read = kinds
        .into_iter()
        .filter(|kind| to_kind(*kind, schema, value).is_some());
    match (read.next(), read.next()) {
        (Some(kind), None) => Some(kind),
        _ => None,
    }
}

/// Keywords that let other schemas speak of the same value: what it must mean is no longer plain.
const OTHER_VOICES: [&str; 8] = [
    "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
];

/// The keywords as far as they leave no doubt.
fn plain(schema: &Value) -> Option<&Map<String, Value>> {
    let keywords = schema.as_object()?;
    let doubtful = OTHER_VOICES.iter().any(|k| keywords.contains_key(*k));
    (!doubtful).then_some(keywords)
}

impl Walk {
    fn value(&mut self, schema: &Value, value: &mut Value) {
        let Some(schema) = plain(schema) else { return };
        if let Some(kind) = only_kind(schema).or_else(|| kind_in_text(schema, value))
            && !kind.has(value)
            && let Some((mended, what)) = to_kind(kind, schema, value)
        {
            *value = mended;
            self.note(what);
        }
        if let Some(choice) = choice(schema, value) {
            *value = choice;
            self.note(Mend::Choice);
        }
        match value {
            Value::Object(fields) => self.fields(schema, fields),
            Value::Array(items) => self.items(schema, items),
            _ => {}
        }
    }

    fn fields(&mut self, schema: &Map<String, Value>, fields: &mut Map<String, Value>) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return;
        };
        let patterns = schema.get("patternProperties");
        let also_patterns = patterns
            .and_then(Value::as_object)
            .is_some_and(|p| !p.is_empty());
        if also_patterns {
            return;
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required = |name: &str| required.into_iter().flatten().any(|r| r == name);
        let fewest = schema.get("minProperties").is_some();
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) && !fewest {
            self.without_unknown_timeouts(properties, fields);
        }
        for (name, rule) in properties {
            let Some(value) = fields.get_mut(name) else {
                continue;
            };
            self.path.push(name.clone());
            if value.is_null() && !required(name) && !fewest && refuses_null(rule) {
                fields.remove(name);
                self.note(Mend::NullDropped);
            } else if name.starts_with(TIMEOUT)
                && !required(name)
                && !fewest
                && refuses_zero(rule, value)
            {
                fields.remove(name);
                self.note(Mend::ZeroTimeoutDropped);
            } else {
                self.value(rule, value);
                // One that has to be given may be the very thing that the tool sets.
                let most = largest_limit(name, rule, value).filter(|_| !required(name));
                if let Some(most) = most {
                    *value = most;
                    self.note(Mend::Capped);
                }
            }
            self.path.pop();
        }
    }

    /// Small models give every tool the time limit that some of them take.
    fn without_unknown_timeouts(
        &mut self,
        properties: &Map<String, Value>,
        fields: &mut Map<String, Value>,
    ) {
        let is_one = |name: &str, value: &Value| {
            name.starts_with(TIMEOUT) && value.is_number() && !properties.contains_key(name)
        };
        let found = fields.iter().filter(|(name, value)| is_one(name, value));
        let names: Vec<String> = found.map(|(name, _)| name.clone()).collect();
        for name in names {
            fields.remove(&name);
            self.path.push(name);
            self.note(Mend::UnknownTimeoutDropped);
            self.path.pop();
        }
    }

    fn items(&mut self, schema: &Map<String, Value>, items: &mut [Value]) {
        let tuple = schema.contains_key("prefixItems");
        let Some(rule) = schema
            .get("items")
            .filter(|rule| rule.is_object() && !tuple)
        else {
            return;
        };
        for (at, item) in items.iter_mut().enumerate() {
            self.path.push(at.to_string());
            self.value(rule, item);
            self.path.pop();
        }
    }

    fn note(&mut self, what: Mend) {
        let escaped = |part: &String| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
        let at = self.path.iter().map(escaped).collect();
        self.changes.push(Coercion { at, what });
    }
}

/// How optional limits of time are called: 0 means none wherever it is not allowed. Of other numbers nobody knows.
const TIMEOUT: &str = "timeout";

/// How limits are called: who asks for more than there may be means as much as there may be.
const LIMITS: [&str; 3] = ["max_", "limit", TIMEOUT];

/// The largest value of a limit, if more was asked for.
fn largest_limit(name: &str, schema: &Value, value: &Value) -> Option<Value> {
    let is_limit = LIMITS.iter().any(|limit| name.starts_with(limit));
    let most = plain(schema).filter(|_| is_limit)?.get("maximum")?;
    (value.as_f64()? > most.as_f64()?).then(|| most.clone())
}

/// Whether a value is 0 and its schema plainly asks for more.
fn refuses_zero(schema: &Value, value: &Value) -> bool {
    let least = plain(schema).and_then(|schema| schema.get("minimum")?.as_f64());
    value.as_f64() == Some(0.0) && least.is_some_and(|least| least > 0.0)
}

/// Whether a schema plainly does not allow `null`.
fn refuses_null(schema: &Value) -> bool {
    let Some(schema) = plain(schema) else {
        return false;
    };
    match schema.get("type") {
        Some(Value::String(name)) => name != "null",
        Some(Value::Array(names)) => names.iter().all(|name| name != "null"),
        _ => {
            let choices = schema.get("enum").and_then(Value::as_array);
            choices.is_some_and(|choices| !choices.contains(&Value::Null))
        }
    }
}

/// The value as the one type that is allowed, if it can mean only one thing.
fn to_kind(kind: Kind, schema: &Map<String, Value>, value: &Value) -> Option<(Value, Mend)> {
    match (kind, value) {
        (Kind::Integer, Value::String(text)) => {
            let number = number_in(text).filter(|number| !number.is_f64())?;
            Some((Value::Number(number), Mend::ToNumber))
        }
        (Kind::Number, Value::String(text)) => {
            Some((Value::Number(number_in(text)?), Mend::ToNumber))
        }
        (Kind::Boolean, Value::String(text)) => {
            let says = match text.trim().to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                _ => return None,
            };
            Some((Value::Bool(says), Mend::ToBoolean))
        }
        (Kind::Text, Value::Number(_) | Value::Bool(_)) => {
            Some((Value::String(value.to_string()), Mend::ToText))
        }
        (Kind::List, Value::Object(fields)) if fields.is_empty() => {
            Some((Value::Array(Vec::new()), Mend::EmptyTable))
        }
        (Kind::Object, Value::Array(items)) if items.is_empty() => {
            Some((Value::Object(Map::new()), Mend::EmptyTable))
        }
        (Kind::List, single) => {
            let items = schema.get("items").and_then(plain);
            let kind = items.and_then(only_kind);
            if let Some(list) = single.as_object().and_then(|fields| list_in(kind, fields)) {
                return Some((Value::Array(list), Mend::OutOfObject));
            }
            let fits = kind?.has(single) && !looks_like_list(single);
            fits.then(|| (Value::Array(vec![single.clone()]), Mend::ToList))
        }
        _ => None,
    }
}

/// The list that an object must mean where its items are of this kind: `{"1": 2, "2": 3}`, `{"args": [2, 3]}`, `{"name": "x"}`.
fn list_in(items: Option<Kind>, fields: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(list) = numbered(fields) {
        return Some(list);
    }
    let only = fields.values().next().filter(|_| fields.len() == 1)?;
    match only {
        // An item of this list, perhaps.
        _ if items == Some(Kind::Object) => None,
        Value::Array(list) => Some(list.clone()),
        Value::Object(inner) => numbered(inner),
        Value::Null => None,
        single => Some(vec![single.clone()]),
    }
}

/// The values of an object whose keys count from 1, or from 0.
fn numbered(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let from = |first: usize| {
        let keys = (first..).take(fields.len());
        let values = keys.map(|key| fields.get(&key.to_string()).cloned());
        values.collect::<Option<Vec<_>>>()
    };
    let list = from(1).or_else(|| from(0))?;
    (!list.is_empty()).then_some(list)
}

/// A text that holds a list may mean that list, or itself.
fn looks_like_list(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.trim_start().starts_with(['[', '{']))
}

/// The number that a text is, if nothing of it is lost: written as JSON writes numbers, with at most 15 digits.
fn number_in(text: &str) -> Option<Number> {
    let text = text.trim();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if !(1..=15).contains(&digits) || !text.bytes().all(|b| b"0123456789+-.eE".contains(&b)) {
        return None;
    }
    let number: Number = serde_json::from_str(text).ok()?;
    number
        .as_f64()
        .is_some_and(f64::is_finite)
        .then_some(number)
}

/// The one allowed text that differs from this one only in upper and lower case.
fn choice(schema: &Map<String, Value>, value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    let one = schema.get("const").map(std::slice::from_ref);
    let choices = one.or(schema
        .get("enum")
        .and_then(Value::as_array)
        .map(Vec::as_slice))?;
    if choices.contains(value) {
        return None;
    }
    let lower = text.trim().to_lowercase();
    let mut like = choices
        .iter()
        .filter(|c| c.as_str().is_some_and(|c| c.to_lowercase() == lower));
    match (like.next(), like.next()) {
        (Some(choice), None) => Some(choice.clone()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "coerce_tests.rs"]
mod tests;
