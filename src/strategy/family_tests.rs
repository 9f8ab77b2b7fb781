//! `start_task`: how it is offered, what becomes of it, and what it counts.

use super::bench::{Bench, answer, profile, run, shown};
use super::{drive, episodes, read_answer};
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::chat::Role;
use crate::domain::decision::{Consult, Decision, Inputs, PlannedCall, ToolsDelta};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::event::TaskEvent;
use crate::domain::family::{Allowance, Child, START_TASK_TOOL, report_of};
use crate::domain::ids::TaskId;
use crate::domain::profile::{ExecutorMode, Profile};
use crate::domain::task::{TaskState, TaskStatus};
use crate::domain::task_summary::Usage;
use crate::domain::track::Track;
use crate::domain::wakes::Wakes;
use crate::strategy::guards::{Takes, exceeded};
use crate::strategy::replay::replay;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A task that may start others, or not.
fn task(profile: Profile, may_start_tasks: bool) -> Bench {
    let mut bench = Bench::new(profile);
    let TaskEvent::TaskCreated(mut created) = bench.journal.remove(0).event else {
        unreachable!("a journal begins so")
    };
    created.may_start_tasks = may_start_tasks;
    bench.state = TaskState::new(bench.state.task_id.clone());
    bench.push(TaskEvent::TaskCreated(created));
    bench
}

fn asks_for(args: Value) -> String {
    format!("DIRECTIVE: TOOL\nNAME: start_task\nARGS: {args}")
}

/// The child of the decision.
fn child_of(decision: &Decision) -> Child {
    let Decision::Call { calls, .. } = decision else {
        panic!("no call: {decision:?}")
    };
    calls[0].child.clone().unwrap()
}

fn ended(bench: &mut Bench, report: CallReport) {
    let call = bench.state.calls().next_back().unwrap();
    let call_id = call.call_id.clone();
    bench.push(TaskEvent::CallFinished { call_id, report });
}

fn well(usage: Usage) -> CallReport {
    CallReport {
        outcome: Outcome::Done,
        result: Some(
            json!({"task_id": "tsk_X", "status": "completed", "success": true,
            "message": "there are 7 files", "usage": usage}),
        ),
        error: None,
        code: None,
        duration_ms: Some(3),
        truncated: false,
    }
}

#[test]
fn a_decision_to_start_a_task_names_one_child_and_waits_for_its_end() {
    let mut bench = task(profile(ExecutorMode::Auto), true);
    bench.advance();
    bench.answer(&asks_for(
        json!({"prompt": "Count the files", "kind": "inspect"}),
    ));
    let child = child_of(&bench.advance());
    let call_id = bench.state.calls().next().unwrap().call_id.clone();
    assert_eq!(child.task_id, TaskId::of_call(&call_id));
    assert_eq!(child.prompt, "Count the files");
    assert_eq!(child.computer, bench.state.home().cloned());
    let summary = bench.state.summary();
    assert_eq!(summary.status, TaskStatus::WaitingForCommand);
    let message = summary.message.unwrap();
    assert!(message.contains(child.task_id.as_str()), "{message}");
    assert_eq!(bench.next(), None, "it waits");
    // A start of the server gives calls that never left other ids; this one never leaves.
    bench.push(TaskEvent::GenerationStarted {
        generation: bench.state.generation,
        reason: "a test".into(),
        salt: Some("SALT".into()),
        up_ms: None,
    });
    assert_eq!(bench.state.calls().next().unwrap().call_id, call_id);
    ended(&mut bench, well(Usage::default()));
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    let prompt = shown(bench.state.prompt(Role::Planner));
    assert!(prompt.contains("there are 7 files"), "{prompt}");
    replay(&bench.journal, &bench.profile, |hash| bench.blob(hash)).unwrap();
}

#[test]
fn a_task_that_may_not_start_others_is_told_that_there_is_no_such_tool() {
    for (may, patterns) in [(false, "*"), (true, "fs_*")] {
        let mut profile = profile(ExecutorMode::Auto);
        profile.allowed_tools = vec![patterns.into()];
        let mut bench = task(profile, may);
        bench.advance();
        bench.answer(&asks_for(json!({"prompt": "Count the files"})));
        assert!(matches!(bench.advance(), Decision::Consult(_)));
        let blocked = bench.state.steps[0].blocked.as_ref().unwrap();
        assert!(blocked.evidence.contains(START_TASK_TOOL), "{blocked:?}");
        let prompt = shown(bench.state.prompt(Role::Planner));
        assert!(!prompt.contains("- start_task (effect)"), "{prompt}");
    }
}

