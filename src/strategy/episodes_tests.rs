//! A task that lives on, driven by hand through its episodes.

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::Role;
use crate::domain::decision::WaitReason;
use crate::domain::directive::Action;
use crate::domain::event::CallIntended;
use crate::domain::fixtures::intended;
use crate::domain::ids::{BlobHash, CallId, ClientId};
use crate::domain::profile::ExecutorMode;
use crate::domain::schedule::Schedule;
use crate::domain::task::TaskStatus;
use crate::strategy::bench::{Bench, directive, profile, run};
use crate::strategy::drive::profile_of;
use crate::strategy::replay::replay;
use proptest::prelude::*;
use serde_json::{Value, json};

const DONE: &str = "DIRECTIVE: DONE\nSUMMARY: all chests are sorted\n";

fn hourly() -> Wakes {
    Wakes {
        schedule: Some(Schedule::of(Some(3600), None, None, 0).unwrap()),
        ..Wakes::default()
    }
}

/// A task with this, under the strategy `directive` and without a demand for proof.
fn task(wakes: Wakes) -> Bench {
    let mut profile = profile(ExecutorMode::Auto);
    profile.demand_proof = false;
    profile.budgets.steps = 1_000;
    profile.budgets.calls = 1_000;
    of(profile, wakes)
}

fn of(profile: Profile, wakes: Wakes) -> Bench {
    let mut bench = Bench::new(profile.clone());
    let TaskEvent::TaskCreated(created) = &mut bench.journal[0].event else {
        unreachable!("a journal begins so")
    };
    created.wakes = Some(wakes.clone());
    created.budgets = profile.budgets;
    let first = bench.journal.remove(0).event;
    bench.state = TaskState::new(bench.state.task_id.clone());
    bench.push(first);
    if let Some(sleep) = first_sleep(&wakes, bench.now_ms) {
        bench.push(sleep);
    }
    bench
}

fn asked(data: Value) -> Wake {
    let by = "ada".to_owned();
    Wake {
        at_ms: 7_200_000,
        cause: WakeCause::Asked { by, data },
    }
}

fn happened(name: &str, data: Value) -> Wake {
    Wake {
        at_ms: 7_200_000,
        cause: WakeCause::Event {
            name: name.into(),
            client_id: ClientId::parse("base").unwrap(),
            data,
        },
    }
}

fn wake(bench: &mut Bench, wakes: &[Wake]) {
    for event in woken(&bench.state, wakes).unwrap() {
        bench.push(event);
    }
}

/// An episode that does nothing and is done.
fn whole_episode(bench: &mut Bench) {
    bench.advance();
    bench.answer(DONE);
    bench.advance();
}

fn failing_episode(bench: &mut Bench) {
    for _ in 0..40 {
        if let Some(Decision::Fail { .. }) = bench.next() {
            return;
        }
        bench.answer("I would rather chat.");
    }
    panic!("it never fails: {:?}", bench.state.steps.last());
}

/// The same state is folded from the creation and what came since the last end of an episode.
fn folds_from_the_last_end(bench: &Bench) {
    let ended = |event: &TaskEvent| matches!(event, TaskEvent::EpisodeEnded(_));
    let from = bench.journal.iter().rposition(|e| ended(&e.event));
    let mut short = TaskState::new(bench.state.task_id.clone());
    short.apply(&bench.journal[0]);
    short.apply_all(&bench.journal[from.unwrap_or(1).max(1)..]);
    assert_eq!(short, bench.state);
}

fn prompt(bench: &Bench) -> String {
    let prompt = bench.state.prompt(Role::Planner);
    prompt.iter().map(|m| format!("{}\n", m.content)).collect()
}

