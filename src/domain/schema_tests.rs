use super::*;
use serde_json::json;

fn fault(schema: Value) -> String {
    Schema::of(schema).check().unwrap_err().to_string()
}

#[test]
fn equal_schemas_are_one_in_memory_and_compiled_once() {
    let schema = || json!({"type": "object", "properties": {"one_copy": {"type": "string"}}});
    let (first, second) = (Schema::of(schema()), Schema::of(schema()));
    assert!(first.is(&second));
    assert!(std::ptr::eq(
        first.validator().unwrap(),
        second.validator().unwrap()
    ));
    assert!(first.accepts(&json!({"one_copy": "x"})));
    assert!(!first.accepts(&json!({"one_copy": 1})));
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_with_the_reason() {
    assert!(fault(json!([])).contains("no object"));
    assert!(fault(json!({"type": "strnig"})).starts_with("it does not compile: /type: "));
    assert!(fault(json!({"description": "x".repeat(MAX_BYTES)})).contains("bytes"));
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"not": deep});
    }
    assert!(fault(deep).contains("deeper"));
    for outside in [
        "http://host/schema.json",
        "file:///etc/passwd",
        "other.json#/a",
    ] {
        let reason = fault(json!({"properties": {"a": {"$ref": outside}}}));
        assert!(reason.contains("outside"), "{reason}");
    }
    assert!(fault(json!({"$ref": "#/$defs/none"})).contains("names nothing"));
    assert!(fault(json!({"$ref": "#"})).contains("leads back"));
    assert!(fault(json!({"properties": {"a": {"$dynamicRef": "#x"}}})).contains("$dynamicRef"));
    assert!(fault(json!({"$schema": "http://host/own-dialect"})).contains("compile"));
}

#[test]
fn a_schema_that_would_grow_without_end_is_refused() {
    let mut defs = serde_json::Map::new();
    defs.insert("d0".into(), json!({"type": "string"}));
    for n in 1..30 {
        let below = format!("#/$defs/d{}", n - 1);
        defs.insert(
            format!("d{n}"),
            json!({"allOf": [{"$ref": below}, {"$ref": below}]}),
        );
    }
    let schema = json!({"$defs": defs, "$ref": "#/$defs/d29"});
    assert!(fault(schema).contains("parts"));
    // Also where a property has the name of a keyword that holds data.
    let hidden = json!({"properties": {"default": {"$ref": "#"}}});
    assert!(fault(hidden).contains("leads back"));
}

#[test]
fn parts_that_stand_beside_each_other_are_added_up() {
    let part = json!({"type": "string"});
    let names = (0..20).map(|n| (format!("p{n}"), part.clone()));
    let named: serde_json::Map<String, Value> = names.collect();
    let listed = vec![part; 20];
    // Multiplied they would be a million in each.
    for schema in [json!({"properties": named}), json!({"anyOf": listed})] {
        assert_eq!(Schema::of(schema).check(), Ok(()));
    }
}

#[test]
fn references_inside_are_followed() {
    let schema = Schema::of(json!({"$defs": {"path": {"type": "string"}},
            "properties": {"from": {"$ref": "#/$defs/path"}, "to": {"$ref": "#/$defs/path"}}}));
    assert_eq!(schema.check(), Ok(()));
    assert!(!schema.accepts(&json!({"from": 1})));
    // Data that looks like a reference is none.
    let data = Schema::of(json!({"properties": {"a": {"const": {"$ref": "http://host"}}}}));
    assert_eq!(data.check(), Ok(()));
}

#[test]
fn what_is_internal_is_not_told_on_any_level() {
    let text = json!({"type": "string"});
    let internal = json!({"type": "string", "x-internal": true});
    let item = |hash: bool| {
        let mut item = json!({"type": "object", "properties": {"path": text}});
        if hash {
            item["properties"]["if_hash"] = internal.clone();
        }
        item
    };
    let whole = |hash| json!({"properties": {"files": {"type": "array", "items": item(hash)}, "properties": text}});
    assert_eq!(*Schema::of(whole(true)).told(), whole(false));
    let plain = Schema::of(whole(false));
    assert!(plain.told().is(&plain));
    // Nobody could call it without.
    let needed = Schema::of(json!({"required": ["if_hash"], "properties": {"if_hash": internal}}));
    assert!(needed.told().is(&needed));
}

#[test]
fn a_pattern_runs_in_linear_time() {
    let schema = Schema::of(json!({"properties": {"a": {"pattern": "^(a+)+$"}}}));
    let long = format!("{}b", "a".repeat(100_000));
    assert!(!schema.accepts(&json!({"a": long})));
    assert!(fault(json!({"pattern": "(?=x)y"})).contains("compile"));
}