#[test]
fn a_computer_beside_the_directive_is_meant_for_the_child() {
    let mut bench = task(profile(ExecutorMode::Auto), true);
    bench.advance();
    let wanted = asks_for(json!({"prompt": "Dig"}));
    bench.answer(&format!("{wanted}\nON: turtle-1"));
    let child = child_of(&bench.advance());
    assert_eq!(child.computer.unwrap().as_str(), "turtle-1");
}

#[test]
fn arguments_that_do_not_fit_come_back() {
    for args in [
        json!({}),
        json!({"prompt": "  "}),
        json!({"prompt": "a", "budget": 3}),
    ] {
        let mut bench = task(profile(ExecutorMode::Never), true);
        bench.advance();
        bench.answer(&asks_for(args.clone()));
        assert!(matches!(bench.advance(), Decision::Consult(_)), "{args}");
        assert!(bench.state.steps[0].blocked.is_some(), "{args}");
    }
}

#[test]
fn a_child_has_what_its_parent_has_left_and_what_it_used_counts() {
    let mut profile = profile(ExecutorMode::Auto);
    profile.budgets.tokens = 1_000;
    let mut bench = task(profile, true);
    bench.advance();
    bench.answer(&run("/a.lua"));
    bench.advance();
    bench.succeed();
    bench.advance();
    bench.now_ms += 100_000;
    bench.answer(&asks_for(json!({"prompt": "Count the files"})));
    let child = child_of(&bench.advance());
    // Two steps are begun, one call made; the call that starts the child is another.
    let left = Allowance {
        steps: 6,
        calls: 10,
        questions: 2,
        wall_time_s: 3_500,
        tokens: Some(970),
    };
    assert_eq!(child.allowance, left);
    let kind = super::bench::profile(ExecutorMode::Auto).budgets;
    let given = left.within(kind);
    assert_eq!((given.steps, given.calls, given.tokens), (6, 10, 970));
    ended(
        &mut bench,
        well(Usage {
            steps: 6,
            tokens_in: 100,
            ..Usage::default()
        }),
    );
    assert_eq!(bench.state.spent().steps, 8);
    assert_eq!(bench.state.own_usage().steps, 2);
    let over = bench.advance();
    assert!(
        matches!(&over, Decision::Fail { code, .. } if code == "budget_exceeded"),
        "{over:?}"
    );
}

#[test]
fn nothing_left_is_no_licence_for_everything() {
    let kind = profile(ExecutorMode::Auto).budgets;
    let left = Allowance {
        steps: 0,
        calls: 0,
        questions: 0,
        wall_time_s: 0,
        tokens: Some(0),
    };
    let given = left.within(kind);
    assert_eq!((given.steps, given.tokens), (0, 1));
    let free = Allowance {
        tokens: None,
        ..left
    };
    assert_eq!(free.within(kind).tokens, 0, "neither has a limit");
}

#[test]
fn every_strategy_shows_the_tool_where_it_may_be_used() {
    for strategy in ["directive", "direct", "numbered", "goals", "plan"] {
        let mut bench = task(drive::profile_of(strategy), true);
        let Decision::Consult(Consult { tools, .. }) = bench.advance() else {
            panic!("{strategy} asks its model first")
        };
        if strategy == "numbered" {
            let list = answer("1. Look\n2. Look again");
            let open = bench
                .state
                .open_on(crate::domain::track::Track::MAIN)
                .clone();
            let crate::domain::task::Open::Consult {
                seq,
                role,
                contract,
                ..
            } = open
            else {
                panic!("a consult is open")
            };
            let read = read_answer(seq, contract, &list);
            bench.push(TaskEvent::ModelAnswered {
                consult: seq,
                role,
                answer: list,
            });
            bench.push(read);
            bench.advance();
        }
        let native = match tools {
            ToolsDelta::Set(tools) => tools.iter().any(|tool| {
                let has_on = tool.parameters.pointer("/properties/on").is_some();
                tool.name == START_TASK_TOOL && !has_on
            }),
            ToolsDelta::Same => false,
        };
        let prompt = shown(bench.state.prompt(Role::Planner));
        assert!(
            native || prompt.contains("start_task"),
            "{strategy}: {prompt}"
        );
    }
}