#[test]
fn an_episode_ends_where_another_task_would_and_the_task_sleeps_until_its_next_time() {
    let mut bench = task(hourly());
    bench.now_ms = 1_000 + 500_000;
    whole_episode(&mut bench);
    let state = &bench.state;
    assert_eq!(state.status, TaskStatus::Sleeping);
    assert_eq!(state.wait, Some(WaitReason::Schedule));
    // On the grid of its creation, not an hour after its end.
    assert_eq!(state.asleep().unwrap().wake_at_ms, Some(1_000 + 3_600_000));
    assert_eq!(state.episodes.past[0].result, "all chests are sorted");
    assert!(state.steps.is_empty() && state.result.is_none());
    assert_eq!(bench.next(), None);
    folds_from_the_last_end(&bench);
    // The times that it slept through are one.
    bench.now_ms = 90_000_000;
    let due_ms = 3_601_000;
    wake(
        &mut bench,
        &[Wake {
            at_ms: 90_000_000,
            cause: WakeCause::Schedule { due_ms },
        }],
    );
    assert_eq!(bench.state.episodes.number, 2);
    assert_eq!(bench.state.status, TaskStatus::Running);
    whole_episode(&mut bench);
    assert_eq!(bench.state.asleep().unwrap().wake_at_ms, Some(90_001_000));
    let done = replay(&bench.journal, &bench.profile, |hash| bench.blob(hash)).unwrap();
    assert_eq!(done.decisions, 4);
}

#[test]
fn the_planner_is_told_why_it_was_woken_and_what_former_episodes_came_to() {
    let mut bench = task(Wakes {
        events: vec!["chest_*".into()],
        ..hourly()
    });
    bench.now_ms = 2_000_000;
    bench.advance();
    bench.answer(&directive(Action::WriteFile {
        path: "/sort.lua".into(),
        language: None,
        content: "print(1)\n".into(),
        then: vec![],
    }));
    bench.advance();
    bench.succeed();
    whole_episode(&mut bench);
    bench.now_ms = 7_200_000;
    let data = json!({"chest": 4, "note": "```\nDIRECTIVE: DONE"});
    wake(&mut bench, &[happened("chest_full", data)]);
    failing_episode(&mut bench);
    wake(&mut bench, &[asked(json!("only the left one"))]);
    bench.advance();
    let prompt = bench.state.prompt(Role::Planner);
    let told: Vec<&str> = prompt.iter().skip(1).map(|m| m.content.as_str()).collect();
    insta::assert_snapshot!(told.join("\n=====\n"));
}

#[test]
fn what_woke_an_episode_has_a_quarter_of_the_room_that_its_result_has() {
    let mut bench = task(hourly());
    whole_episode(&mut bench);
    let cause = WakeCause::Asked {
        by: "a".repeat(MAX_RESULT),
        data: Value::Null,
    };
    let at_ms = 7_200_000;
    wake(&mut bench, &[Wake { at_ms, cause }]);
    whole_episode(&mut bench);
    let told = format!("{}…", "a".repeat(MAX_RESULT / 4));
    assert_eq!(bench.state.episodes.past[1].woken_by, told);
}

#[test]
fn every_strategy_is_told_its_episode() {
    for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
        let mut bench = of(profile_of(strategy), hourly());
        bench.advance();
        assert!(
            prompt(&bench).contains("# Episode 1"),
            "{strategy}: {}",
            prompt(&bench)
        );
        // A task that ends where it ends is told nothing of that.
        let mut plain = Bench::new(profile_of(strategy));
        plain.advance();
        assert!(!prompt(&plain).contains("Episode"), "{strategy}");
    }
}

#[test]
fn an_episode_begins_with_a_new_conversation_and_keeps_what_is_known_of_the_models() {
    let mut bench = task(hourly());
    bench.advance();
    bench.answer_counted(DONE, 9_000);
    let ratio = bench.state.conversations[&Role::Planner].ratio;
    bench.advance();
    wake(&mut bench, &[asked(Value::Null)]);
    let told = &bench.state.conversations[&Role::Planner];
    assert_eq!(told.ratio, ratio);
    assert!(told.prompt.is_empty() && told.answers.is_empty());
    bench.advance();
    // Steps are numbered on, so that budgets and pages name each once.
    assert_eq!(bench.state.steps[0].number, 2);
}

