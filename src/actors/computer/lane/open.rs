//! Open calls: sending, answers, deadlines, outcomes.

use super::memory::Unresolved;
use super::*;
use crate::domain::call::args_hash;
use crate::wire::frames::outgoing::{CallRef, CommandCall, ResultStored};

impl<R: Reply> Lane<R> {
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
            None if self.memory.unknown(call_id).is_some() => self.resolve(call_id, report, acts),
            None if self.memory.is_stored(call_id) => {
                acts.push(Act::Send(ServerMessage::ResultStored(ResultStored {
                    call_id: call_id.clone(),
                })));
            }
            None => {
                acts.push(Act::Note(Note::Stray(call_id.clone())));
                if self.memory.note_unclaimed(call_id.clone(), report) {
                    acts.push(Act::LookUp(call_id.clone()));
                }
            }
        }
    }

    /// The journal says that a call whose result came as a stray ended long ago.
    pub fn found_stored(&mut self, call_id: &CallId, acts: &mut Vec<Act<R>>) {
        if self.calls.contains_key(call_id) || self.memory.unknown(call_id).is_some() {
            return;
        }
        self.memory.note_stored(call_id.clone());
        if self.link.is_some() {
            acts.push(Act::Send(ServerMessage::ResultStored(ResultStored {
                call_id: call_id.clone(),
            })));
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
        let what = CallNews::Settled(report.clone());
        tell(&call.reply, call_id, call.generation, what, acts);
        call.stage = Stage::Settled {
            report,
            tellings: 1,
            abandoned_at: Some(now + ABANDONED_AFTER),
        };
        if call.effect == EffectClass::Read {
            // Nothing depends on the order of reads, so the next one need not wait for the journal.
            self.release(call_id, now, acts);
        }
    }

    /// A late answer: an `unknown` call may once become done or failed, everything else is a repetition.
    fn resolve(&mut self, call_id: &CallId, report: CallReport, acts: &mut Vec<Act<R>>) {
        let settles = matches!(report.outcome, Outcome::Done | Outcome::Failed);
        if let Some(call) = self.calls.get_mut(call_id) {
            let Stage::Settled {
                report: known,
                tellings,
                ..
            } = &mut call.stage
            else {
                return;
            };
            if known.outcome == Outcome::Unknown && settles {
                *known = report.clone();
                *tellings += 1;
                let what = CallNews::Settled(report);
                tell(&call.reply, call_id, call.generation, what, acts);
            } else {
                acts.push(Act::Note(Note::Stray(call_id.clone())));
            }
        } else if let Some(call) = self.memory.unknown(call_id) {
            if call.report.is_none() && settles {
                call.report = Some(report.clone());
                let what = CallNews::Settled(report);
                tell(&call.reply, call_id, call.generation, what, acts);
            } else {
                acts.push(Act::Note(Note::Stray(call_id.clone())));
            }
        }
    }

    /// The outcome is durable: the receipt may go and the next call may come.
    pub fn outcome_stored(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        if let Some(call) = self.calls.get_mut(call_id) {
            if let Stage::Settled { tellings, .. } = &mut call.stage {
                *tellings = tellings.saturating_sub(1);
                self.release(call_id, now, acts);
            }
        } else if let Some(call) = self.memory.unknown(call_id)
            && let Some(report) = call.report.clone()
        {
            let (effect, seq) = (call.effect, call.seq);
            self.memory.forget_unknown(call_id);
            self.confirm(call_id, effect, seq, report.outcome, acts);
        }
    }

    /// Tells the computer that a result is durable.
    fn confirm(
        &mut self,
        call_id: &CallId,
        effect: EffectClass,
        seq: Option<u64>,
        outcome: Outcome,
        acts: &mut Vec<Act<R>>,
    ) {
        let ran = matches!(outcome, Outcome::Done | Outcome::Failed);
        if effect != EffectClass::Effect || !ran {
            return;
        }
        self.stored_seq = self.stored_seq.max(seq.unwrap_or_default());
        self.memory.note_stored(call_id.clone());
        if self.link.is_some() {
            acts.push(Act::Send(ServerMessage::ResultStored(ResultStored {
                call_id: call_id.clone(),
            })));
        }
    }

    /// Takes a settled call out of its turn.
    fn release(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.remove(call_id) else {
            return;
        };
        if let Stage::Settled {
            report, tellings, ..
        } = call.stage
        {
            // A late answer that came between the telling and the storing still has to be stored itself.
            let unstored_answer = report.outcome != Outcome::Unknown && tellings > 0;
            if report.outcome == Outcome::Unknown || unstored_answer {
                let unresolved = Unresolved {
                    generation: call.generation,
                    effect: call.effect,
                    seq: call.seq,
                    reply: call.reply,
                    report: unstored_answer.then_some(report),
                };
                if call.effect != EffectClass::Read {
                    self.memory.note_unknown(call_id.clone(), unresolved);
                }
            } else {
                self.confirm(call_id, call.effect, call.seq, report.outcome, acts);
            }
        }
        self.advance(now, acts);
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
