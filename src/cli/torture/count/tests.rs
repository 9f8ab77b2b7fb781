//! What kept its promises is clean, and each broken one is told.

use super::*;
use serde_json::json;

/// One that ends by itself.
const TASK: usize = 10;

fn mark(number: u32) -> Mark {
    Mark { task: TASK, number }
}

fn call(id: &str, number: u32, outcomes: &[Outcome]) -> CallSeen {
    CallSeen {
        call_id: id.into(),
        deed: Deed::Mark,
        mark: mark(number),
        outcomes: outcomes.to_vec(),
        result: Some(json!({"mark": mark(number).to_string(), "call_id": id})),
        cut_short: false,
    }
}

fn look(id: &str, number: u32, count: u32) -> CallSeen {
    CallSeen {
        deed: Deed::Look,
        result: Some(json!({"mark": mark(number).to_string(), "count": count})),
        ..call(id, number, &[Outcome::Done])
    }
}

/// A task that left two marks, one of them by an unknown call whose computer had died.
fn clean() -> Evidence {
    let calls = vec![
        call("a", 1, &[Outcome::Done]),
        call("b", 2, &[Outcome::Unknown]),
        look("c", 2, 0),
        call("d", 2, &[Outcome::Unknown, Outcome::Done]),
        look("e", 2, 1),
    ];
    let task = TaskSeen {
        end: End::Completed,
        status: "completed".into(),
        calls,
        ..TaskSeen::default()
    };
    Evidence {
        accepted: [(TASK, "tsk".to_owned())].into(),
        tasks: [("tsk".to_owned(), task)].into(),
        marks: vec![(mark(1), "a".into()), (mark(2), "d".into())],
        entries: [("a".to_owned(), 1), ("d".to_owned(), 1)].into(),
        explained: ["b", "d"].map(str::to_owned).into(),
        finished: true,
        ..Evidence::default()
    }
}

fn calls(evidence: &mut Evidence) -> &mut Vec<CallSeen> {
    &mut evidence.tasks.get_mut("tsk").unwrap().calls
}

#[test]
fn what_kept_its_promises_is_clean() {
    let verdict = count(&clean());
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert_eq!((verdict.calls, verdict.marks), (5, 2));
    assert_eq!(verdict.unknown_outcomes, 2);
    assert!(verdict.complaints.is_empty());
}

#[test]
fn a_mark_too_many_is_a_duplicate_whoever_left_it() {
    let mut twice = clean();
    twice.marks.push((mark(1), "a".into()));
    // Once by the call, once by the name.
    assert_eq!(count(&twice).duplicate_effects, 2);
    let mut entered = clean();
    entered.entries.insert("a".into(), 2);
    assert_eq!(count(&entered).duplicate_effects, 1);
    let mut by_both = clean();
    by_both.marks.push((mark(2), "b".into()));
    let verdict = count(&by_both);
    assert_eq!(verdict.duplicate_effects, 1);
    // And the look that saw none was told wrong.
    assert_eq!(verdict.wrong_results, 2);
}

#[test]
fn a_mark_that_is_missing_is_a_lost_call() {
    let mut gone = clean();
    gone.marks.remove(0);
    assert_eq!(count(&gone).lost_calls, 2);
    let mut open = clean();
    calls(&mut open).push(call("f", 3, &[]));
    assert_eq!(count(&open).lost_calls, 2);
    open.finished = false;
    assert_eq!(count(&open).lost_calls, 0);
}

#[test]
fn results_that_say_what_is_not_so_are_wrong() {
    let mut foreign = clean();
    calls(&mut foreign)[0].result = Some(json!({"mark": "t10m1", "call_id": "z"}));
    assert_eq!(count(&foreign).wrong_results, 1);
    for outcome in [Outcome::Failed, Outcome::NotStarted] {
        let mut denied = clean();
        calls(&mut denied)[0].outcomes = vec![outcome];
        assert_eq!(count(&denied).wrong_results, 1);
    }
    let mut nobody = clean();
    nobody.marks.push((mark(9), "z".into()));
    assert_eq!(count(&nobody).wrong_results, 1);
}

#[test]
fn an_unknown_without_a_death_is_unexplained() {
    let mut unexplained = clean();
    unexplained.explained.remove("b");
    let verdict = count(&unexplained);
    assert_eq!(
        (verdict.unknown_outcomes, verdict.unexplained_unknown),
        (2, 1)
    );
    assert!(!verdict.is_clean());
}

#[test]
fn a_damaged_journal_and_a_replay_that_differs_are_broken_promises() {
    let mut damaged = clean();
    damaged.damage.push("event 3: its checksum".into());
    assert!(!count(&damaged).is_clean());
    let mut differing = clean();
    differing.differing.push("tsk: event 7".into());
    assert!(!count(&differing).is_clean());
}

#[test]
fn a_task_that_was_accepted_and_did_not_complete_is_lost() {
    let mut failed = clean();
    failed.tasks.get_mut("tsk").unwrap().end = End::Failed;
    assert_eq!(count(&failed).lost_tasks, 1);
    failed.finished = false;
    assert_eq!(count(&failed).lost_tasks, 0);
    failed.accepted.insert(20, "other".into());
    assert_eq!(count(&failed).lost_tasks, 1);
}