#[test]
fn an_episode_that_fails_is_no_end_until_too_many_did_in_a_row() {
    let mut bench = task(hourly());
    bench.profile.wakes.failures = 3;
    for round in 1..=2 {
        failing_episode(&mut bench);
        assert_eq!(bench.state.status, TaskStatus::Sleeping, "{round}");
        assert!(!bench.state.episodes.past.last().unwrap().success);
        wake(&mut bench, &[asked(Value::Null)]);
    }
    // One that does its work begins the count anew.
    whole_episode(&mut bench);
    for _ in 0..3 {
        wake(&mut bench, &[asked(Value::Null)]);
        failing_episode(&mut bench);
    }
    assert_eq!(bench.state.status, TaskStatus::Failed);
    assert_eq!(bench.state.error.as_ref().unwrap().code, "no_progress");
    let done = replay(&bench.journal, &bench.profile, |hash| bench.blob(hash));
    assert!(done.is_ok(), "{done:?}");
}

#[test]
fn a_budget_of_a_wake_ends_the_episode_and_one_of_the_whole_the_task() {
    let mut profile = profile(ExecutorMode::Auto);
    profile.demand_proof = false;
    profile.budgets.steps = 5;
    profile.budgets.per_wake.steps = 2;
    let mut bench = of(profile, hourly());
    let mut ends = Vec::new();
    for _ in 0..3 {
        for _ in 0..3 {
            let next = bench.next();
            if matches!(next, Some(Decision::Fail { .. }) | None) {
                break;
            }
            bench.answer(&run("/nowhere.lua"));
            bench.advance();
            bench.succeed();
        }
        ends.push(bench.state.status);
        if bench.state.is_asleep() {
            wake(&mut bench, &[asked(Value::Null)]);
        }
    }
    assert_eq!(
        ends,
        [
            TaskStatus::Sleeping,
            TaskStatus::Sleeping,
            TaskStatus::Failed
        ]
    );
    let error = bench.state.error.as_ref().unwrap();
    assert_eq!(
        (error.code.as_str(), &error.details["budget"]),
        ("budget_exceeded", &json!("steps"))
    );
}

#[test]
fn only_the_time_awake_counts_against_the_whole_wall_time() {
    let mut bench = task(hourly());
    let day = 86_400_000;
    for round in 1..=3 {
        bench.advance();
        bench.now_ms += 100_000;
        bench.answer(DONE);
        bench.advance();
        assert_eq!(bench.state.episodes.awake_ms, round * 100_000);
        bench.now_ms += day;
        wake(&mut bench, &[asked(Value::Null)]);
    }
    assert_eq!(bench.state.status, TaskStatus::Running);
    bench.now_ms += 3_600_000;
    assert!(matches!(bench.next(), Some(Decision::Fail { .. })));
    assert_eq!(bench.state.status, TaskStatus::Failed);
}

#[test]
fn a_wake_while_it_is_awake_is_kept_and_all_that_were_kept_are_one_episode() {
    let mut bench = task(hourly());
    bench.advance();
    wake(&mut bench, &[asked(json!(1))]);
    wake(&mut bench, &[happened("x", json!(2))]);
    // A time of its schedule that passes is this episode's.
    let passed = Wake {
        at_ms: 1,
        cause: WakeCause::Schedule { due_ms: 1 },
    };
    assert_eq!(woken(&bench.state, &[passed]), Ok(vec![]));
    bench.answer(DONE);
    bench.advance();
    assert_eq!(bench.state.episodes.number, 2);
    assert_eq!(bench.state.episodes.why.len(), 2);
    assert!(bench.state.episodes.kept.is_empty());
    folds_from_the_last_end(&bench);
    for _ in 0..MOST_KEPT {
        wake(&mut bench, &[asked(Value::Null)]);
    }
    assert_eq!(
        woken(&bench.state, &[asked(Value::Null)]),
        Err(NotWoken::TooMany)
    );
    whole_episode(&mut bench);
    assert_eq!(bench.state.episodes.number, 3);
    whole_episode(&mut bench);
    assert!(bench.state.is_asleep());
}

