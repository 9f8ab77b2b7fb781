use super::*;
use crate::wire::frames::incoming::{ComputerInfo, Nonce};
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

/// One good message of every type, with the fields that it must have.
fn good() -> Vec<(Value, &'static [&'static str])> {
    let piece = json!({"type": "chunk", "chunk_id": "c", "index": 0, "count": 2, "data": "{"});
    vec![
        (
            json!({"type": "hello", "protocol": 1, "client_id": "cc-1", "boot_id": "b", "label": "L", "token": "t",
                   "library_version": "1", "computer": {"id": 1, "kind": "turtle", "version": "1"}, "groups": ["g"],
                   "commands": [{"name": "dig"}], "features": ["chunks"], "max_frame_bytes": 4096, "frames": "binary",
                   "window": 8, "high_seq": 3, "server_id": "s", "journal_epoch": 1, "session_secret": "x"}),
            &["protocol", "client_id", "boot_id"],
        ),
        (
            json!({"type": "register_commands", "commands": [{"name": "dig"}]}),
            &["commands"],
        ),
        (
            json!({"type": "unregister_commands", "names": ["dig"]}),
            &["names"],
        ),
        (
            json!({"type": "create_task", "request_id": "r", "task_kind": "k", "client_id": "c", "prompt": "p",
                   "context": {"x": 1}, "allowed_commands": ["dig"], "metadata": {"x": 1}, "interactive": true}),
            &["request_id", "task_kind", "client_id", "prompt"],
        ),
        (
            json!({"type": "cancel_task", "task_id": TASK}),
            &["task_id"],
        ),
        (
            json!({"type": "command_result", "task_id": TASK, "call_id": CALL, "ok": true, "result": {"x": 1},
                   "error": "e", "receipt": "done", "code": "c", "duration_ms": 3, "truncated": true}),
            &["task_id", "call_id", "ok"],
        ),
        (
            json!({"type": "command_progress", "call_id": CALL, "message": "m", "progress": 0.5}),
            &["call_id"],
        ),
        (
            json!({"type": "call_receipt", "call_id": CALL, "seq": 3, "state": "done", "args_hash": "h", "ok": true,
                   "result": {"x": 1}, "error": "e", "code": "c", "truncated": false}),
            &["call_id", "state"],
        ),
        (
            json!({"type": "user_answer", "question_id": "qst_01_1_2", "answer": "yes"}),
            &["question_id", "answer"],
        ),
        (
            json!({"type": "world_event", "name": "rain", "data": {"x": 1}}),
            &["name"],
        ),
        (
            json!({"type": "task_query", "request_id": "r", "task_id": TASK, "scope": "own"}),
            &["request_id"],
        ),
        (
            json!({"type": "stop", "scope": "own", "request_id": "r"}),
            &[],
        ),
        (
            json!({"type": "resume", "scope": "own", "request_id": "r"}),
            &[],
        ),
        (json!({"type": "ack", "n": 3}), &["n"]),
        (json!({"type": "ping", "nonce": 3, "ack": 1}), &[]),
        (json!({"type": "pong", "nonce": 3}), &[]),
        (
            json!({"type": "error", "error": "e", "code": "c", "call_id": CALL}),
            &[],
        ),
        (piece, &["chunk_id", "index", "count", "data"]),
    ]
}

