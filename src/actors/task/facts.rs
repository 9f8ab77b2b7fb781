//! What others tell a task, and what people ask of it.

use super::messages::{Answer, Cancel, GetQuestion, Halt, LookAgain};
use super::perform::{may_settle, not_placed};
use super::{Task, Then, commit};
use crate::actors::computer::messages::{
    CallFact, CallNews, CancelCall, Dispatch, OutcomeStored, QuestionDelivered,
};
use crate::actors::consult::Consulted;
use crate::actors::supervisor::messages::{AnswerError, OpenQuestion};
use crate::crash_points::{self, Point};
use crate::domain::call::args_hash;
use crate::domain::decision::WaitReason;
use crate::domain::event::{CallIntended, TaskEvent};
use crate::domain::ids::CallId;
use crate::domain::task::Open;
use actix::prelude::*;
use std::sync::Arc;

impl Handler<Consulted> for Task {
    type Result = ();

    fn handle(&mut self, told: Consulted, ctx: &mut Self::Context) {
        let expected = self.state.open_consult(told.consult).is_some();
        if told.generation != self.generation || !expected {
            tracing::debug!(task = %self.state.task_id, consult = told.consult, "a stale answer is dropped");
            return;
        }
        let (consult, role) = (told.consult, told.role);
        if let Ok((_, read)) = &told.answer {
            self.note_habit(role, read);
        }
        let events = match told.answer {
            Ok((answer, read)) => vec![
                TaskEvent::ModelAnswered {
                    consult,
                    role,
                    answer,
                },
                read,
            ],
            Err(failure) => vec![TaskEvent::ModelFailed {
                consult,
                role,
                failure,
            }],
        };
        crash_points::pass(Point::BeforeAnswerCommit);
        let then: Then = Box::new(|_, _| {
            crash_points::pass(Point::AfterAnswerCommit);
        });
        self.append_first_then_advance(ctx, events, then);
    }
}

impl Handler<CallFact> for Task {
    type Result = ();

    fn handle(&mut self, fact: CallFact, ctx: &mut Self::Context) {
        if fact.generation != self.generation {
            return;
        }
        let Some(call) = self.state.call(&fact.call_id).cloned() else {
            return;
        };
        match fact.what {
            CallNews::Queued {
                offline, stopped, ..
            } if call.is_open() => self.is_queued(&call, offline, stopped, ctx),
            CallNews::Away(away) if call.is_open() => self.is_away(&call.call_id, away, ctx),
            CallNews::Queued { .. } | CallNews::Away(_) | CallNews::Progress { .. } => {}
            CallNews::TurnGranted { .. } if !call.is_open() || self.state.status.is_final() => {
                // Cancelled while it waited: it never leaves.
                self.give_back(&fact.call_id);
                self.advance(ctx);
            }
            CallNews::TurnGranted { .. } if call.intended.is_some() => {}
            CallNews::TurnGranted {
                client_id,
                seq,
                tool_rev,
                effect,
                timeout_ms,
                boot_id,
            } => {
                crash_points::pass(Point::AfterReserve);
                let intended = CallIntended {
                    call_id: call.call_id,
                    client_id,
                    seq,
                    tool: call.tool,
                    tool_rev: tool_rev.into(),
                    effect,
                    args_hash: args_hash(&call.args),
                    args: call.args,
                    timeout_ms,
                    boot_id: boot_id.map(String::from),
                };
                self.dispatch(intended, ctx);
            }
            CallNews::NotPlaced(no_route) if call.is_open() => {
                self.lanes.remove(&fact.call_id);
                self.forget_wait(&fact.call_id, ctx);
                let mut events: Vec<TaskEvent> = self.calls_away().into_iter().collect();
                events.push(not_placed(&call, no_route));
                events.extend(self.waits_on());
                // What waits after this has just been decided.
                return self.append_then_advance(ctx, events);
            }
            CallNews::NotPlaced(_) => {}
            CallNews::Settled(report) if may_settle(&call) => {
                return self.settle(fact.call_id, Arc::unwrap_or_clone(report), ctx);
            }
            // Told again: it is durable, or will be with what waits for a turn.
            CallNews::Settled(_) => match &mut self.held {
                Some(held) => held.then(move |task, _| task.stored(&fact.call_id)),
                None => self.stored(&fact.call_id),
            },
        }
        // The lane has answered, and it was not the turn: nothing is waited for any more.
        self.write_held(ctx);
    }
}

impl Task {
    /// Reserve → commit → dispatch: the call leaves only after its intent is durable.
    fn dispatch(&mut self, intended: CallIntended, ctx: &mut Context<Self>) {
        let call_id = intended.call_id.clone();
        self.forget_wait(&call_id, ctx);
        self.spans.calls(&self.state, &intended);
        // Before: what the one that waits alone has waited is known until then.
        let mut events: Vec<TaskEvent> = self.calls_away().into_iter().collect();
        events.push(TaskEvent::CallIntended(intended));
        events.extend(self.waits_on());
        let then: Then = Box::new(move |task, _ctx| {
            crash_points::pass(Point::BeforeDispatch);
            if let Some(lane) = task.lanes.get(&call_id) {
                lane.dispatch.do_send(Dispatch { call_id });
            }
            crash_points::pass(Point::AfterDispatch);
        });
        crash_points::pass(Point::BeforeIntentCommit);
        self.append(ctx, events, then);
    }

