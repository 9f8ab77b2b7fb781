//! Open calls: sending, answers, deadlines, outcomes.

use super::*;
use crate::domain::call::args_hash;
use crate::wire::frames::outgoing::{CallRef, CommandCall};

impl<R: Reply> Lane<R> {
    /// Sends a call that never left. An `effect` call goes to the program start that is journalled with it, or
    /// nowhere: after a restart of the server nobody could say which other one may have run it.
    pub(super) fn first_send(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.get(call_id) else {
            return;
        };
        let Stage::Open(open) = &call.stage else {
            return;
        };
        let bound = call.effect == EffectClass::Effect && !self.is_legacy();
        if self.link.is_some() && bound && open.boot_id.as_ref() != self.boot_id() {
            let report = ended(Outcome::NotStarted, ErrorCode::ComputerRestarted);
            self.settle(call_id, report, now, acts);
        } else {
            self.send_call(call_id, now, acts);
        }
    }

    /// Sends an open call that the computer certainly does not have, if it is there.
    pub(super) fn send_call(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(link) = &self.link else {
            return;
        };
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        let Stage::Open(open) = &mut call.stage else {
            return;
        };
        open.delivery += 1;
        open.place = Place::Sent;
        open.boot_id = Some(link.boot_id.clone());
        let left = open.deadline.saturating_sub(now);
        acts.push(Act::Send(ServerMessage::CommandCall(Box::new(
            CommandCall {
                task_id: call.task_id.clone(),
                call_id: call_id.clone(),
                command: call.tool.clone(),
                args: call.args.clone(),
                seq: call.seq,
                tool_rev: Some(call.tool_rev.clone()),
                args_hash: Some(args_hash(&call.args)),
                deadline_ms: u64::try_from(left.as_millis()).ok(),
                delivery: Some(open.delivery),
            },
        ))));
    }

    /// The computer answered a call.
    pub fn answered(
        &mut self,
        call_id: &CallId,
        report: CallReport,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        match self.calls.get_mut(call_id).map(|call| &mut call.stage) {
            Some(Stage::Open(open)) if open.delivery > 0 => {
                let report = told_why(report, open.stopping);
                self.settle(call_id, report, now, acts);
            }
            Some(Stage::Settled { .. }) => self.resolve(call_id, report, acts),
            Some(_) => acts.push(Act::Note(Note::Stray(call_id.clone()))),
            None => self.answered_late(call_id, report, now, acts),
        }
    }

    /// The handler tells how far it is.
    pub fn progress(
        &mut self,
        call_id: &CallId,
        message: Option<String>,
        progress: Option<f64>,
        acts: &mut Vec<Act<R>>,
    ) {
        if let Some(call) = self.calls.get(call_id)
            && let Stage::Open(_) = call.stage
        {
            let what = CallNews::Progress { message, progress };
            tell(&call.reply, call_id, call.generation, what, acts);
        }
    }

    /// The connection could not send a call, or took it back.
    pub fn not_sent(
        &mut self,
        call_id: &CallId,
        why: NotSent,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let Some(call) = self.calls.get(call_id) else {
            return;
        };
        let Stage::Open(open) = &call.stage else {
            return;
        };
        if open.place != Place::Sent {
            return;
        }
        // An effect is sent again only after a `not_started`; other classes may have run the first time.
        let may_have_run = open.delivery > 1 && call.effect != EffectClass::Effect;
        let outcome = if may_have_run {
            Outcome::Unknown
        } else {
            Outcome::NotStarted
        };
        let report = match why {
            NotSent::TooLarge(words) => {
                CallReport::without_answer(outcome, ErrorCode::TooLarge.as_str(), words)
            }
            NotSent::Withdrawn => {
                let why = open.stopping.map_or(ErrorCode::Cancelled, |s| s.why);
                ended(outcome, why)
            }
        };
        self.settle(call_id, report, now, acts);
    }

    /// An open call has an outcome.
    pub(super) fn settle(
        &mut self,
        call_id: &CallId,
        report: CallReport,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        let report = Arc::new(report);
        let what = CallNews::Settled(report.clone());
        tell(&call.reply, call_id, call.generation, what, acts);
        let boot_id = match &mut call.stage {
            Stage::Open(open) => open.boot_id.take(),
            _ => None,
        };
        call.stage = Stage::Settled {
            report,
            tellings: 1,
            abandoned_at: Some(now + ABANDONED_AFTER),
            boot_id,
        };
        if call.effect == EffectClass::Read {
            // Nothing depends on the order of reads, so the next one need not wait for the journal.
            self.release(call_id, now, acts);
        }
    }

    /// Asks an open call to end, and gives it a grace time to say how it did.
    pub(super) fn stop(
        &mut self,
        call_id: &CallId,
        why: ErrorCode,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let grace = self.limits.cancel_grace;
        let online = self.link.is_some();
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        let Stage::Open(open) = &mut call.stage else {
            return;
        };
        if open.place == Place::Here {
            self.settle(call_id, ended(Outcome::NotStarted, why), now, acts);
            return;
        }
        open.stopping = Some(Stopping {
            until: now + grace,
            why,
        });
        if online {
            acts.push(Act::Send(ServerMessage::CommandCancel(CallRef {
                call_id: call_id.clone(),
                seq: call.seq,
            })));
        }
    }

    /// Looks at the clock: turns lapse, deadlines come, grace times end.
    pub fn tick(&mut self, now: Duration, acts: &mut Vec<Act<R>>) {
        self.end_overdue_verifications(now);
        let is_due = |call: &Call<R>| call.due_at().is_some_and(|at| at <= now);
        let due: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, call)| is_due(call))
            .map(|(id, _)| id.clone())
            .collect();
        for call_id in due {
            self.tick_call(&call_id, now, acts);
        }
        self.verify_unknown(now, acts);
    }

    fn tick_call(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        match &mut call.stage {
            Stage::Granted { .. } => {
                acts.push(Act::Note(Note::TurnLapsed(call_id.clone())));
                self.give_up_turn(call_id, ErrorCode::TurnLapsed, now, acts);
            }
            Stage::Settled { abandoned_at, .. } if call.reply.is_alive() => {
                *abandoned_at = Some(now + ABANDONED_AFTER);
            }
            Stage::Settled { .. } => {
                acts.push(Act::Note(Note::Abandoned(call_id.clone())));
                self.calls.remove(call_id);
                self.advance(now, acts);
            }
            Stage::Open(open) => match open.stopping {
                Some(stopping) if stopping.until <= now => {
                    self.settle(call_id, ended(Outcome::Unknown, stopping.why), now, acts);
                }
                None if open.deadline <= now => self.stop(call_id, ErrorCode::Timeout, now, acts),
                _ => self.ask(call_id, now, acts),
            },
        }
    }
}

/// The computer knows only that it was told to stop; the lane knows that the deadline was the reason.
fn told_why(report: CallReport, stopping: Option<Stopping>) -> CallReport {
    let is_cancelled = report.code.as_deref() == Some(ErrorCode::Cancelled.as_str());
    match stopping {
        Some(Stopping { why, .. }) if is_cancelled && why == ErrorCode::Timeout => CallReport {
            code: Some(why.as_str().to_owned()),
            error: Some("stopped: its deadline has passed".to_owned()),
            ..report
        },
        _ => report,
    }
}
