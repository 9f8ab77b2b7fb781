//! A model's own sleep, on a clock that the test turns: its timer, a restart in its middle, a wake and a cancel.

use super::super::messages::WakeUp;
use super::*;
use crate::domain::wakes::{Wake, WakeCause};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicI64, Ordering};

/// Ten minutes.
const NAP_S: u64 = 600;
const HOUR_MS: i64 = 3_600_000;

/// The wall clock of a test.
macro_rules! wall_clock {
    ($now:ident, $read:ident) => {
        static $now: AtomicI64 = AtomicI64::new(0);
        fn $read() -> i64 {
            $now.load(Ordering::SeqCst)
        }
    };
}

/// A task whose model fell asleep at the moment that the clock then has.
fn asleep(args: Value, wall: &AtomicI64) -> Bench {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    let Some(StoredEvent {
        event: TaskEvent::TaskCreated(mut created),
        ..
    }) = bench.journal.pop()
    else {
        unreachable!("a journal begins so")
    };
    created.may_sleep = true;
    bench.state = TaskState::new(bench.state.task_id.clone());
    bench.push(TaskEvent::TaskCreated(created));
    bench.advance();
    bench.answer(&format!("DIRECTIVE: TOOL\nNAME: sleep\nARGS: {args}"));
    assert!(matches!(bench.advance(), Decision::Call { .. }));
    wall.store(bench.now_ms, Ordering::SeqCst);
    bench
}

fn settings() -> Settings {
    Loader::new().load().unwrap()
}

/// Time passes, by both clocks; whatever is due by then happens.
async fn passes(wall: &AtomicI64, seconds: u64) {
    for _ in 0..seconds {
        wall.fetch_add(1000, Ordering::SeqCst);
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
}

impl Running {
    /// What was told since somebody listened last.
    fn told(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.heard.try_recv().ok()).collect()
    }
}

fn ends(told: &[String]) -> usize {
    told.iter().filter(|what| *what == "call_finished").count()
}

#[actix::test]
async fn a_sleep_ends_at_its_time_once_and_the_model_is_asked_again() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": NAP_S}), &NOW);
    let mut running = Running::at(&bench, settings(), None, now);
    passes(&NOW, NAP_S - 1).await;
    assert_eq!(running.told(), Vec::<String>::new());
    passes(&NOW, 2).await;
    let told = running.until("decided").await;
    assert_eq!(ends(&told), 1, "{told:?}");
    assert!(told.contains(&"consult".to_owned()), "{told:?}");
    passes(&NOW, 2 * NAP_S).await;
    assert_eq!(ends(&running.told()), 0);
}

#[actix::test]
async fn a_restart_in_the_middle_of_a_sleep_leaves_its_end_where_it_was() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": NAP_S}), &NOW);
    let mut first = Running::at(&bench, settings(), None, now);
    passes(&NOW, 400).await;
    assert_eq!(first.told(), Vec::<String>::new());
    // The server is killed, and away for a minute: nobody counts it, but the time comes nearer.
    drop(first);
    NOW.fetch_add(60_000, Ordering::SeqCst);
    let mut second = Running::at(&bench, settings(), None, now);
    passes(&NOW, 139).await;
    assert_eq!(second.told(), Vec::<String>::new());
    passes(&NOW, 2).await;
    assert_eq!(ends(&second.until("decided").await), 1);
}

#[actix::test]
async fn a_sleep_whose_time_passed_while_no_server_ran_ends_at_the_start() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": NAP_S}), &NOW);
    NOW.fetch_add(2 * NAP_S as i64 * 1000, Ordering::SeqCst);
    let begun = tokio::time::Instant::now();
    let mut running = Running::at(&bench, settings(), None, now);
    assert_eq!(ends(&running.until("decided").await), 1);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[actix::test]
async fn a_clock_that_is_moved_forward_ends_a_sleep_at_the_next_look() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": 5 * NAP_S}), &NOW);
    let mut running = Running::at(&bench, settings(), None, now);
    passes(&NOW, 10).await;
    NOW.fetch_add(5 * NAP_S as i64 * 1000, Ordering::SeqCst);
    passes(&NOW, 30).await;
    assert_eq!(ends(&running.until("decided").await), 1);
}

#[actix::test]
async fn a_clock_that_is_moved_back_makes_a_sleep_of_so_many_seconds_no_longer() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": NAP_S}), &NOW);
    let mut running = Running::at(&bench, settings(), None, now);
    passes(&NOW, 300).await;
    NOW.fetch_add(-100 * HOUR_MS, Ordering::SeqCst);
    passes(&NOW, 299).await;
    assert_eq!(running.told(), Vec::<String>::new());
    passes(&NOW, 2).await;
    assert_eq!(ends(&running.until("decided").await), 1);
    // After a restart nobody knows how long it has slept; but no longer than it said.
    drop(running);
    let mut again = Running::at(&bench, settings(), None, now);
    passes(&NOW, NAP_S + 1).await;
    assert_eq!(ends(&again.until("decided").await), 1);
}

#[actix::test]
async fn a_sleep_until_a_time_keeps_to_the_clock() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let moment = Bench::new(profile(ExecutorMode::Auto)).now_ms + NAP_S as i64 * 1000;
    let until = crate::domain::nap::shown(moment);
    let bench = asleep(json!({"until": until}), &NOW);
    let mut running = Running::at(&bench, settings(), None, now);
    NOW.fetch_add(-60_000, Ordering::SeqCst);
    passes(&NOW, NAP_S + 30).await;
    assert_eq!(running.told(), Vec::<String>::new());
    passes(&NOW, 61).await;
    assert_eq!(ends(&running.until("decided").await), 1);
}

#[actix::test]
async fn a_cancel_in_a_sleep_ends_the_task_at_once() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": NAP_S}), &NOW);
    let mut running = Running::at(&bench, settings(), None, now);
    passes(&NOW, 5).await;
    let begun = tokio::time::Instant::now();
    assert!(running.task.send(cancel()).await.unwrap());
    let told = running.until("stopped").await;
    assert_eq!(told[0], "task_cancelled");
    assert_eq!(ends(&told), 0, "{told:?}");
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[actix::test]
async fn a_wake_ends_a_sleep_and_its_timer_ends_nothing_after_it() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let bench = asleep(json!({"seconds": NAP_S}), &NOW);
    let mut running = Running::at(&bench, settings(), None, now);
    passes(&NOW, 5).await;
    let by = "ada".to_owned();
    let wake = Wake {
        at_ms: now(),
        cause: WakeCause::Asked {
            by,
            data: json!("the ore is here"),
        },
    };
    let woken = running.task.send(WakeUp { wakes: vec![wake] }).await;
    woken.unwrap().unwrap();
    assert_eq!(ends(&running.until("decided").await), 1);
    passes(&NOW, 2 * NAP_S).await;
    assert_eq!(ends(&running.told()), 0);
}
