//! The feed over a real journal: nothing lost, nothing twice.

use super::super::Stage;
use super::super::tests::{Bench, bench, bench_in};
use super::Filter;
use super::follower::{CAPACITY, Follower, Start, Told};
use crate::actors::journal::Journal;
use crate::actors::journal::messages::{AppendEvents, CloseJournal};
use crate::domain::access::{Principal, Role};
use crate::domain::chat::Role as ModelRole;
use crate::domain::credential::{Bearer, NewToken};
use crate::domain::event::TaskEvent;
use crate::llm::Delta;
use crate::store::Place;
use crate::store::fixtures::{Author, completed, created, noted, task};
use actix::Addr;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// More than anything here takes.
const WITHIN: Duration = Duration::from_secs(30);

async fn append(journal: &Addr<Journal>, author: &mut Author, events: Vec<TaskEvent>) {
    let message = AppendEvents::from(author.append(events));
    journal.send(message).await.unwrap().unwrap();
}

/// Three tasks that write in turns, one to three events at once. Gives what was written, in order.
async fn written(bench: &Bench, rounds: usize) -> Vec<(String, u64)> {
    let mut authors = ["A", "B", "C"].map(Author::new);
    let mut order = Vec::new();
    for round in 0..rounds {
        let author = &mut authors[(round * 7 / 2) % 3];
        let first = author.state().last_seq;
        let mut events = match first {
            0 => vec![created("dig")],
            _ => vec![noted("more")],
        };
        events.extend((0..round % 3).map(|_| noted("and more")));
        let ids = (1..=events.len() as u64).map(|n| (author.task_id().to_string(), first + n));
        order.extend(ids);
        append(&bench.journal, author, events).await;
    }
    order
}

fn everything() -> Filter {
    Filter {
        caller: Principal::local(),
        task_id: None,
        kind: None,
    }
}

async fn follow(bench: &Bench, filter: Filter, start: Start) -> Follower {
    Follower::new(&bench.api, filter, start).await.unwrap()
}

async fn next(follower: &mut Follower) -> Told {
    timeout(WITHIN, follower.next()).await.expect("news")
}

/// The next events, with the place behind each.
async fn events(follower: &mut Follower, count: usize) -> Vec<(Place, (String, u64))> {
    let mut events = Vec::new();
    while events.len() < count {
        match next(follower).await {
            Told::Event(e) => events.push((e.place, (e.event.task_id.to_string(), e.event.seq))),
            Told::Passed(_) => {}
            other => panic!("{other:?}"),
        }
    }
    events
}

fn ids(events: &[(Place, (String, u64))]) -> Vec<(String, u64)> {
    events.iter().map(|(_, id)| id.clone()).collect()
}

/// The place before everything.
const BEGIN: Place = Place { pos: 0, mark: 0 };

#[actix::test]
async fn from_any_cursor_exactly_the_missing_events_follow_also_over_a_restart() {
    let bench = bench().await;
    // Half is read live, half out of the journal; cuts fall inside of appends too.
    let mut live = follow(&bench, everything(), Start::Now).await;
    let written = written(&bench, 45).await;
    let told = events(&mut live, written.len()).await;
    assert_eq!(ids(&told), written);
    let again = |bench: Bench| async {
        let mut cuts = vec![BEGIN];
        cuts.extend(told.iter().map(|(place, _)| *place));
        for (seen, cut) in cuts.iter().enumerate() {
            // What a client shows is the text of it.
            let cut = cut.to_string().parse().unwrap();
            let mut follower = follow(&bench, everything(), Start::Behind(cut)).await;
            let missing = events(&mut follower, written.len() - seen).await;
            assert_eq!(missing, told[seen..], "behind {seen}");
            let silent = timeout(Duration::ZERO, follower.next()).await;
            assert!(silent.is_err(), "behind {seen}: {silent:?}");
        }
        bench
    };
    let bench = again(bench).await;
    bench.journal.send(CloseJournal).await.unwrap();
    let bench = bench_in(bench.folder).await;
    let bench = again(bench).await;
    // And what comes after the restart follows what came before it.
    let mut follower = follow(&bench, everything(), Start::Behind(told[2].0)).await;
    let mut author = Author::new("D");
    append(&bench.journal, &mut author, vec![created("after")]).await;
    let missing = events(&mut follower, written.len() - 2).await;
    assert_eq!(missing[..written.len() - 3], told[3..]);
    assert_eq!(missing.last().unwrap().1.0, "tsk_D");
}

#[actix::test]
async fn a_slow_follower_is_dropped_by_the_feed_and_misses_nothing() {
    let bench = bench().await;
    let mut slow = follow(&bench, everything(), Start::Now).await;
    let mut author = Author::new("A");
    append(&bench.journal, &mut author, vec![created("dig")]).await;
    assert_eq!(events(&mut slow, 1).await.len(), 1);
    // More than may wait for it.
    let many = CAPACITY * 2 + 7;
    for _ in 0..many {
        append(&bench.journal, &mut author, vec![noted("noise")]).await;
    }
    let seqs: Vec<u64> = events(&mut slow, many)
        .await
        .iter()
        .map(|e| e.1.1)
        .collect();
    assert_eq!(seqs, (2..=many as u64 + 1).collect::<Vec<_>>());
    append(&bench.journal, &mut author, vec![completed("dug")]).await;
    assert_eq!(events(&mut slow, 1).await[0].1.1, many as u64 + 2);
}

