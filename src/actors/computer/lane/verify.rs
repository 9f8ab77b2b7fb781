//! Asking a tool's `verify` whether an `unknown` call happened (wire contract, "Refused calls").
//!
//! It is a question about a call, like `call_status`: a `read` that changes nothing, so it is not journalled before
//! it leaves; its answer is, as the call's outcome. It waits for nobody and nobody waits for it.

use super::*;
use crate::domain::call::args_hash;
use crate::domain::tool::ToolState;
use crate::wire::frames::outgoing::CommandCall;
use serde_json::json;

/// How often one call is asked about.
const MAX_TRIES: u8 = 3;
/// For tools that name no time of their own.
const VERIFY_WITHIN: Duration = Duration::from_secs(60);

impl<R: Reply> Lane<R> {
    /// The `read` tool that can tell of a call of `tool`.
    fn verifier(&self, tool: &str) -> Option<&Tool> {
        let name = self.tools.get(tool)?.verify.as_ref()?;
        let verifier = self.tools.get(name)?;
        let can = verifier.effect == EffectClass::Read && verifier.state == ToolState::Active;
        can.then_some(verifier)
    }

    /// Asks about the oldest call that can be asked about; one at a time.
    pub(super) fn verify_unknown(&mut self, now: Duration, acts: &mut Vec<Act<R>>) {
        let may_ask = self.is_online() && !self.stopped && !self.is_legacy();
        let asking = self
            .memory
            .unknowns()
            .any(|(_, c)| c.verify.asked.is_some());
        if !may_ask || asking || !self.has_room_to_read() {
            return;
        }
        let next = self.memory.unknowns().find_map(|(id, call)| {
            let open = call.effect == EffectClass::Effect && call.report.is_none();
            let due = open && call.verify.is_safe && call.verify.tries < MAX_TRIES;
            let verifier = self.verifier(&call.tool).filter(|_| due)?;
            let within = verifier
                .timeout_ms
                .map_or(VERIFY_WITHIN, Duration::from_millis);
            let args = json!({"call_id": id, "command": call.tool, "args": *call.args});
            let question = CommandCall {
                task_id: call.task_id.clone(),
                call_id: id.verification(call.verify.tries + 1),
                command: verifier.name.as_str().into(),
                seq: None,
                tool_rev: Some(verifier.rev().into()),
                args_hash: Some(args_hash(&args)),
                deadline_ms: u64::try_from(within.as_millis()).ok(),
                delivery: Some(1),
                args: args.into(),
            };
            Some((
                id.clone(),
                question,
                now + within.min(self.limits.max_timeout),
            ))
        });
        let Some((call_id, question, until)) = next else {
            return;
        };
        if let Some(call) = self.memory.unknown(&call_id) {
            call.verify.tries += 1;
            call.verify.asked = Some((question.call_id.clone(), until));
            acts.push(Act::Send(ServerMessage::CommandCall(Box::new(question))));
        }
    }

    /// Takes the answer of a `verify`; false if it is none.
    pub(super) fn take_verification(
        &mut self,
        asked: &CallId,
        answer: &CallReport,
        acts: &mut Vec<Act<R>>,
    ) -> bool {
        let is_asked = |call: &memory::Unresolved<R>| {
            call.verify
                .asked
                .as_ref()
                .is_some_and(|(id, _)| id == asked)
        };
        let found = self.memory.unknowns().find(|(_, call)| is_asked(call));
        let Some(call_id) = found.map(|(id, _)| id.clone()) else {
            return false;
        };
        if let Some(call) = self.memory.unknown(&call_id) {
            call.verify.asked = None;
        }
        if let Some(report) = verified(answer) {
            self.resolve(&call_id, report, acts);
        }
        true
    }

    /// When the question that is out counts as lost.
    pub(super) fn next_verify_end(&self) -> Option<Duration> {
        let calls = self.memory.unknowns();
        calls
            .filter_map(|(_, c)| c.verify.asked.as_ref().map(|(_, until)| *until))
            .min()
    }

    pub(super) fn end_overdue_verifications(&mut self, now: Duration) {
        for call in self.memory.unknowns_mut() {
            call.verify.asked.take_if(|(_, until)| *until <= now);
        }
    }

    /// The connection is gone, and the question with it.
    pub(super) fn forget_verifications(&mut self) {
        for call in self.memory.unknowns_mut() {
            call.verify.asked = None;
        }
    }

    /// The computer knows no more of an `unknown` call than we do.
    pub(super) fn receipt_of_unknown(
        &mut self,
        call_id: &CallId,
        receipt: &Receipt,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let boot_id = self.boot_id().cloned();
        if let Some(call) = self.memory.unknown(call_id) {
            let died = call.boot_id != boot_id;
            call.verify.is_safe |= died || *receipt == Receipt::Unknown;
            self.verify_unknown(now, acts);
        }
    }
}

/// What the answer of a `verify` makes of its call; none if it cannot tell.
fn verified(answer: &CallReport) -> Option<CallReport> {
    let result = answer
        .result
        .as_ref()
        .filter(|_| answer.outcome == Outcome::Done)?;
    match result.get("state").and_then(Value::as_str)? {
        "done" => Some(CallReport {
            outcome: Outcome::Done,
            result: Some(result.get("result").cloned().unwrap_or_else(|| json!({}))),
            error: None,
            code: None,
            duration_ms: None,
            truncated: answer.truncated,
        }),
        "not_done" => Some(ended(Outcome::Failed, ErrorCode::VerifiedNotDone)),
        _ => None,
    }
}
