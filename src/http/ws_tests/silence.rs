//! Computers that do not read, do not answer or say nothing, and how a connection is refused and ended.

use super::*;

#[actix::test]
async fn a_computer_that_does_not_read_is_closed_and_does_not_hold_up_others() {
    let mut bench = bench().await;
    let mut deaf = hello("b1");
    deaf.as_object_mut().unwrap().remove("window");
    let (mut client, _) = bench.computer(deaf).await;
    bench.until_online(true).await;
    let mut failed = summary("a", TaskStatus::Failed);
    failed.error = Some("x".repeat(120_000));
    // Far more than the sockets' and our own buffers hold.
    for n in 0..400 {
        failed.task_id = task(&format!("{n}"));
        bench.notice_in_turn(failed.clone()).await;
    }
    bench.until_online(false).await;
    let mut other = hello("b1");
    other["client_id"] = json!("cc-2");
    bench.computer(other).await;
    client.closed().await;
}

#[actix::test]
async fn a_connection_that_loses_three_pings_is_closed() {
    let mut bench = bench_with(|settings| settings.heartbeat = Duration::from_millis(50)).await;
    let (client, _) = bench.computer(hello("b1")).await;
    // The client answers pings only while it is read from.
    bench.until_online(false).await;
    drop(client);
}

#[actix::test]
async fn a_program_that_loses_three_ping_messages_is_unresponsive_until_it_speaks() {
    let bench = bench_with(|settings| settings.program_ping = Duration::from_millis(30)).await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    for _ in 0..4 {
        client.expect("ping").await;
    }
    let (_, mut facts) = bench.place(1, "look", json!({}));
    let news = facts.recv().await.unwrap().what;
    assert!(
        matches!(news, CallNews::Queued { offline: true, .. }),
        "{news:?}"
    );
    client.say(json!({"type": "pong"})).await;
    loop {
        if let CallNews::TurnGranted { .. } = facts.recv().await.unwrap().what {
            break;
        }
    }
}

#[actix::test]
async fn a_client_that_says_nothing_is_closed_and_one_that_named_itself_is_kept() {
    let mut bench =
        bench_with(|settings| settings.hello_deadline = Duration::from_millis(50)).await;
    let mut silent = bench.connect().await;
    assert_eq!(silent.expect("error").await["code"], "hello_missing");
    assert_eq!(silent.closed().await, Some(4400));
    let _named = Client::open(bench.address, "?client_id=cc-1", "")
        .await
        .unwrap();
    bench.until_online(true).await;
}

#[actix::test]
async fn a_web_page_of_somebody_else_is_refused_at_the_handshake() {
    let bench = bench().await;
    let foreign = Client::open(bench.address, "", "Origin: http://evil.example\r\n").await;
    assert_eq!(foreign.err(), Some(403));
    let own = format!("Origin: http://{}\r\n", bench.address);
    assert!(Client::open(bench.address, "", &own).await.is_ok());
}

#[actix::test]
async fn another_protocol_is_refused_with_a_reason() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    let mut newer = hello("b1");
    newer["protocol"] = json!(2);
    client.say(newer).await;
    assert_eq!(client.expect("error").await["code"], "bad_protocol");
    assert_eq!(client.closed().await, Some(4400));
}

#[actix::test]
async fn a_server_that_stops_says_so_and_closes_with_1001() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    bench.registry.send(CloseConnections).await.unwrap();
    assert_eq!(client.expect("error").await["code"], "stopping");
    assert_eq!(client.closed().await, Some(1001));
}