#[test]
fn every_end_of_a_child_is_a_result_and_a_child_that_goes_on_has_none() {
    let mut bench = task(profile(ExecutorMode::Auto), false);
    assert_eq!(report_of(&bench.state), None);
    bench.push(TaskEvent::TaskCancelled {
        reason: "enough".into(),
        by: "me".into(),
    });
    let cancelled = report_of(&bench.state).unwrap();
    assert_eq!(cancelled.outcome, Outcome::Failed);
    assert_eq!(
        cancelled.error.as_deref(),
        Some("the task was cancelled: enough")
    );
    let mut bench = task(profile(ExecutorMode::Auto), false);
    bench.push(TaskEvent::TaskFailed {
        code: "no_progress".into(),
        error: "in circles".into(),
        details: Value::Null,
    });
    let failed = report_of(&bench.state).unwrap();
    assert_eq!(failed.code.as_deref(), Some("no_progress"));
    assert!(!failed.succeeded());
    let mut bench = task(profile(ExecutorMode::Auto), false);
    bench.push(TaskEvent::TaskCompleted {
        result: crate::domain::directive::TaskResult {
            success: true,
            message: "done".into(),
            details: json!({"long": "x".repeat(20_000)}),
        },
    });
    let done = report_of(&bench.state).unwrap();
    assert!(done.succeeded());
    let result = done.result.unwrap();
    assert_eq!(result["message"], "done");
    assert!(
        result.get("details").is_none(),
        "the child's journal has them"
    );
}

#[test]
fn what_children_used_counts_over_the_episodes_of_a_task() {
    let mut bench = task(profile(ExecutorMode::Auto), true);
    if let Some(created) = &mut bench.state.created {
        created.wakes = Some(Wakes {
            on_demand: true,
            ..Wakes::default()
        });
    }
    bench.profile.demand_proof = false;
    bench.advance();
    bench.answer(&asks_for(json!({"prompt": "Count the files"})));
    bench.advance();
    ended(
        &mut bench,
        well(Usage {
            steps: 3,
            ..Usage::default()
        }),
    );
    let finish = Decision::Finish {
        request: StrictRequest::Unclear { missing: vec![] },
        translated_by: TranslatedBy::Rules,
        result: Default::default(),
    };
    for event in episodes::close(&bench.state, &bench.profile, &finish, bench.now_ms) {
        bench.push(event);
    }
    assert!(bench.state.is_asleep());
    assert_eq!(bench.state.spent().steps, 4);
}

/// Answers the consult that is open, whatever its contract.
fn says(bench: &mut Bench, text: &str) {
    let open = bench.state.open_on(Track::MAIN).clone();
    let crate::domain::task::Open::Consult {
        seq,
        role,
        contract,
        ..
    } = open
    else {
        panic!("a consult is open")
    };
    let said = answer(text);
    let read = read_answer(seq, contract, &said);
    bench.push(TaskEvent::ModelAnswered {
        consult: seq,
        role,
        answer: said,
    });
    bench.push(read);
}

#[test]
fn children_that_are_started_at_once_have_equal_shares_of_what_is_left() {
    let mut bench = task(drive::profile_of("direct"), true);
    bench.advance();
    let one = |prompt| json!({"tool": "start_task", "args": {"prompt": prompt}});
    let look = json!({"tool": "fs_read", "args": {"path": "/a.lua"}});
    says(
        &mut bench,
        &json!([one("Dig"), look, one("Plant")]).to_string(),
    );
    let before = bench.state.left(&bench.profile.budgets, bench.now_ms);
    let Decision::Call { calls, .. } = bench.advance() else {
        panic!("it calls")
    };
    let given: Vec<Allowance> = calls
        .iter()
        .filter_map(|c| Some(c.child.as_ref()?.allowance))
        .collect();
    assert_eq!(given.len(), 2);
    // The three calls are its own.
    assert_eq!(given[0].calls, (before.calls - 3) / 2);
    assert_eq!(given[1].calls, before.calls - 3 - given[0].calls);
    assert_eq!(given[0].steps + given[1].steps, before.steps);
    assert_eq!(given[0].wall_time_s, before.wall_time_s);
    let reserved = bench.state.reserved();
    assert_eq!(
        (reserved.steps, reserved.calls),
        (before.steps, before.calls - 3)
    );
}

/// What a family does, at random.
#[derive(Debug, Clone)]
enum Doing {
    /// A track starts so many children at once, of so many that are still to come on it.
    Start {
        track: u32,
        children: u32,
        ways: u32,
    },
    /// The oldest open child ends, having used this much of a hundred.
    End { percent: u32 },
    /// The parent takes a step with a call of its own, if its budgets allow it.
    Own { track: u32 },
}

