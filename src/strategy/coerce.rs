//! Mends arguments where their schema leaves one meaning alone: models write `"5"` where a number has to stand, and Lua
//! cannot tell an empty list from an empty object. Where a schema allows several types nothing is guessed, and what is
//! valid is never touched.

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
    /// `[]` became `{}` or the reverse.
    EmptyTable,
    /// `null` for a property that may be left out was left out.
    NullDropped,
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
        if let Some(kind) = only_kind(schema)
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
        for (name, rule) in properties {
            let Some(value) = fields.get_mut(name) else {
                continue;
            };
            self.path.push(name.clone());
            if value.is_null() && !required(name) && !fewest && refuses_null(rule) {
                fields.remove(name);
                self.note(Mend::NullDropped);
            } else {
                self.value(rule, value);
            }
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
            let items = schema.get("items").and_then(plain)?;
            let fits = only_kind(items)?.has(single) && !looks_like_list(single);
            fits.then(|| (Value::Array(vec![single.clone()]), Mend::ToList))
        }
        _ => None,
    }
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
mod tests {
    use super::*;
    use crate::domain::schema::Schema;
    use crate::strategy::validate::mend;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(properties: Value) -> Value {
        json!({"type": "object", "properties": properties})
    }

    #[track_caller]
    fn becomes(rule: Value, given: Value, wanted: Value) {
        let schema = object(json!({"x": rule}));
        let (mended, changes) = coerce(&schema, &json!({"x": given}));
        assert_eq!(mended, json!({"x": wanted}), "{schema}");
        assert!(
            changes.iter().all(|c| c.at.starts_with("/x")),
            "{changes:?}"
        );
        assert!(Schema::of(schema).accepts(&mended));
    }

    #[track_caller]
    fn stays(rule: Value, given: Value) {
        let args = json!({"x": given});
        let (same, changes) = coerce(&object(json!({"x": rule})), &args);
        assert_eq!((same, changes), (args, vec![]));
    }

    #[test]
    fn what_can_mean_only_one_thing_is_mended() {
        let (int, num, text) = (
            json!({"type": "integer"}),
            json!({"type": "number"}),
            json!({"type": "string"}),
        );
        becomes(int.clone(), json!("5"), json!(5));
        becomes(int.clone(), json!(" -12 "), json!(-12));
        becomes(num.clone(), json!("2.5"), json!(2.5));
        becomes(json!({"type": ["integer", "number"]}), json!("7"), json!(7));
        becomes(json!({"type": "boolean"}), json!("True"), json!(true));
        becomes(text.clone(), json!(5), json!("5"));
        becomes(text.clone(), json!(false), json!("false"));
        let texts = json!({"type": "array", "items": text});
        becomes(texts.clone(), json!("a"), json!(["a"]));
        becomes(texts.clone(), json!({}), json!([]));
        let numbers = json!({"type": "array", "items": int});
        becomes(numbers.clone(), json!(5), json!([5]));
        becomes(numbers, json!(5.0), json!([5.0]));
        becomes(texts, json!(["a", 1]), json!(["a", "1"]));
        becomes(json!({"type": "object"}), json!([]), json!({}));
        let side = json!({"type": "string", "enum": ["left", "Right"]});
        becomes(side.clone(), json!("LEFT"), json!("left"));
        becomes(
            json!({"type": "array", "items": side}),
            json!("right"),
            json!(["Right"]),
        );
        becomes(json!({"const": "North"}), json!("north"), json!("North"));
        becomes(
            object(json!({"y": int})),
            json!({"y": "1"}),
            json!({"y": 1}),
        );
    }

