//! Slow, hostile and many computers.

use super::*;
use crate::actors::computer::messages::MAX_NOTICES_BETWEEN_THREADS;
use crate::actors::journal::messages::{JournalError, NoticeDelivered, UndeliveredNotices};
use crate::store::ComputerRecord;
use std::sync::Mutex;

#[actix::test]
async fn a_flood_of_registrations_is_bounded_in_number_and_in_rate() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let mut registered = 0;
    let mut codes = std::collections::BTreeSet::new();
    for round in 0..400 {
        let commands: Vec<Value> = (0..10)
            .map(|n| json!({"name": format!("t{round}_{n}")}))
            .collect();
        client
            .say(json!({"type": "register_commands", "commands": commands}))
            .await;
        match client.hear().await {
            Heard::Message(answer) if answer["type"] == "error" => {
                codes.insert(answer["code"].as_str().unwrap().to_owned());
            }
            Heard::Message(answer) => {
                registered += answer["accepted"].as_object().unwrap().len();
                for refused in answer["refused"].as_array().unwrap() {
                    codes.insert(refused["code"].as_str().unwrap().to_owned());
                }
                client.say(json!({"type": "ack", "n": answer["n"]})).await;
            }
            other => panic!("{other:?}"),
        }
        if codes.contains("too_many_requests") {
            break;
        }
    }
    // Two tools came with `hello`.
    assert_eq!(registered, 254);
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    assert_eq!(codes, ["too_many_requests", "too_many_tools"]);
    assert_eq!(bench.router.computers()[0].tools.len(), 256);
}

#[actix::test]
async fn what_a_computer_says_of_itself_has_bounds() {
    let bench = bench().await;
    let mut client = bench.connect().await;
    for (field, value, path) in [
        ("label", json!("x".repeat(65)), "label"),
        ("boot_id", json!("x".repeat(65)), "boot_id"),
        ("groups", json!(["a", "x".repeat(65)]), "groups[1]"),
        ("features", json!(vec!["x"; 65]), "features"),
        (
            "computer",
            json!({"version": "x".repeat(65)}),
            "computer.version",
        ),
    ] {
        let mut bad = hello("b1");
        bad[field] = value;
        client.say(bad).await;
        let error = client.expect("error").await;
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("bad_field"), &json!(path))
        );
    }
}

#[actix::test]
async fn answers_to_calls_of_others_are_dropped_and_many_of_them_do_no_harm() {
    let bench = bench().await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    let (_, mut facts) = bench.call(1, "dig", json!({})).await;
    let call = client.expect("command_call").await;
    for n in 0..1000 {
        let foreign = CallId::derive(&task("99"), Generation(1), n, 0);
        client
            .say(json!({"type": "command_result", "task_id": "tsk_99", "call_id": foreign, "ok": true, "result": {}}))
            .await;
    }
    client.say(result_of(&call)).await;
    assert_eq!(settled(&mut facts).await.outcome, Outcome::Done);
    assert_eq!(bench.counts.strays.get(), 1000);
    // Nobody is told off: a result may be late or repeated without anybody's fault.
    client.say(json!({"type": "ping", "nonce": 5})).await;
    assert_eq!(client.expect("pong").await["nonce"], 5);
}

#[actix::test]
async fn a_computer_without_a_window_that_does_not_read_is_closed_with_little_on_the_way() {
    let mut bench = bench().await;
    let mut plain = hello("b1");
    plain.as_object_mut().unwrap().remove("window");
    let (mut client, _) = bench.computer(plain).await;
    let mut failed = summary("a", TaskStatus::Failed);
    failed.error = Some("x".repeat(120_000));
    let mut sent = 0u64;
    // Each is taken off the actor's mailbox before the next one comes, as far as it can be.
    while bench.counts.slow_readers.get() == 0 && sent < 400 {
        failed.task_id = task(&sent.to_string());
        bench.notice_in_turn(failed.clone()).await;
        sent += 1;
    }
    bench.until_online(false).await;
    // What had left the server for the system's buffers: they, and not some MiB of ours, held it.
    let mut heard = 0u64;
    while let Heard::Message(message) = client.hear().await {
        heard += message.to_string().len() as u64;
    }
    assert!(heard < 4 * 1024 * 1024, "{heard}");
    assert_eq!(bench.counts.slow_readers.get(), 1);
}

/// Stands for the journal: the ends of tasks that a computer was not told of.
struct Untold(Arc<Mutex<Vec<TaskSummary>>>);

impl Actor for Untold {
    type Context = Context<Self>;
}

impl Handler<UndeliveredNotices> for Untold {
    type Result = Result<Vec<TaskSummary>, JournalError>;

    fn handle(&mut self, _: UndeliveredNotices, _: &mut Self::Context) -> Self::Result {
        Ok(self.0.lock().unwrap().clone())
    }
}

impl Handler<NoticeDelivered> for Untold {
    type Result = Result<(), JournalError>;

