use super::super::bench::{Bench, profile};
use super::*;
use crate::domain::chat::Role;
use crate::domain::decision::{Decision, WaitReason};
use crate::domain::event::TaskEvent;
use crate::domain::ids::CallId;
use crate::domain::nap::report;
use crate::domain::profile::ExecutorMode;
use crate::domain::task::TaskStatus;
use crate::domain::wakes::{Wake, WakeCause};
use crate::strategy::episodes::woken;
use crate::strategy::replay::replay;

/// A task whose model may sleep, or not.
fn task(may_sleep: bool) -> Bench {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    let TaskEvent::TaskCreated(mut created) = bench.journal.remove(0).event else {
        unreachable!("a journal begins so")
    };
    created.may_sleep = may_sleep;
    bench.state = TaskState::new(bench.state.task_id.clone());
    bench.push(TaskEvent::TaskCreated(created));
    bench
}

fn asks(bench: &mut Bench, args: Value) -> Decision {
    bench.advance();
    bench.answer(&format!("DIRECTIVE: TOOL\nNAME: sleep\nARGS: {args}"));
    bench.advance()
}

fn nap_of(decision: &Decision) -> (CallId, i64) {
    let Decision::Call { calls, .. } = decision else {
        panic!("no call: {decision:?}")
    };
    (calls[0].call_id.clone(), calls[0].until_ms.unwrap())
}

fn asked(at_ms: i64) -> Wake {
    let cause = WakeCause::Asked {
        by: "ada".into(),
        data: json!("the ore is here"),
    };
    Wake { at_ms, cause }
}

#[test]
fn a_model_that_sleeps_is_shown_as_sleeping_and_goes_on_with_all_it_knows() {
    let mut bench = task(true);
    let now_ms = bench.now_ms;
    let decision = asks(&mut bench, json!({"seconds": 600}));
    let (call_id, until_ms) = nap_of(&decision);
    assert_eq!(until_ms, now_ms + 600_000);
    let summary = bench.state.summary();
    assert_eq!(summary.status, TaskStatus::Sleeping);
    assert_eq!(summary.wait_reason, Some(WaitReason::Schedule));
    assert!(summary.message.unwrap().contains("sleeps until"));
    assert_eq!(bench.next(), None, "it sleeps");
    bench.now_ms = until_ms;
    let report = report(until_ms, "its time", &Value::Null);
    bench.push(TaskEvent::CallFinished { call_id, report });
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    let prompt = super::super::bench::shown(bench.state.prompt(Role::Planner));
    assert!(prompt.contains("its time"), "{prompt}");
    assert_eq!(bench.state.wait, None);
    replay(&bench.journal, &bench.profile, |hash| bench.blob(hash)).unwrap();
}

#[test]
fn somebody_may_wake_it_earlier() {
    let mut bench = task(true);
    asks(&mut bench, json!({"seconds": 600}));
    let scheduled = Wake {
        at_ms: 5,
        cause: WakeCause::Schedule { due_ms: 5 },
    };
    assert!(bench.state.naps_ended_by(&[scheduled]).is_empty());
    for event in woken(&bench.state, &[asked(bench.now_ms)]).unwrap() {
        bench.push(event);
    }
    assert!(matches!(bench.advance(), Decision::Consult(_)));
    let prompt = super::super::bench::shown(bench.state.prompt(Role::Planner));
    assert!(
        prompt.contains("ada") && prompt.contains("the ore is here"),
        "{prompt}"
    );
}

#[test]
fn where_the_kind_does_not_allow_it_there_is_no_such_tool() {
    let mut bench = task(false);
    assert!(matches!(
        asks(&mut bench, json!({"seconds": 600})),
        Decision::Consult(_)
    ));
    let blocked = bench.state.steps[0].blocked.as_ref().unwrap();
    assert!(blocked.evidence.contains(SLEEP_TOOL), "{blocked:?}");
}

#[test]
fn nobody_sleeps_past_the_end_of_the_task_or_into_the_past() {
    for (args, told) in [
        (json!({"seconds": 3_600}), "are left"),
        (json!({"until": "2001-01-01T00:00:00Z"}), "passed"),
        (json!({}), "either"),
        (json!({"seconds": 0}), "0"),
    ] {
        let mut bench = task(true);
        bench.profile.executor_mode = ExecutorMode::Never;
        bench.now_ms = 1_795_348_800_000;
        asks(&mut bench, args.clone());
        let blocked = bench.state.steps[0].blocked.as_ref();
        let evidence = blocked.map(|b| b.evidence.clone()).unwrap_or_default();
        assert!(evidence.contains(told), "{args}: {evidence}");
    }
}