    #[test]
    fn what_may_mean_several_things_is_left_alone() {
        let int = json!({"type": "integer"});
        for unclear in [
            "5.0",
            "five",
            "",
            "0x10",
            "1e400",
            "12345678901234567890",
            "007",
        ] {
            stays(int.clone(), json!(unclear));
        }
        stays(json!({"type": ["integer", "boolean"]}), json!("5"));
        stays(json!({"type": ["string", "null"]}), json!(5));
        stays(
            json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}),
            json!("5"),
        );
        stays(json!({"$ref": "#/$defs/n", "type": "integer"}), json!("5"));
        stays(
            json!({"type": "array", "items": {"type": "string"}}),
            json!("[\"a\"]"),
        );
        stays(
            json!({"type": "array", "items": {"type": "integer"}}),
            json!("5"),
        );
        stays(
            json!({"type": "array", "items": {"type": "integer"}}),
            json!(5.5),
        );
        stays(json!({"type": "array"}), json!("a"));
        stays(json!({"type": "string", "enum": ["a", "A"]}), json!("á"));
        stays(json!({"type": "string", "enum": ["ab", "AB"]}), json!("Ab"));
        stays(json!({}), json!("5"));
        stays(json!({"type": "string"}), json!(["a"]));
    }

    #[test]
    fn null_is_left_out_only_where_it_may_be_and_is_not_allowed() {
        let text = json!({"type": "string"});
        let schema = |required: &[&str], rule: &Value| json!({"type": "object", "properties": {"x": rule}, "required": required});
        let null = json!({"x": null});
        assert_eq!(coerce(&schema(&[], &text), &null).0, json!({}));
        assert_eq!(coerce(&schema(&["x"], &text), &null).0, null);
        let either = json!({"type": ["string", "null"]});
        assert_eq!(coerce(&schema(&[], &either), &null).0, null);
        assert_eq!(coerce(&schema(&[], &json!({})), &null).0, null);
    }

    #[test]
    fn fields_that_a_pattern_speaks_of_too_are_left_alone() {
        let schema = |patterns: Value| json!({"type": "object", "properties": {"x": {"type": "integer"}}, "patternProperties": patterns});
        let given = json!({"x": "5"});
        let pattern = schema(json!({"^x": {"minLength": 1}}));
        assert_eq!(coerce(&pattern, &given).0, given);
        assert_eq!(coerce(&schema(json!({})), &given).0, json!({"x": 5}));
    }

    #[test]
    fn a_text_that_is_valid_is_never_touched() {
        let schema = object(json!({"content": {"type": "string"}, "path": {"type": "string"}}));
        let args = json!({"content": "5", "path": "true"});
        assert_eq!(coerce(&schema, &args), (args, vec![]));
    }

    #[test]
    fn arguments_that_do_not_match_even_when_mended_are_not_mended() {
        let schema = Schema::of(json!({"type": "object", "required": ["y"],
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}));
        assert_eq!(mend(&schema, &json!({"x": "1"})), None);
        assert_eq!(
            mend(&schema, &json!({"x": "1", "y": "2"})),
            Some(json!({"x": 1, "y": 2}))
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9i64..9).prop_map(Value::from),
            (-2.0..2.0f64).prop_map(Value::from),
            "(|5|-1|2.5|true|False|a|A|b|\\[1\\])".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[xyz]", inner, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let kinds = [
            "null", "boolean", "integer", "number", "string", "array", "object",
        ];
        let kind = prop::sample::select(kinds.to_vec());
        let leaf = prop_oneof![
            Just(json!({})),
            kind.clone().prop_map(|k| json!({"type": k})),
            (kind.clone(), kind).prop_filter_map("two types", |(a, b)| {
                (a != b).then(|| json!({"type": [a, b]}))
            }),
            Just(json!({"type": "string", "enum": ["a", "B"]})),
            Just(json!({"enum": ["A", 5, null]})),
            Just(json!({"const": "b"})),
            Just(json!({"type": "string", "maxLength": 1})),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let fields = prop::collection::btree_map("[xyz]", inner.clone(), 0..3);
            let object = (fields, prop::collection::btree_set("[xyz]", 0..2), any::<bool>());
            prop_oneof![
                object.prop_map(|(fields, required, more)| {
                    json!({"type": "object", "properties": fields, "required": required, "additionalProperties": more})
                }),
                inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
                inner.clone().prop_map(|items| json!({"type": "array", "items": items, "maxItems": 1})),
                (inner.clone(), inner).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_arguments_stay_as_they_are(schema in any_schema(), args in any_value()) {
            let held = Schema::of(schema.clone());
            prop_assert_eq!(held.check(), Ok(()));
            if held.accepts(&args) {
                prop_assert_eq!(coerce(&schema, &args), (args, vec![]));
            }
        }

        #[test]
        fn what_is_mended_matches_and_is_not_mended_again(schema in any_schema(), args in any_value()) {
            let (once, _) = coerce(&schema, &args);
            let (twice, changes) = coerce(&schema, &once);
            prop_assert_eq!((&twice, changes.len()), (&once, 0));
            let held = Schema::of(schema);
            if let Some(mended) = mend(&held, &args) {
                prop_assert!(held.accepts(&mended));
                prop_assert!(!held.accepts(&args));
            }
        }
    }
}
