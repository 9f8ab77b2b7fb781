//! What counts only while the server is up. Time is paused: it passes only where a test lets it.

use super::*;
use crate::actors::journal::messages::CloseJournal;
use crate::actors::supervisor::messages::BudgetOverrides;
use crate::domain::ids::ClientId;
use std::sync::atomic::AtomicI64;

const HOUR_MS: i64 = 3_600_000;

/// The wall clock of a test, which a stopped server does not see.
macro_rules! wall_clock {
    ($now:ident, $read:ident) => {
        static $now: AtomicI64 = AtomicI64::new(50 * HOUR_MS);
        fn $read() -> i64 {
            $now.load(Ordering::SeqCst)
        }
    };
}

impl Bench {
    /// Time passes while the server runs: by both clocks.
    async fn runs(&self, wall: &AtomicI64, seconds: u64) {
        wall.fetch_add(seconds as i64 * 1000, Ordering::SeqCst);
        tokio::time::advance(Duration::from_secs(seconds)).await;
        // Whatever is due by now happens.
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.journal.send(Flush).await.unwrap().unwrap();
    }

    /// Its actors live on until the test ends; without the journal's file they are no second writer beside the next server.
    async fn stops(self) -> Arc<tempfile::TempDir> {
        self.supervisor.send(Shutdown).await.unwrap();
        self.journal.send(CloseJournal).await.unwrap();
        self.folder
    }

    async fn status(&self, task: &TaskId) -> TaskStatus {
        let mut state = TaskState::new(task.clone());
        state.apply_all(&self.events(task).await);
        state.status
    }
}

/// A server on the folder of one that was stopped; it has taken the task up.
async fn again(folder: Arc<tempfile::TempDir>, clock: fn() -> i64, task: &TaskId) -> Bench {
    let bench = bench_in(folder, clock, 10_000);
    let starts = |events: &[StoredEvent]| {
        let is_start = |e: &&StoredEvent| matches!(e.event, TaskEvent::GenerationStarted { .. });
        events.iter().filter(is_start).count()
    };
    let before = starts(&bench.events(task).await);
    assert_eq!(bench.supervisor.send(Restore).await.unwrap(), Ok(1));
    let taken_up = |events: &[StoredEvent]| starts(events) > before;
    bench.until(task, "it is taken up", taken_up).await;
    bench
}

/// The first decision is made: before it the budget does not count, and nothing waits.
async fn decides(bench: &Bench, task: &TaskId) {
    let decided = |e: &StoredEvent| matches!(e.event, TaskEvent::Decided { .. });
    let any = |events: &[StoredEvent]| events.iter().any(decided);
    // It waits a moment for an answer.
    tokio::time::sleep(Duration::from_millis(5)).await;
    bench.until(task, "its first decision", any).await;
}

#[actix::test]
async fn the_wall_time_budget_counts_while_the_server_is_up_and_no_longer() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let first = bench(now);
    let request = StartTask {
        prompt: "Look around".into(),
        kind: Some("inspect".into()),
        owner: "local".into(),
        budgets: BudgetOverrides {
            wall_time_s: Some(100),
            ..BudgetOverrides::default()
        },
        ..StartTask::default()
    };
    let started = first.supervisor.send(request).await.unwrap().unwrap();
    let task = started.summary.task_id;
    decides(&first, &task).await;
    first.runs(&NOW, 60).await;
    assert_eq!(first.status(&task).await, TaskStatus::Running);
    let folder = first.stops().await;
    // A weekend without a server; then the clock is set back besides.
    NOW.fetch_add(60 * HOUR_MS, Ordering::SeqCst);
    let second = again(folder, now, &task).await;
    second.runs(&NOW, 20).await;
    assert_eq!(second.status(&task).await, TaskStatus::Running);
    let folder = second.stops().await;
    NOW.fetch_add(-100 * HOUR_MS, Ordering::SeqCst);
    let third = again(folder, now, &task).await;
    third.runs(&NOW, 15).await;
    assert_eq!(third.status(&task).await, TaskStatus::Running);
    third.runs(&NOW, 10).await;
    third.until_status(&task, TaskStatus::Failed).await;
    let events = third.events(&task).await;
    let over = |e: &StoredEvent| matches!(&e.event, TaskEvent::TaskFailed { code, .. } if code == "budget_exceeded");
    assert!(events.iter().any(over));
}

#[actix::test]
async fn a_computer_is_waited_for_as_long_as_the_server_was_up() {
    wall_clock!(NOW, now);
    tokio::time::pause();
    let first = bench(now);
    let request = StartTask {
        prompt: "Mend it".into(),
        client_id: Some(ClientId::parse("never-seen").unwrap()),
        owner: "local".into(),
        ..StartTask::default()
    };
    let started = first.supervisor.send(request).await.unwrap().unwrap();
    let task = started.summary.task_id;
    decides(&first, &task).await;
    let hours = |hours: u64| hours * 3600;
    // 24 hours are waited (calls.offline_timeout_s).
    first.runs(&NOW, hours(20)).await;
    let folder = first.stops().await;
    NOW.fetch_add(72 * HOUR_MS, Ordering::SeqCst);
    let second = again(folder, now, &task).await;
    second.runs(&NOW, hours(3)).await;
    assert!(!second.status(&task).await.is_final());
    second.runs(&NOW, hours(2)).await;
    second.until_status(&task, TaskStatus::Failed).await;
}
