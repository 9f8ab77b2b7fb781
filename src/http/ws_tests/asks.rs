//! Chunks, events of the world, lists of tasks, stop and resume.

use super::*;

/// A `hello` of a client that joins chunks.
fn joining(boot: &str) -> Value {
    let mut joining = hello(boot);
    joining["features"] = json!(["chunks"]);
    joining
}

/// Says a message in chunks, the last one first.
async fn say_in_chunks(client: &mut Client, chunk_id: &str, message: &Value, size: usize) {
    let text = message.to_string();
    assert!(text.is_ascii());
    let pieces: Vec<&str> = text
        .as_bytes()
        .chunks(size)
        .map(|piece| std::str::from_utf8(piece).unwrap())
        .collect();
    for (index, data) in pieces.iter().enumerate().rev() {
        let chunk = json!({"type": "chunk", "chunk_id": chunk_id, "index": index, "count": pieces.len(), "data": data});
        client.say(chunk).await;
    }
}

#[actix::test]
async fn a_large_call_goes_in_chunks_and_its_large_result_comes_back_in_chunks() {
    let bench = bench().await;
    let (mut client, welcome) = bench.computer(joining("b1")).await;
    assert_eq!(
        (&welcome["max_to_computer"], &welcome["max_from_computer"]),
        (&json!(512 * 1024), &json!(1024 * 1024))
    );
    let args = json!({"content": "süd \"\\\n".repeat(30_000)});
    let (_, mut facts) = bench.call(1, "dig", args.clone()).await;
    let (mut text, mut count) = (String::new(), 1);
    while count > 0 {
        let chunk = client.expect("chunk").await;
        count = chunk["count"].as_u64().unwrap() - chunk["index"].as_u64().unwrap() - 1;
        text.push_str(chunk["data"].as_str().unwrap());
        client.say(json!({"type": "ack", "n": chunk["n"]})).await;
    }
    let call: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&call["type"], &call["args"]),
        (&json!("command_call"), &args)
    );
    assert_eq!(call.get("n"), None);
    let mut result = result_of(&call);
    result["result"] = json!({"content": "x".repeat(900_000)});
    say_in_chunks(&mut client, "c1", &result, 100_000).await;
    let report = settled(&mut facts).await;
    assert_eq!(report.result, Some(result["result"].clone()));
}

#[actix::test]
async fn chunks_that_break_the_rules_get_an_error_and_the_connection_stays() {
    let bench = bench_with(|settings| settings.max_from_computer = 150_000).await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let chunk = |id: &str, index: u64, count: u64, data: &str| json!({"type": "chunk", "chunk_id": id, "index": index, "count": count, "data": data});
    for (messages, code, field) in [
        (vec![chunk("a", 3, 3, "")], "bad_field", json!("index")),
        (vec![chunk("b", 0, 0, "")], "bad_field", json!("count")),
        (
            vec![chunk("c", 0, 2, "x"), chunk("c", 0, 2, "y")],
            "chunk_conflict",
            json!("data"),
        ),
        (
            vec![
                chunk("d", 0, 2, &"x".repeat(100_000)),
                chunk("d", 1, 2, &"x".repeat(100_000)),
            ],
            "too_large",
            json!(null),
        ),
        (
            vec![chunk("e", 0, 2, "{\"type\":"), chunk("e", 1, 2, "}")],
            "bad_json",
            json!(null),
        ),
        (
            vec![chunk("f", 0, 1, &chunk("g", 0, 2, "x").to_string())],
            "bad_field",
            json!("type"),
        ),
    ] {
        for message in messages {
            client.say(message).await;
        }
        let error = client.expect("error").await;
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!(code), &field),
            "{error}"
        );
    }
    say_in_chunks(&mut client, "h", &json!({"type": "ping", "nonce": 1}), 5).await;
    assert_eq!(client.expect("pong").await["nonce"], 1);
}

#[actix::test]
async fn a_stranger_may_say_hello_in_chunks_and_no_more_than_one_message_at_a_time() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    let piece =
        |id: &str| json!({"type": "chunk", "chunk_id": id, "index": 0, "count": 2, "data": "{"});
    client.say(piece("x")).await;
    client.say(piece("y")).await;
    assert_eq!(client.expect("error").await["code"], "too_many_chunks");
    drop(client);
    let mut client = bench.connect().await;
    say_in_chunks(&mut client, "1", &hello("b1"), 40).await;
    client.expect("welcome").await;
}

#[actix::test]
async fn an_event_of_the_world_is_passed_on_in_silence_and_a_flood_of_them_is_not() {
    let mut bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let event = json!({"type": "world_event", "name": "rain", "data": {"strength": 3}});
    client.say(event.clone()).await;
    let told = bench.events.recv().await.unwrap();
    assert_eq!(
        (
            told.client_id.as_str(),
            told.name.as_str(),
            &told.data["strength"]
        ),
        ("cc-1", "rain", &json!(3))
    );
    client.say(json!({"type": "ping"})).await;
    client.expect("pong").await;
    for _ in 0..1000 {
        client.say(event.clone()).await;
    }
    assert_eq!(client.expect("error").await["code"], "too_many_requests");
    assert!(bench.counts.over_rate.get() > 0);
}

#[actix::test]
async fn a_computer_is_shown_its_tasks() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    client
        .say(json!({"type": "task_query", "request_id": "q1"}))
        .await;
    let list = client.expect("task_list").await;
    assert_eq!(
        (&list["request_id"], list["tasks"].as_array().unwrap().len()),
        (&json!("q1"), 2)
    );
    assert_eq!(list["tasks"][0]["created_at"], "1970-01-01T00:00:00.000Z");
    for (query, code) in [
        (
            json!({"type": "task_query", "request_id": "q2", "task_id": "tsk_99"}),
            "no_such_task",
        ),
        (
            json!({"type": "task_query", "request_id": "q2", "scope": "fleet"}),
            "not_allowed",
        ),
    ] {
        client.say(query).await;
        let error = client.expect("error").await;
        assert_eq!(
            (&error["code"], &error["request_id"]),
            (&json!(code), &json!("q2"))
        );
    }
}

#[actix::test]
async fn a_stop_is_done_before_the_next_message_is_read_and_the_fleet_is_not_a_computers_to_stop() {
    let mut bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    client.say(json!({"type": "stop", "scope": "own"})).await;
    client.say(json!({"type": "ping", "nonce": 1})).await;
    assert_eq!(client.expect("pong").await["nonce"], 1);
    let own = ClientId::parse("cc-1").ok();
    assert_eq!(bench.stops.try_recv(), Ok((true, own.clone())));
    // What fails says so before the answer to the ping.
    client
        .say(json!({"type": "resume", "request_id": "r1"}))
        .await;
    client.say(json!({"type": "ping"})).await;
    let error = client.expect("error").await;
    assert_eq!(
        (&error["code"], &error["request_id"]),
        (&json!("journal_unavailable"), &json!("r1"))
    );
    client.expect("pong").await;
    assert_eq!(bench.stops.try_recv(), Ok((false, own)));
    for kind in ["stop", "resume"] {
        client.say(json!({"type": kind, "scope": "fleet"})).await;
        let error = client.expect("error").await;
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("not_allowed"), &json!("scope"))
        );
    }
    assert!(bench.stops.try_recv().is_err());
}
