//! Several calls of one task that wait for computers which are away: each has its own time, also over a restart.

use super::*;

const HOUR_MS: i64 = 3_600_000;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A task with a call for each of two computers, neither of which has left.
fn two_calls() -> (Bench, [CallId; 2]) {
    let mut patient = profile(ExecutorMode::Auto);
    patient.budgets.wall_time_s = 30 * 24 * 3600;
    let mut bench = Bench::new(patient);
    bench.advance();
    bench.answer(RUN);
    let ids = [0, 1].map(|index| CallId::derive(&bench.state.task_id, Generation(1), 3, index));
    let calls = [(ids[0].clone(), "base"), (ids[1].clone(), "other")];
    let mut decided = fixtures::decided(&calls);
    let TaskEvent::Decided { decision, .. } = &mut decided else {
        unreachable!("it is a decision")
    };
    let Decision::Call { calls, .. } = &mut **decision else {
        unreachable!("to make calls")
    };
    for call in calls {
        // One that both computers have.
        call.tool = "shell_exec".into();
        call.args = serde_json::json!({"command": "list"});
    }
    bench.push(decided);
    (bench, ids)
}

/// Hours pass while the server runs; answers how many calls were given up in them.
async fn hours(running: &mut Running, hours: u64) -> usize {
    for _ in 0..hours * 6 {
        tokio::time::advance(Duration::from_secs(600)).await;
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }
    let told = std::iter::from_fn(|| running.heard.try_recv().ok());
    told.filter(|what| what == "call_not_placed").count()
}

fn in_a_day() -> Settings {
    let mut settings = Loader::new().load().unwrap();
    settings.calls.offline_timeout = DAY;
    settings
}

#[actix::test]
async fn each_call_of_a_task_waits_for_its_own_computer() {
    let (bench, _) = two_calls();
    let mut running = Running::from(&bench, Duration::from_millis(1));
    running.until("base: place").await;
    running.until("other: place").await;
    running.until("call_not_placed").await;
    running.until("call_not_placed").await;
}

#[actix::test]
async fn how_long_each_of_several_calls_has_waited_is_journalled() {
    let (bench, _) = two_calls();
    let mut running = Running::from(&bench, DAY);
    running.until("calls_away").await;
}

#[actix::test]
async fn a_call_that_waits_alone_needs_no_further_event() {
    tokio::time::pause();
    let bench = after(RUN);
    let mut running = Running::from(&bench, DAY);
    let told = running.until("wait_started").await;
    assert!(!told.contains(&"calls_away".to_owned()), "{told:?}");
    assert_eq!(hours(&mut running, 23).await, 0);
    assert_eq!(hours(&mut running, 2).await, 1);
}

#[actix::test]
async fn a_restart_makes_the_wait_of_none_of_several_calls_longer() {
    tokio::time::pause();
    let (mut bench, [long, short]) = two_calls();
    // By the clock of a server that is started now.
    let now = || 30 * HOUR_MS;
    let since = [(long, 10 * HOUR_MS), (short, 29 * HOUR_MS)].into();
    bench.push(TaskEvent::CallsAway { since });
    let mut running = Running::at(&bench, in_a_day(), None, now);
    assert_eq!(hours(&mut running, 3).await, 0);
    assert_eq!(hours(&mut running, 2).await, 1, "four hours were left");
    assert_eq!(hours(&mut running, 17).await, 0);
    assert_eq!(hours(&mut running, 2).await, 1, "and twenty-three");
}
