//! What a task folds and then journals, in one commit. It is acted on only when that is durable: until then the actor handles
//! nothing else, and if the journal refuses, the actor ends with everything that it folded.

use super::{Task, Then, commit};
use crate::actors::journal::messages::{AppendEvents, JournalError};
use crate::crash_points::{self, Point};
use crate::domain::decision::{Decision, Move};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{BlobHash, QuestionId};
use crate::domain::lifecycle::{self, ToolRecord};
use crate::domain::task::TaskStatus;
use crate::strategy::{self, episodes};
use actix::prelude::*;

/// Events that are folded and not durable yet.
struct Draft {
    expected_seq: u64,
    at_ms: i64,
    events: Vec<TaskEvent>,
    /// Contents that the events name by hash.
    blobs: Vec<(BlobHash, String)>,
    before: Before,
}

/// What has to be known of a task as it was before a draft, once that is durable.
pub(super) struct Before {
    status: TaskStatus,
    question: Option<QuestionId>,
    /// The answer to that question, and whose it is.
    answer: Option<(String, String)>,
    /// What the events tell of tools of computers.
    tools: Vec<ToolRecord>,
}

/// A decision that is part of a draft.
struct Next {
    step: Move,
    /// The crash point of its commit.
    after: Point,
}

impl Task {
    /// Journals events, then goes on with `then`. While the journal cannot write, the task stands still.
    pub(super) fn append(&mut self, ctx: &mut Context<Self>, events: Vec<TaskEvent>, then: Then) {
        let draft = self.draft(events);
        self.write(draft, ctx, then);
    }

    /// Decides and acts, if there is something to decide.
    pub(super) fn advance(&mut self, ctx: &mut Context<Self>) {
        let mut draft = self.draft(Vec::new());
        match self.decide(&mut draft) {
            Some(next) => self.write(draft, ctx, Box::new(|task, ctx| task.act(Some(next), ctx))),
            None => self.act(None, ctx),
        }
    }

    /// Journals events together with the decision that they lead to, if they do, then acts.
    pub(super) fn append_then_advance(&mut self, ctx: &mut Context<Self>, events: Vec<TaskEvent>) {
        self.append_first_then_advance(ctx, events, Box::new(|_, _| {}));
    }

    /// The same; what `first` does comes right after the commit.
    pub(super) fn append_first_then_advance(
        &mut self,
        ctx: &mut Context<Self>,
        events: Vec<TaskEvent>,
        first: Then,
    ) {
        let mut draft = self.draft(events);
        // What a call told of tools is shown with the fleet once it is durable, and the next prompt shall have it.
        if !draft.before.tools.is_empty() {
            let then: Then = Box::new(|task, ctx| {
                first(task, ctx);
                task.advance(ctx);
            });
            return self.write(draft, ctx, then);
        }
        let next = self.decide(&mut draft);
        let then: Then = Box::new(|task, ctx| {
            first(task, ctx);
            task.act(next, ctx);
        });
        self.write(draft, ctx, then);
    }

    /// Folds events and answers the append that journals them, for handlers that wait for the commit themselves.
    pub(super) fn prepare(&mut self, events: Vec<TaskEvent>) -> (AppendEvents, Before) {
        let draft = self.draft(events);
        self.appended(draft)
    }

    /// Goes on once an append was answered.
    pub(super) fn committed(
        &mut self,
        before: Before,
        stored: Result<Vec<StoredEvent>, JournalError>,
        ctx: &mut Context<Self>,
        then: Then,
    ) {
        if let Err(error) = stored {
            // Another generation writes, or the journal is gone for good: this actor must not act any more.
            tracing::error!(task = %self.state.task_id, %error, "a task stops: its journal refuses it");
            return ctx.stop();
        }
        self.tell_tools(before.tools);
        self.spans.end_steps(&self.state);
        if self.state.status != before.status {
            self.notify_computer();
        }
        if let Some(question_id) = before.question
            && self.open_question() != Some(question_id.clone())
        {
            self.take_question_back(question_id, before.answer);
        }
        then(self, ctx);
    }

    fn draft(&mut self, events: Vec<TaskEvent>) -> Draft {
        let mut draft = Draft {
            expected_seq: self.state.last_seq,
            at_ms: (self.deps.clock)(),
            events: Vec::new(),
            blobs: Vec::new(),
            before: Before {
                status: self.state.status,
                question: self.open_question(),
                answer: None,
                tools: Vec::new(),
            },
        };
        self.add(&mut draft, events);
        draft
    }

    fn add(&mut self, draft: &mut Draft, events: Vec<TaskEvent>) {
        for event in &events {
            match event {
                TaskEvent::CallFinished { call_id, report } => {
                    let call = self.state.call(call_id);
                    let told = call.map(|call| lifecycle::records_of(call, report));
                    draft.before.tools.extend(told.into_iter().flatten());
                }
                TaskEvent::QuestionAnswered { answer, by, .. } => {
                    draft.before.answer = Some((answer.clone(), by.clone()));
                }
                _ => {}
            }
        }
        self.state.apply_next(self.generation, draft.at_ms, &events);
        draft.events.extend(events);
    }

    /// Adds the next decision, if there is something to decide.
    fn decide(&mut self, draft: &mut Draft) -> Option<Next> {
        if self.state.status.is_final() || self.state.is_asleep() {
            return None;
        }
        let inputs = self.inputs(draft.at_ms);
        let step = strategy::decide(&self.state, &self.profile, &inputs)?;
        let (inputs, hash, fleet) = inputs.journalled();
        let decided = TaskEvent::Decided {
            decision: Box::new(step.decision.clone()),
            inputs,
            track: step.track,
        };
        self.add(draft, vec![decided]);
        draft.blobs.push((hash, fleet));
        // What closes the episode or the task is journalled together with the decision to end it.
        let closing = match &step.decision {
            Decision::Finish { .. } | Decision::Fail { .. } => {
                episodes::close(&self.state, &self.profile, &step.decision, draft.at_ms)
            }
            _ => Vec::new(),
        };
        let (before, after) = match closing.is_empty() {
            false => (Point::BeforeEndCommit, Point::AfterEndCommit),
            true => (Point::BeforeDecidedCommit, Point::AfterDecidedCommit),
        };
        self.add(draft, closing);
        crash_points::pass(before);
        Some(Next { step, after })
    }

    /// Does what was decided, now that it is durable. Without a decision: what a task does that is over or sleeps.
    fn act(&mut self, next: Option<Next>, ctx: &mut Context<Self>) {
        match next {
            Some(next) => {
                crash_points::pass(next.after);
                self.perform(next.step.track, &next.step.decision, ctx);
            }
            None if self.state.status.is_final() || self.state.is_asleep() => self.wind_down(ctx),
            None => {}
        }
    }

    /// Waits for the commit, then goes on with `then`. Nothing else is handled meanwhile, so a task's events never
    /// interleave.
    fn write(&mut self, draft: Draft, ctx: &mut Context<Self>, then: Then) {
        let (append, before) = self.appended(draft);
        let stored = commit(self.deps.journal.clone(), append).into_actor(self);
        ctx.wait(stored.map(|stored, task, ctx| task.committed(before, stored, ctx, then)));
    }

    fn appended(&self, draft: Draft) -> (AppendEvents, Before) {
        let append = AppendEvents {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            expected_seq: draft.expected_seq,
            at_ms: draft.at_ms,
            events: draft.events,
            blobs: draft.blobs,
            summary: self.state.summary(),
            idempotency_key: None,
            tools: draft.before.tools.clone(),
        };
        (append, draft.before)
    }
}