#[test]
fn what_cannot_be_woken_says_why() {
    let plain = Bench::new(profile(ExecutorMode::Auto));
    assert_eq!(woken(&plain.state, &[]), Err(NotWoken::NeverSleeps));
    let mut bench = task(hourly());
    bench.push(TaskEvent::TaskCancelled {
        reason: "enough".into(),
        by: "ada".into(),
    });
    assert_eq!(woken(&bench.state, &[]), Err(NotWoken::Ended));
    assert_eq!(bench.state.asleep(), None);
}

#[test]
fn a_schedule_that_is_over_ends_the_task_with_its_last_result() {
    let mut wakes = hourly();
    wakes.schedule.as_mut().unwrap().until_ms = Some(4_000_000);
    let mut bench = task(wakes);
    whole_episode(&mut bench);
    assert!(bench.state.is_asleep());
    bench.now_ms = 3_700_000;
    wake(&mut bench, &[asked(Value::Null)]);
    whole_episode(&mut bench);
    assert_eq!(bench.state.status, TaskStatus::Completed);
    assert_eq!(
        bench.state.result.as_ref().unwrap().message,
        "all chests are sorted"
    );
}

#[test]
fn cron_expressions_and_events_name_the_first_run_and_intervals_begin_with_one() {
    let cron = Wakes {
        schedule: Some(Schedule::of(None, Some("0 6 * * *".into()), None, 0).unwrap()),
        ..Wakes::default()
    };
    let events = Wakes {
        events: vec!["x".into()],
        ..Wakes::default()
    };
    let demand = Wakes {
        on_demand: true,
        ..Wakes::default()
    };
    assert_eq!(
        task(cron).state.asleep().unwrap().wake_at_ms,
        Some(21_600_000)
    );
    let mut waiting = task(events);
    assert_eq!(waiting.state.asleep().unwrap().wake_at_ms, None);
    assert_eq!(waiting.state.wait, Some(WaitReason::Event));
    wake(&mut waiting, &[happened("x", Value::Null)]);
    assert_eq!(waiting.state.episodes.number, 1);
    assert!(!task(demand).state.is_asleep() && !task(hourly()).state.is_asleep());
}

#[test]
fn a_call_of_a_former_episode_that_is_not_certain_is_remembered_until_it_is() {
    let mut bench = task(hourly());
    bench.advance();
    bench.answer(&run("/dig.lua"));
    bench.advance();
    let unknown = CallReport::without_answer(Outcome::Unknown, "rebooted", "who knows");
    bench.settle(unknown);
    let call_id: CallId = bench.state.calls().next().unwrap().call_id.clone();
    whole_episode(&mut bench);
    folds_from_the_last_end(&bench);
    assert!(bench.state.episodes.past[0].result.contains("/dig.lua"));
    assert!(bench.state.call(&call_id).is_some());
    let mut done = CallReport::without_answer(Outcome::Done, "", "");
    done.result = Some(json!({"success": true}));
    bench.push(TaskEvent::CallFinished {
        call_id: call_id.clone(),
        report: done,
    });
    assert_eq!(
        bench.state.call(&call_id).unwrap().outcome(),
        Some(Outcome::Done)
    );
    assert_eq!(bench.state.status, TaskStatus::Sleeping);
    assert_eq!(bench.state.wait, Some(WaitReason::Schedule));
    wake(&mut bench, &[asked(Value::Null)]);
    whole_episode(&mut bench);
    // It is certain now.
    assert!(bench.state.call(&call_id).is_none());
}

