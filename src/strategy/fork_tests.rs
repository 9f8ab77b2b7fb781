//! Forks: what is carried over, where a task can be forked, and that a forked journal replays.

use super::bench::{Bench, directive, profile, run, shown};
use super::{drive, step_log};
use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::Role;
use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::Action;
use crate::domain::event::TaskEvent;
use crate::domain::fork::{self, Forked};
use crate::domain::ids::TaskId;
use crate::domain::profile::ExecutorMode;
use crate::domain::task::{TaskState, TaskStatus};
use crate::prompts::render;
use crate::strategy::replay::{ReplayError, replay};
use serde_json::json;

/// A fork of a task, as the supervisor makes it.
fn forked(of: &Bench, at: u32, model: Option<&str>) -> Bench {
    let from = of.state.task_id.clone();
    let at_seq = fork::places(&from, &of.journal)[&at];
    let TaskEvent::TaskCreated(created) = of.journal[0].event.clone() else {
        unreachable!("a journal begins so")
    };
    let told = json!({"from": from, "step": at, "minutes": 90, "went_on": true});
    let words = render(&of.profile.prompts, "shared/forked", told).unwrap();
    let carried = of.journal.iter().filter(|e| e.seq <= at_seq).cloned();
    let mut fork = Bench::new(of.profile.clone());
    fork.state = TaskState::new(TaskId::from_unique("01FORK").unwrap());
    fork.journal.clear();
    fork.now_ms = of.now_ms + 5_400_000;
    fork.push(TaskEvent::TaskCreated(created));
    fork.push(TaskEvent::Forked(Box::new(Forked {
        from,
        at_step: at,
        at_seq,
        model: model.map(str::to_owned),
        words: words.trim_end().to_owned(),
        carried: carried.collect(),
    })));
    fork
}

/// Two runs, then a third whose call is open.
fn task() -> Bench {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    for path in ["/a.lua", "/b.lua", "/c.lua"] {
        bench.advance();
        bench.answer(&run(path));
        bench.advance();
        if path != "/c.lua" {
            bench.succeed();
        }
    }
    bench
}

#[test]
fn a_fork_goes_on_behind_its_step_under_ids_of_its_own() {
    let former = task();
    let mut fork = forked(&former, 2, None);
    assert_eq!(fork.state.status, TaskStatus::Queued);
    assert!(matches!(fork.advance(), Decision::Consult(_)));
    fork.answer(&run("/d.lua"));
    let Decision::Call { calls, .. } = fork.advance() else {
        panic!("it calls")
    };
    assert_eq!(calls[0].call_id.task(), Some(fork.state.task_id.clone()));
    let own: Vec<bool> = fork.state.calls().map(|c| fork.state.is_own(c)).collect();
    assert_eq!(own, [false, false, true]);
    let numbers: Vec<u32> = fork.state.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    // The other one is where it was, with its call open.
    assert_eq!(former.state.status, TaskStatus::WaitingForCommand);
    let from = fork.state.summary().forked_from.unwrap();
    assert_eq!((from.task_id, from.step), (former.state.task_id, 2));
}

#[test]
fn a_forked_journal_replays_and_what_it_carries_is_not_decided_again() {
    let mut fork = forked(&task(), 2, None);
    fork.advance();
    fork.answer("I would rather chat.");
    fork.advance();
    fork.answer(&run("/d.lua"));
    fork.advance();
    fork.succeed();
    fork.advance();
    let done = replay(&fork.journal, &fork.profile, |hash| fork.blob(hash)).unwrap();
    let TaskEvent::Forked(carried) = &fork.journal[1].event else {
        unreachable!("a fork's second event")
    };
    assert_eq!(done.carried, carried.carried.len());
    assert_eq!((done.decisions, done.readings), (5, 2));
    // A past that was changed leads elsewhere.
    let mut changed = fork.journal.clone();
    let TaskEvent::Forked(carried) = &mut changed[1].event else {
        unreachable!("a fork's second event")
    };
    carried.words = "nothing".into();
    let error = replay(&changed, &fork.profile, |hash| fork.blob(hash)).unwrap_err();
    assert!(matches!(error, ReplayError::Differs { .. }), "{error}");
}

#[test]
fn budgets_proof_and_failures_begin_anew_in_a_fork() {
    let mut former = Bench::new(profile(ExecutorMode::Auto));
    for n in 0..8 {
        former.advance();
        former.answer(&run(&format!("/a{n}.lua")));
        former.advance();
        former.succeed();
    }
    let over = former.advance();
    assert!(matches!(over, Decision::Fail { code, .. } if code == "budget_exceeded"));
    let mut fork = forked(&former, 8, None);
    assert_eq!(fork.state.own_usage().steps, 0);
    assert_eq!(fork.state.summary().usage.tokens_in, 0);
    for _ in 0..3 {
        assert!(matches!(fork.advance(), Decision::Consult(_)));
        // The former's tests prove nothing of how it is now.
        fork.answer(&directive(Action::Done {
            summary: "done".into(),
            notes: None,
        }));
        assert!(fork.state.steps.len() > 8);
    }
    fork.next();
    let blocked = fork.state.steps[8].blocked.as_ref().unwrap();
    assert_eq!(blocked.guard, Guard::Proof);
    assert_eq!(fork.state.own_usage().steps, fork.state.usage.steps - 8);
}

