//! What a call told of tools is seen by the decision after it.

use super::*;
use crate::domain::call::{CallReport, Outcome, Target};

#[actix::test]
async fn the_decision_after_an_activation_waits_until_the_tool_is_shown_as_active() {
    tokio::time::pause();
    let mut bench = Bench::new(profile(ExecutorMode::Auto));
    let ready = Target::Computer(ClientId::parse(turns::READY).unwrap());
    let call_id = bench.decide_by_hand(ready, ACTIVATE, json!({"name": "dig"}));
    let mut running = Running::from(&bench, WITHIN);
    running.until("ready: dispatch").await;
    let report = CallReport {
        result: Some(json!({"name": "dig", "state": "active", "tool_version": "sha256:1"})),
        error: None,
        code: None,
        ..CallReport::without_answer(Outcome::Done, "", "")
    };
    running.task.do_send(CallFact {
        call_id,
        generation: Generation(2),
        what: CallNews::Settled(Arc::new(report)),
    });
    let heard = running.until("decided").await;
    let shown = heard.iter().position(|told| told == "ready: tools");
    let finished = heard.iter().position(|told| told == "call_finished");
    assert!(finished.is_some() && finished < shown, "{heard:?}");
}
