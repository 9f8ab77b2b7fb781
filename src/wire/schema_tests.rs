use super::*;
use crate::domain::decision::WaitReason;
use crate::domain::directive::TaskResult;
use crate::domain::ids as real;
use crate::domain::task::{TaskStatus, TaskSummary, Usage};
use crate::domain::wakes::{Asleep, Wakes};
use crate::wire::api::TaskBody;
use crate::wire::chunks::split;
use crate::wire::codes::ErrorCode;
use crate::wire::frames::decode;
use crate::wire::frames::outgoing::*;
use crate::wire::frames::tools::{ToolShelf, registered};
use jsonschema::Validator;
use proptest::prelude::*;

const DOC: &str = include_str!("../../docs/protocol.md");

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap()
}

fn problems(validator: &Validator, message: &Value) -> String {
    let problems: Vec<String> = validator
        .iter_errors(message)
        .map(|error| error.to_string())
        .collect();
    problems.join("; ")
}

#[test]
fn the_schemas_are_what_the_types_say() {
    for (name, schema) in [("to-server", to_server()), ("to-computer", to_computer())] {
        let path = format!("{}/docs/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os("CCFLEET_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "docs/schema/{name}.json is old; run CCFLEET_BLESS=1 cargo test --lib wire::schema"
        );
    }
}

#[test]
fn every_field_and_message_has_a_description() {
    for schema in [to_server(), to_computer()] {
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            let plain = ["Library", "TaskId", "ComputerInfo"];
            assert!(
                definition["description"].is_string() || plain.contains(&name.as_str()),
                "{name} has no description"
            );
        }
    }
}

fn types(schema: &Value) -> Vec<&str> {
    let messages = schema["oneOf"].as_array().unwrap().iter();
    messages.map(|m| m["title"].as_str().unwrap()).collect()
}

/// The part of the documentation below a heading, up to the next one of its kind.
fn section(heading: &str) -> &'static str {
    let start = DOC.find(&format!("## {heading}\n")).unwrap();
    let rest = &DOC[start + 3..];
    rest.split("\n## ").next().unwrap()
}

#[test]
fn the_documentation_lists_every_message_type() {
    for (heading, schema) in [
        ("Computer to server", to_server()),
        ("Server to computer", to_computer()),
    ] {
        let rows: Vec<&str> = section(heading)
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
            .collect();
        for kind in types(&schema) {
            let named = format!("`{kind}`");
            assert!(
                rows.iter().any(|row| row.contains(&named)),
                "{heading} does not list {named}"
            );
        }
    }
}