    /// The outcome is durable: the lane may go on, and the computer may forget.
    pub(super) fn stored(&mut self, call_id: &CallId) {
        crash_points::pass(Point::BeforeResultStored);
        if let Some(lane) = self.lanes.get(call_id) {
            lane.stored.do_send(OutcomeStored {
                call_id: call_id.clone(),
            });
        }
        crash_points::pass(Point::AfterResultStored);
    }

    fn give_back(&mut self, call_id: &CallId) {
        if let Some(lane) = self.lanes.remove(call_id) {
            lane.cancel.do_send(CancelCall {
                call_id: call_id.clone(),
            });
        }
    }
}

impl Handler<QuestionDelivered> for Task {
    type Result = ();

    fn handle(&mut self, told: QuestionDelivered, ctx: &mut Self::Context) {
        let question_id = told.question_id;
        let delivered = self.state.open_question().is_some_and(|(_, d)| d);
        if delivered || !self.state.asks(&question_id) {
            return;
        }
        let then: Then = Box::new(|task, ctx| task.expire_question_later(ctx));
        let delivered = vec![TaskEvent::QuestionDelivered { question_id }];
        self.append(ctx, delivered, then);
    }
}

impl Handler<Answer> for Task {
    type Result = AtomicResponse<Self, Result<(), AnswerError>>;

    fn handle(&mut self, given: Answer, _ctx: &mut Self::Context) -> Self::Result {
        if !self.state.asks(&given.question_id) {
            let refused = Err(AnswerError::NotOpen(given.question_id));
            return AtomicResponse::new(Box::pin(async { refused }.into_actor(self)));
        }
        let asked = self.state.open_question();
        let consent = asked.is_some_and(|(question, _)| question.approval.is_some());
        if consent && !given.authenticated {
            // It is not taken as a refusal either: otherwise any computer could stop what people allow.
            let refused = Err(AnswerError::NeedsPerson);
            return AtomicResponse::new(Box::pin(async { refused }.into_actor(self)));
        }
        let event = TaskEvent::QuestionAnswered {
            question_id: given.question_id,
            answer: given.answer,
            by: given.by,
            authenticated: given.authenticated,
        };
        let (append, before) = self.prepare(vec![event]);
        let stored = commit(self.deps.journal.clone(), append).into_actor(self);
        AtomicResponse::new(Box::pin(stored.map(move |stored, task, ctx| {
            let answer = stored
                .as_ref()
                .map(|_| ())
                .map_err(|e| AnswerError::Journal(e.to_string()));
            task.committed(before, stored, ctx, Box::new(Task::advance));
            answer
        })))
    }
}

impl Handler<GetQuestion> for Task {
    type Result = Option<OpenQuestion>;

    fn handle(&mut self, _: GetQuestion, _ctx: &mut Self::Context) -> Self::Result {
        let (question, _) = self.state.open_question()?;
        let asked_ms = self.state.open.values().find_map(|open| match open {
            Open::Question { asked_ms, .. } => Some(*asked_ms),
            _ => None,
        });
        let ends = self.question_ends.as_ref();
        Some(OpenQuestion {
            question_id: question.question_id.clone(),
            task_id: self.state.task_id.clone(),
            owner: self.state.created.as_ref()?.owner.clone(),
            client_id: self.state.home().cloned(),
            question: question.question.clone(),
            why: question.why.clone(),
            approval: question.approval.clone(),
            asked_ms: asked_ms.unwrap_or_default(),
            expires_ms: ends
                .filter(|(id, _)| *id == question.question_id)
                .map(|(_, at_ms)| *at_ms),
        })
    }
}

impl Handler<Cancel> for Task {
    type Result = AtomicResponse<Self, bool>;

    fn handle(&mut self, cancel: Cancel, _ctx: &mut Self::Context) -> Self::Result {
        if self.state.status.is_final() {
            return AtomicResponse::new(Box::pin(async { false }.into_actor(self)));
        }
        let event = self.cancel(cancel);
        let (append, before) = self.prepare(vec![event]);
        let stored = commit(self.deps.journal.clone(), append).into_actor(self);
        AtomicResponse::new(Box::pin(stored.map(move |stored, task, ctx| {
            let cancelled = stored.is_ok();
            task.committed(before, stored, ctx, Box::new(Task::wind_down));
            cancelled
        })))
    }
}

impl Handler<LookAgain> for Task {
    type Result = ();

    fn handle(&mut self, _: LookAgain, ctx: &mut Self::Context) {
        if self.renew_lanes(ctx) || self.would_wait_again() {
            return;
        }
        self.end_wait(WaitReason::ComputerOffline, ctx);
    }
}

impl Handler<Halt> for Task {
    type Result = ();

    fn handle(&mut self, _: Halt, ctx: &mut Self::Context) {
        match self.held.is_some() {
            true => self.append(ctx, Vec::new(), Box::new(|_, ctx| ctx.stop())),
            false => ctx.stop(),
        }
    }
}
