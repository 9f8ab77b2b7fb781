//! Properties of deciding and folding: total, deterministic, never spinning.

use super::bench::*;
use super::{decide, read_answer};
use crate::domain::call::{NoRoute, NoRouteReason, Outcome};
use crate::domain::chat::Role;
use crate::domain::decision::{Decision, Inputs, Move, WaitReason};
use crate::domain::directive::{Action, TaskResult, ThenItem};
use crate::domain::event::{DirectCall, DirectCallEnded, StoredEvent, TaskEvent};
use crate::domain::fixtures::intended;
use crate::domain::ids::{CallId, Generation, QuestionId, TaskId};
use crate::domain::profile::{ExecutorMode, Profile};
use crate::domain::task::TaskState;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn any_answer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(run("/a.lua")),
        Just(run("/b.lua")),
        Just(directive(Action::Shell { command: "list".into(), expect: Some("\"x\"".into()) })),
        Just(directive(Action::Done { summary: "ok".into(), notes: None })),
        Just(directive(Action::Tool { name: "fs_read".into(), args: json!({"path": 3}) })),
        Just(directive(Action::Tool { name: "nope".into(), args: json!({}) })),
        Just(directive(Action::AskUser { question: "q".into(), why: Some("w".into()), next: None })),
        Just(directive(Action::WriteFile {
            path: "/a.lua".into(),
            language: None,
            content: "x\n".into(),
            then: vec![ThenItem::Run { path: "/a.lua".into(), args: vec![] }]
        })),
        Just("DIRECTIVE: RUN".to_owned()),
        Just("```lua\ny\n```".to_owned()),
        Just("{\"kind\":\"final\",\"explanation\":\"\",\"result\":{\"success\":true,\"message\":\"\"}}".to_owned()),
        "\\PC{0,40}",
    ]
}

pub(crate) fn any_event() -> impl Strategy<Value = TaskEvent> {
    let task = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
    let call = move |seq: u64| CallId::derive(&task, Generation(1), seq, 0);
    let outcomes = prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Failed),
        Just(Outcome::NotStarted),
        Just(Outcome::Unknown)
    ];
    let asked = QuestionId::parse("qst_x_1_5").unwrap();
    prop_oneof![
        (0u64..20, any_answer()).prop_map(|(consult, text)| TaskEvent::ModelAnswered {
            consult,
            role: Role::Planner,
            answer: answer(&text)
        }),
        (0u64..20, any_answer()).prop_map(|(consult, text)| read_answer(
            consult,
            crate::domain::decision::Contract::Directive,
            &answer(&text)
        )),
        (0u64..20, outcomes.clone(), any::<bool>()).prop_map({
            let call = call.clone();
            move |(seq, outcome, success)| TaskEvent::CallFinished {
                call_id: call(seq),
                report: report(outcome, success),
            }
        }),
        (0u64..20).prop_map(move |seq| TaskEvent::CallNotPlaced {
            call_id: call(seq),
            no_route: NoRoute {
                reason: NoRouteReason::Offline,
                message: "away".into()
            }
        }),
        Just(TaskEvent::QuestionAnswered {
            question_id: asked,
            answer: "a".into(),
            by: "b".into(),
            authenticated: true
        }),
        Just(TaskEvent::WaitStarted {
            reason: WaitReason::Model
        }),
        Just(TaskEvent::WaitEnded {
            reason: WaitReason::Model
        }),
        Just(TaskEvent::Noted {
            code: "x".into(),
            message: "y".into()
        }),
        Just(TaskEvent::TaskCompleted {
            result: TaskResult::default()
        }),
        (any::<bool>(), outcomes.clone(), any::<bool>()).prop_map(|(calls, outcome, success)| {
            let mut bench = Bench::chatted_then_runs();
            let open = bench.state.calls().next_back().unwrap().clone();
            let mut created = bench.state.created.take().unwrap();
            created.call = calls.then(|| DirectCall {
                command: "no address!".into(),
                args: open.args.clone(),
                timeout_ms: None,
            });
            TaskEvent::DirectCallEnded(Arc::new(DirectCallEnded {
                created,
                began_ms: 3,
                intended: intended(&open, "base"),
                report: report(outcome, success),
            }))
        }),
        Just(TaskEvent::GenerationStarted {
            up_ms: Some(7),
            salt: None,
            generation: Generation(2),
            reason: "crash".into()
        }),
        (any_answer(), 0i64..100_000).prop_map(|(text, now_ms)| {
            // Decisions of another task, out of place here.
            let mut other = Bench::new(profile(ExecutorMode::Auto));
            other.advance();
            other.answer(&text);
            let Move { decision, track } =
                decide(&other.state, &other.profile, &inputs(now_ms)).unwrap();
            let known = Inputs {
                now_ms,
                ..Inputs::default()
            };
            TaskEvent::Decided {
                decision: Box::new(decision),
                inputs: known.journalled().0,
                track,
            }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_fold_is_total_and_deterministic_and_deciding_never_panics(
        events in proptest::collection::vec(any_event(), 0..25),
        created_at in 0usize..25,
    ) {
        let task = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
        let (mut once, mut twice) = (TaskState::new(task.clone()), TaskState::new(task.clone()));
        let created = Bench::new(profile(ExecutorMode::Auto)).state.created.unwrap();
        let mut events = events;
        events.insert(created_at.min(events.len()), TaskEvent::TaskCreated(Box::new(created)));
        let profile = profile(ExecutorMode::Auto);
        for (at, event) in events.into_iter().enumerate() {
            let stored = StoredEvent {
                task_id: task.clone(),
                seq: at as u64 + 1,
                at_ms: at as i64 * 10,
                generation: Generation(1),
                event,
            };
            once.apply(&stored);
            twice.apply(&stored);
            let first = decide(&once, &profile, &inputs(5_000));
            prop_assert_eq!(first, decide(&twice, &profile, &inputs(5_000)));
        }
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn any_model_and_any_computer_lead_to_an_end_within_the_budgets(
        answers in proptest::collection::vec(any_answer(), 40),
        ends in proptest::collection::vec((0u8..4, any::<bool>()), 40),
        mode in prop_oneof![Just(ExecutorMode::Auto), Just(ExecutorMode::Always), Just(ExecutorMode::Never)],
        mends in 0u32..4,
    ) {
        let mut bench = Bench::new(Profile { executor_mends: mends, ..profile(mode) });
        let (mut answers, mut ends) = (answers.into_iter().cycle(), ends.into_iter().cycle());
        for _ in 0..200 {
            match bench.advance() {
                Decision::Consult(_) => bench.answer(&answers.next().unwrap()),
                Decision::Call { .. } => {
                    let (outcome, success) = ends.next().unwrap();
                    let outcome =
                        [Outcome::Done, Outcome::Failed, Outcome::NotStarted, Outcome::Unknown][outcome as usize];
                    bench.settle(report(outcome, success));
                }
                Decision::Ask { question, .. } => {
                    bench.push(TaskEvent::QuestionExpired { question_id: question.question_id });
                }
                Decision::Wait { reason, .. } => {
                    bench.now_ms += 61_000;
                    bench.push(TaskEvent::WaitEnded { reason });
                }
                Decision::Finish { .. } | Decision::Fail { .. } => break,
                Decision::Block { .. } | Decision::Advance { .. } => {
                    unreachable!("advance goes past both")
                }
            }
        }
        prop_assert!(bench.state.status.is_final());
        prop_assert!(bench.state.usage.steps <= 8 && bench.state.usage.calls <= 12);
    }
}
