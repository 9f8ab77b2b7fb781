//! Calls over a connection, and the tasks that they start.

use super::*;

#[actix::test]
async fn a_call_goes_out_and_its_result_comes_back_and_is_confirmed() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let (call_id, mut facts) = bench.call(1, "dig", json!({"side": "süd"})).await;
    let call = client.expect("command_call").await;
    assert_eq!(call["args"], json!({"side": "süd"}));
    assert_eq!(
        (&call["seq"], &call["delivery"], &call["n"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let mut result = result_of(&call);
    result["ack"] = json!(1);
    client.say(result).await;
    let report = settled(&mut facts).await;
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(report.result, Some(json!({"blocks": 3})));
    bench.lane().stored.do_send(OutcomeStored { call_id });
    assert_eq!(
        client.expect("result_stored").await["call_id"],
        call["call_id"]
    );
}

#[actix::test]
async fn a_call_passes_between_threads_where_connection_and_lane_have_no_thread_in_common() {
    let bench = bench_over(Shards::default(), |_| {}, Vec::new()).await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    for n in 1..=20 {
        let (call_id, mut facts) = bench.call(n, "dig", json!({})).await;
        if n > 1 {
            // It waited for this call, and goes before it.
            client.expect("result_stored").await;
        }
        let call = client.expect("command_call").await;
        assert_eq!(call["seq"], json!(n));
        let mut result = result_of(&call);
        result["ack"] = call["n"].clone();
        client.say(result).await;
        assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
        bench.lane().stored.do_send(OutcomeStored { call_id });
    }
    // Nothing comes that it could go with.
    client.expect("result_stored").await;
}

#[actix::test]
async fn every_computer_comes_to_the_thread_where_it_is_at_home_whether_it_names_itself_early_or_not()
 {
    let bench = bench().await;
    for number in 0..8 {
        let name = format!("cc-{number}");
        let mut hello = hello("b1");
        hello["client_id"] = json!(name);
        let query = match number % 2 {
            0 => String::new(),
            _ => format!("?client_id={name}"),
        };
        let mut client = Client::open(bench.address, &query, "").await.unwrap();
        client.say(hello).await;
        // What is said behind it arrives too.
        client.say(json!({"type": "ping", "nonce": number})).await;
        assert_eq!(client.expect("welcome").await["client_id"], json!(name));
        assert_eq!(client.expect("pong").await["nonce"], json!(number));
    }
    assert!(
        bench
            .router
            .computers()
            .iter()
            .all(|computer| !computer.online || computer.tools.len() == 2)
    );
}

#[actix::test]
async fn a_call_that_was_under_way_at_a_disconnect_is_asked_about_and_sent_again_if_it_never_started()
 {
    let mut bench = bench().await;
    let (mut client, welcome) = bench.computer(hello("b1")).await;
    let (_, mut facts) = bench.call(1, "dig", json!({})).await;
    client.expect("command_call").await;
    drop(client);
    bench.until_online(false).await;

    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    let (mut client, second) = bench.computer(again).await;
    assert_eq!(second["session_secret"], welcome["session_secret"]);
    let asked = client.expect("call_status").await;
    client
        .say(json!({"type": "call_receipt", "call_id": asked["call_id"], "state": "not_started"}))
        .await;
    let call = client.expect("command_call").await;
    assert_eq!((&call["delivery"], &call["seq"]), (&json!(2), &json!(1)));
    client.say(result_of(&call)).await;
    assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
}

#[actix::test]
async fn what_a_task_does_now_goes_before_its_next_call_and_alone_where_none_follows() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    bench.notice(summary("a", TaskStatus::Running));
    let (_, mut facts) = bench.call(1, "dig", json!({})).await;
    assert_eq!(client.expect("task_update").await["n"], 1);
    let call = client.expect("command_call").await;
    assert_eq!(call["n"], 2);
    bench.notice(summary("a", TaskStatus::Running));
    assert_eq!(client.expect("task_update").await["n"], 3);
    client.say(result_of(&call)).await;
    assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
}

#[actix::test]
async fn no_more_than_the_window_is_sent_before_it_is_acknowledged() {
    let bench = bench().await;
    let mut small = hello("b1");
    small["window"] = json!(2);
    let (mut client, _) = bench.computer(small).await;
    for unique in ["a", "b", "c"] {
        bench.notice(summary(unique, TaskStatus::Running));
    }
    assert_eq!(client.expect("task_update").await["n"], 1);
    assert_eq!(client.expect("task_update").await["n"], 2);
    // Control messages do not wait behind the window, so the pong is next.
    client.say(json!({"type": "ping", "nonce": "x"})).await;
    assert_eq!(client.expect("pong").await["nonce"], "x");
    client.say(json!({"type": "ack", "n": 1})).await;
    let third = client.expect("task_update").await;
    assert_eq!(
        (&third["n"], &third["task_id"]),
        (&json!(3), &json!("tsk_c"))
    );
    // The same number again tells of a gap: everything after it comes again.
    client.say(json!({"type": "ack", "n": 1})).await;
    assert_eq!(client.expect("task_update").await["n"], 2);
    assert_eq!(client.expect("task_update").await["n"], 3);
}

#[actix::test]
async fn the_end_of_a_task_is_told_again_until_it_is_acknowledged() {
    let mut bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let mut done = summary("01", TaskStatus::Completed);
    done.result = Some(TaskResult {
        success: true,
        message: "dug".into(),
        details: Value::Null,
    });
    bench.notice(done);
    client.expect("task_completed").await;
    drop(client);
    bench.until_online(false).await;
    let (mut client, _) = bench.computer(hello("b2")).await;
    let told = client.expect("task_completed").await;
    assert_eq!(told["result"]["message"], "dug");
    client.say(json!({"type": "ack", "n": told["n"]})).await;
    // Answered after the acknowledgement was read.
    client.say(json!({"type": "ping"})).await;
    client.expect("pong").await;
    drop(client);
    bench.until_online(false).await;
    let (mut client, _) = bench.computer(hello("b3")).await;
    client.say(json!({"type": "ping"})).await;
    client.expect("pong").await;
}

#[actix::test]
async fn a_task_that_is_asked_for_in_a_call_is_a_child_of_the_call_s_task() {
    let mut bench = bench().await;
    let mut client = bench.connect().await;
    let create = |request_id: &str| {
        json!({"type": "create_task", "request_id": request_id, "task_kind": "general_agent", "client_id": "cc-1",
            "prompt": "look around", "allowed_commands": ["shell_exec"]})
    };
    client.say(create("r1")).await;
    client.expect("task_created").await;
    assert_eq!(bench.started.recv().await.unwrap().parent, None);
    let (_, mut facts) = bench.call(1, "shell_exec", json!({"command": "dir"})).await;
    let call = client.expect("command_call").await;
    client.say(create("r2")).await;
    client.expect("task_created").await;
    let parent = bench.started.recv().await.unwrap().parent.unwrap();
    assert_eq!(call["task_id"], json!(parent));
    client
        .say(json!({"type": "command_result", "task_id": call["task_id"], "call_id": call["call_id"], "ok": true}))
        .await;
    settled(&mut facts).await;
}

#[actix::test]
async fn a_call_that_is_cancelled_behind_a_full_window_never_leaves() {
    let bench = bench().await;
    let mut small = hello("b1");
    small["window"] = json!(1);
    let (mut client, _) = bench.computer(small).await;
    bench.notice(summary("a", TaskStatus::Running));
    client.expect("task_update").await;
    let (call_id, mut facts) = bench.call(1, "dig", json!({})).await;
    bench.lane().cancel.do_send(CancelCall { call_id });
    let report = settled(&mut facts).await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::NotStarted, Some("cancelled"))
    );
}

#[actix::test]
async fn a_task_that_cannot_be_created_is_answered_with_its_reason() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let create = json!({"type": "create_task", "request_id": "r7", "task_kind": "k", "client_id": "cc-1",
                        "prompt": ""});
    client.say(create).await;
    let error = client.expect("error").await;
    assert_eq!(
        (&error["code"], &error["request_id"]),
        (&json!("empty_prompt"), &json!("r7"))
    );
}