#[test]
fn only_a_step_that_ended_with_nothing_open_can_be_forked() {
    let places = |bench: &Bench| -> Vec<u32> {
        fork::places(&bench.state.task_id, &bench.journal)
            .into_keys()
            .collect()
    };
    let mut bench = Bench::new(profile(ExecutorMode::Auto)).asked_for("Run /a.lua");
    assert!(places(&bench).is_empty(), "nothing has happened");
    bench.advance();
    assert!(places(&bench).is_empty(), "a model thinks");
    bench.answer(&run("/a.lua"));
    bench.advance();
    assert!(places(&bench).is_empty(), "a call is open");
    bench.succeed();
    assert_eq!(places(&bench), [1]);
    bench.advance();
    bench.answer(&directive(Action::AskUser {
        question: "Which?".into(),
        why: Some("nobody said".into()),
        next: None,
    }));
    bench.advance();
    assert_eq!(places(&bench), [1], "a person is asked");
    let (question, _) = bench.state.open_question().unwrap();
    let question_id = question.question_id.clone();
    bench.push(TaskEvent::QuestionAnswered {
        question_id,
        answer: "the left one".into(),
        by: "me".into(),
        authenticated: true,
    });
    bench.advance();
    assert_eq!(places(&bench), [1, 2]);
    bench.answer(&directive(Action::Done {
        summary: "done".into(),
        notes: None,
    }));
    bench.advance();
    assert_eq!(bench.state.status, TaskStatus::Completed);
    assert_eq!(places(&bench), [1, 2], "the end is no place to go on from");
}

#[test]
fn a_call_whose_outcome_was_unknown_stays_the_other_tasks_call() {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer(&run("/a.lua"));
    bench.advance();
    bench.settle(CallReport::without_answer(Outcome::Unknown, "timeout", "?"));
    let mut fork = forked(&bench, 1, None);
    let call = fork.state.calls().next().unwrap().clone();
    assert!(!fork.state.is_own(&call));
    assert_eq!(call.outcome(), Some(Outcome::Unknown));
    // And it is no part of what the fork waits for at its end.
    assert_eq!(fork.state.open_intents(), 0);
    assert!(matches!(fork.advance(), Decision::Consult(_)));
}

#[test]
fn a_fork_of_a_fork_carries_both_and_another_model_is_known_afresh() {
    let mut first = forked(&task(), 1, None);
    first.advance();
    first.answer(&run("/x.lua"));
    first.advance();
    first.succeed();
    assert_eq!(fork::depth(&first.journal), 1);
    let ratio = |bench: &Bench| bench.state.conversations[&Role::Planner].ratio;
    let second = forked(&first, 2, Some("other"));
    assert_eq!(fork::depth(&second.journal), 2);
    assert_eq!(ratio(&second), Default::default());
    assert_eq!(second.state.steps.len(), 2);
    let text = serde_json::to_string(&second.journal).unwrap();
    let read: Vec<crate::domain::event::StoredEvent> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, second.journal);
    // The step log shows what the planner saw in every step, whoever did it.
    let log = step_log::step_log(&second.journal);
    assert_eq!(log.len(), 2);
    assert!(log.iter().all(|step| step.planner_input.is_some()));
}

#[test]
fn an_out_of_place_fork_changes_nothing_but_the_position() {
    let former = task();
    let mut fork = forked(&former, 2, None);
    let event = fork.journal[1].event.clone();
    fork.advance();
    let before = fork.state.clone();
    fork.push(event.clone());
    assert_eq!(fork.state.steps, before.steps);
    assert_eq!(fork.state.usage, before.usage);
    // Carried events with an open call are not taken over: it could never be settled here.
    let TaskEvent::Forked(mut open) = event else {
        unreachable!("a fork's second event")
    };
    open.carried = former.journal.clone();
    let mut fresh = Bench::new(former.profile.clone());
    fresh.push(TaskEvent::Forked(open));
    assert!(fresh.state.steps.is_empty() && fresh.state.forked.is_none());
}

/// Looked at by a person.
#[test]
fn what_the_planner_of_a_fork_sees() {
    let mut fork = forked(&task(), 2, Some("other"));
    fork.advance();
    insta::assert_snapshot!("planner_of_a_fork", shown(fork.state.prompt(Role::Planner)));
}

#[test]
fn every_strategy_with_steps_can_be_forked_and_tells_its_planner() {
    for (strategy, said) in [
        (
            "directive",
            vec!["DIRECTIVE: TOOL\nNAME: fs_list\nARGS: {}"],
        ),
        ("direct", vec!["{\"tool\": \"fs_list\", \"args\": {}}"]),
        (
            "numbered",
            vec![
                "1. Look\n2. Look again",
                "Thought: look\nAction: fs_list\nAction Input: {}",
            ],
        ),
        (
            "goals",
            vec![
                r#"{"objectives": [{"description": "Look", "subtasks": [{"description": "List the files of the root", "tool": "fs_list", "targets": ["/"]}]}]}"#,
                r#"{"tool": "fs_list", "args": {}}"#,
            ],
        ),
    ] {
        let mut drive = drive::Drive::new(drive::profile_of(strategy), "Look around");
        assert!(drive.say(&said), "{strategy}");
        let former = drive.bench;
        let (&at, _) = fork::places(&former.state.task_id, &former.journal)
            .last_key_value()
            .unwrap_or_else(|| panic!("{strategy}: {:#?}", former.state.steps));
        let mut fork = forked(&former, at, None);
        let next = fork.advance();
        assert!(matches!(next, Decision::Consult(_)), "{strategy}: {next:?}");
        let prompt = shown(fork.state.prompt(Role::Planner));
        assert!(
            prompt.contains("The world may differ"),
            "{strategy}: {prompt}"
        );
        replay(&fork.journal, &fork.profile, |hash| fork.blob(hash)).unwrap();
    }
}
