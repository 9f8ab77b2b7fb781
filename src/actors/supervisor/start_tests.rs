//! How long a start takes that finds many tasks. By hand: `cargo test --release --lib start_up -- --ignored --nocapture`.

use super::*;
use crate::domain::episodes::Sleep;
use crate::domain::wakes::Wakes;
use crate::store::fixtures::{Author, completed, created, created_with, noted};
use std::time::Instant;

const LIVE: usize = 1_000;
const FINISHED: usize = 50_000;
const ASLEEP: usize = 5_000;
/// Events of an ended task, beside its creation and its end.
const EVENTS: usize = 10;

/// Ended tasks, and others that sleep after as many events.
fn fill(folder: &std::path::Path) {
    let mut store = sqlite::open(folder).unwrap();
    let events = || {
        (0..EVENTS).map(|at| {
            noted(&format!(
                "step {at} of a task, in as many words as one says"
            ))
        })
    };
    let numbers: Vec<usize> = (0..FINISHED + ASLEEP).collect();
    for batch in numbers.chunks(500) {
        let writes: Vec<_> = batch
            .iter()
            .map(|number| {
                let mut author = Author::new(&format!("OLD{number}"));
                let (first, last) = match *number < FINISHED {
                    true => (created("Dig a hole"), completed("dug")),
                    false => {
                        let sleep = Sleep {
                            episodes: 1,
                            wake_at_ms: Some(i64::MAX),
                        };
                        let wakes = Wakes {
                            on_demand: true,
                            ..Wakes::default()
                        };
                        (created_with("Dig", wakes), TaskEvent::FellAsleep(sleep))
                    }
                };
                author.write([first].into_iter().chain(events()).chain([last]).collect())
            })
            .collect();
        for written in store.writer.write(&writes).unwrap() {
            written.unwrap();
        }
    }
}

#[actix::test]
#[ignore = "measures; it takes a minute to fill the journal"]
async fn a_start_up_with_many_live_and_very_many_finished_tasks_takes_less_than_two_seconds() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    fill(folder.path());
    let mut first = bench_in(folder.clone(), steady, LIVE);
    for _ in 0..LIVE {
        first.start(false).await;
        // A step is behind each, so that there is something to fold.
        let consult = first.next_consult().await;
        answer(&consult, Generation(1), "I would rather chat.");
        first.next_consult().await;
    }
    first.supervisor.send(Shutdown).await.unwrap();
    first.journal.send(Flush).await.unwrap().unwrap();
    drop(first);
    let begin = Instant::now();
    let second = bench_in(folder, steady, LIVE);
    let opened = begin.elapsed();
    let restored = second.supervisor.send(Restore).await.unwrap();
    let took = begin.elapsed();
    println!(
        "start-up with {LIVE} live, {ASLEEP} sleeping and {FINISHED} finished tasks: {took:?} (the journal was open after {opened:?})"
    );
    second.supervisor.send(Shutdown).await.unwrap();
    assert_eq!(restored, Ok(LIVE));
    let most = if cfg!(debug_assertions) { 20 } else { 2 };
    assert!(took < Duration::from_secs(most), "{took:?}");
}
