//! Tasks that sleep and are woken. Time is paused: it passes only where a test lets it.

use super::*;
use crate::actors::task::messages::FamilyNews;
use crate::domain::schedule::Schedule;
use crate::domain::wakes::{WakeCause, Wakes};
use crate::strategy::episodes::NotWoken;
use serde_json::{Value, json};
use std::sync::atomic::AtomicI64;

/// A clock of its own for each test.
macro_rules! clock {
    ($now:ident, $read:ident) => {
        static $now: AtomicI64 = AtomicI64::new(1_000);
        fn $read() -> i64 {
            $now.load(Ordering::SeqCst)
        }
    };
}

const HOUR: i64 = 3_600_000;

fn hourly() -> Wakes {
    Wakes {
        schedule: Some(Schedule::of(Some(3600), None, None, 0).unwrap()),
        ..Wakes::default()
    }
}

fn on(event: &str) -> Wakes {
    Wakes {
        events: vec![event.to_owned()],
        ..Wakes::default()
    }
}

impl Bench {
    async fn start_with(&self, wakes: Wakes) -> TaskId {
        let request = StartTask {
            prompt: "Look around".into(),
            kind: Some("inspect".into()),
            owner: "local".into(),
            wakes,
            ..StartTask::default()
        };
        let started = self.supervisor.send(request).await.unwrap();
        started.unwrap().summary.task_id
    }

    async fn wake(&self, task: &TaskId, data: Value) -> Result<(), WakeError> {
        let ask = WakeTask {
            task_id: task.clone(),
            cause: WakeCause::Asked {
                by: "ada".into(),
                data,
            },
        };
        self.supervisor.send(ask).await.unwrap()
    }

    /// Ends the episode that asks now, and waits until the task sleeps and its actor is gone.
    async fn end_episode(&mut self, task: &TaskId) {
        let consult = self.next_consult().await;
        assert_eq!(&consult.task_id, task);
        answer(&consult, consult.generation, DONE);
        self.until_status(task, TaskStatus::Sleeping).await;
        self.passes(Duration::from_millis(1)).await;
    }

    /// Lets time pass: everything that is under way is done, and timers fire.
    async fn passes(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn episodes(&self, task: &TaskId) -> usize {
        let begun = |e: &&StoredEvent| matches!(e.event, TaskEvent::EpisodeStarted { .. });
        self.events(task).await.iter().filter(begun).count()
    }

    fn asks_nothing(&mut self) {
        assert!(self.consults.try_recv().is_err(), "a model was asked");
    }
}

fn said(consult: &ConsultModel) -> String {
    consult
        .prompt
        .iter()
        .map(|m| format!("{}\n", m.content))
        .collect()
}

fn a_minute() -> Duration {
    Duration::from_secs(60)
}

#[actix::test]
async fn a_task_that_sleeps_takes_no_room_and_runs_again_at_its_time() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench_in(Arc::new(tempfile::tempdir().unwrap()), now, 1);
    let task = bench.start_with(hourly()).await;
    bench.end_episode(&task).await;
    // There is room for one that is awake.
    let other = bench.start(false).await;
    let consult = bench.next_consult().await;
    assert_eq!(consult.task_id, other);
    NOW.store(HOUR + 999, Ordering::SeqCst);
    bench.passes(a_minute()).await;
    bench.asks_nothing();
    NOW.store(HOUR + 1_000, Ordering::SeqCst);
    // It is due, and waits for room.
    bench.passes(a_minute()).await;
    bench.asks_nothing();
    let refused = bench.wake(&task, Value::Null).await;
    assert_eq!(refused, Err(WakeError::NoRoom { live: 1, max: 1 }));
    answer(&consult, Generation(1), DONE);
    let second = bench.next_consult().await;
    assert_eq!((&second.task_id, second.generation), (&task, Generation(2)));
    assert!(said(&second).contains("# Episode 2"), "{}", said(&second));
    assert!(
        said(&second).contains("by its schedule"),
        "{}",
        said(&second)
    );
    answer(&second, Generation(2), DONE);
    bench.until_status(&task, TaskStatus::Sleeping).await;
}

