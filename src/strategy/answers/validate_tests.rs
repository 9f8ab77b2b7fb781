use super::*;

#[test]
fn fields_that_fit_are_kept_whatever_the_others_are() {
    let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string"}, "args": {"type": "array", "items": {"type": "string"}}, "env": {"type": "object"}}});
    let schema: Schema = serde_json::from_value(schema).unwrap();
    let fits = |args: Value| Value::Object(fitting_fields(&schema, &args));
    assert_eq!(
        fits(json!({"path": "/a", "args": {"x": 1}, "file": "/b"})),
        json!({"path": "/a"})
    );
    assert_eq!(
        fits(json!({"args": ["x"], "env": {}})),
        json!({"args": ["x"], "env": {}})
    );
    assert_eq!(fits(json!({"args": [1], "path": 2})), json!({}));
    assert_eq!(fits(json!("path")), json!({}));
}

#[test]
fn an_argument_under_another_name_for_the_same_is_mended_and_any_other_is_not() {
    let text = json!({"type": "string"});
    let schema = |names: &[&str]| {
        let properties: Map<String, Value> = names
            .iter()
            .map(|n| ((*n).to_owned(), text.clone()))
            .collect();
        Schema::of(
            json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false}),
        )
    };
    let copy = |args: Value| mend(&schema(&["from", "to"]), &args);
    let meant = json!({"from": "/a", "to": "/b"});
    assert_eq!(copy(json!({"path": "/a", "to": "/b"})), Some(meant.clone()));
    assert_eq!(copy(json!({"from": "/a", "target": "/b"})), Some(meant));
    assert_eq!(copy(json!({"path": "/a"})), None, "two are missing");
    assert_eq!(
        copy(json!({"name": "/a", "to": "/b"})),
        None,
        "may be anything"
    );
    let write = |args: Value| mend(&schema(&["path", "content"]), &args);
    assert_eq!(write(json!({"path": "/a", "hash": "x"})), None);
    assert_eq!(
        write(json!({"path": "/a", "text": "x", "mode": "w"})),
        None,
        "one more is unknown"
    );
    assert_eq!(
        write(json!({"file": "/a", "content": "x"})),
        Some(json!({"path": "/a", "content": "x"}))
    );
}

#[test]
fn a_schema_error_names_the_field() {
    let schema = Schema::of(
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
            "additionalProperties": false}),
    );
    assert_eq!(check_schema(&schema, &json!({"path": "/a"})), Ok(()));
    let wrong = check_schema(&schema, &json!({"path": 3})).unwrap_err();
    assert!(wrong[0].starts_with("/path: "), "{wrong:?}");
    assert!(check_schema(&schema, &json!({})).unwrap_err()[0].contains("path"));
}

#[test]
fn a_schema_error_does_not_repeat_a_whole_file() {
    let schema = Schema::of(
        json!({"type": "object", "properties": {"content": {"type": "string", "maxLength": 1000}}}),
    );
    let wrong = check_schema(&schema, &json!({"content": "z".repeat(5000)})).unwrap_err();
    assert_eq!(wrong, ["/content: value is longer than 1000 characters"]);
    let many = json!({"content": 1, "more": "z".repeat(5000)});
    let closed = Schema::of(json!({"enum": ["y".repeat(5000)]}));
    assert!(check_schema(&closed, &many).unwrap_err()[0].len() < 600);
}

#[test]
fn arguments_that_are_too_deep_or_too_long_are_refused_in_words() {
    let limits = ArgLimits {
        depth: 3,
        bytes: 40,
    };
    assert_eq!(too_large(&json!({"a": {"b": [1]}}), limits), None);
    let deep = too_large(&json!({"a": {"b": [[1]]}}), limits).unwrap();
    assert!(deep.contains("deeper than 3"), "{deep}");
    let long = too_large(&json!({"a": "x".repeat(50)}), limits).unwrap();
    assert!(long.contains("at most 40"), "{long}");
    let mut bottomless = json!(1);
    for _ in 0..100 {
        bottomless = json!([bottomless]);
    }
    assert!(too_large(&bottomless, limits).is_some());
}

#[test]
fn who_only_looks_is_not_refused_for_what_nobody_reads() {
    let state = TaskState::new(crate::domain::ids::TaskId::from_unique("01").unwrap());
    let profile = crate::strategy::drive::profile_of("direct");
    let fleet = crate::strategy::drive::fleet();
    let tools = ToolLookup::new(&state, &fleet, None);
    let check = |tool: &str, args: Value| check_call(&state, &profile, &tools, tool, &args);
    let said = json!({"path": "/a", "content": {"x": 1}});
    assert_eq!(
        check("fs_read", said.clone()),
        Ok(Some(json!({"path": "/a"})))
    );
    assert!(check("fs_read", json!({"content": "x"})).is_err());
    assert!(check("fs_delete", said).is_err());
}

#[test]
fn what_the_directive_does_not_say_is_invented() {
    let source = "run TODO.lua with \"buy milk\"\nprint(\"a\\nb\")";
    assert!(invented(&json!({"path": "/TODO.lua", "args": ["buy milk"]}), source).is_empty());
    assert_eq!(
        invented(&json!({"path": "/other.lua"}), source),
        ["/other.lua"]
    );
}
