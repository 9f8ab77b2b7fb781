//! What comes after an outcome: late answers of `unknown` calls, repetitions, and the word that a result is stored.

use super::memory::{Unresolved, Verify};
use super::*;
use crate::wire::frames::outgoing::{CallRef, ResultStored};

impl<R: Reply> Lane<R> {
    /// An answer to a call that has no turn here.
    pub(super) fn answered_late(
        &mut self,
        call_id: &CallId,
        report: CallReport,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        if self.memory.unknown(call_id).is_some() {
            self.resolve(call_id, report, acts);
        } else if self.memory.is_stored(call_id) {
            self.send_stored(call_id, acts);
        } else if self.take_verification(call_id, &report, acts) {
            self.verify_unknown(now, acts);
        } else {
            acts.push(Act::Note(Note::Stray(call_id.clone())));
            self.memory.note_unclaimed(call_id.clone(), report.clone());
            acts.push(Act::Late {
                call_id: call_id.clone(),
                report,
            });
        }
    }

    fn send_stored(&self, call_id: &CallId, acts: &mut Vec<Act<R>>) {
        if self.link.is_some() && !self.is_legacy() {
            acts.push(Act::Send(ServerMessage::ResultStored(ResultStored {
                call_id: call_id.clone(),
            })));
        }
    }

    /// The journal has this call's result, or does not know the call at all: the computer may forget it.
    pub fn found_stored(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        match self.calls.get(call_id).map(|call| &call.stage) {
            Some(Stage::Settled { report, .. }) if report.outcome != Outcome::Unknown => {
                self.end_turn(call_id, now, acts);
            }
            Some(_) => {}
            None => {
                let seq = self.memory.unknown(call_id).and_then(|call| call.seq);
                self.memory.forget_unknown(call_id);
                self.prove_stored(seq);
                self.memory.note_stored(call_id.clone());
                self.send_stored(call_id, acts);
            }
        }
    }

    /// A late answer: an `unknown` call may once become done or failed, everything else is a repetition.
    pub(super) fn resolve(&mut self, call_id: &CallId, report: CallReport, acts: &mut Vec<Act<R>>) {
        let report = Arc::new(report);
        let settles = matches!(report.outcome, Outcome::Done | Outcome::Failed);
        let (known, reply, generation) = if let Some(call) = self.calls.get_mut(call_id) {
            let Stage::Settled {
                report: known,
                tellings,
                ..
            } = &mut call.stage
            else {
                return;
            };
            let is_new = known.outcome == Outcome::Unknown && settles;
            if is_new {
                *known = report.clone();
                *tellings += 1;
            }
            (!is_new, &call.reply, call.generation)
        } else if let Some(call) = self.memory.unknown(call_id) {
            let is_new = call.report.is_none() && settles;
            if is_new {
                call.report = Some(report.clone());
            }
            (!is_new, &call.reply, call.generation)
        } else {
            return;
        };
        // A task that has ended cannot write it down any more, but the journal can.
        if settles && !reply.is_alive() {
            acts.push(Act::Late {
                call_id: call_id.clone(),
                report: Arc::unwrap_or_clone(report),
            });
        } else if known {
            acts.push(Act::Note(Note::Stray(call_id.clone())));
        } else {
            tell(reply, call_id, generation, CallNews::Settled(report), acts);
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

    fn prove_stored(&mut self, seq: Option<u64>) {
        let seq = seq.filter(|seq| *seq <= self.high_seq);
        self.proven_seq = self.proven_seq.max(seq.unwrap_or_default());
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
        if effect == EffectClass::Effect && ran {
            self.prove_stored(seq);
            self.memory.note_stored(call_id.clone());
            self.send_stored(call_id, acts);
        }
    }

    /// The journal has the result of a call whose task is gone.
    fn end_turn(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        if let Some(call) = self.calls.get_mut(call_id)
            && let Stage::Settled { tellings, .. } = &mut call.stage
        {
            *tellings = 0;
            self.release(call_id, now, acts);
        }
    }

    /// Takes a settled call out of its turn.
    pub(super) fn release(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.remove(call_id) else {
            return;
        };
        if let Stage::Settled {
            report,
            tellings,
            boot_id,
            ..
        } = call.stage
        {
            // A late answer that came between the telling and the storing still has to be stored itself.
            let unstored_answer = report.outcome != Outcome::Unknown && tellings > 0;
            if report.outcome == Outcome::Unknown || unstored_answer {
                let unresolved = Unresolved {
                    task_id: call.task_id,
                    tool: call.tool,
                    args: call.args,
                    verify: Verify {
                        is_safe: cannot_run_any_more(&report),
                        ..Verify::default()
                    },
                    boot_id,
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

    /// Takes over a call that is `unknown` in the journal, so that a late answer finds its task.
    pub fn remember(
        &mut self,
        task_id: TaskId,
        generation: Generation,
        intended: CallIntended,
        reply: R,
        acts: &mut Vec<Act<R>>,
    ) {
        let call_id = intended.call_id;
        if self.calls.contains_key(&call_id) {
            return;
        }
        if let Some(known) = self.memory.unknown(&call_id) {
            known.reply = reply;
            known.generation = generation;
            return;
        }
        let seq = intended.seq;
        let unresolved = Unresolved {
            task_id,
            tool: intended.tool.into(),
            args: intended.args.into(),
            boot_id: intended.boot_id.map(Text::from),
            verify: Verify::default(),
            generation,
            effect: intended.effect,
            seq,
            reply,
            report: None,
        };
        self.memory.note_unknown(call_id.clone(), unresolved);
        if let Some(report) = self.memory.claim(&call_id) {
            self.resolve(&call_id, report, acts);
        } else if self.link.is_some() && !self.is_legacy() {
            acts.push(Act::Send(ServerMessage::CallStatus(CallRef {
                call_id,
                seq,
            })));
        }
    }
}

/// Whether a call that ended so is over on the computer too: its program died, or it has lost the receipt.
fn cannot_run_any_more(report: &CallReport) -> bool {
    let over = [
        ErrorCode::Rebooted,
        ErrorCode::Restored,
        ErrorCode::ReceiptUnknown,
    ];
    over.iter()
        .any(|code| report.code.as_deref() == Some(code.as_str()))
}
