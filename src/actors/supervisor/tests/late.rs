//! Results that come after their task ended, and ids after a lost time.

use super::*;

/// An ended task whose one call is unknown, as its actor left it.
async fn ended_with_unknown_call(bench: &Bench) -> CallId {
    let mut author = fixtures::Author::new("E");
    let call_id = author_call(&mut author, bench).await;
    let ended = vec![
        fixtures::finished(&call_id, Outcome::Unknown),
        TaskEvent::TaskCancelled {
            reason: "enough".into(),
            by: "me".into(),
        },
    ];
    write(bench, author.append(ended)).await;
    call_id
}

async fn author_call(author: &mut fixtures::Author, bench: &Bench) -> CallId {
    let call_id = CallId::derive(&author.task_id(), Generation(1), 2, 0);
    let decided = fixtures::decided(&[(call_id.clone(), "turtle-1")]);
    let intended = fixtures::intended(&call_id, &fixtures::client("turtle-1"), Some(1));
    let begun = vec![fixtures::created("dig"), decided, intended];
    write(bench, author.append(begun)).await;
    call_id
}

async fn write(bench: &Bench, append: crate::store::Append) {
    let message = AppendEvents::from(append);
    bench.journal.send(message).await.unwrap().unwrap();
}

async fn tell_late(bench: &Bench, call_id: &CallId, computer: &str) -> bool {
    let (answers, mut settled) = hands::<LateSettled>();
    let report = match fixtures::finished(call_id, Outcome::Done) {
        TaskEvent::CallFinished { report, .. } => report,
        _ => unreachable!(),
    };
    bench
        .supervisor
        .send(LateResult {
            client_id: fixtures::client(computer),
            call_id: call_id.clone(),
            report,
            reply_to: answers.recipient(),
        })
        .await
        .unwrap();
    timeout(WITHIN, settled.recv())
        .await
        .unwrap()
        .unwrap()
        .stored
}

#[actix::test]
async fn a_late_result_resolves_an_unknown_call_of_an_ended_task_once() {
    let bench = bench(steady);
    let call_id = ended_with_unknown_call(&bench).await;
    let task = call_id.task().unwrap();
    assert!(!tell_late(&bench, &call_id, "somebody-else").await);
    assert!(tell_late(&bench, &call_id, "turtle-1").await);
    assert!(
        tell_late(&bench, &call_id, "turtle-1").await,
        "a repetition is known"
    );
    let finished = |e: &&StoredEvent| matches!(e.event, TaskEvent::CallFinished { .. });
    let events = bench.events(&task).await;
    assert_eq!(events.iter().filter(finished).count(), 2, "{events:#?}");
    let summary = bench.reader.task(task).await.unwrap();
    assert!(summary.sealed && summary.open_calls == 0, "{summary:?}");
}

#[actix::test]
async fn a_result_of_a_task_that_the_journal_does_not_know_may_be_forgotten() {
    let bench = bench(steady);
    let never = CallId::derive(&TaskId::from_unique("NEVER").unwrap(), Generation(1), 1, 0);
    assert!(tell_late(&bench, &never, "turtle-1").await);
}

#[test]
fn a_start_of_the_server_gives_ids_that_no_call_of_a_lost_time_can_have() {
    let mut author = fixtures::Author::new("S");
    let (sent, waiting) = (fixtures::call("S"), fixtures::call("W"));
    let computer = "turtle-1";
    author.append(vec![
        fixtures::created("dig"),
        fixtures::decided(&[(sent.clone(), computer), (waiting.clone(), computer)]),
        fixtures::intended(&sent, &fixtures::client(computer), Some(1)),
    ]);
    let restart = |salt: &str| TaskEvent::GenerationStarted {
        up_ms: None,
        generation: Generation(2),
        reason: "the server was started".into(),
        salt: Some(salt.into()),
    };
    author.append(vec![restart("aaaa")]);
    let ids = |author: &fixtures::Author| -> Vec<CallId> {
        author
            .state()
            .calls()
            .map(|call| call.call_id.clone())
            .collect()
    };
    // What may have left keeps its id: its computer knows it by that.
    assert_eq!(ids(&author), [sent.clone(), waiting.salted("aaaa")]);
    let first = author.state().call_id(9, 0);
    author.append(vec![restart("bbbb")]);
    assert_eq!(ids(&author), [sent, waiting.salted("bbbb")]);
    assert_ne!(author.state().call_id(9, 0), first);
    assert_eq!(CallId::parse(first.as_str()), Ok(first.clone()));
    assert_eq!(first.task(), Some(author.task_id()));
}
