//! Reservations and turns.

use super::*;

/// What a turn depends on of a tool. Taken out of it: all computers share one tool, and so they would share the count of
/// who holds it.
struct Terms {
    effect: EffectClass,
    timeout_ms: Option<u64>,
    rev: Text,
}

impl Terms {
    fn of(tool: &Tool) -> Self {
        Terms {
            effect: tool.effect,
            timeout_ms: tool.timeout_ms,
            rev: tool.rev().into(),
        }
    }
}

impl<R: Reply> Lane<R> {
    /// Reserves a turn. Refused when the tool is not there or the queue is full.
    ///
    /// A task that was started again may place a call that its former life had placed: it goes on where it stood.
    pub fn place(&mut self, mut call: Reservation<R>, now: Duration, acts: &mut Vec<Act<R>>) {
        call.since = now;
        self.queue.retain(|waiting| waiting.call_id != call.call_id);
        if let Some(known) = self.calls.get_mut(&call.call_id) {
            known.reply = call.reply;
            known.generation = call.generation;
            match known.stage {
                Stage::Granted { .. } => self.tell_granted(&call.call_id, acts),
                _ => self.adopt_known(&call.call_id, now, acts),
            }
            return;
        }
        let refused = match self.check_tool(&call.tool) {
            Err(no_route) => Some(no_route),
            Ok(_) if self.queue.len() >= self.limits.queue => {
                let waiting = self.queue.len();
                let message = format!("{waiting} calls wait for computer {}", self.client_id);
                Some(no_route(NoRouteReason::Busy, message))
            }
            Ok(_) => None,
        };
        if let Some(no_route) = refused {
            let what = CallNews::NotPlaced(no_route);
            tell(&call.reply, &call.call_id, call.generation, what, acts);
            return;
        }
        let call_id = call.call_id.clone();
        self.queue.push_back(call);
        self.advance(now, acts);
        if let Some(ahead) = self.queue.iter().position(|r| r.call_id == call_id) {
            self.tell_queued(ahead, acts);
        }
    }

    fn tell_queued(&self, ahead: usize, acts: &mut Vec<Act<R>>) {
        let waiting = &self.queue[ahead];
        let offline = !self.is_online();
        let stopped = self.stopped;
        let what = CallNews::Queued {
            offline,
            stopped,
            ahead,
        };
        tell(
            &waiting.reply,
            &waiting.call_id,
            waiting.generation,
            what,
            acts,
        );
    }

    /// Tells everybody who waits how things stand: the computer came or went.
    pub(super) fn tell_all_queued(&self, acts: &mut Vec<Act<R>>) {
        (0..self.queue.len()).for_each(|ahead| self.tell_queued(ahead, acts));
    }

    fn check_tool(&self, tool: &str) -> Result<&Tool, NoRoute> {
        let Some(spec) = self.tools.get(tool) else {
            let message = format!("computer {} has no tool \"{tool}\"", self.client_id);
            return Err(no_route(NoRouteReason::UnknownTool, message));
        };
        match spec.state {
            crate::domain::tool::ToolState::Active => {}
            crate::domain::tool::ToolState::Draft => {
                let message = NoRoute::draft_words(tool, &self.client_id);
                return Err(no_route(NoRouteReason::ToolDraft, message));
            }
            crate::domain::tool::ToolState::Retired => {
                let message = format!("tool \"{tool}\" was retired on {}", self.client_id);
                return Err(no_route(NoRouteReason::UnknownTool, message));
            }
        }
        if self.ahead.is_some() && spec.effect == EffectClass::Effect {
            let message = format!(
                "computer {} has done more than the journal knows: an operator has to resume it",
                self.client_id
            );
            return Err(no_route(NoRouteReason::Stopped, message));
        }
        Ok(spec)
    }

    /// Whether one more call that only reads may have a turn.
    pub(super) fn has_room_to_read(&self) -> bool {
        let reads = |call: &&Call<R>| call.effect == EffectClass::Read;
        self.calls.values().filter(reads).count() < MAX_READS
    }

    /// Whether this call may have a turn beside those that have one. One that changes something waits until the outcome of the one
    /// before is durable, but not for its own task: that journals the intent behind the outcome or together with it.
    fn has_room(&self, effect: EffectClass, waiting: &Reservation<R>) -> bool {
        let makes_room = |call: &Call<R>| {
            call.effect == EffectClass::Read
                || (call.is_known()
                    && call.task_id == waiting.task_id
                    && call.generation == waiting.generation)
        };
        match effect {
            EffectClass::Read => self.has_room_to_read(),
            _ => self.calls.values().all(makes_room),
        }
    }

