//! Two computers of one name, names that change, lanes that fail.

use super::*;

#[actix::test]
async fn the_same_program_with_its_secret_takes_over_at_once() {
    let bench = bench().await;
    let (mut first, welcome) = bench.computer(hello("b1")).await;
    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    let (mut second, _) = bench.computer(again).await;
    assert_eq!(first.expect("error").await["code"], "taken_over");
    assert_eq!(first.closed().await, Some(4409));
    bench.notice(summary("01", TaskStatus::Running));
    second.expect("task_update").await;
}

#[actix::test]
async fn a_second_computer_of_the_same_name_is_refused_while_the_first_one_answers() {
    let bench = bench().await;
    let (mut first, _) = bench.computer(hello("b1")).await;
    let mut second = bench.connect().await;
    second.say(hello("b2")).await;
    let ping = first.expect("ping").await;
    first
        .say(json!({"type": "pong", "nonce": ping["nonce"]}))
        .await;
    assert!(bench.router.computers()[0].second_copy_ms.is_none());
    assert_eq!(second.expect("error").await["code"], "identity_in_use");
    assert_eq!(second.closed().await, Some(4409));
    // Whoever looks at the fleet is told.
    assert!(bench.router.computers()[0].second_copy_ms.is_some());
}

#[actix::test]
async fn a_lane_that_fails_starts_again_by_itself_with_the_numbers_that_it_had() {
    let mut bench = bench().await;
    let (mut client, welcome) = bench.computer(hello("b1")).await;
    bench.until_online(true).await;
    let (call_id, mut facts) = bench.call(1, "dig", json!({})).await;
    let call = client.expect("command_call").await;
    client.say(result_of(&call)).await;
    assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
    bench.lane().stored.do_send(OutcomeStored { call_id });
    client.expect("result_stored").await;
    let before = bench.lane();
    bench
        .registry
        .do_send(BreakLane(ClientId::parse("cc-1").unwrap()));
    // It is asked to come back, since only it knows what it knows; by then there is another lane.
    assert_eq!(client.expect("error").await["code"], "internal");
    assert_eq!(client.closed().await, Some(1013));
    bench.until_online(false).await;
    assert!(!before.place.connected() && bench.lane().place.connected());
    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    again["server_id"] = welcome["server_id"].clone();
    again["high_seq"] = json!(1);
    let (mut client, _) = bench.computer(again).await;
    bench.until_online(true).await;
    bench.call(2, "dig", json!({})).await;
    assert_eq!(client.expect("command_call").await["seq"], json!(2));
}

#[actix::test]
async fn a_second_computer_takes_over_from_one_whose_program_is_silent() {
    let bench = bench().await;
    let (mut first, first_welcome) = bench.computer(hello("b1")).await;
    let (_second, welcome) = bench.computer(hello("b2")).await;
    assert_ne!(welcome["session_secret"], first_welcome["session_secret"]);
    assert_eq!(first.closed().await, Some(4409));
}

#[actix::test]
async fn a_second_hello_renews_the_registration_and_another_name_is_an_error() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let mut renewed = hello("b1");
    renewed["commands"] = json!([{"name": "fly"}]);
    client.say(renewed).await;
    let welcome = client.expect("welcome").await;
    assert!(welcome["commands"]["accepted"]["fly"].is_string());
    assert_eq!(bench.router.computers()[0].tools[0].name, "fly");
    let mut other = hello("b1");
    other["client_id"] = json!("cc-2");
    client.say(other).await;
    assert_eq!(client.expect("error").await["code"], "identity_mismatch");
}

#[actix::test]
async fn too_many_new_connections_are_refused_except_those_that_know_their_secret() {
    let bench = bench_with(|settings| settings.new_per_second = 1).await;
    let (first, welcome) = bench.computer(hello("b1")).await;
    drop(first);
    let mut stranger = bench.connect().await;
    stranger.say(hello("b2")).await;
    let answer = stranger.hear().await;
    let Heard::Message(answer) = answer else {
        panic!("{answer:?}");
    };
    // On a slow machine a second may have gone by, and nothing is over.
    if answer["type"] == "error" {
        assert_eq!(answer["code"], "rate_limited");
        assert_eq!(stranger.closed().await, Some(4429));
    }
    let mut again = hello("b1");
    again["session_secret"] = welcome["session_secret"].clone();
    if answer["type"] == "error" {
        bench.computer(again).await;
    }
}
