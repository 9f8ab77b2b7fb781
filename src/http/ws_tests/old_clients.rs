//! Clients that know only document 001.

use super::*;

#[actix::test]
async fn a_client_that_knows_only_document_001_creates_a_task_and_runs_its_calls() {
    let mut bench = bench().await;
    let mut client = bench.connect().await;
    client
        .say(json!({
            "type": "create_task", "request_id": "r1", "task_kind": "general_agent", "client_id": "cc-1",
            "prompt": "look around", "context": {}, "allowed_commands": ["shell_exec", "fs_read"]
        }))
        .await;
    let created = client.expect("task_created").await;
    assert_eq!(
        created,
        json!({"type": "task_created", "request_id": "r1", "task_id": "tsk_01", "status": "queued"})
    );
    let started = bench.started.recv().await.unwrap();
    assert_eq!(started.kind.as_deref(), Some("general_agent"));
    assert_eq!(started.client_id.unwrap().as_str(), "cc-1");

    let (_, mut facts) = bench.call(1, "shell_exec", json!({"command": "dir"})).await;
    let call = client.expect("command_call").await;
    let keys: Vec<&String> = call.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["args", "call_id", "command", "task_id", "type"]
            .iter()
            .collect::<Vec<_>>()
    );
    client
        .say(
            json!({"type": "command_result", "task_id": call["task_id"], "call_id": call["call_id"],
                    "ok": true, "result": {"output": "\u{c3}\u{a9}"}}),
        )
        .await;
    let report = settled(&mut facts).await;
    assert_eq!(report.result, Some(json!({"output": "é"})));

    let mut done = summary("01", TaskStatus::Completed);
    done.result = Some(TaskResult {
        success: true,
        message: "ok".into(),
        details: Value::Null,
    });
    bench.notice(summary("01", TaskStatus::WaitingForUser));
    let update = client.expect("task_update").await;
    assert_eq!(
        update,
        json!({"type": "task_update", "task_id": "tsk_01", "status": "running"})
    );
    bench.notice(done);
    let told = client.expect("task_completed").await;
    assert_eq!(told["result"]["success"], true);
}

#[actix::test]
async fn the_open_call_of_a_document_001_client_is_unknown_when_its_connection_is_lost() {
    let bench = bench().await;
    let mut client = Client::open(bench.address, "?client_id=cc-1", "")
        .await
        .unwrap();
    let create = json!({"type": "create_task", "request_id": "r", "task_kind": "k", "client_id": "cc-1",
                        "prompt": "p", "allowed_commands": ["shell_exec"]});
    client.say(create).await;
    client.expect("task_created").await;
    let (_, mut facts) = bench.call(1, "shell_exec", json!({})).await;
    client.expect("command_call").await;
    drop(client);
    let report = settled(&mut facts).await;
    assert_eq!(
        (report.outcome, report.code.as_deref()),
        (Outcome::Unknown, Some("connection_lost"))
    );
}

#[actix::test]
async fn a_document_001_client_cannot_speak_for_a_computer_that_said_hello() {
    let bench = bench().await;
    let (_modern, _) = bench.computer(hello("b1")).await;
    let mut old = bench.connect().await;
    let create = json!({"type": "create_task", "request_id": "r", "task_kind": "k", "client_id": "cc-1",
                        "prompt": "p"});
    old.say(create).await;
    assert_eq!(old.expect("error").await["code"], "identity_in_use");
    assert_eq!(old.closed().await, Some(4409));
}