    /// Grants every turn that can be granted now, in the order of the queue; a `read` may go past a change
    /// that waits.
    pub(super) fn advance(&mut self, now: Duration, acts: &mut Vec<Act<R>>) {
        self.queue.retain(|waiting| waiting.reply.is_alive());
        if !self.is_online() || self.stopped {
            return;
        }
        let mut index = 0;
        while index < self.queue.len() {
            let checked = self.check_tool(&self.queue[index].tool).map(Terms::of);
            let room = match &checked {
                Ok(terms) => self.has_room(terms.effect, &self.queue[index]),
                Err(_) => true,
            };
            if !room {
                index += 1;
                continue;
            }
            let Some(waiting) = self.queue.remove(index) else {
                return;
            };
            match checked {
                Ok(terms) => self.grant(waiting, terms, now, acts),
                Err(reason) => {
                    let what = CallNews::NotPlaced(reason);
                    tell(
                        &waiting.reply,
                        &waiting.call_id,
                        waiting.generation,
                        what,
                        acts,
                    );
                }
            }
        }
        self.verify_unknown(now, acts);
    }

    fn grant(
        &mut self,
        waiting: Reservation<R>,
        spec: Terms,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        let seq = (spec.effect == EffectClass::Effect).then(|| {
            self.high_seq += 1;
            self.high_seq
        });
        let asked = waiting.timeout_ms.or(spec.timeout_ms);
        let timeout = asked.map_or(self.limits.default_timeout, Duration::from_millis);
        let timeout = timeout.min(self.limits.max_timeout);
        let call = Call {
            task_id: waiting.task_id,
            generation: waiting.generation,
            tool: waiting.tool.into(),
            args: waiting.args,
            effect: spec.effect,
            seq,
            tool_rev: spec.rev,
            timeout,
            reply: waiting.reply,
            stage: Stage::Granted {
                lapses_at: now + TURN_LAPSES,
                boot_id: self.boot_id().cloned().unwrap_or_default(),
            },
        };
        self.calls.insert(waiting.call_id.clone(), call);
        self.tell_granted(&waiting.call_id, acts);
    }

    fn tell_granted(&self, call_id: &CallId, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.get(call_id) else {
            return;
        };
        let what = CallNews::TurnGranted {
            client_id: self.client_id.clone(),
            seq: call.seq,
            tool_rev: call.tool_rev.clone(),
            effect: call.effect,
            timeout_ms: u64::try_from(call.timeout.as_millis()).unwrap_or(u64::MAX),
            boot_id: match &call.stage {
                Stage::Granted { boot_id, .. } => Some(boot_id.clone()),
                _ => None,
            },
        };
        tell(&call.reply, call_id, call.generation, what, acts);
    }

    /// The intent is durable: the call leaves, or waits for the computer to come back.
    pub fn dispatch(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        let Stage::Granted { boot_id, .. } = &call.stage else {
            return;
        };
        call.stage = Stage::Open(Open {
            deadline: now + call.timeout,
            delivery: 0,
            boot_id: Some(boot_id.clone()),
            place: Place::Here,
            stopping: None,
        });
        self.first_send(call_id, now, acts);
    }

    /// Drops a reservation, or asks a running call to stop.
    pub fn cancel(&mut self, call_id: &CallId, now: Duration, acts: &mut Vec<Act<R>>) {
        if let Some(at) = self.queue.iter().position(|r| &r.call_id == call_id)
            && let Some(gone) = self.queue.remove(at)
        {
            let what = CallNews::Settled(ended(Outcome::NotStarted, ErrorCode::Cancelled).into());
            tell(&gone.reply, call_id, gone.generation, what, acts);
            return;
        }
        match self.calls.get(call_id).map(|call| &call.stage) {
            Some(Stage::Granted { .. }) => {
                self.give_up_turn(call_id, ErrorCode::Cancelled, now, acts);
            }
            Some(Stage::Open(open)) if open.stopping.is_none() => {
                self.stop(call_id, ErrorCode::Cancelled, now, acts);
            }
            _ => {}
        }
    }

    /// Ends a call that has a turn and never left.
    pub(super) fn give_up_turn(
        &mut self,
        call_id: &CallId,
        why: ErrorCode,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) {
        if let Some(call) = self.calls.remove(call_id) {
            let what = CallNews::Settled(ended(Outcome::NotStarted, why).into());
            tell(&call.reply, call_id, call.generation, what, acts);
            self.advance(now, acts);
        }
    }
}