#[actix::test]
async fn times_that_were_missed_are_one_run_after_the_start() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut first = bench(now);
    let (due, later) = (first.start_with(hourly()).await, {
        let mut wakes = hourly();
        wakes.schedule = Some(Schedule::of(Some(1_000_000), None, None, 0).unwrap());
        first.start_with(wakes).await
    });
    for _ in 0..2 {
        let consult = first.next_consult().await;
        answer(&consult, Generation(1), DONE);
    }
    for task in [&due, &later] {
        first.until_status(task, TaskStatus::Sleeping).await;
    }
    let folder = first.folder.clone();
    first.supervisor.send(Shutdown).await.unwrap();
    first.journal.send(Flush).await.unwrap().unwrap();
    NOW.store(100 * HOUR, Ordering::SeqCst);
    let mut second = bench_in(folder, now, 10_000);
    let restored = second.supervisor.send(Restore).await.unwrap();
    assert_eq!(restored, Ok(0), "those that sleep are not read");
    second.end_episode(&due).await;
    second.passes(a_minute()).await;
    second.asks_nothing();
    assert_eq!(second.episodes(&due).await, 1);
    assert_eq!(second.episodes(&later).await, 0);
    // A call after a start of the server has ids of its own, also where an older journal was put back.
    let salted =
        |e: &StoredEvent| matches!(&e.event, TaskEvent::GenerationStarted { salt: Some(_), .. });
    assert!(second.events(&due).await.iter().any(salted));
    assert_eq!(restarts(&second.events(&later).await), 0);
}

#[actix::test]
async fn an_episode_that_was_interrupted_goes_on_and_is_not_begun_again() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut first = bench(now);
    let task = first.start_with(hourly()).await;
    first.end_episode(&task).await;
    NOW.store(2 * HOUR, Ordering::SeqCst);
    first.passes(a_minute()).await;
    let asked = first.next_consult().await;
    let folder = first.folder.clone();
    first.supervisor.send(Shutdown).await.unwrap();
    NOW.store(9 * HOUR, Ordering::SeqCst);
    let mut second = bench_in(folder, now, 10_000);
    assert_eq!(second.supervisor.send(Restore).await.unwrap(), Ok(1));
    let again = second.next_consult().await;
    assert_eq!(
        (again.consult, &again.prompt),
        (asked.consult, &asked.prompt)
    );
    answer(&again, again.generation, DONE);
    second.until_status(&task, TaskStatus::Sleeping).await;
    second.passes(a_minute()).await;
    second.asks_nothing();
    assert_eq!(second.episodes(&task).await, 1);
}

#[actix::test]
async fn who_wakes_a_task_is_told_when_it_is_durable_and_the_task_is_told_why() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench(now);
    let task = bench.start_with(hourly()).await;
    bench.end_episode(&task).await;
    assert_eq!(bench.wake(&task, json!({"row": 7})).await, Ok(()));
    assert_eq!(bench.episodes(&task).await, 1);
    let consult = bench.next_consult().await;
    assert!(said(&consult).contains("by ada"), "{}", said(&consult));
    assert!(said(&consult).contains("\"row\": 7"), "{}", said(&consult));
    // Awake: these come after this episode, as one.
    assert_eq!(bench.wake(&task, json!("more")).await, Ok(()));
    assert_eq!(bench.wake(&task, json!("still more")).await, Ok(()));
    answer(&consult, consult.generation, DONE);
    let next = bench.next_consult().await;
    assert!(said(&next).contains("still more") && said(&next).contains("# Episode 3"));
    assert_eq!(next.generation, consult.generation);
    answer(&next, next.generation, DONE);
    bench.until_status(&task, TaskStatus::Sleeping).await;
    bench.passes(a_minute()).await;
    bench.asks_nothing();
}

