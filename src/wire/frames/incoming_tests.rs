use super::*;
use proptest::prelude::*;
use serde_json::json;

fn read(value: Value) -> Result<Decoded, FrameError> {
    decode(&value.to_string(), false)
}

const TASK: &str = "tsk_01HZX4W1V7Y6T5S4R3Q2P1N0M9";
const CALL: &str = "cal_01HZX4W1V7Y6T5S4R3Q2P1N0M9_1_7_0";

#[test]
fn the_messages_of_document_001_are_read_as_it_writes_them() {
    let created = read(json!({
        "type": "create_task", "request_id": "r1", "task_kind": "general_agent", "client_id": "cc-1",
        "prompt": "look around", "context": {"x": 1}, "allowed_commands": ["shell_exec"]
    }));
    let ClientMessage::CreateTask(task) = created.unwrap().message else {
        panic!("no create_task");
    };
    assert_eq!(task.allowed_commands, Some(vec!["shell_exec".to_owned()]));
    assert_eq!(task.context, Some(json!({"x": 1})));

    let answered = read(json!({
        "type": "command_result", "task_id": TASK, "call_id": CALL, "ok": false, "error": "no such file"
    }));
    let ClientMessage::CommandResult(result) = answered.unwrap().message else {
        panic!("no command_result");
    };
    assert_eq!(
        (result.ok, result.error.as_deref()),
        (false, Some("no such file"))
    );
}

#[test]
fn an_empty_array_is_taken_for_an_object_and_the_reverse() {
    let hello = read(json!({
        "type": "hello", "protocol": 1, "client_id": "cc-1", "boot_id": "b", "computer": [], "groups": {},
        "commands": {}, "features": {}
    }));
    let ClientMessage::Hello(hello) = hello.unwrap().message else {
        panic!("no hello");
    };
    assert_eq!(hello.computer, Some(ComputerInfo::default()));
    assert!(hello.groups.is_empty() && hello.commands.is_empty());

    let task = read(json!({
        "type": "create_task", "request_id": "r", "task_kind": "k", "client_id": "c", "prompt": "p",
        "context": [], "allowed_commands": {}
    }));
    let ClientMessage::CreateTask(task) = task.unwrap().message else {
        panic!("no create_task");
    };
    assert_eq!(task.context, Some(json!({})));
    assert_eq!(task.allowed_commands, Some(Vec::new()));
}

#[test]
fn unknown_fields_are_ignored_and_an_ack_may_ride_on_any_message() {
    let decoded = read(json!({"type": "ping", "nonce": 7, "ack": 12, "weather": {"rain": true}}));
    assert_eq!(
        decoded,
        Ok(Decoded {
            message: ClientMessage::Ping(Nonce {
                nonce: Some(json!(7))
            }),
            ack: Some(12)
        })
    );
}

#[test]
fn whole_numbers_may_come_as_floats() {
    assert_eq!(
        decode(r#"{"type":"ack","n":3e0}"#, false).unwrap().ack,
        Some(3)
    );
    assert!(decode(r#"{"type":"ack","n":3.5}"#, false).is_err());
}

#[test]
fn what_is_wrong_is_named_with_code_and_path() {
    for (text, code, field) in [
        ("{", ErrorCode::BadJson, None),
        ("", ErrorCode::BadJson, None),
        ("[1]", ErrorCode::NotAnObject, None),
        ("{}", ErrorCode::MissingField, Some("type")),
        (r#"{"type":5}"#, ErrorCode::BadField, Some("type")),
        (r#"{"type":"dance"}"#, ErrorCode::UnknownType, Some("type")),
        (r#"{"type":"ack","n":"x"}"#, ErrorCode::BadField, Some("n")),
        (r#"{"type":"ack"}"#, ErrorCode::MissingField, Some("n")),
        (
            r#"{"type":"cancel_task"}"#,
            ErrorCode::MissingField,
            Some("task_id"),
        ),
        (
            r#"{"type":"cancel_task","task_id":"cal_1"}"#,
            ErrorCode::BadField,
            Some("task_id"),
        ),
        (
            r#"{"type":"hello","protocol":1,"client_id":"c","boot_id":"b","groups":["a",3]}"#,
            ErrorCode::BadField,
            Some("groups[1]"),
        ),
    ] {
        let error = decode(text, false).unwrap_err();
        assert_eq!(
            (error.code, error.field.as_deref()),
            (code, field),
            "{text}"
        );
    }
}

#[test]
fn an_error_names_the_request_it_belongs_to() {
    let error = read(json!({"type": "create_task", "request_id": "r9"})).unwrap_err();
    assert_eq!(error.request_id.as_deref(), Some("r9"));
}

#[test]
fn garbled_text_is_mended_only_where_it_is_asked_for() {
    let text = r#"{"type":"ping","nonce":"\u00c3\u00a9"}"#;
    let nonce = |mend| match decode(text, mend).unwrap().message {
        ClientMessage::Ping(nonce) => nonce.nonce,
        other => panic!("{other:?}"),
    };
    assert_eq!(nonce(true), Some(json!("é")));
    assert_eq!(nonce(false), Some(json!("Ã©")));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!(TASK)),
        Just(json!(CALL)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn decoding_never_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (text, _) = text::read_binary(&bytes);
        let _ = decode(&text, true);
        let _ = decode(&text, false);
    }

    #[test]
    fn decoding_never_panics_on_any_fields(
        kind in prop::sample::select(vec![
            "hello", "register_commands", "unregister_commands", "create_task", "cancel_task", "command_result",
            "command_progress", "call_receipt", "user_answer", "ack", "ping", "pong", "error", "chunk", "??",
        ]),
        fields in prop::collection::btree_map(
            prop::sample::select(vec![
                "protocol", "client_id", "boot_id", "computer", "groups", "commands", "names", "request_id", "prompt",
                "task_id", "call_id", "ok", "result", "error", "receipt", "state", "ack", "nonce", "answer", "window",
            ]),
            any_json(),
            0..8,
        ),
    ) {
        let mut object: serde_json::Map<String, Value> =
            fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        object.insert("type".into(), json!(kind));
        let text = Value::Object(object).to_string();
        let plain = decode(&text, false);
        let _ = decode(&text, true);
        if kind == "??" {
            prop_assert!(plain.is_err());
        }
    }
}
