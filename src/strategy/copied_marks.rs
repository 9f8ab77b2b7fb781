//! Names of arguments with the mark that prompts put behind what may be left out (`edits?`): small models copy it into their calls.

use crate::domain::schema::Schema;
use serde_json::{Map, Value};

/// The arguments without such marks; none if there are none, or if the tool has names like that.
pub(super) fn left_out(args: &Value, schema: impl FnOnce() -> Option<Schema>) -> Option<Value> {
    let has_own = || schema().is_some_and(|schema| schema.to_string().contains("?\""));
    (has_mark(args) && !has_own()).then(|| without(args))
}

fn has_mark(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.ends_with('?') || has_mark(value)),
        Value::Array(items) => items.iter().any(has_mark),
        _ => false,
    }
}

fn without(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let name = |name: &str| name.trim_end_matches('?').to_owned();
            let fields = fields.iter().map(|(n, value)| (name(n), without(value)));
            fields.collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(without).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_go_at_every_depth_unless_the_tool_has_them() {
        let marked = json!({"path": "/a", "edits?": [{"search": "x?", "all?": true}]});
        let plain = json!({"path": "/a", "edits": [{"search": "x?", "all": true}]});
        assert_eq!(left_out(&marked, || None), Some(plain.clone()));
        assert_eq!(left_out(&plain, || None), None);
        let own = Schema::of(json!({"properties": {"all?": {"type": "boolean"}}}));
        assert_eq!(left_out(&marked, || Some(own)), None);
    }
}