#[actix::test]
async fn wakes_at_the_same_moment_are_all_durable_and_make_two_episodes_at_most() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench(now);
    let task = bench.start_with(hourly()).await;
    bench.end_episode(&task).await;
    let wakes = (0..4).map(|number| bench.wake(&task, json!(format!("wake {number}"))));
    for answer in join_all(wakes).await {
        assert_eq!(answer, Ok(()));
    }
    let mut told = String::new();
    loop {
        let consult = bench.next_consult().await;
        told.push_str(&said(&consult));
        answer(&consult, consult.generation, DONE);
        if (0..4).all(|number| told.contains(&format!("wake {number}"))) {
            break;
        }
    }
    bench.until_status(&task, TaskStatus::Sleeping).await;
    assert!(bench.episodes(&task).await <= 2);
}

#[actix::test]
async fn what_cannot_be_woken_says_why() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench(now);
    let plain = bench.start(false).await;
    let refused = |why: NotWoken| Err(WakeError::NotWoken(why));
    assert_eq!(
        bench.wake(&plain, Value::Null).await,
        refused(NotWoken::NeverSleeps)
    );
    let consult = bench.next_consult().await;
    answer(&consult, Generation(1), DONE);
    bench.until_status(&plain, TaskStatus::Completed).await;
    bench.passes(Duration::from_millis(1)).await;
    assert_eq!(
        bench.wake(&plain, Value::Null).await,
        refused(NotWoken::Ended)
    );
    let never = TaskId::from_unique("NEVER").unwrap();
    let unknown = bench.wake(&never, Value::Null).await;
    assert_eq!(unknown, Err(WakeError::NoSuchTask(NoSuchTask(never))));
    assert_eq!(NOW.load(Ordering::SeqCst), 1_000);
}

#[actix::test]
async fn an_event_of_the_world_wakes_those_who_wait_for_it_and_nobody_else() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench(now);
    let (chests, redstone) = (
        bench.start_with(on("chest_*")).await,
        bench.start_with(on("redstone")).await,
    );
    bench.passes(a_minute()).await;
    bench.asks_nothing();
    let happens = |name: &str| WorldEvent {
        client_id: crate::domain::ids::ClientId::parse("store-1").unwrap(),
        name: name.into(),
        data: json!({"slot": 27}),
    };
    bench.supervisor.send(happens("rain")).await.unwrap();
    bench.supervisor.send(happens("chest_full")).await.unwrap();
    let consult = bench.next_consult().await;
    assert_eq!(consult.task_id, chests);
    let prompt = said(&consult);
    assert!(
        prompt.contains("the event \"chest_full\" on store-1"),
        "{prompt}"
    );
    assert!(prompt.contains("\"slot\": 27"), "{prompt}");
    // While it works on that, another is kept.
    bench.supervisor.send(happens("chest_empty")).await.unwrap();
    bench
        .until(&chests, "it is kept", |events| {
            events
                .iter()
                .any(|e| matches!(e.event, TaskEvent::WakeKept { .. }))
        })
        .await;
    answer(&consult, consult.generation, DONE);
    let next = bench.next_consult().await;
    assert!(said(&next).contains("chest_empty"));
    bench.asks_nothing();
    assert_eq!(bench.episodes(&redstone).await, 0);
    assert_eq!(NOW.load(Ordering::SeqCst), 1_000);
}

#[actix::test]
async fn a_task_that_is_cancelled_in_its_sleep_never_wakes() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench(now);
    let task = bench.start_with(hourly()).await;
    bench.end_episode(&task).await;
    let cancel = CancelTask {
        task_id: task.clone(),
        reason: "enough".into(),
        by: "me".into(),
    };
    assert_eq!(
        bench.supervisor.send(cancel.clone()).await.unwrap(),
        Ok(true)
    );
    assert_eq!(bench.supervisor.send(cancel).await.unwrap(), Ok(false));
    bench.until_status(&task, TaskStatus::Cancelled).await;
    NOW.store(5 * HOUR, Ordering::SeqCst);
    bench.passes(a_minute()).await;
    bench.asks_nothing();
    let refused = bench.wake(&task, Value::Null).await;
    assert_eq!(refused, Err(WakeError::NotWoken(NotWoken::Ended)));
}