#[test]
fn there_is_a_good_message_of_every_type_and_it_is_read() {
    let types: Vec<String> = good()
        .into_iter()
        .map(|(message, _)| {
            assert!(read(message.clone()).is_ok(), "{message}");
            message["type"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(types, crate::wire::frames::incoming::CLIENT_TYPES);
}

#[test]
fn a_field_that_is_missing_is_named_for_every_type() {
    for (message, must) in good() {
        for field in message.as_object().unwrap().keys() {
            let mut less = message.clone();
            less.as_object_mut().unwrap().remove(field);
            let error = match read(less) {
                Ok(_) => {
                    assert!(!must.contains(&field.as_str()), "{field} of {message}");
                    continue;
                }
                Err(error) => error,
            };
            assert!(
                field == "type" || must.contains(&field.as_str()),
                "{field} of {message}"
            );
            assert_eq!(
                (error.code, error.field.as_deref()),
                (ErrorCode::MissingField, Some(field.as_str())),
                "{message}"
            );
        }
    }
}

#[test]
fn a_field_of_the_wrong_type_is_named_for_every_type() {
    // What any value may stand in, and texts of which only some are good.
    let any = ["nonce", "result", "data"];
    let words = [
        "type",
        "task_id",
        "call_id",
        "question_id",
        "receipt",
        "state",
        "scope",
        "frames",
    ];
    for (message, _) in good() {
        for (field, value) in message.as_object().unwrap() {
            for wrong in [
                json!(true),
                json!("?!"),
                json!(-7.5),
                json!([[]]),
                json!({"a": {}}),
            ] {
                let name = field.as_str();
                let same = match (value, &wrong) {
                    _ if any.contains(&name) && message["type"] != "chunk" => true,
                    // The computer's own `error` is only logged.
                    (Value::String(_), Value::String(_)) if message["type"] == "error" => {
                        name != "type"
                    }
                    (Value::String(_), Value::String(_)) => !words.contains(&name),
                    (Value::Object(_), Value::Object(_)) | (Value::Bool(_), Value::Bool(_)) => true,
                    (Value::Array(_), Value::Array(_)) => name == "commands",
                    (Value::Number(_), Value::Number(_)) => name == "progress",
                    _ => false,
                };
                let mut bad = message.clone();
                bad[field] = wrong.clone();
                match read(bad.clone()) {
                    Ok(_) => assert!(same, "{bad} is read"),
                    Err(error) => {
                        assert!(!same, "{bad}: {error}");
                        let path = error.field.unwrap_or_default();
                        assert!(path.starts_with(field.as_str()), "{bad}: {path}");
                        let code = error.code;
                        let right = [ErrorCode::BadField, ErrorCode::UnknownType].contains(&code);
                        assert!(right && !code.hint().is_empty(), "{bad}: {code}");
                    }
                }
            }
        }
    }
}

#[test]
fn broken_json_and_bad_nesting_are_told_as_such_for_every_type() {
    for (message, _) in good() {
        let text = message.to_string();
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for broken in [
            text[..text.len() - 1].to_owned(),
            format!("{text}}}"),
            format!("{text}{text}"),
            text.replace(':', "="),
            text.replacen('"', "'", 2),
            text.replacen('{', "{,", 1),
            text.replacen('}', ",}", 1),
            format!("\u{feff}{text}"),
        ] {
            let error = decode(&broken, false).unwrap_err();
            assert_eq!(error.code, ErrorCode::BadJson, "{broken}: {error}");
        }
        for (field, _) in message.as_object().unwrap() {
            let mut nested = message.clone();
            nested[field] = json!("@");
            let nested = nested.to_string().replace("\"@\"", &deep);
            if let Err(error) = decode(&nested, false) {
                let told = (error.code, error.field.unwrap_or_default().len() <= 128);
                let codes = [ErrorCode::BadJson, ErrorCode::BadField];
                assert!(codes.contains(&told.0) && told.1, "{field}: {told:?}");
            }
        }
        // Deep nesting where nothing is read is nobody's harm; where it is read it is refused, never a crash.
        let ignored = text.replacen('{', &format!("{{\"weather\":{deep},"), 1);
        assert!(decode(&ignored, false).is_ok(), "{ignored}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let result = format!(
        r#"{{"type":"command_result","task_id":"{TASK}","call_id":"{CALL}","ok":true,"result":{deep}}}"#
    );
    assert_eq!(decode(&result, false).unwrap_err().code, ErrorCode::BadJson);
}

#[test]
fn what_is_no_object_and_texts_of_other_kinds_are_refused() {
    for (text, code) in [
        ("null", ErrorCode::NotAnObject),
        ("[]", ErrorCode::NotAnObject),
        ("[\"ping\"]", ErrorCode::NotAnObject),
        ("\"ping\"", ErrorCode::NotAnObject),
        ("7", ErrorCode::NotAnObject),
        ("{\"type\":null}", ErrorCode::MissingField),
        ("{\"type\":\"\"}", ErrorCode::UnknownType),
        ("{\"type\":\"Ping\"}", ErrorCode::UnknownType),
        ("{\"type\":\"ping\",\"type\":\"ping\"}", ErrorCode::BadField),
        ("ping", ErrorCode::BadJson),
        ("{type:\"ping\"}", ErrorCode::BadJson),
        ("{\"type\":\"ping\",\"nonce\":NaN}", ErrorCode::BadJson),
        (
            "{\"type\":\"ping\",\"nonce\":\"\\ud800\"}",
            ErrorCode::BadJson,
        ),
        ("{\"type\":\"ack\",\"n\":-1}", ErrorCode::BadField),
        ("{\"type\":\"ack\",\"n\":1e300}", ErrorCode::BadField),
        (
            "{\"type\":\"ack\",\"n\":70368744177665}",
            ErrorCode::BadField,
        ),
    ] {
        let error = decode(text, false).unwrap_err();
        assert_eq!(error.code, code, "{text}: {error}");
    }
    let long = json!({"type": "task_query", "request_id": "x".repeat(129)});
    let error = read(long).unwrap_err();
    assert_eq!(
        (error.code, error.field.as_deref()),
        (ErrorCode::BadField, Some("request_id"))
    );
}

#[test]
fn a_chunk_is_not_mended_piece_by_piece_and_what_is_joined_is() {
    // Two bytes of one character in two chunks, as CC before 1.109 sends them in a text frame.
    let first = decode(
        r#"{"type":"chunk","chunk_id":"1","index":0,"count":2,"data":"Ã©Ã"}"#,
        true,
    );
    let ClientMessage::Chunk(piece) = first.unwrap().message else {
        panic!("no chunk");
    };
    assert_eq!(piece.data, "Ã©Ã");
    let joined = decode_joined("{\"type\":\"ping\",\"nonce\":\"Ã©\"}", true).unwrap();
    assert_eq!(
        joined.message,
        ClientMessage::Ping(Nonce {
            nonce: Some(json!("é"))
        })
    );
}

/// What a client that knows no better makes of a message: fields in any order, unknown ones among them, `null` for
/// what is not there, floats for whole numbers, escapes for whatever it likes.
fn as_a_naive_client_writes_it(
    message: &Value,
    order: &[prop::sample::Index],
    escape: bool,
) -> String {
    fn print(value: &Value, escape: bool) -> String {
        match value {
            Value::Number(n) if n.is_u64() => format!("{n}.0"),
            Value::String(text) if escape => {
                let units = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
                format!("\"{}\"", units.collect::<String>())
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| print(item, escape)).collect();
                format!("[ {} ]", items.join(" , "))
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields: Vec<String> = fields
                    .map(|(name, value)| format!("\"{name}\" : {}", print(value, escape)))
                    .collect();
                format!("{{\t{}\n}}", fields.join(" ,\r\n"))
            }
            other => other.to_string(),
        }
    }
    let mut fields: Vec<String> = message
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| format!("\"{name}\": {}", print(value, escape)))
        .collect();
    fields.push("\"weather\": {\"rain\": [true, null]}".to_owned());
    for (at, other) in order.iter().enumerate() {
        let (at, other) = (at % fields.len(), other.index(fields.len()));
        fields.swap(at, other);
    }
    format!("  {{{}}} \n", fields.join(","))
}

proptest! {
    #[test]
    fn every_good_message_is_read_the_same_however_it_is_written(
        which in 0usize..18, order in prop::collection::vec(any::<prop::sample::Index>(), 0..20), escape: bool,
    ) {
        let (message, _) = good().swap_remove(which);
        let written = as_a_naive_client_writes_it(&message, &order, escape);
        let read = decode(&written, false);
        prop_assert!(read.is_ok(), "{}: {:?}", written, read);
        let numbers_in_values = ["register_commands", "command_result", "call_receipt", "create_task", "world_event", "ping", "pong"];
        if !numbers_in_values.contains(&message["type"].as_str().unwrap()) {
            prop_assert_eq!(read, decode(&message.to_string(), false));
        }
    }

    #[test]
    fn a_message_with_one_byte_changed_never_panics(which in 0usize..18, at: prop::sample::Index, byte: u8) {
        let (message, _) = good().swap_remove(which);
        let mut bytes = message.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let (text, _) = text::read_binary(&bytes);
        let _ = decode(&text, true);
        let _ = decode(&text, false);
    }
}

#[test]
fn a_result_that_is_read_in_one_go_is_the_same_message() {
    let texts = [
        r#"{"type":"command_result","task_id":"tsk_1","call_id":"cal_1","ok":true}"#,
        r#"{"ack":7,"type":"command_result","task_id":"tsk_1","call_id":"cal_1","ok":true,"result":[],"duration_ms":3}"#,
        r#"{"ok":false,"error":"no","code":"bad_args","receipt":"not_started","ack":1e2,"truncated":true,"result":null,
            "type":"command_result","task_id":"tsk_1","call_id":"cal_1","more":{"type":"ack"}}"#,
    ];
    for text in texts {
        let quick = decode_result(text);
        assert!(quick.is_some(), "{text}");
        assert_eq!(quick, decode_any(text).ok(), "{text}");
    }
}

#[test]
fn what_is_no_ordinary_result_goes_the_long_way() {
    let texts = [
        r#"{"type":"ack","n":7,"of":"command_result"}"#,
        r#"{"type":"command_result","task_id":"tsk_1","call_id":"cal_1"}"#,
        r#"{"type":"command_result","task_id":"tsk_1","call_id":"cal_1","ok":true,"request_id":"r"}"#,
        r#"{"type":"command_result","task_id":"tsk_1","call_id":"cal_1","ok":true,"ack":-1}"#,
        r#"["command_result"]"#,
    ];
    for text in texts {
        assert_eq!(decode_result(text), None, "{text}");
    }
}
