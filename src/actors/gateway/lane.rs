//! One model server: its queue, its running calls, its breaker. State only; the actor does the work.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::breaker::{Admission, Breaker};
use super::messages::{CallReport, Complete, ErrorReport, ServerReport};
use super::queue::{Queue, Waiting};
use super::run::{Ended, Reply};
use crate::config::GatewaySettings;
use crate::domain::chat::{ChatFailure, Role};
use crate::domain::ids::{Generation, TaskId};
use crate::llm::{LlmError, Provider};

/// A call that waits for a slot.
pub(super) struct Queued {
    pub call: Complete,
    pub reply: Reply,
    since: Instant,
}

impl Waiting for Queued {
    fn task_id(&self) -> &TaskId {
        &self.call.task_id
    }

    fn model(&self) -> &str {
        &self.call.request.model
    }
}

/// A call that has a slot. Dropping it cancels it.
struct Running {
    ticket: u64,
    task_id: TaskId,
    generation: Generation,
    role: Role,
    model: String,
    since: Instant,
    is_probe: bool,
    cancel: Option<oneshot::Sender<()>>,
}

/// A granted call, to be run by the actor.
pub(super) struct Granted {
    pub ticket: u64,
    pub queued: Queued,
    pub cancel: oneshot::Receiver<()>,
}

pub(super) struct Lane {
    pub provider: Arc<dyn Provider>,
    queue: Queue<Queued>,
    running: Vec<Running>,
    slots: usize,
    breaker: Breaker,
    last_error: Option<(LlmError, Instant)>,
    answered: u64,
    failed: u64,
    next_ticket: u64,
}

impl Lane {
    pub fn new(provider: Arc<dyn Provider>, settings: &GatewaySettings) -> Self {
        Lane {
            provider,
            queue: Queue::new(settings.queue, settings.batch),
            running: Vec::new(),
            slots: settings.max_concurrent,
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_cooldown),
            last_error: None,
            answered: 0,
            failed: 0,
            next_ticket: 0,
        }
    }

    /// Queues a call, or answers it at once if there is no room.
    pub fn enqueue(&mut self, call: Complete, reply: Reply, now: Instant) {
        self.drop_abandoned();
        let since = now;
        let queued = Queued { call, reply, since };
        if let Err(refused) = self.queue.push(queued) {
            let waiting = self.queue.len();
            answer(refused.reply, Err(full(waiting)));
        }
    }

    /// Grants the next slot, if there is one and somebody for it. While the breaker is open everybody
    /// who waits is answered at once.
    pub fn grant(&mut self, now: Instant) -> Option<Granted> {
        self.drop_abandoned();
        match self.breaker.admission(now) {
            Admission::Hold => return None,
            Admission::Refuse { probe_in } => {
                let failure = self.open_failure(probe_in);
                for queued in self.queue.take(|_| true) {
                    answer(queued.reply, Err(failure.clone()));
                }
                return None;
            }
            Admission::Go => {}
        }
        if self.running.len() >= self.slots {
            return None;
        }
        let queued = self.queue.pop()?;
        let (cancel, cancelled) = oneshot::channel();
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.running.push(Running {
            ticket,
            task_id: queued.call.task_id.clone(),
            generation: queued.call.generation,
            role: queued.call.request.role,
            model: queued.call.request.model.clone(),
            since: now,
            is_probe: self.breaker.started(),
            cancel: Some(cancel),
        });
        Some(Granted {
            ticket,
            queued,
            cancel: cancelled,
        })
    }

    /// Takes the end of a granted call in.
    pub fn ended(&mut self, ticket: u64, ended: &Ended, now: Instant) {
        let at = self.running.iter().position(|call| call.ticket == ticket);
        let was_probe = at.is_some_and(|at| self.running.swap_remove(at).is_probe);
        match &ended.result {
            Ok(_) => {
                self.answered += 1;
                self.breaker.reached();
            }
            Err(LlmError::Cancelled) => self.breaker.undecided(was_probe, now),
            Err(error) => {
                self.failed += 1;
                self.last_error = Some((error.clone(), now));
                match ended.unreachable_tries {
                    0 => self.breaker.reached(),
                    times => self.breaker.unreachable(times, now),
                }
            }
        }
    }

    /// Cancels the calls of a task that `which` picks by their generation.
    pub fn cancel(&mut self, task_id: &TaskId, which: impl Fn(Generation) -> bool) {
        let is_meant =
            |queued: &Queued| queued.call.task_id == *task_id && which(queued.call.generation);
        for queued in self.queue.take(is_meant) {
            answer(queued.reply, Err(LlmError::Cancelled.into()));
        }
        for call in &mut self.running {
            if call.task_id == *task_id && which(call.generation) {
                // Dropping the sender ends the call; its end arrives as for any other.
                call.cancel = None;
            }
        }
    }

    /// A queued call whose sender has gone needs no slot.
    fn drop_abandoned(&mut self) {
        drop(self.queue.take(|queued| queued.reply.is_closed()));
    }

    fn open_failure(&self, probe_in: std::time::Duration) -> ChatFailure {
        let (message, hint) = match &self.last_error {
            Some((error, _)) => (error.to_string(), error.hint()),
            None => (String::new(), String::new()),
        };
        ChatFailure {
            code: "model_circuit_open".into(),
            message: format!(
                "{} was not reachable several times in a row, so no call is tried for another \
                 {:.1} s; the last error: {message}",
                self.provider.describe(),
                probe_in.as_secs_f64()
            ),
            hint,
            retryable: true,
        }
    }

    pub fn report(&mut self, now: Instant) -> ServerReport {
        self.drop_abandoned();
        let ms = |since: Instant| now.saturating_duration_since(since).as_millis() as u64;
        ServerReport {
            name: self.provider.describe(),
            waiting: self
                .queue
                .iter()
                .map(|queued| CallReport {
                    task_id: queued.call.task_id.clone(),
                    generation: queued.call.generation,
                    role: queued.call.request.role,
                    model: queued.call.request.model.clone(),
                    for_ms: ms(queued.since),
                })
                .collect(),
            running: self
                .running
                .iter()
                .map(|call| CallReport {
                    task_id: call.task_id.clone(),
                    generation: call.generation,
                    role: call.role,
                    model: call.model.clone(),
                    for_ms: ms(call.since),
                })
                .collect(),
            last_model: self.queue.last_model().map(str::to_owned),
            breaker: self.breaker.report(now),
            last_error: self.last_error.as_ref().map(|(error, at)| ErrorReport {
                code: error.code().into(),
                message: error.to_string(),
                ago_ms: ms(*at),
            }),
            answered: self.answered,
            failed: self.failed,
        }
    }
}

/// Answers a sender; one that has gone is no error.
pub(super) fn answer(reply: Reply, result: Result<crate::domain::chat::ChatAnswer, ChatFailure>) {
    let _ = reply.send(result);
}

fn full(waiting: usize) -> ChatFailure {
    ChatFailure {
        code: "gateway_full".into(),
        message: format!("{waiting} calls wait for this model server already"),
        hint: "wait, lower the number of live tasks, or raise gateway.queue".into(),
        retryable: true,
    }
}
