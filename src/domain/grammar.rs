//! Schemas as model servers can hold an answer to them. A server that makes a grammar of a schema writes each bound out as
//! so many rules; llama.cpp refuses a repetition of more than 2000. Larger bounds are left out: whatever a model
//! answers is validated against the whole schema afterwards.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// The largest bound that is left to a grammar.
pub const MOST_REPEATS: u64 = 1000;

/// Keywords that become repetitions in a grammar.
const REPEATS: [&str; 4] = ["minLength", "maxLength", "minItems", "maxItems"];

/// Keywords whose value is data, not a schema.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// The keywords of a schema's own level that may stay.
pub fn fits(keyword: &str, value: &Value) -> bool {
    !REPEATS.contains(&keyword) || value.as_u64().is_none_or(|bound| bound <= MOST_REPEATS)
}

/// A schema without bounds that are too large for a grammar, at any depth.
pub fn without_large_bounds(schema: &Value) -> Value {
    let kept = |(name, value): (&String, &Value)| {
        let value = match DATA.contains(&name.as_str()) {
            true => Cow::Borrowed(value),
            false => Cow::Owned(without_large_bounds(value)),
        };
        (name.clone(), value.into_owned())
    };
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, value)| fits(name, value));
            Value::Object(fields.map(kept).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(without_large_bounds).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds_that_no_grammar_can_hold_are_left_out_and_all_else_stays() {
        let schema = json!({"type": "object", "required": ["content"], "properties": {
            "content": {"type": "string", "maxLength": 120_000, "description": "The whole new content."},
            "path": {"type": "string", "minLength": 1, "maxLength": 256},
            // An argument that is called like a keyword is none.
            "maxLength": {"type": "integer", "enum": [{"maxItems": 5000}]},
            "lines": {"type": "array", "maxItems": 4096, "items": {"type": "string", "maxLength": 1001}}}});
        assert_eq!(
            without_large_bounds(&schema),
            json!({"type": "object", "required": ["content"], "properties": {
                "content": {"type": "string", "description": "The whole new content."},
                "path": {"type": "string", "minLength": 1, "maxLength": 256},
                "maxLength": {"type": "integer", "enum": [{"maxItems": 5000}]},
                "lines": {"type": "array", "items": {"type": "string"}}}})
        );
    }
}