#[actix::test]
async fn a_cursor_that_is_unknown_or_of_another_journal_is_reset_and_then_goes_on_live() {
    let (bench, other) = (bench().await, bench().await);
    written(&bench, 5).await;
    let mut elsewhere = Author::new("X");
    let mut follower = follow(&other, everything(), Start::Now).await;
    append(
        &other.journal,
        &mut elsewhere,
        vec![created("dig"), noted("1")],
    )
    .await;
    let foreign = events(&mut follower, 2).await[1].0;
    let future = Place { pos: 999, mark: 7 };
    for start in [
        Start::Behind(foreign),
        Start::Behind(future),
        Start::Unknown,
    ] {
        let mut follower = follow(&bench, everything(), start).await;
        let Told::Reset(at) = next(&mut follower).await else {
            panic!("{start:?}");
        };
        let mut author = Author::new(&format!("N{}", at.pos));
        append(&bench.journal, &mut author, vec![created("new")]).await;
        let new = events(&mut follower, 1).await;
        assert_eq!(new[0].1, (author.task_id().to_string(), 1));
        // What the reset names is a cursor like any other.
        let mut again = follow(&bench, everything(), Start::Behind(at)).await;
        assert_eq!(events(&mut again, 1).await, new);
    }
}

#[actix::test]
async fn a_follower_is_told_of_nothing_but_what_it_sees_and_asked_for() {
    let bench = bench().await;
    let written = written(&bench, 12).await;
    let stranger = Filter {
        caller: Principal {
            owner: "ada".into(),
            role: Role::Operator,
            ..Principal::local()
        },
        ..everything()
    };
    let mut ada = follow(&bench, stranger, Start::Behind(BEGIN)).await;
    let Told::Passed(end) = next(&mut ada).await else {
        panic!("nothing is hers");
    };
    assert_eq!(end.pos, written.len() as u64);
    let one = Filter {
        task_id: Some(task("B")),
        ..everything()
    };
    let mut follower = follow(&bench, one, Start::Behind(BEGIN)).await;
    let of_b: Vec<_> = written
        .iter()
        .filter(|(id, _)| id == "tsk_B")
        .cloned()
        .collect();
    assert!(of_b.len() > 2);
    assert_eq!(ids(&events(&mut follower, of_b.len()).await), of_b);
    let kind = Filter {
        kind: Some("other".into()),
        ..everything()
    };
    let mut follower = follow(&bench, kind, Start::Behind(BEGIN)).await;
    assert_eq!(next(&mut follower).await, Told::Passed(end));
}

/// The feed as a client reads it.
struct Client {
    body: futures_util::stream::BoxStream<'static, reqwest::Result<actix_web::web::Bytes>>,
    text: String,
}

/// One event: its name, cursor and data.
#[derive(Debug)]
struct Frame {
    name: String,
    id: Option<String>,
    data: Value,
}

impl Client {
    async fn open(bench: &Bench, query: &str, last: Option<&str>) -> Self {
        let url = format!("{}/api/v1/events{query}", bench.url);
        let mut request = bench.client.get(url);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        Client::of(request).await
    }

    async fn of(request: reqwest::RequestBuilder) -> Self {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Client {
            body: answer.bytes_stream().boxed(),
            text: String::new(),
        }
    }

    /// The next frame, comments too; none at the end.
    async fn frame(&mut self) -> Option<Frame> {
        while !self.text.contains("\n\n") {
            let piece = timeout(WITHIN, self.body.next()).await.expect("a frame")?;
            self.text += std::str::from_utf8(&piece.unwrap()).unwrap();
        }
        let (frame, rest) = self.text.split_once("\n\n").unwrap();
        let field = |name: &str| {
            let mut lines = frame.lines();
            lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
        };
        let read = Frame {
            name: field("event: ").unwrap_or_default(),
            id: field("id: "),
            data: field("data: ").map_or(Value::Null, |data| serde_json::from_str(&data).unwrap()),
        };
        self.text = rest.to_owned();
        Some(read)
    }

    async fn named(&mut self, name: &str) -> Frame {
        loop {
            let frame = self.frame().await.expect("the feed goes on");
            if frame.name == name {
                return frame;
            }
        }
    }
}

