//! Connections come and go; calls stay. What a computer says about them decides what is sent again.

use super::*;
use crate::wire::frames::outgoing::CallRef;

impl<R: Reply> Lane<R> {
    /// The computer is connected (again). Every open call is sent, asked about, or given up, as its class demands.
    pub fn attach(&mut self, link: Link, now: Duration, acts: &mut Vec<Act<R>>) {
        self.lose_link(now, acts);
        self.check_numbers(&link, acts);
        self.restored = link.high_seq.is_some_and(|high| high < self.proven_seq);
        self.prove(&link);
        self.last_boot = Some(link.boot_id.clone());
        let legacy = link.legacy;
        self.link = Some(link);
        self.responsive = true;
        self.tell_away(false, acts);

        let open: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, call)| matches!(call.stage, Stage::Open(_)))
            .map(|(id, _)| id.clone())
            .collect();
        for call_id in open {
            if self.stopped {
                self.stop_call(&call_id, now, acts);
            }
            self.reconcile(&call_id, now, acts);
        }
        if !legacy {
            for (call_id, seq) in self.memory.unresolved() {
                acts.push(Act::Send(ServerMessage::CallStatus(CallRef {
                    call_id: call_id.clone(),
                    seq,
                })));
            }
        }
        self.tell_all_queued(acts);
        self.advance(now, acts);
    }

    /// The connection is gone.
    pub fn detach(&mut self, now: Duration, acts: &mut Vec<Act<R>>) {
        self.lose_link(now, acts);
        self.tell_all_queued(acts);
    }

    /// Whether the computer's program answers. One that does not gets no new calls.
    pub fn set_responsive(&mut self, responsive: bool, now: Duration, acts: &mut Vec<Act<R>>) {
        if self.responsive != responsive {
            self.responsive = responsive;
            self.tell_all_queued(acts);
            self.advance(now, acts);
        }
    }

    /// Tells everybody whose call is open that the computer went or came.
    fn tell_away(&self, away: bool, acts: &mut Vec<Act<R>>) {
        for (call_id, call) in self.calls.iter() {
            if let Stage::Open(_) = call.stage {
                tell(
                    &call.reply,
                    call_id,
                    call.generation,
                    CallNews::Away(away),
                    acts,
                );
            }
        }
    }

    /// What a computer says of itself is as good as a stored result, if the journal granted that much.
    fn prove(&mut self, link: &Link) {
        let shown = link.high_seq.filter(|high| *high <= self.high_seq);
        self.proven_seq = self.proven_seq.max(shown.unwrap_or_default());
    }

    /// The start of the program that is connected.
    pub(super) fn boot_id(&self) -> Option<&Text> {
        self.link.as_ref().map(|link| &link.boot_id)
    }

    fn lose_link(&mut self, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(link) = self.link.take() else {
            return;
        };
        self.forget_verifications();
        self.tell_away(true, acts);
        let mut gone = Vec::new();
        for (call_id, call) in self.calls.iter_mut() {
            if let Stage::Open(open) = &mut call.stage
                && open.place != Place::Here
            {
                open.place = Place::Lost;
                if link.legacy {
                    gone.push(call_id.clone());
                }
            }
        }
        // A client of document 001 keeps no receipts: nobody will ever know.
        for call_id in gone {
            let report = ended(Outcome::Unknown, ErrorCode::ConnectionLost);
            self.settle(&call_id, report, now, acts);
        }
    }

    /// Decides what becomes of an open call on a new connection.
    fn reconcile(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let legacy = self.is_legacy();
        let Some(call) = self.calls.get(call_id) else {
            return;
        };
        let Stage::Open(open) = &call.stage else {
            return;
        };
        if open.place == Place::Here {
            self.first_send(call_id, now, acts);
        } else if legacy {
            let report = ended(Outcome::Unknown, ErrorCode::ConnectionLost);
            self.settle(call_id, report, now, acts);
        } else if call.effect == EffectClass::Effect {
            if self.restored && open.boot_id.as_ref() != self.boot_id() {
                let report = ended(Outcome::Unknown, ErrorCode::Restored);
                self.settle(call_id, report, now, acts);
            } else {
                self.ask(call_id, now, acts);
            }
        } else if open.stopping.is_some() {
            // Not again what is to stop; the grace time goes on.
            acts.push(Act::Send(ServerMessage::CommandCancel(CallRef {
                call_id: call_id.clone(),
                seq: None,
            })));
        } else {
            self.send_call(call_id, now, acts);
        }
    }

    /// Asks what the computer knows of an `effect` call.
    pub(super) fn ask(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let online = self.link.is_some();
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        if let Stage::Open(open) = &mut call.stage
            && online
        {
            open.place = Place::Asked {
                again_at: now + ASK_AGAIN,
            };
            acts.push(Act::Send(ServerMessage::CallStatus(CallRef {
                call_id: call_id.clone(),
                seq: call.seq,
            })));
        }
    }

    /// The computer says what it knows of a call.
    pub fn receipt(
        &mut self,
        call_id: &CallId,
        receipt: Receipt,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        if let Receipt::Done(report) = receipt {
            self.answered(call_id, report, now, acts);
            return;
        }
        let boot_id = self.boot_id().cloned();
        let Some(call) = self.calls.get_mut(call_id) else {
            self.receipt_of_unknown(call_id, &receipt, now, acts);
            return;
        };
        let Stage::Open(open) = &mut call.stage else {
            return;
        };
        let asked = matches!(open.place, Place::Asked { .. });
        let same_start = open.boot_id == boot_id;
        match receipt {
            Receipt::Unknown if asked || open.place == Place::Sent => {
                let report = ended(Outcome::Unknown, ErrorCode::ReceiptUnknown);
                self.settle(call_id, report, now, acts);
            }
            Receipt::Started if asked => {
                if same_start {
                    open.place = Place::Sent;
                } else {
                    let report = ended(Outcome::Unknown, ErrorCode::Rebooted);
                    self.settle(call_id, report, now, acts);
                }
            }
            // Its disk may be older than the call, so it cannot know that the call did not run.
            Receipt::NotStarted if asked && !same_start => {
                let report = ended(Outcome::Unknown, ErrorCode::Rebooted);
                self.settle(call_id, report, now, acts);
            }
            Receipt::NotStarted if asked => {
                open.place = Place::Here;
                let stopping = open.stopping.map(|s| s.why);
                let overtaken = call.seq.is_some_and(|seq| seq < self.high_seq);
                if let Some(why) = stopping {
                    self.settle(call_id, ended(Outcome::NotStarted, why), now, acts);
                } else if overtaken {
                    let report = ended(Outcome::NotStarted, ErrorCode::Overtaken);
                    self.settle(call_id, report, now, acts);
                } else {
                    self.send_call(call_id, now, acts);
                }
            }
            // An answer to an earlier question: the call was sent again since.
            _ => {}
        }
    }

    /// Takes over a call whose intent is durable and whose outcome nobody knows.
    pub fn adopt(
        &mut self,
        task_id: TaskId,
        generation: Generation,
        intended: CallIntended,
        reply: R,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let call_id = intended.call_id.clone();
        self.queue.retain(|waiting| waiting.call_id != call_id);
        if let Some(call) = self.calls.get_mut(&call_id) {
            call.reply = reply;
            call.generation = generation;
            self.adopt_known(&call_id, now, acts);
            return;
        }
        if let Some(unknown) = self.memory.unknown(&call_id) {
            unknown.reply = reply;
            unknown.generation = generation;
            let report = unknown.report.clone();
            let report =
                report.unwrap_or_else(|| ended(Outcome::Unknown, ErrorCode::Timeout).into());
            let what = CallNews::Settled(report);
            tell(&unknown.reply, &call_id, generation, what, acts);
            return;
        }
        self.adopt_unknown(task_id, generation, intended, reply, now, acts);
    }

    pub(super) fn adopt_known(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        match &mut call.stage {
            // The earlier generation journalled the intent and died before it said so.
            Stage::Granted { .. } => self.dispatch(call_id, now, acts),
            Stage::Open(_) => {}
            Stage::Settled {
                report, tellings, ..
            } => {
                *tellings = 1;
                let what = CallNews::Settled(report.clone());
                tell(&call.reply, call_id, call.generation, what, acts);
            }
        }
    }

    fn adopt_unknown(
        &mut self,
        task_id: TaskId,
        generation: Generation,
        intended: CallIntended,
        reply: R,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let call_id = intended.call_id;
        self.high_seq = self.high_seq.max(intended.seq.unwrap_or_default());
        let timeout = Duration::from_millis(intended.timeout_ms).min(self.limits.max_timeout);
        let call = Call {
            task_id,
            generation,
            tool: intended.tool.into(),
            args: intended.args.into(),
            effect: intended.effect,
            seq: intended.seq,
            tool_rev: intended.tool_rev.into(),
            timeout,
            reply,
            stage: Stage::Open(Open {
                deadline: now + timeout,
                // It may have been sent once; the journal does not tell.
                delivery: 1,
                boot_id: intended
                    .boot_id
                    .map(Text::from)
                    .or_else(|| self.last_boot.clone()),
                place: Place::Lost,
                stopping: None,
            }),
        };
        self.calls.insert(call_id.clone(), call);
        if self.stopped {
            self.stop_call(&call_id, now, acts);
        }
        if let Some(report) = self.memory.claim(&call_id) {
            self.settle(&call_id, report, now, acts);
        } else if self.link.is_some() {
            self.reconcile(&call_id, now, acts);
        } else if let Some(call) = self.calls.get(&call_id) {
            tell(
                &call.reply,
                &call_id,
                call.generation,
                CallNews::Away(true),
                acts,
            );
        }
    }
}
