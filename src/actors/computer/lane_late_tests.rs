//! What comes after an outcome, and what people stop.

use super::*;
use std::cell::Cell;
use std::rc::Rc;

fn with_verify() -> Toolbox {
    let dig: Tool = serde_json::from_value(json!({"name": "dig", "verify": "look"})).unwrap();
    tools().changed([dig], &[])
}

fn behind(high_seq: u64) -> Link {
    Link {
        high_seq: Some(high_seq),
        ..link("boot-1")
    }
}

fn answer(state: &str) -> CallReport {
    CallReport {
        result: Some(json!({"state": state, "result": {"dug": 3}})),
        ..done()
    }
}

/// A lane with one call that its computer's restart made unknown, and what was asked to verify it.
fn unknown_call() -> (Bench, CallId, Value) {
    let mut b = Bench::new();
    b.lane.set_tools(with_verify(), T0, &mut b.acts);
    b.sent(1, "dig").reconnect("boot-2", at(1));
    b.lane.receipt(&id(1), Receipt::Unknown, at(1), &mut b.acts);
    b.said();
    b.lane.outcome_stored(&id(1), at(1), &mut b.acts);
    let Some(Act::Send(ServerMessage::CommandCall(call))) = b.acts.pop() else {
        panic!("nothing was asked");
    };
    assert_eq!((call.command.as_str(), call.seq), ("look", None));
    (b, call.call_id.clone(), (*call.args).clone())
}

#[test]
fn the_tools_verify_is_asked_about_an_unknown_call_and_settles_it() {
    let (mut b, asked, args) = unknown_call();
    assert_eq!(
        args,
        json!({"call_id": id(1), "command": "dig", "args": {"n": 1}})
    );
    b.lane.answered(&asked, answer("done"), at(2), &mut b.acts);
    let Act::Tell { fact, .. } = &b.acts[0] else {
        panic!("{:?}", b.acts);
    };
    let CallNews::Settled(report) = &fact.what else {
        panic!("{fact:?}");
    };
    assert_eq!(report.result, Some(json!({"dug": 3})));
    assert_eq!(b.said(), ["1 done -"]);
    b.lane.outcome_stored(&id(1), at(2), &mut b.acts);
    assert_eq!(b.said(), ["> stored 1"]);
}

#[test]
fn a_call_that_verify_did_not_find_has_failed_with_a_code_of_its_own() {
    let (mut b, asked, _) = unknown_call();
    b.lane
        .answered(&asked, answer("not_done"), at(2), &mut b.acts);
    assert_eq!(b.said(), ["1 failed verified_not_done"]);
}

#[test]
fn verify_is_asked_three_times_and_never_holds_the_lane() {
    let (mut b, mut asked, _) = unknown_call();
    b.place(2, "dig");
    assert_eq!(b.said(), ["2 granted Some(2)"]);
    for _ in 0..2 {
        b.lane
            .answered(&asked, answer("unknown"), at(2), &mut b.acts);
        let Some(Act::Send(ServerMessage::CommandCall(again))) = b.acts.pop() else {
            panic!("not asked again");
        };
        assert_ne!(asked, again.call_id);
        asked = again.call_id.clone();
    }
    b.lane
        .answered(&asked, answer("unknown"), at(2), &mut b.acts);
    assert_eq!(b.said(), Vec::<String>::new());
}

#[test]
fn a_call_that_may_still_run_is_not_verified() {
    let mut b = Bench::new();
    b.lane.set_tools(with_verify(), T0, &mut b.acts);
    b.sent(1, "dig");
    b.lane.tick(at(60), &mut b.acts);
    b.lane.tick(at(65), &mut b.acts);
    b.lane.outcome_stored(&id(1), at(65), &mut b.acts);
    assert_eq!(b.said(), ["> cancel 1", "1 unknown timeout"]);
}

/// A task that may have ended.
#[derive(Debug, Clone)]
struct Mortal(Rc<Cell<bool>>);

impl Reply for Mortal {
    fn is_alive(&self) -> bool {
        self.0.get()
    }
}

#[test]
fn a_late_result_of_a_task_that_has_ended_goes_to_the_journal() {
    let mut lane = Lane::new(ClientId::parse("cc").unwrap(), 0, 0, LaneLimits::default());
    let mut acts = Vec::new();
    lane.set_tools(tools(), T0, &mut acts);
    lane.attach(link("boot-1"), T0, &mut acts);
    let alive = Rc::new(Cell::new(true));
    lane.remember(
        task_id(),
        Generation(1),
        intended(1, 1),
        Mortal(alive.clone()),
        &mut acts,
    );
    alive.set(false);
    acts.clear();
    lane.answered(&id(1), done(), at(1), &mut acts);
    assert!(
        matches!(&acts[..], [Act::Late { call_id, .. }] if *call_id == id(1)),
        "{acts:?}"
    );
    acts.clear();
    lane.found_stored(&id(1), at(1), &mut acts);
    assert!(
        matches!(&acts[..], [Act::Send(ServerMessage::ResultStored(_))]),
        "{acts:?}"
    );
}