#[actix::test]
async fn a_cancel_and_a_wake_at_the_same_moment_end_the_task() {
    clock!(NOW, now);
    tokio::time::pause();
    let mut bench = bench(now);
    for round in 0..8 {
        let task = bench.start_with(hourly()).await;
        bench.end_episode(&task).await;
        let cancel = CancelTask {
            task_id: task.clone(),
            reason: "enough".into(),
            by: "me".into(),
        };
        // Neither waits for the other.
        let cancelled = bench.supervisor.send(cancel);
        let woken = bench.wake(&task, Value::Null);
        let (cancelled, _) = match round % 2 {
            0 => futures_util::future::join(cancelled, woken).await,
            _ => {
                let (woken, cancelled) = futures_util::future::join(woken, cancelled).await;
                (cancelled, woken)
            }
        };
        assert_eq!(cancelled.unwrap(), Ok(true));
        bench.until_status(&task, TaskStatus::Cancelled).await;
        while bench.consults.try_recv().is_ok() {}
    }
    assert_eq!(NOW.load(Ordering::SeqCst), 1_000);
}

#[actix::test]
async fn a_clock_that_is_moved_back_makes_nobody_oversleep() {
    clock!(NOW, now);
    tokio::time::pause();
    NOW.store(1_000 * HOUR, Ordering::SeqCst);
    let mut bench = bench(now);
    let task = bench.start_with(hourly()).await;
    bench.end_episode(&task).await;
    NOW.store(3 * HOUR, Ordering::SeqCst);
    bench.passes(a_minute()).await;
    bench.asks_nothing();
    NOW.store(4 * HOUR, Ordering::SeqCst);
    bench.passes(a_minute()).await;
    bench.end_episode(&task).await;
}

#[actix::test]
async fn more_that_live_on_are_refused_while_too_many_sleep() {
    tokio::time::pause();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let bench = bench_of(folder, steady, |tasks| tasks.max_sleeping = 1);
    let request = |wakes| StartTask {
        prompt: "Look around".into(),
        wakes,
        ..StartTask::default()
    };
    let first = bench.supervisor.send(request(on("x"))).await.unwrap();
    // It waits for its first event from its birth on.
    assert_eq!(first.unwrap().summary.status, TaskStatus::Sleeping);
    let second = bench.supervisor.send(request(on("x"))).await.unwrap();
    let refused = StartError::TooManySleep {
        sleeping: 1,
        max: 1,
    };
    assert_eq!(second.unwrap_err(), refused);
    // One that ends where it ends is none of them.
    let plain = bench
        .supervisor
        .send(request(Wakes::default()))
        .await
        .unwrap();
    assert!(plain.is_ok());
}

#[actix::test]
async fn a_child_ends_with_the_episode_that_waited_for_it() {
    tokio::time::pause();
    let mut bench = bench(steady);
    let request = StartTask {
        prompt: "Look around".into(),
        kind: Some("general_agent".into()),
        owner: "local".into(),
        wakes: hourly(),
        ..StartTask::default()
    };
    let parent = bench.supervisor.send(request).await.unwrap().unwrap();
    let parent = parent.summary.task_id;
    let asked = bench.next_consult().await;
    let start = "DIRECTIVE: TOOL\nNAME: start_task\nARGS: {\"prompt\": \"Count the files\"}";
    answer(&asked, asked.generation, start);
    let child = bench.next_consult().await.task_id;
    assert_ne!(child, parent);
    // As the task tells it, whatever its episode died of.
    let over = FamilyNews::EpisodeOver(parent);
    bench.supervisor.send(over).await.unwrap();
    bench.until_status(&child, TaskStatus::Cancelled).await;
}