/// A task that was cancelled in its third mark.
fn cancelled() -> Evidence {
    let mut evidence = clean();
    let mut task = evidence.tasks.remove("tsk").unwrap();
    task.end = End::Cancelled;
    task.calls.push(CallSeen {
        cut_short: true,
        ..call("f", 3, &[Outcome::Unknown])
    });
    evidence.tasks.insert("tsk".into(), task);
    // A number whose part it is to be cancelled.
    evidence.accepted = [(1, "tsk".to_owned())].into();
    evidence
}

#[test]
fn a_cancel_cuts_the_last_call_short_and_lets_none_begin() {
    let mut evidence = cancelled();
    let verdict = count(&evidence);
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert_eq!(verdict.lives.cancelled, 1);
    evidence.marks.push((mark(3), "f".into()));
    assert!(count(&evidence).is_clean());
    calls(&mut evidence)[5].outcomes = vec![Outcome::Failed];
    assert!(count(&evidence).is_clean());
    // But its former marks are all there.
    evidence.marks.remove(1);
    assert_eq!(count(&evidence).lost_calls, 2);
    let mut late = cancelled();
    let task = late.tasks.get_mut("tsk").unwrap();
    task.begun_after_cancel = vec!["f".into()];
    assert_eq!(count(&late).wrong_results, 1);
    let mut lived = cancelled();
    lived.tasks.get_mut("tsk").unwrap().end = End::Completed;
    assert_eq!(count(&lived).lost_tasks, 1);
}

#[test]
fn what_was_confirmed_to_people_is_in_the_journal_once() {
    let mut evidence = clean();
    evidence.answers = [("q".to_owned(), "yes".to_owned())].into();
    evidence.wakes = [4].into();
    let verdict = count(&evidence);
    assert_eq!((verdict.lost_answers, verdict.lost_wakes), (1, 1));
    let task = evidence.tasks.get_mut("tsk").unwrap();
    task.answers = [("q".to_owned(), "yes".to_owned())].into();
    task.wakes = [4].into();
    task.woken_by = vec![4];
    assert!(count(&evidence).is_clean());
    evidence.tasks.get_mut("tsk").unwrap().woken_by = vec![4, 4];
    assert_eq!(count(&evidence).duplicate_effects, 1);
}

#[test]
fn what_needs_consent_leaves_once_for_each() {
    let mut evidence = clean();
    let task = evidence.tasks.get_mut("tsk").unwrap();
    (task.seals, task.consents) = (1, 1);
    assert!(count(&evidence).is_clean());
    evidence.tasks.get_mut("tsk").unwrap().seals = 2;
    assert_eq!(count(&evidence).wrong_results, 1);
}

#[test]
fn who_naps_has_slept_and_no_sleep_ends_twice() {
    let mut evidence = clean();
    evidence.accepted = [(6, "tsk".to_owned())].into();
    assert_eq!(count(&evidence).lost_tasks, 1, "it never slept");
    let nap = ("n".to_owned(), 1);
    evidence.tasks.get_mut("tsk").unwrap().naps = [nap].into();
    let verdict = count(&evidence);
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert_eq!(verdict.lives.naps, 1);
    let nap = ("n".to_owned(), 2);
    evidence.tasks.get_mut("tsk").unwrap().naps = [nap].into();
    assert_eq!(count(&evidence).duplicate_effects, 1);
}

#[test]
fn a_task_is_forked_once_and_its_fork_completes() {
    let mut evidence = clean();
    evidence.accepted = [(9, "tsk".to_owned())].into();
    assert_eq!(count(&evidence).lost_tasks, 1, "no fork");
    let fork = TaskSeen {
        forked_from: Some("tsk".into()),
        end: End::Completed,
        ..TaskSeen::default()
    };
    evidence.tasks.insert("fork".into(), fork.clone());
    evidence.forks = [(9, "fork".to_owned())].into();
    let verdict = count(&evidence);
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert_eq!(verdict.lives.forks, 1);
    evidence.tasks.get_mut("fork").unwrap().end = End::Failed;
    assert_eq!(count(&evidence).lost_tasks, 1);
    evidence.tasks.insert("fork".into(), fork.clone());
    evidence.tasks.insert("again".into(), fork);
    assert_eq!(count(&evidence).duplicate_effects, 1);
    evidence.tasks.remove("fork");
    assert_eq!(count(&evidence).lost_tasks, 1, "the confirmed one");
}

#[test]
fn a_parent_has_one_child_and_is_told_its_end() {
    let mut evidence = clean();
    let parent = super::super::parts::child_of(3) - super::super::parts::child_of(0);
    evidence.accepted = [(parent, "tsk".to_owned())].into();
    assert_eq!(count(&evidence).lost_tasks, 1, "no child");
    let child = TaskSeen {
        number: Some(super::super::parts::child_of(parent)),
        parent: Some("tsk".into()),
        end: End::Completed,
        ..TaskSeen::default()
    };
    evidence.tasks.insert("one".into(), child.clone());
    let told = ("one".to_owned(), "completed".to_owned());
    evidence.tasks.get_mut("tsk").unwrap().children_told = vec![told];
    let verdict = count(&evidence);
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert_eq!(verdict.lives.children, 1);
    evidence.tasks.get_mut("one").unwrap().end = End::Failed;
    let verdict = count(&evidence);
    assert_eq!((verdict.lost_tasks, verdict.wrong_results), (1, 1));
    evidence.tasks.insert("one".into(), child.clone());
    evidence.tasks.insert("two".into(), child);
    assert_eq!(count(&evidence).duplicate_effects, 1);
}