fn doing() -> impl Strategy<Value = Doing> {
    prop_oneof![
        (1..4u32, 1..4u32, 1..4u32).prop_map(|(track, children, ways)| Doing::Start {
            track,
            children,
            ways
        }),
        (0..=100u32).prop_map(|percent| Doing::End { percent }),
        (4..7u32).prop_map(|track| Doing::Own { track }),
    ]
}

fn call_on(bench: &mut Bench, track: u32, children: Vec<Option<Allowance>>) {
    let position = bench.state.last_seq + 1;
    let calls = children.into_iter().enumerate().map(|(at, allowance)| {
        let call_id = bench.state.call_id(position, at);
        PlannedCall {
            child: allowance.map(|allowance| Child {
                task_id: TaskId::of_call(&call_id),
                prompt: "x".into(),
                kind: None,
                computer: None,
                allowance,
            }),
            call_id,
            target: Target::Any,
            tool: "x".into(),
            args: json!({}),
            timeout_ms: None,
            request: None,
            until_ms: None,
        }
    });
    let decision = Decision::Call {
        request: StrictRequest::Unclear { missing: vec![] },
        translated_by: TranslatedBy::Rules,
        calls: calls.collect(),
    };
    bench.push(TaskEvent::Decided {
        decision: Box::new(decision),
        inputs: Inputs::default().journalled().0,
        track: Track(track),
    });
}

proptest! {
    #[test]
    fn a_family_never_uses_more_than_the_budgets_of_its_head(
        doings in prop::collection::vec(doing(), 1..40),
        steps in 1..60u32,
        calls in 1..60u32,
    ) {
        let mut bench = task(profile(ExecutorMode::Auto), true);
        let mut budgets = profile(ExecutorMode::Auto).budgets;
        (budgets.steps, budgets.calls, budgets.tokens) = (steps, calls, 900);
        let fits = |state: &TaskState, takes| exceeded(state, &budgets, takes).is_none();
        for doing in doings {
            match doing {
                Doing::Start { track, children, ways } => {
                    let busy = bench.state.current_step_on(Track(track)).is_some();
                    if busy || !fits(&bench.state, Takes::Step) || !fits(&bench.state, Takes::Calls(children)) {
                        continue;
                    }
                    // The step that they stand in is the parent's own.
                    let own = Usage { steps: 1, calls: children, ..Usage::default() };
                    let mut given = own;
                    let left = bench.state.left(&budgets, 0);
                    let mut shares = Vec::new();
                    for at in 0..children {
                        let share = left.without(&given).share(children - at + ways - 1);
                        given = given.plus(&share.as_usage());
                        shares.push(Some(share));
                    }
                    call_on(&mut bench, track, shares);
                }
                Doing::End { percent } => {
                    let open = bench.state.calls().find(|c| c.is_open() && c.child.is_some());
                    let Some(call) = open.cloned() else { continue };
                    let all = call.child.as_ref().unwrap().allowance.as_usage();
                    let part = |n: u32| n * percent / 100;
                    let used = Usage {
                        steps: part(all.steps),
                        calls: part(all.calls),
                        tokens_in: all.tokens_in * u64::from(percent) / 100,
                        ..Usage::default()
                    };
                    bench.push(TaskEvent::CallFinished { call_id: call.call_id, report: well(used) });
                }
                Doing::Own { track } => {
                    let busy = bench.state.current_step_on(Track(track)).is_some();
                    if !busy && fits(&bench.state, Takes::Step) && fits(&bench.state, Takes::Calls(1)) {
                        call_on(&mut bench, track, vec![None]);
                        ended(&mut bench, well(Usage::default()));
                    }
                }
            }
            let all = bench.state.spent().plus(&bench.state.reserved());
            prop_assert!(all.steps <= steps && all.calls <= calls, "{:?}", all);
            prop_assert!(all.tokens_in <= 900, "{:?}", all);
        }
        // What a child did not use is there for others.
        let open = bench.state.calls().filter(|call| call.is_open());
        let open: Vec<_> = open.map(|call| call.call_id.clone()).collect();
        for call_id in open {
            let report = well(Usage::default());
            bench.push(TaskEvent::CallFinished { call_id, report });
        }
        prop_assert_eq!(bench.state.reserved(), Usage::default());
    }
}
