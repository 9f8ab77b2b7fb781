//! A decision to call waits for its turn before it is journalled.

use super::*;
use crate::domain::call::Outcome;
use crate::strategy::bench::report;

/// It grants every turn.
pub(super) const READY: &str = "ready";
/// It says nothing.
pub(super) const MUTE: &str = "mute";
/// It ends with the first call.
pub(in crate::actors) const LOST: &str = "lost";

pub(super) fn granted() -> CallNews {
    CallNews::TurnGranted {
        client_id: ClientId::parse(READY).unwrap(),
        seq: Some(1),
        tool_rev: "r1".into(),
        effect: EffectClass::Effect,
        timeout_ms: 1_000,
        boot_id: None,
    }
}

/// A task that is about to decide to call on that computer.
fn wants_to_call_on(computer: &str) -> Bench {
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    bench.answer(&format!("{RUN}\nON: {computer}"));
    bench
}

#[actix::test]
async fn a_decision_to_call_and_its_intent_are_one_commit_and_nothing_leaves_before_it() {
    let mut running = Running::from(&wants_to_call_on(READY), WITHIN);
    let mut heard = running.until("ready: dispatch").await;
    heard.retain(|told| told != "base: notice");
    let of_call = [
        "ready: place",
        "decided",
        "call_intended",
        "ready: dispatch",
    ];
    assert_eq!(heard, of_call);
    assert_eq!(running.commits.load(Ordering::Relaxed), 1);
}

#[actix::test]
async fn a_decision_whose_turn_does_not_come_is_journalled_alone() {
    let mut running = Running::from(&wants_to_call_on(MUTE), WITHIN);
    assert_eq!(running.until("decided").await, ["mute: place", "decided"]);
    // Where the lane says that the call has to wait, it is not even waited for.
    let mut running = Running::from(&wants_to_call_on("other"), WITHIN);
    let heard = running.until("wait_started").await;
    assert_eq!(heard, ["other: place", "decided", "wait_started"]);
}

#[actix::test]
async fn what_ends_a_task_that_waits_for_a_turn_is_journalled_behind_its_decision() {
    let mut running = Running::from(&wants_to_call_on(MUTE), WITHIN);
    running.until("mute: place").await;
    assert!(running.task.send(cancel()).await.unwrap());
    let heard = running.until("mute: cancel").await;
    let journalled = |name: &str| heard.iter().position(|told| told == name);
    assert!(
        journalled("decided") < journalled("task_cancelled"),
        "{heard:?}"
    );
    assert!(!heard.contains(&"mute: dispatch".to_owned()), "{heard:?}");
}

#[actix::test]
async fn a_server_that_stops_while_a_task_waits_for_a_turn_keeps_its_decision() {
    let mut running = Running::from(&wants_to_call_on(MUTE), WITHIN);
    running.until("mute: place").await;
    running.task.do_send(super::super::messages::Halt);
    let heard = running.until("stopped").await;
    assert!(heard.contains(&"decided".to_owned()), "{heard:?}");
}

#[actix::test]
async fn a_question_that_is_answered_at_once_and_what_its_answer_leads_to_are_one_commit() {
    let bench = Bench::new(profile(ExecutorMode::Auto));
    let settings = Loader::new().load().unwrap();
    let says = "DIRECTIVE: RUN\nPATH: /a.lua\nON: ready";
    let mut running = Running::with(&bench, settings, Some(says));
    let mut heard = running.until("ready: dispatch").await;
    heard.retain(|told| told != "base: notice");
    let of_step = [
        "consult",
        "ready: place",
        "decided",
        "model_answered",
        "directive_read",
        "decided",
        "call_intended",
        "ready: dispatch",
    ];
    assert_eq!(heard, of_step);
    assert_eq!(running.commits.load(Ordering::Relaxed), 1);
}

#[actix::test]
async fn a_question_is_journalled_while_its_model_thinks() {
    let bench = Bench::new(profile(ExecutorMode::Auto));
    let settings = Loader::new().load().unwrap();
    let mut running = Running::with(&bench, settings, None);
    let mut heard = running.until("decided").await;
    heard.retain(|told| told != "base: notice");
    assert_eq!(heard, ["consult", "decided"]);
}

#[actix::test]
async fn an_outcome_that_is_told_again_before_it_is_durable_is_stored_only_behind_its_commit() {
    // A program that runs in the middle of what was asked for: behind it comes another, whose turn does not come.
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    bench.advance();
    let then = "THEN:\n1. RUN /a.lua\n2. RUN /b.lua";
    bench.answer(&format!(
        "DIRECTIVE: WRITE_FILE\nPATH: /a.lua\nON: {MUTE}\nCONTENT:\n```\nprint(1)\n```\n{then}"
    ));
    let call_id = bench.state.call_id(bench.state.last_seq + 1, 0);
    let mut running = Running::from(&bench, WITHIN);
    running.until("mute: place").await;
    let tell = |what: CallNews| CallFact {
        call_id: call_id.clone(),
        generation: Generation(2),
        what,
    };
    let ended = CallNews::Settled(Arc::new(report(Outcome::Done, true)));
    running.task.do_send(tell(granted()));
    running.task.do_send(tell(ended.clone()));
    running.task.do_send(tell(ended));
    let mut heard = running.until("mute: stored").await;
    heard.extend(running.until("mute: stored").await);
    let finished = heard.iter().filter(|told| *told == "call_finished").count();
    let at = |name: &str| heard.iter().position(|told| told == name);
    assert_eq!(finished, 1, "{heard:?}");
    assert!(at("mute: place") < at("call_finished"), "{heard:?}");
    assert!(at("call_finished") < at("mute: stored"), "{heard:?}");
}
