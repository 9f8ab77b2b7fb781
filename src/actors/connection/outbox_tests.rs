use super::*;
use crate::domain::ids::Generation;
use crate::wire::codes::ErrorCode;
use crate::wire::frames::outgoing::{CallRef, CommandCall, ErrorMessage, TaskUpdate};
use serde_json::{Value, json};

const T0: Duration = Duration::ZERO;

fn next(outbox: &mut Outbox, now: Duration, delivered: &mut Vec<Tag>) -> Option<String> {
    let mut text = "left over".to_owned();
    outbox.next(now, delivered, &mut text).then_some(text)
}

fn ack(outbox: &mut Outbox, n: u64) -> Result<Vec<Tag>, NeverSent> {
    let mut settled = Vec::new();
    outbox.ack(n, T0, |tag| settled.push(tag))?;
    Ok(settled)
}

fn task() -> TaskId {
    TaskId::from_unique("01").unwrap()
}

fn call_id(position: u64) -> CallId {
    CallId::derive(&task(), Generation(1), position, 0)
}

fn call(position: u64, args: Value) -> ServerMessage {
    ServerMessage::CommandCall(Box::new(CommandCall {
        task_id: task(),
        call_id: call_id(position),
        command: "dig".into(),
        args: args.into(),
        seq: Some(position),
        tool_rev: Some("rev_1".into()),
        args_hash: None,
        deadline_ms: None,
        delivery: Some(1),
    }))
}

fn update(message: &str) -> ServerMessage {
    ServerMessage::TaskUpdate(TaskUpdate {
        task_id: task(),
        status: "running",
        progress: None,
        message: Some(message.into()),
        wait_reason: None,
    })
}

fn error() -> ServerMessage {
    ServerMessage::Error(ErrorMessage::new(ErrorCode::BadJson, "no"))
}

fn cancel() -> ServerMessage {
    ServerMessage::CommandCancel(CallRef {
        call_id: call_id(1),
        seq: None,
    })
}

fn modern(window: usize) -> Outbox {
    let mut outbox = Outbox::new(131_072);
    outbox.set_manner(Manner {
        window: Some(window),
        ascii: false,
        binary: true,
        max_frame_bytes: 131_072,
        max_joined_bytes: None,
        legacy: false,
    });
    outbox
}

fn legacy() -> Outbox {
    let mut outbox = Outbox::new(131_072);
    outbox.set_manner(Manner {
        window: None,
        ascii: true,
        binary: false,
        max_frame_bytes: 131_072,
        max_joined_bytes: None,
        legacy: true,
    });
    outbox
}

fn drain(outbox: &mut Outbox, now: Duration) -> Vec<Value> {
    let mut delivered = Vec::new();
    std::iter::from_fn(|| next(outbox, now, &mut delivered))
        .map(|json| serde_json::from_str(&json).unwrap())
        .collect()
}