    fn handle(&mut self, told: NoticeDelivered, _: &mut Self::Context) -> Self::Result {
        let mut untold = self.0.lock().unwrap();
        untold.retain(|summary| summary.task_id != told.task_id);
        Ok(())
    }
}

#[actix::test]
async fn a_flood_of_notices_from_another_thread_takes_little_room_and_no_end_of_a_task_is_lost() {
    let mut failed = summary("a", TaskStatus::Failed);
    failed.error = Some("x".repeat(10_000));
    let mut ends = vec![failed; 60];
    for (n, end) in ends.iter_mut().enumerate() {
        end.task_id = task(&format!("end{n:02}"));
    }
    let untold = Arc::<Mutex<_>>::default();
    let journal = Untold(untold.clone()).start();
    let links = RegistryLinks {
        undelivered: Some(journal.clone().recipient()),
        delivered: Some(journal.clone().recipient()),
        ..RegistryLinks::default()
    };
    let shards = Shards::of_count(1).unwrap();
    let bench = bench_linked(shards.clone(), |_| {}, Vec::new(), links).await;
    let (mut client, _) = bench.computer(hello("b1")).await;
    // Its thread stands still while others tell it of their tasks.
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let (tell, stands) = tokio::sync::oneshot::channel();
    shards.get(0).unwrap().spawn_fn(move || {
        let _ = tell.send(());
        let _ = wait.recv();
    });
    // Else some of what follows would be handled before.
    stands.await.unwrap();
    let mut update = summary("b", TaskStatus::Running);
    update.message = Some("x".repeat(1000));
    for _ in 0..5000 {
        bench.notice(update.clone());
    }
    *untold.lock().unwrap() = ends.clone();
    for end in &ends {
        bench.notice(end.clone());
    }
    assert!(bench.lane().notice.waiting() <= MAX_NOTICES_BETWEEN_THREADS);
    let dropped = bench.counts.updates_dropped.get();
    assert!(dropped > 4500, "{dropped}");
    drop(go_on);
    let mut told = std::collections::BTreeSet::new();
    while told.len() < ends.len() {
        let heard = match client.hear().await {
            Heard::Message(heard) => heard,
            Heard::Closed(code) => panic!("closed with {code:?}, {} ends were told", told.len()),
        };
        if heard["type"] == "task_failed" {
            told.insert(heard["task_id"].to_string());
        }
        // What has no number is not acknowledged: on a slow machine a ping may come meanwhile.
        if heard["n"].is_u64() {
            client.say(json!({"type": "ack", "n": heard["n"]})).await;
        }
    }
    assert_eq!(bench.counts.slow_readers.get(), 0);
}

/// A thousand computers that the journal knows, each with its secret.
fn thousand() -> Vec<KnownComputer> {
    (0..1000)
        .map(|n| KnownComputer {
            record: ComputerRecord {
                client_id: ClientId::parse(&format!("cc-{n}")).unwrap(),
                boot_id: Some("b1".into()),
                secret_hash: Some(
                    blake3::hash(format!("secret-{n}").as_bytes())
                        .to_hex()
                        .to_string(),
                ),
                owner: "local".into(),
                registration: json!({}),
                last_seen_ms: 0,
            },
            lane: Default::default(),
            tools: Default::default(),
        })
        .collect()
}

/// Comes back as a computer does: until it is welcomed.
async fn come_back(address: SocketAddr, n: u32) -> Client {
    loop {
        // A machine under load may not answer in time.
        let mut client = match Client::open(address, "", "").await {
            Ok(client) => client,
            Err(status) => {
                assert_eq!(status, 408);
                continue;
            }
        };
        let mut again = hello("b1");
        again["client_id"] = json!(format!("cc-{n}"));
        again["session_secret"] = json!(format!("secret-{n}"));
        client.say(again).await;
        match client.hear_within(Duration::from_secs(300)).await {
            Heard::Message(heard) if heard["type"] == "welcome" => return client,
            Heard::Message(heard) => assert_ne!(heard["code"], "rate_limited"),
            Heard::Closed(_) => {}
        }
    }
}

#[actix::test]
async fn a_thousand_computers_that_come_back_at_once_are_all_registered() {
    let patient = |settings: &mut ConnectionSettings| {
        // Those that are welcomed early do not read while the others come.
        settings.heartbeat = Duration::from_secs(3600);
        settings.hello_deadline = Duration::from_secs(3600);
    };
    let bench = bench_of(patient, thousand()).await;
    let comings = (0..1000).map(|n| come_back(bench.address, n));
    let clients = futures_util::future::join_all(comings).await;
    let computers = bench.router.computers();
    assert_eq!(computers.len(), 1000);
    for computer in &computers {
        let whole = computer.online && computer.tools.len() == 2;
        assert!(whole, "{}", computer.client_id);
    }
    assert!(bench.counts.connections.get() >= 1000);
    drop(clients);
}
