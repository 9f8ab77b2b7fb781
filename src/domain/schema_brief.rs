//! Schemas in a few words.

use serde_json::Value;

/// A schema in a few words, for people and planners, what is required first, in its order: `path (string), args? (array)`.
pub fn brief_schema(schema: &Value) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "any".to_owned();
    };
    let place = |name: &str| required.iter().position(|required| *required == name);
    let field = |(name, schema): (&String, &Value)| {
        let optional = if place(name).is_none() { "?" } else { "" };
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
        match schema
            .get("items")
            .filter(|items| items.get("properties").is_some())
        {
            Some(items) => format!("{name}{optional} (array of {{{}}})", brief_schema(items)),
            None => format!("{name}{optional} ({kind})"),
        }
    };
    let mut properties: Vec<(&String, &Value)> = properties.iter().collect();
    properties.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    let fields: Vec<String> = properties.into_iter().map(field).collect();
    if fields.is_empty() {
        "none".to_owned()
    } else {
        fields.join(", ")
    }
}