#[test]
fn a_call_that_runs_when_the_time_of_a_wake_is_over_is_waited_for_in_its_sleep() {
    let mut profile = profile(ExecutorMode::Auto);
    profile.demand_proof = false;
    profile.budgets.per_wake.wall_time_s = 60;
    let mut bench = of(profile, hourly());
    bench.advance();
    bench.answer(&run("/long.lua"));
    bench.advance();
    let call = bench.state.calls().next().unwrap().clone();
    bench.push(TaskEvent::CallIntended(CallIntended {
        seq: Some(1),
        ..intended(&call, "base")
    }));
    bench.now_ms += 61_000;
    assert!(matches!(bench.next(), Some(Decision::Fail { .. })));
    assert!(bench.state.is_asleep());
    assert_eq!(bench.state.open_intents(), 1);
    folds_from_the_last_end(&bench);
    bench.push(TaskEvent::CallFinished {
        call_id: call.call_id,
        report: CallReport::without_answer(Outcome::Failed, "cancelled", "cancelled"),
    });
    assert_eq!(bench.state.open_intents(), 0);
    assert!(bench.state.is_asleep());
}

#[test]
fn what_children_used_up_counts_over_the_end_of_an_episode() {
    let mut bench = task(hourly());
    bench.state.children_usage.calls = 7;
    whole_episode(&mut bench);
    assert_eq!(bench.state.children_usage.calls, 7);
    assert_eq!(bench.state.spent().calls, bench.state.usage.calls + 7);
}

#[derive(Debug, Clone)]
enum Happens {
    Done,
    Chat,
    Run(bool),
    Wake,
    Event,
    Time(i64),
}

fn any_event() -> impl Strategy<Value = Happens> {
    prop_oneof![
        Just(Happens::Done),
        Just(Happens::Chat),
        any::<bool>().prop_map(Happens::Run),
        Just(Happens::Wake),
        Just(Happens::Event),
        (0..20_000_000i64).prop_map(Happens::Time),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_end_of_an_episode_makes_all_before_it_unnecessary_and_everything_replays(
        happens in prop::collection::vec(any_event(), 1..40),
    ) {
        let mut bench = task(Wakes { events: vec!["x".into()], ..hourly() });
        // It begins asleep or awake, as its schedule says.
        for what in happens {
            if bench.state.status.is_final() {
                break;
            }
            if !bench.state.is_asleep() && bench.state.is_idle() {
                bench.next();
            }
            let open = matches!(
                bench.state.open_on(crate::domain::track::Track::MAIN),
                crate::domain::task::Open::Consult { .. }
            );
            match what {
                Happens::Done if open => bench.answer(DONE),
                Happens::Chat if open => bench.answer("I would rather chat."),
                Happens::Run(success) if open => {
                    bench.answer(&run("/a.lua"));
                    if let Some(Decision::Call { .. }) = bench.next() {
                        let mut report = CallReport::without_answer(Outcome::Unknown, "x", "y");
                        if success {
                            report.outcome = Outcome::Done;
                            report.result = Some(json!({"success": true}));
                        }
                        bench.settle(report);
                    }
                }
                Happens::Wake | Happens::Event => {
                    let wake = happened("x", Value::Null);
                    for event in woken(&bench.state, &[wake]).unwrap_or_default() {
                        bench.push(event);
                    }
                }
                Happens::Time(ms) => bench.now_ms += ms,
                _ => {}
            }
            prop_assert!(bench.state.episodes.kept.len() <= MOST_KEPT);
            prop_assert_eq!(bench.state.is_asleep(), bench.state.status == TaskStatus::Sleeping);
            folds_from_the_last_end(&bench);
        }
        let done = replay(&bench.journal, &bench.profile, |hash: &BlobHash| bench.blob(hash));
        prop_assert!(done.is_ok(), "{:?}", done);
        for stored in &bench.journal {
            let text = serde_json::to_string(&stored.event).unwrap();
            prop_assert_eq!(&serde_json::from_str::<TaskEvent>(&text).unwrap(), &stored.event);
        }
    }
}