#[test]
fn a_call_that_the_journal_knows_as_unknown_is_asked_about_and_takes_a_late_result() {
    let mut b = Bench::new();
    b.lane.remember(
        task_id(),
        Generation(2),
        intended(1, 1),
        Task(1),
        &mut b.acts,
    );
    assert_eq!(b.said(), ["> status 1"]);
    b.lane.answered(&id(1), done(), at(1), &mut b.acts);
    b.lane.outcome_stored(&id(1), at(1), &mut b.acts);
    assert_eq!(b.said(), ["1 done -", "> stored 1"]);
}

#[test]
fn a_stop_ends_what_runs_and_keeps_what_waits_until_the_resume() {
    let mut b = Bench::new();
    b.sent(1, "dig").place(2, "dig").said();
    assert_eq!(b.lane.stop_calls(at(1), &mut b.acts), 1);
    assert_eq!(b.said(), ["> cancel 1", "2 queued 0"]);
    b.lane.tick(at(6), &mut b.acts);
    b.lane.outcome_stored(&id(1), at(6), &mut b.acts);
    b.place(3, "look");
    assert_eq!(b.said(), ["1 unknown stopped", "3 queued 1"]);
    let resumed = b.lane.resume_calls(false, at(7), &mut b.acts);
    assert!(resumed.was_stopped && resumed.raised_to.is_none());
    assert_eq!(
        b.said(),
        [
            "2 queued 0",
            "3 queued 1",
            "2 granted Some(2)",
            "3 granted None"
        ]
    );
}

#[test]
fn a_turn_that_was_not_used_before_the_stop_is_taken_back() {
    let mut b = Bench::new();
    b.place(1, "dig").said();
    assert_eq!(b.lane.stop_calls(at(1), &mut b.acts), 1);
    b.lane.dispatch(&id(1), at(1), &mut b.acts);
    assert_eq!(b.said(), ["1 not_started stopped"]);
}

#[test]
fn a_stopped_computer_that_comes_back_is_not_sent_its_calls_again() {
    let mut b = Bench::new();
    b.sent(1, "dig").sent(2, "look");
    b.lane.detach(at(1), &mut b.acts);
    b.lane.stop_calls(at(1), &mut b.acts);
    b.said();
    b.lane.attach(link("boot-1"), at(2), &mut b.acts);
    b.lane
        .receipt(&id(1), Receipt::NotStarted, at(2), &mut b.acts);
    let said = b.said();
    assert!(
        !said.iter().any(|word| word.starts_with("> call")),
        "{said:?}"
    );
    assert!(
        said.contains(&"1 not_started stopped".to_owned()),
        "{said:?}"
    );
}

#[test]
fn only_an_operator_lets_effects_flow_where_the_journal_is_older() {
    let mut b = Bench::offline(4);
    b.lane.attach(behind(9), T0, &mut b.acts);
    b.said();
    b.lane.resume_calls(false, T0, &mut b.acts);
    b.place(1, "dig");
    assert_eq!(b.said(), ["1 not placed Stopped"]);
    let resumed = b.lane.resume_calls(true, T0, &mut b.acts);
    assert_eq!(resumed.raised_to, Some(9));
    b.place(2, "dig");
    assert_eq!(b.said(), ["2 granted Some(10)"]);
}

#[test]
fn a_computer_that_knows_a_later_epoch_shows_that_the_journal_was_put_back() {
    let mut b = Bench::offline(4);
    let later = Link {
        later_epoch: true,
        ..behind(4)
    };
    b.lane.attach(later, T0, &mut b.acts);
    b.place(1, "dig");
    assert_eq!(b.said(), ["note EpochOlder", "1 not placed Stopped"]);
}

#[test]
fn a_computer_that_says_less_than_it_said_before_was_put_back_too() {
    let mut b = Bench::offline(9);
    b.lane.attach(behind(7), T0, &mut b.acts);
    b.lane.attach(behind(6), at(1), &mut b.acts);
    assert_eq!(
        b.said(),
        ["note ComputerRestored { computer: 6, stored: 7 }"]
    );
}

#[test]
fn the_queue_shows_what_waits_and_for_how_long() {
    let mut b = Bench::new();
    b.sent(1, "dig").place(2, "dig");
    let waiting = b.lane.waiting(at(3));
    assert_eq!(waiting.len(), 1);
    assert_eq!((&waiting[0].call_id, waiting[0].age_ms), (&id(2), 3000));
}