#[actix::test]
async fn over_http_events_come_with_their_task_and_a_cursor_to_go_on_from() {
    let bench = bench().await;
    let mut client = Client::open(&bench, "", None).await;
    let first = client.frame().await.unwrap();
    assert_eq!((first.name.as_str(), first.data), ("", Value::Null));
    let begin = first.id.expect("a cursor before anything happens");
    let computers = client.named("computers").await;
    assert_eq!(computers.data["changed"][0]["client_id"], "turtle-1");
    assert_eq!((computers.id, &computers.data["gone"]), (None, &json!([])));
    let open = client.named("questions").await;
    assert_eq!(open.data, json!({"questions": 1, "approvals": 0}));

    bench.post("/api/v1/tasks", json!({"prompt": "dig"})).await;
    let made = client.named("event").await;
    assert_eq!(made.data["type"], "task_created");
    assert_eq!(made.data["task"]["prompt"], "dig");
    assert_eq!(made.data["event_id"], "tsk_T1.1");
    bench.post("/api/v1/tasks/tsk_T1/cancel", json!({})).await;
    let ended = client.named("event").await;
    assert_eq!(ended.data["task"]["status"], "cancelled");

    // Where the address says another cursor than what was seen last, the latter counts.
    let query = format!("?after={begin}");
    let mut again = Client::open(&bench, &query, made.id.as_deref()).await;
    assert_eq!(again.named("event").await.data["type"], "task_cancelled");
    let mut again = Client::open(&bench, &query, None).await;
    assert_eq!(again.named("event").await.data["type"], "task_created");
    let mut lost = Client::open(&bench, "", Some("nonsense")).await;
    let reset = lost.named("reset").await;
    assert_eq!(reset.data, json!({"snapshot": "/api/v1/tasks"}));
    assert_eq!(reset.id, ended.id);
}

#[actix::test]
async fn answers_are_told_while_they_are_made_to_whoever_asked_for_them() {
    let bench = bench().await;
    bench.post("/api/v1/tasks", json!({"prompt": "dig"})).await;
    let mut without = Client::open(&bench, "", None).await;
    let mut with = Client::open(&bench, "?tokens=true", None).await;
    let mut of_task = Client::open(&bench, "?task_id=tsk_T1", None).await;
    for client in [&mut without, &mut with, &mut of_task] {
        client.named("questions").await;
    }
    let sink = |name: &str| bench.api.deltas.sink(task(name), 3, ModelRole::Planner);
    // Of a task that nobody knows nobody is told.
    sink("T9").emit(Delta::Content("secret".into()));
    sink("T1").emit(Delta::Thinking("hm".into()));
    sink("T1").emit(Delta::Content("di".into()));
    sink("T1").emit(Delta::Content("g".into()));
    for client in [&mut with, &mut of_task] {
        let thinking = client.named("tokens").await.data;
        assert_eq!(
            (&thinking["text"], &thinking["thinking"]),
            (&json!("hm"), &json!(true))
        );
        let mut text = String::new();
        while text != "dig" {
            let piece = client.named("tokens").await;
            assert_eq!((&piece.data["consult"], piece.id), (&json!(3), None));
            text += piece.data["text"].as_str().unwrap();
        }
    }
    bench.stage.set(Stage::Stopping);
    while let Some(frame) = without.frame().await {
        assert_ne!(frame.name, "tokens");
    }
}

#[actix::test]
async fn the_feed_ends_when_the_server_stops_and_one_follower_too_many_is_told() {
    let bench = bench().await;
    let mut client = Client::open(&bench, "", None).await;
    client.named("questions").await;
    bench.stage.set(Stage::Stopping);
    while client.frame().await.is_some() {}
    let seats: Vec<_> = std::iter::from_fn(|| bench.api.followers.take("local")).collect();
    assert!(!seats.is_empty());
    let url = format!("{}/api/v1/events", bench.url);
    let full = bench.client.get(url).send().await.unwrap();
    assert_eq!(full.status(), 503);
    let problem: Value = full.json().await.unwrap();
    assert_eq!(problem["code"], "too_many_followers");
    drop(seats);
    let (status, problem) = bench.get("/api/v1/events?task_id=tsk_NONE").await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_task")));
}

#[actix::test]
async fn the_feed_of_a_token_that_is_revoked_ends_and_nobody_else_s() {
    let bench = bench().await;
    let make = async |name: &str| {
        let new = NewToken {
            name: name.to_owned(),
            owner: None,
            bearer: Bearer::Person { role: Role::Admin },
            tools: None,
            expires_at_ms: None,
        };
        bench.api.door.tokens.make(new).await.unwrap()
    };
    let (revoked, secret) = make("page").await;
    let (_, other) = make("other").await;
    let url = format!("{}/api/v1/events", bench.url);
    let open = |text: &str| Client::of(bench.client.get(&url).bearer_auth(text));
    let mut page = open(secret.reveal()).await;
    let mut others = open(other.reveal()).await;
    page.named("questions").await;
    others.named("questions").await;
    let tokens = &bench.api.door.tokens;
    tokens.revoke(&revoked.token_id).await.unwrap();
    while page.frame().await.is_some() {}
    let mut author = Author::new("A");
    append(&bench.journal, &mut author, vec![created("dig")]).await;
    others.named("event").await;
}
