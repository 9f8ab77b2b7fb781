//! A result as models are told it: JSON in which what is listed comes before what is said of the whole, and each thing begins with its name. A
//! small model takes the first number that it reads: of `{"free_slots":14, …, "slots":[{"count":16,"name":"minecraft:torch","slot":1}]}` it took
//! 14 for the torches, and with this order 16.

use serde_json::{Map, Value};

/// The key with which a thing begins.
const NAME: &str = "name";

/// The value as JSON, in that order.
pub(super) fn told_json(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Object(fields) => object(out, fields),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(out, at);
                write(out, item);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn object(out: &mut String, fields: &Map<String, Value>) {
    let lists_things = |value: &Value| {
        let items = value.as_array();
        items.is_some_and(|items| items.first().is_some_and(Value::is_object))
    };
    let mut ordered: Vec<(&String, &Value)> = fields.iter().collect();
    ordered.sort_by_key(|(key, value)| match *key == NAME {
        true => 0,
        false if lists_things(value) => 1,
        false => 2,
    });
    out.push('{');
    for (at, (key, value)) in ordered.into_iter().enumerate() {
        separate(out, at);
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write(out, value);
    }
    out.push('}');
}

fn separate(out: &mut String, at: usize) {
    if at > 0 {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_listed_comes_first_and_each_thing_begins_with_its_name() {
        let inventory = json!({"free_slots": 14, "selected": 1, "slots": [{"count": 16, "name": "torch", "slot": 1}]});
        let told =
            r#"{"slots":[{"name":"torch","count":16,"slot":1}],"free_slots":14,"selected":1}"#;
        assert_eq!(told_json(&inventory), told);
        let plain = json!({"count": 33, "item": "ladders \"x\"", "of": [1, 2], "none": []});
        assert_eq!(told_json(&plain), plain.to_string());
    }

    proptest! {
        #[test]
        fn it_is_the_same_value(keys in prop::collection::vec("[a-z\"é]{0,4}|name", 0..5), text in "\\PC{0,8}", number in any::<i64>()) {
            let things: Map<String, Value> = keys.iter().map(|key| (key.clone(), json!([{"b": number, "name": text}]))).collect();
            let value = json!({"a": number, "list": things, "name": text, "z": [things, null]});
            prop_assert_eq!(serde_json::from_str::<Value>(&told_json(&value)).unwrap(), value);
        }
    }
}