#[test]
fn control_messages_overtake_numbered_ones_and_have_no_number() {
    let mut outbox = modern(8);
    outbox.push(call(1, json!({})), T0).unwrap();
    outbox.push(error(), T0).unwrap();
    outbox.push(cancel(), T0).unwrap();
    let sent = drain(&mut outbox, T0);
    let kinds: Vec<_> = sent.iter().map(|m| m["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["command_cancel", "error", "command_call"]);
    assert_eq!(sent[0].get("n"), None);
    assert_eq!(sent[2]["n"], 1);
}

#[test]
fn control_messages_are_limited_to_sixteen_a_second() {
    let mut outbox = modern(8);
    (0..40).for_each(|_| outbox.push(error(), T0).unwrap());
    assert_eq!(drain(&mut outbox, T0).len(), 16);
    let due = outbox.due_at().unwrap();
    assert!(due > T0 && due <= Duration::from_millis(63), "{due:?}");
    assert_eq!(drain(&mut outbox, Duration::from_secs(1)).len(), 16);
}

#[test]
fn a_frame_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
    let fits = |outbox: &mut Outbox, bytes: usize| {
        let empty = call(1, json!({"x": ""})).encode(false).len() + NUMBER_BYTES;
        let text = "x".repeat(bytes - empty);
        outbox.push(call(1, json!({"x": text})), T0)
    };
    assert_eq!(fits(&mut modern(8), 131_072), Ok(()));
    let refused = fits(&mut modern(8), 131_073).unwrap_err();
    assert_eq!(
        (refused.bytes, refused.tag),
        (131_073, Tag::Call(call_id(1)))
    );
}

#[test]
fn size_is_measured_after_encoding() {
    // 30 000 two-byte characters: 60 KB as UTF-8, 180 KB as escapes.
    let text = json!({"x": "é".repeat(30_000)});
    assert!(modern(8).push(call(1, text.clone()), T0).is_ok());
    assert!(legacy().push(call(1, text), T0).is_err());
}

#[test]
fn an_update_that_was_not_sent_is_overtaken_by_a_newer_one() {
    let mut outbox = modern(1);
    outbox.push(call(1, json!({})), T0).unwrap();
    drain(&mut outbox, T0);
    outbox.push(update("old"), T0).unwrap();
    outbox.push(update("new"), T0).unwrap();
    ack(&mut outbox, 1).unwrap();
    let sent = drain(&mut outbox, T0);
    assert_eq!(
        sent.iter().map(|m| &m["message"]).collect::<Vec<_>>(),
        ["new"]
    );
}

#[test]
fn a_call_that_waits_behind_the_window_can_be_withdrawn_and_one_that_was_sent_cannot() {
    let mut outbox = modern(1);
    outbox.push(call(1, json!({})), T0).unwrap();
    outbox.push(call(2, json!({})), T0).unwrap();
    drain(&mut outbox, T0);
    assert!(!outbox.withdraw(&call_id(1)));
    assert!(outbox.withdraw(&call_id(2)));
    ack(&mut outbox, 1).unwrap();
    assert_eq!(drain(&mut outbox, T0).len(), 0);
}

#[test]
fn a_client_of_document_001_gets_only_its_messages_with_updates_folded() {
    let mut outbox = legacy();
    for message in [update("1"), update("2"), cancel(), call(1, json!({}))] {
        outbox.push(message, T0).unwrap();
    }
    let sent = drain(&mut outbox, T0);
    assert_eq!(
        sent,
        [
            json!({"type": "command_call", "task_id": "tsk_01", "call_id": call_id(1), "command": "dig", "args": {}})
        ]
    );
    let later = outbox.due_at().unwrap();
    assert_eq!(later, FOLD_UPDATES);
    let sent = drain(&mut outbox, later);
    assert_eq!(
        sent,
        [json!({"type": "task_update", "task_id": "tsk_01", "status": "running", "message": "2"})]
    );
}

#[test]
fn what_waits_for_one_computer_is_bounded() {
    let mut outbox = modern(8);
    let text = "x".repeat(100_000);
    for position in 0..25 {
        assert_eq!(outbox.is_overfull(), position > 20, "{position}");
        outbox.push(call(position, json!({"x": text})), T0).unwrap();
    }
}

fn joining(window: Option<usize>, max_frame_bytes: usize, max_joined: usize) -> Outbox {
    let mut outbox = Outbox::new(131_072);
    outbox.set_manner(Manner {
        window,
        ascii: false,
        binary: true,
        max_frame_bytes,
        max_joined_bytes: Some(max_joined),
        legacy: false,
    });
    outbox
}

/// What a client that joins chunks makes of them.
fn join(frames: &[Value]) -> Value {
    let text: String = frames.iter().map(|f| f["data"].as_str().unwrap()).collect();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_message_over_the_frame_limit_goes_in_numbered_chunks_that_each_fit() {
    let mut outbox = joining(Some(8), 131_072, 512 * 1024);
    let text = json!({"x": "é\"\\".repeat(80_000)});
    outbox.push(call(1, text.clone()), T0).unwrap();
    let mut delivered = Vec::new();
    let frames: Vec<String> =
        std::iter::from_fn(|| next(&mut outbox, T0, &mut delivered)).collect();
    assert!(frames.len() > 3 && frames.iter().all(|frame| frame.len() <= 131_072));
    let frames: Vec<Value> = frames
        .iter()
        .map(|f| serde_json::from_str(f).unwrap())
        .collect();
    let numbers: Vec<_> = frames.iter().map(|f| f["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=frames.len() as u64).collect::<Vec<_>>());
    let joined = join(&frames);
    assert_eq!(joined["args"], text);
    assert_eq!(joined.get("n"), None);
}

#[test]
fn a_message_over_the_joined_limit_is_refused_or_shortened() {
    let mut outbox = joining(Some(8), 131_072, 512 * 1024);
    let refused = outbox.push(call(1, json!({"x": "x".repeat(600_000)})), T0);
    assert!(refused.unwrap_err().max >= 512 * 1024);
    outbox.push(update(&"x".repeat(600_000)), T0).unwrap();
    assert_eq!(drain(&mut outbox, T0)[0]["type"], "task_update");
}

#[test]
fn control_messages_do_not_wait_behind_chunks() {
    let mut outbox = joining(Some(2), 2048, 512 * 1024);
    outbox
        .push(call(1, json!({"x": "x".repeat(50_000)})), T0)
        .unwrap();
    assert_eq!(drain(&mut outbox, T0).len(), 2);
    outbox.push(error(), T0).unwrap();
    assert_eq!(drain(&mut outbox, T0)[0]["type"], "error");
}

#[test]
fn a_call_whose_chunks_went_out_in_part_can_be_withdrawn_and_leaves_nothing_behind() {
    let mut outbox = joining(Some(2), 2048, 512 * 1024);
    outbox
        .push(call(1, json!({"x": "x".repeat(10_000)})), T0)
        .unwrap();
    outbox.push(call(2, json!({})), T0).unwrap();
    assert_eq!(drain(&mut outbox, T0).len(), 2);
    assert!(outbox.withdraw(&call_id(1)));
    ack(&mut outbox, 2).unwrap();
    let rest = drain(&mut outbox, T0);
    assert_eq!(
        rest.iter()
            .map(|m| (&m["type"], &m["n"]))
            .collect::<Vec<_>>(),
        [(&json!("command_call"), &json!(3))]
    );
    ack(&mut outbox, 3).unwrap();
    assert_eq!(outbox.bytes(), 0);
}

#[test]
fn a_message_in_chunks_is_delivered_with_its_last_chunk() {
    let done = |n: usize| {
        ServerMessage::TaskCompleted(crate::wire::frames::outgoing::TaskCompleted {
            task_id: task(),
            result: json!({"success": true, "message": "x".repeat(n)}),
        })
    };
    let mut outbox = joining(Some(2), 2048, 512 * 1024);
    outbox.push(done(3000), T0).unwrap();
    assert_eq!(drain(&mut outbox, T0).len(), 2);
    assert_eq!(ack(&mut outbox, 1), Ok(vec![]));
    assert_eq!(ack(&mut outbox, 2), Ok(vec![Tag::Final(task())]));
    let mut plain = joining(None, 2048, 512 * 1024);
    plain.push(done(3000), T0).unwrap();
    let mut delivered = Vec::new();
    next(&mut plain, T0, &mut delivered);
    assert_eq!(delivered, []);
    next(&mut plain, T0, &mut delivered);
    assert_eq!(delivered, [Tag::Final(task())]);
}

#[test]
fn what_is_held_back_for_a_document_001_client_is_bounded_and_counted() {
    let mut outbox = legacy();
    for n in 0..100 {
        let ServerMessage::TaskUpdate(mut told) = update("x") else {
            unreachable!()
        };
        told.task_id = TaskId::from_unique(&format!("{n}")).unwrap();
        outbox.push(ServerMessage::TaskUpdate(told), T0).unwrap();
    }
    assert!(outbox.held_updates.len() <= MAX_HELD && outbox.bytes() > 5000);
    drain(&mut outbox, FOLD_UPDATES);
    assert_eq!(outbox.bytes(), 0);
}
