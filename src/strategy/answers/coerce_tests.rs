//! Which arguments are taken for what they are meant to be.

use super::*;
use crate::domain::schema::Schema;
use crate::strategy::answers::validate::mend;
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
    let power = json!({"type": ["integer", "boolean"], "maximum": 15});
    becomes(power.clone(), json!("15"), json!(15));
    becomes(power, json!("true"), json!(true));
    becomes(
        json!({"type": ["number", "null"]}),
        json!("1.5"),
        json!(1.5),
    );
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
    stays(json!({"type": ["integer", "boolean"]}), json!("five"));
    stays(json!({"type": ["integer", "array"]}), json!("5"));
    stays(json!({"type": ["integer", "string"]}), json!("5"));
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
fn a_time_limit_of_nothing_is_none_where_it_is_not_allowed() {
    let limit = json!({"type": "integer", "minimum": 50});
    let with = |name: &str| object(json!({name: limit}));
    let (mended, changes) = coerce(&with("timeout_ms"), &json!({"timeout_ms": 0}));
    assert_eq!(
        (mended, changes[0].what),
        (json!({}), Mend::ZeroTimeoutDropped)
    );
    for (schema, given) in [
        (with("timeout_ms"), json!({"timeout_ms": 1})),
        // Nobody knows what is done by default.
        (with("count"), json!({"count": 0})),
        (
            object(json!({"timeout_ms": {"type": "integer"}})),
            json!({"timeout_ms": 0}),
        ),
    ] {
        assert_eq!(coerce(&schema, &given), (given, vec![]));
    }
}

#[test]
fn a_time_limit_for_a_tool_that_takes_none_is_left_out() {
    let schema = |closed: bool| json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": !closed});
    let given = json!({"path": "/a", "timeout_ms": 10000});
    let (mended, changes) = coerce(&schema(true), &given);
    assert_eq!(
        (mended, changes[0].what, changes[0].at.as_str()),
        (
            json!({"path": "/a"}),
            Mend::UnknownTimeoutDropped,
            "/timeout_ms"
        )
    );
    assert_eq!(coerce(&schema(false), &given), (given, vec![]));
    for other in [json!({"timeout_ms": "long"}), json!({"limit": 5})] {
        assert_eq!(coerce(&schema(true), &other), (other, vec![]));
    }
}

#[test]
fn a_list_in_an_object_is_that_list() {
    let list = |items: Value| json!({"type": "array", "items": items});
    let words = || list(json!({"type": "string"}));
    becomes(words(), json!({"1": "a", "2": "b"}), json!(["a", "b"]));
    becomes(words(), json!({"0": "a", "1": "b"}), json!(["a", "b"]));
    becomes(words(), json!({"arg": {"1": 2, "2": 3}}), json!(["2", "3"]));
    becomes(words(), json!({"args": ["a"]}), json!(["a"]));
    becomes(words(), json!({"name": "a"}), json!(["a"]));
    stays(words(), json!({"a": "x", "b": "y"}));
    stays(words(), json!({"2": "x", "3": "y"}));
    let edits = || {
        list(
            json!({"type": "object", "properties": {"search": {"type": "string"}}, "additionalProperties": false}),
        )
    };
    becomes(edits(), json!({"search": "a"}), json!([{"search": "a"}]));
    becomes(
        edits(),
        json!({"1": {"search": "a"}}),
        json!([{"search": "a"}]),
    );
}

#[test]
fn a_limit_above_the_largest_is_that_one() {
    let most = json!({"type": "integer", "maximum": 10});
    let schema = |name: &str| object(json!({name: most}));
    for name in ["max_bytes", "limit", "timeout_ms"] {
        let (mended, changes) = coerce(&schema(name), &json!({name: 11}));
        assert_eq!((mended, changes.len()), (json!({name: 10}), 1), "{name}");
        assert_eq!(coerce(&schema(name), &json!({name: 10})).1, []);
    }
    assert_eq!(coerce(&schema("level"), &json!({"level": 11})).1, []);
    let mut sets = schema("limit");
    sets["required"] = json!(["limit"]);
    assert_eq!(coerce(&sets, &json!({"limit": 11})).1, []);
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
