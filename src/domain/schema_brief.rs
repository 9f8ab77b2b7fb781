//! Schemas in a few words.

use serde_json::Value;

/// Bytes of choices that are told; of more the kind is enough.
const MOST_CHOICES: usize = 80;

/// A schema in a few words, for people and planners, what is required first, in its order: `path (string), args (array,
/// optional)`, `side (left|right), power (integer or boolean)`. "optional" is a word: small models copy a mark at the name.
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
        let optional = match place(name) {
            None => ", optional",
            Some(_) => "",
        };
        let kind = choices(schema).unwrap_or_else(|| kinds(schema));
        match schema
            .get("items")
            .filter(|items| items.get("properties").is_some())
        {
            Some(items) => format!("{name} (array of {{{}}}{optional})", brief_schema(items)),
            None => format!("{name} ({kind}{optional})"),
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

/// The texts of which a value has to be one.
fn choices(schema: &Value) -> Option<String> {
    let choices = schema.get("enum")?.as_array()?;
    let texts: Option<Vec<&str>> = choices.iter().map(Value::as_str).collect();
    let told = texts?.join("|");
    (!told.is_empty() && told.len() <= MOST_CHOICES).then_some(told)
}

/// The kinds of value that a schema allows.
fn kinds(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) if !kinds.is_empty() => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn choices_and_several_kinds_are_told() {
        let long: Vec<String> = (0..40).map(|n| format!("item_{n}")).collect();
        let schema = json!({"type": "object", "required": ["side", "power"], "properties": {
            "side": {"enum": ["left", "right"]}, "power": {"type": ["integer", "boolean"]}, "level": {"enum": [1, 2], "type": "integer"},
            "name": {"enum": long, "type": "string"}, "what": {}}});
        assert_eq!(
            brief_schema(&schema),
            "side (left|right), power (integer or boolean), level (integer, optional), name (string, optional), what (any, optional)"
        );
    }
}
