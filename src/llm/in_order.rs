//! Requests in the order in which servers read them: among the fields of a schema, those whose value is fixed come first. Decoders
//! that hold an answer to a schema write its fields in that order, and a model should name a tool before it writes its arguments.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// A request's body. All else stays in the order of its names.
pub(super) struct InOrder<'a>(pub(super) &'a Value);

/// What stands under `properties` in a schema.
struct Fields<'a>(&'a Map<String, Value>);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("properties", Value::Object(of)) => {
                            map.serialize_entry(name, &Fields(of))?;
                        }
                        _ => map.serialize_entry(name, &InOrder(value))?,
                    }
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(InOrder)),
            other => other.serialize(serializer),
        }
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_fixed = |(_, schema): &(&String, &Value)| schema.get("const").is_some();
        let (fixed, free): (Vec<_>, Vec<_>) = self.0.iter().partition(is_fixed);
        let all = fixed.into_iter().chain(free);
        serializer.collect_map(all.map(|(name, schema)| (name, InOrder(schema))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fixed_fields_of_a_schema_come_first_at_any_depth_and_nothing_else_moves() {
        let call = json!({"properties": {"args": {"properties": {"a": {}, "kind": {"const": 1}}}, "tool": {"const": "x"}}});
        let body = json!({"b": [1, "two", null], "format": {"anyOf": [call]}, "a": {"tool": {"const": "x"}, "args": {}}});
        let sent = serde_json::to_string(&InOrder(&body)).unwrap();
        assert_eq!(
            sent,
            r#"{"a":{"args":{},"tool":{"const":"x"}},"b":[1,"two",null],"format":{"anyOf":[{"properties":{"tool":{"const":"x"},"args":{"properties":{"kind":{"const":1},"a":{}}}}}]}}"#
        );
        assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), body);
    }
}
