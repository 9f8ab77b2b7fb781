//! What single events change.

use crate::domain::chat::{ChatAnswer, ChatFailure, OutputFormat, Role, StopReason, Usage};
use crate::domain::decision::{Contract, WaitReason};
use crate::domain::event::TaskEvent;
use crate::domain::fold::{PROMPT_TOO_LONG, TOOLS_UNSUPPORTED};
use crate::domain::ids::{Generation, TaskId};
use crate::domain::task::{Open, TaskState, TaskStatus};
use crate::domain::track::Track;

fn fresh() -> TaskState {
    TaskState::new(TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap())
}

fn told(state: &mut TaskState, at_ms: i64, event: TaskEvent) {
    state.apply_next(Generation(1), at_ms, vec![event]);
}

fn waits(reason: WaitReason) -> TaskEvent {
    TaskEvent::WaitStarted { reason }
}

#[test]
fn how_long_a_computer_is_away_counts_from_the_first_word_of_it() {
    let mut state = fresh();
    told(&mut state, 100, waits(WaitReason::ComputerOffline));
    assert_eq!(state.wait, Some(WaitReason::ComputerOffline));
    assert_eq!(state.away_since_ms, Some(100));
    told(&mut state, 200, waits(WaitReason::ComputerOffline));
    assert_eq!(state.away_since_ms, Some(100));
    told(&mut state, 300, waits(WaitReason::Model));
    assert_eq!(state.away_since_ms, None);
}

#[test]
fn the_end_of_a_wait_ends_that_wait_alone() {
    let ended = |reason| TaskEvent::WaitEnded { reason };
    let mut state = fresh();
    told(&mut state, 100, waits(WaitReason::ComputerOffline));
    told(&mut state, 200, ended(WaitReason::Model));
    assert_eq!(state.wait, Some(WaitReason::ComputerOffline));
    assert_eq!(state.away_since_ms, Some(100));
    told(&mut state, 300, ended(WaitReason::ComputerOffline));
    assert_eq!((state.wait, state.away_since_ms), (None, None));
    assert!(state.woken.is_none(), "nothing woke it");
    told(&mut state, 400, ended(WaitReason::Schedule));
    assert_eq!(state.woken.map(|woken| woken.at_ms), Some(400));
}

/// A task whose planner was asked at position 7.
fn asking() -> TaskState {
    let mut state = fresh();
    let consult = Open::Consult {
        seq: 7,
        role: Role::Planner,
        contract: Contract::Directive,
        format: OutputFormat::Text,
    };
    state.open.insert(Track::MAIN, consult);
    state
}

fn failed(code: &str) -> TaskEvent {
    TaskEvent::ModelFailed {
        consult: 7,
        role: Role::Planner,
        failure: ChatFailure {
            code: code.into(),
            message: "no answer".into(),
            hint: String::new(),
            retryable: true,
        },
    }
}

fn answered(consult: u64, role: Role) -> TaskEvent {
    TaskEvent::ModelAnswered {
        consult,
        role,
        answer: ChatAnswer {
            content: "yes".into(),
            thinking: String::new(),
            tool_calls: vec![],
            stop: StopReason::Stop,
            model: "small".into(),
            usage: Usage {
                tokens_in: Some(40),
                tokens_out: Some(5),
                tokens_cached: Some(30),
            },
            duration_ms: 9,
        },
    }
}

#[test]
fn only_a_model_that_is_there_can_be_at_fault() {
    for (code, faults) in [
        ("model_unreachable", 0),
        ("model_missing", 0),
        ("model_error", 1),
    ] {
        let mut state = asking();
        told(&mut state, 100, failed(code));
        assert_eq!(state.model_failures, 1, "{code}");
        assert_eq!(state.model_faults, faults, "{code}");
        assert_eq!(state.failed_role, Some(Role::Planner));
        assert_eq!(state.notes.len(), 1);
        assert!(state.is_idle());
        assert!(!state.no_native_tools && state.prompt_ceiling.is_none());
    }
    let mut state = asking();
    told(&mut state, 100, failed(TOOLS_UNSUPPORTED));
    assert!(state.no_native_tools);
    let mut state = asking();
    told(&mut state, 100, failed(PROMPT_TOO_LONG));
    assert!(state.prompt_ceiling.is_some());
}

#[test]
fn an_answer_counts_once_and_only_for_who_was_asked() {
    let mut state = asking();
    state.model_failures = 2;
    state.model_faults = 1;
    told(&mut state, 100, answered(8, Role::Planner));
    told(&mut state, 100, answered(7, Role::Executor));
    assert_eq!(state.usage.model_calls, 0);
    assert_eq!(state.model_failures, 2);
    told(&mut state, 100, answered(7, Role::Planner));
    told(&mut state, 100, answered(7, Role::Planner));
    assert_eq!((state.model_failures, state.model_faults), (0, 0));
    let used = state.usage;
    assert_eq!((used.model_calls, used.executor_model_calls), (1, 0));
    assert_eq!(
        (used.tokens_in, used.tokens_out, used.tokens_cached),
        (40, 5, 30)
    );
    assert_eq!(state.conversations[&Role::Planner].answers, ["yes"]);
}

#[test]
fn after_its_end_a_task_stays_as_it_ended() {
    let mut state = asking();
    let cancelled = TaskEvent::TaskCancelled {
        reason: "enough".into(),
        by: "ada".into(),
    };
    told(&mut state, 100, cancelled);
    assert_eq!(state.status, TaskStatus::Cancelled);
    let end = state.clone();
    told(&mut state, 100, answered(7, Role::Planner));
    told(&mut state, 100, waits(WaitReason::ComputerOffline));
    let seqs = (state.last_seq, end.last_seq + 2);
    assert_eq!(seqs.0, seqs.1);
    state.last_seq = end.last_seq;
    assert_eq!(state, end);
}