/// The JSON lines of the documentation below a heading.
fn examples(heading: &str) -> Vec<Value> {
    let blocks = section(heading).split("```json\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

#[test]
fn every_example_in_the_documentation_fits_its_schema_and_every_type_has_one() {
    for (heading, schema) in [
        ("Computer to server", to_server()),
        ("Server to computer", to_computer()),
    ] {
        let validator = validator(&schema);
        let examples = examples(heading);
        for example in &examples {
            assert_eq!(problems(&validator, example), "", "{example}");
        }
        for kind in types(&schema) {
            assert!(
                examples.iter().any(|e| e["type"] == kind),
                "no example of {kind}"
            );
        }
    }
}

#[test]
fn every_example_of_a_computers_message_is_read() {
    for example in examples("Computer to server") {
        let read = decode(&example.to_string(), false);
        assert!(read.is_ok(), "{example}: {read:?}");
    }
}

#[test]
fn a_message_without_a_field_it_must_have_fits_neither_the_schema_nor_the_reader() {
    let schema = to_server();
    let validator = validator(&schema);
    for example in examples("Computer to server") {
        for field in example.as_object().unwrap().keys() {
            let mut less = example.clone();
            less.as_object_mut().unwrap().remove(field);
            let read = decode(&less.to_string(), false).is_ok();
            // An `error` without its text is of no use and is read all the same: it is only logged.
            if example["type"] != "error" {
                assert_eq!(validator.is_valid(&less), read, "{less}");
            }
        }
    }
}

fn task(n: u32) -> real::TaskId {
    real::TaskId::from_unique(&n.to_string()).unwrap()
}

fn summary(status: TaskStatus, text: String, number: f64) -> TaskSummary {
    TaskSummary {
        task_id: task(1),
        kind: text.clone(),
        status,
        wait_reason: Some(WaitReason::ComputerOffline),
        client_id: real::ClientId::parse("cc-1").ok(),
        owner: "local".into(),
        prompt: text.clone(),
        strategy: "directive".into(),
        step: 1,
        progress: Some(number),
        message: Some(text.clone()),
        result: Some(TaskResult {
            success: true,
            message: text.clone(),
            details: json!({"number": number}),
        }),
        error: Some(text.clone()),
        details: json!([text]),
        metadata: Value::Null,
        allowed_commands: Some(vec!["fs_*".into()]),
        usage: Usage::default(),
        open_calls: 0,
        sealed: true,
        parent: Some(task(2)),
        forked_from: Some(crate::domain::task_summary::ForkedFrom {
            task_id: task(3),
            step: 3,
        }),
        episode: 2,
        asleep: Some(Asleep {
            from_ms: 0,
            wake_at_ms: Some(1_700_000_000_000),
            wakes: Wakes::default(),
        }),
        created_at_ms: 0,
        updated_at_ms: i64::MAX,
        quarantine: Some(text.clone()),
    }
}

/// One message of every type, with what can be there and once without it.
fn samples(text: &str, number: f64, args: &Value) -> Vec<ServerMessage> {
    use ServerMessage as M;
    let client_id = real::ClientId::parse("cc-1").unwrap();
    let call_id = real::CallId::derive(&task(1), real::Generation(1), 7, 0);
    let question_id: real::QuestionId = real::QuestionId::parse("qst_1_1_2").unwrap();
    let tools = vec![json!({"name": "dig"}), json!({"name": text}), json!({})];
    let (good, refused) = ToolShelf::default().read(tools);
    let commands = registered(good.iter(), refused);
    let call = CommandCall {
        task_id: task(1),
        call_id: call_id.clone(),
        command: "dig".into(),
        args: args.clone().into(),
        seq: Some(1),
        tool_rev: Some(text.into()),
        args_hash: Some(text.into()),
        deadline_ms: Some(1),
        delivery: Some(2),
    };
    let bare = CommandCall {
        seq: None,
        tool_rev: None,
        args_hash: None,
        deadline_ms: None,
        delivery: None,
        ..call.clone()
    };
    let call_ref = CallRef {
        call_id: call_id.clone(),
        seq: Some(7),
    };
    let mut error = ErrorMessage::new(ErrorCode::BadField, text).to_request(Some(text.into()));
    error.field = Some(text.into());
    error.call_id = Some(call_id.clone());
    let body = TaskBody::from(&summary(TaskStatus::Running, text.into(), number));
    let mut messages = vec![
        M::Welcome(Box::new(Welcome {
            protocol: 1,
            client_id,
            server_id: text.into(),
            journal_epoch: 1,
            session_secret: text.into(),
            server_version: text.into(),
            features: vec![text.into()],
            heartbeat_ms: 1,
            max_frame_bytes: 1,
            max_to_computer: 1,
            max_from_computer: 1,
            window: 0,
            library: Library {
                version: text.into(),
                url: text.into(),
            },
            commands: commands.clone(),
        })),
        M::CommandsRegistered(commands),
        M::TaskCreated(TaskCreated {
            request_id: text.into(),
            task_id: task(1),
            status: TaskStatus::Queued.as_str(),
        }),
        M::CommandCall(Box::new(call)),
        M::CommandCall(Box::new(bare)),
        M::CommandCancel(call_ref.clone()),
        M::CallStatus(call_ref),
        M::ResultStored(ResultStored { call_id }),
        M::UserQuestion(UserQuestion {
            question_id: question_id.clone(),
            task_id: task(1),
            question: text.into(),
            why: text.into(),
            options: Some(vec![text.into()]),
            deadline_ms: Some(1),
        }),
        M::QuestionClosed(QuestionClosed {
            question_id,
            answer: Some(text.into()),
            by: None,
        }),
        M::TaskList(TaskList {
            request_id: text.into(),
            tasks: vec![body.clone(), body.short()],
        }),
        M::Error(error),
        M::Ping(PingNonce { nonce: 1 }),
        M::Pong(PongNonce { nonce: None }),
        M::Pong(PongNonce {
            nonce: Some(args.clone()),
        }),
    ];
    for status in TaskStatus::OPEN.into_iter().chain([
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ]) {
        let summary = summary(status, text.into(), number);
        messages.extend([true, false].map(|legacy| M::of_task(&summary, legacy)));
    }
    let shorter: Vec<_> = messages.iter().filter_map(M::shortened).collect();
    messages.extend(shorter);
    messages
}

#[test]
fn every_type_that_the_server_says_is_among_the_samples_and_control_messages_have_no_number() {
    let schema = to_computer();
    let mut said: Vec<String> = vec!["chunk".into()];
    for message in samples("x", 0.5, &json!({})) {
        let value: Value = serde_json::from_str(&message.encode(true)).unwrap();
        let kind = value["type"].as_str().unwrap();
        assert_eq!(message.is_control(), UNNUMBERED.contains(&kind), "{kind}");
        said.push(kind.to_owned());
    }
    for kind in types(&schema) {
        assert!(said.iter().any(|said| said == kind), "no sample of {kind}");
    }
}

#[test]
fn every_error_code_makes_a_message_that_fits() {
    let validator = validator(&to_computer());
    for code in ErrorCode::ALL {
        let message = ServerMessage::Error(ErrorMessage::new(*code, "words"));
        let value: Value = serde_json::from_str(&message.encode(true)).unwrap();
        assert_eq!(problems(&validator, &value), "");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_message_that_the_server_encodes_fits_its_schema(
        text in "\\PC{0,20}", number in 0.0..1.0f64, key in "[a-z]{1,5}", ascii: bool,
    ) {
        let validator = validator(&to_computer());
        for message in samples(&text, number, &json!({key.as_str(): [text, number, null]})) {
            let json = message.encode(ascii);
            let mut value: Value = serde_json::from_str(&json).unwrap();
            if !message.is_control() {
                value["n"] = json!(7);
            }
            prop_assert_eq!(problems(&validator, &value), "", "{}", json);
            for frame in split(&json, "s1", 200, ascii).unwrap() {
                let chunk: Value = serde_json::from_str(&frame).unwrap();
                prop_assert_eq!(problems(&validator, &chunk), "", "{}", frame);
            }
        }
    }
}
