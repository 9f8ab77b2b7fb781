//! What a client says wrongly, in pieces or at too great a length.

use super::*;

#[actix::test]
async fn bad_input_is_answered_with_code_and_field_and_ten_of_it_close_the_connection() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    client.say_text(b"{\"type\":").await;
    assert_eq!(client.expect("error").await["code"], "bad_json");
    client.say(json!({"type": "dance"})).await;
    assert_eq!(client.expect("error").await["code"], "unknown_type");
    client
        .say(json!({"type": "create_task", "request_id": "r1"}))
        .await;
    let error = client.expect("error").await;
    assert_eq!(
        (&error["code"], &error["field"], &error["request_id"]),
        (&json!("missing_field"), &json!("task_kind"), &json!("r1"))
    );
    client.say(json!({"type": "ack", "n": 99})).await;
    assert_eq!(client.expect("error").await["code"], "bad_ack");
    client.say(json!({"type": "world_event", "name": ""})).await;
    assert_eq!(client.expect("error").await["field"], "name");
    for _ in 0..5 {
        client.say_text(b"?").await;
    }
    assert_eq!(client.closed().await, Some(1008));
}

#[actix::test]
async fn frames_that_are_too_long_or_no_text_close_with_their_codes() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    client.say_text(&vec![b' '; 131_073]).await;
    assert_eq!(client.closed().await, Some(1009));

    let mut client = bench.connect().await;
    client.say_piece(true, false, &vec![b' '; 100_000]).await;
    client.say_piece(false, true, &vec![b' '; 100_000]).await;
    assert_eq!(client.closed().await, Some(1009));

    let mut client = bench.connect().await;
    client.say_text(b"caf\xe9").await;
    assert_eq!(client.closed().await, Some(1007));
}

#[actix::test]
async fn a_message_in_pieces_is_joined() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    client.say_piece(true, false, b"{\"type\":\"pi").await;
    client.say_piece(false, true, b"ng\",\"nonce\":1}").await;
    assert_eq!(client.expect("pong").await["nonce"], 1);
}

#[actix::test]
async fn a_call_over_the_frame_limit_fails_before_it_leaves() {
    let bench = bench().await;
    let (_client, _) = bench.computer(hello("b1")).await;
    let (_, mut facts) = bench
        .call(1, "dig", json!({"x": "x".repeat(131_072)}))
        .await;
    let report = settled(&mut facts).await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::NotStarted, Some("too_large"))
    );
}
