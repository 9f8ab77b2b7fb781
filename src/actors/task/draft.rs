//! What a task folds and then journals, in one commit. It is acted on only when that is durable: until then the actor handles
//! nothing else, and if the journal refuses, the actor ends with everything that it folded.
//!
//! Two decisions go ahead of their commit, because what they lead to changes nothing. One to call asks for its turn, which is only
//! memory, and waits for it a moment: decision and intent are one commit then, and no call has left before it. One to consult asks
//! the model and waits a moment for an answer that comes at once: a call's outcome, the question that follows it, its answer and
//! the next call's intent are one commit then. A model that thinks does so while the commit is under way; whatever is made of its
//! answer comes behind that commit. A question that was lost is asked again, and an outcome is told again by who was not yet told
//! that it is durable.

use super::{Task, Then, commit};
use crate::actors::journal::messages::JournalError;
use crate::crash_points::{self, Point};
use crate::domain::decision::{Decision, Inputs, InputsRef, Move};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{BlobHash, QuestionId};
use crate::domain::lifecycle::{self, ToolRecord};
use crate::domain::task::{CallRecord, TaskStatus};
use crate::store::Append;
use crate::strategy::{self, episodes};
use actix::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// How long a decision to call waits for its turn before it is journalled alone.
const HELD_AT_MOST: Duration = Duration::from_millis(20);

/// How long a question waits for an answer that comes at once before it is journalled alone.
const HELD_FOR_AN_ANSWER: Duration = Duration::from_millis(2);

/// Events that are folded and not durable yet.
pub(super) struct Draft {
    expected_seq: u64,
    at_ms: i64,
    events: Vec<StoredEvent>,
    /// Contents that the events name by hash.
    blobs: Vec<(BlobHash, Arc<str>)>,
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
    /// What is done first, once they are durable.
    first: Vec<Then>,
}

impl Draft {
    /// Does this too, right after the commit.
    pub(super) fn then(&mut self, what: impl FnOnce(&mut Task, &mut Context<Task>) + 'static) {
        self.before.first.push(Box::new(what));
    }
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
            None if draft.events.is_empty() => self.act(None, ctx),
            // It waits for a turn or an answer, and goes on waiting.
            None => self.held = Some(Box::new(draft)),
            next => self.write_then_act(draft, next, ctx),
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
        draft.before.first.push(first);
        // What a call told of tools is shown with the fleet after the commit, and the next prompt shall have it.
        if !draft.before.tools.is_empty() {
            return self.write(draft, ctx, Box::new(Task::advance));
        }
        let next = self.decide(&mut draft);
        self.write_then_act(draft, next, ctx);
    }

    /// Journals a draft and carries out the decision in it. One that may goes ahead, with the draft unwritten.
    fn write_then_act(&mut self, mut draft: Draft, next: Option<Next>, ctx: &mut Context<Self>) {
        let for_turns = next
            .as_ref()
            .is_some_and(|n| self.only_needs_turns(&n.step));
        let asks = |next: &Next| matches!(next.step.decision, Decision::Consult(_));
        let next = match next {
            Some(next) if for_turns || asks(&next) => next,
            next => return self.write(draft, ctx, Box::new(|task, ctx| task.act(next, ctx))),
        };
        let (step, after) = (next.step, next.after);
        draft.then(move |_, _| crash_points::pass(after));
        let at_most = match for_turns {
            true => HELD_AT_MOST,
            false => HELD_FOR_AN_ANSWER,
        };
        self.write_held_later(draft.expected_seq, at_most, ctx);
        self.held = Some(Box::new(draft));
        self.perform(step.track, &step.decision, ctx);
    }

    /// A draft that begins behind `began` waits so long and no longer.
    fn write_held_later(&mut self, began: u64, at_most: Duration, ctx: &mut Context<Self>) {
        ctx.run_later(at_most, move |task, ctx| {
            if task
                .held
                .as_ref()
                .is_some_and(|held| held.expected_seq == began)
            {
                task.write_held(ctx);
            }
        });
    }

    /// Whether nothing but turns of lanes has to be asked for: what else a decision leads to has to be durable first.
    fn only_needs_turns(&self, step: &Move) -> bool {
        let plain = |call: &CallRecord| call.child.is_none() && call.until_ms.is_none();
        let folded = self.state.current_step_on(step.track);
        matches!(step.decision, Decision::Call { .. })
            && folded.is_some_and(|step| step.calls.iter().filter(|c| c.is_open()).all(plain))
    }

    /// Journals what waited for a turn or an answer, if something did.
    pub(super) fn write_held(&mut self, ctx: &mut Context<Self>) {
        if let Some(held) = self.held.take() {
            self.write(*held, ctx, Box::new(|_, _| {}));
        }
    }

    /// Folds events and answers the append that journals them, for handlers that wait for the commit themselves.
    pub(super) fn prepare(&mut self, events: Vec<TaskEvent>) -> (Append, Before) {
        let draft = self.draft(events);
        self.appended(draft)
    }

    /// Goes on once an append was answered.
    pub(super) fn committed(
        &mut self,
        before: Before,
        stored: Result<Arc<Vec<StoredEvent>>, JournalError>,
        ctx: &mut Context<Self>,
        then: Then,
    ) {
        if let Err(error) = stored {
            // Another generation writes, or the journal is gone for good: this actor must not act any more.
            tracing::error!(task = %self.state.task_id, %error, "a task stops: its journal refuses it");
            return ctx.stop();
        }
        let shown = (!before.tools.is_empty()).then(|| self.tell_tools(before.tools));
        for first in before.first {
            first(self, ctx);
        }
        self.spans.end_steps(&self.state);
        if self.state.status != before.status {
            self.notify_computer();
        }
        if let Some(question_id) = before.question
            && self.open_question() != Some(question_id.clone())
        {
            self.take_question_back(question_id, before.answer);
        }
        match shown {
            None => then(self, ctx),
            Some(shown) => {
                let shown = shown.into_actor(self);
                ctx.wait(shown.map(|(), task, ctx| then(task, ctx)));
            }
        }
    }

    /// A draft of these events, behind what waits to be journalled.
    fn draft(&mut self, events: Vec<TaskEvent>) -> Draft {
        let held = self.held.take().map(|held| *held);
        let mut draft = held.unwrap_or_else(|| Draft {
            expected_seq: self.state.last_seq,
            at_ms: (self.deps.clock)(),
            events: Vec::new(),
            blobs: Vec::new(),
            before: Before {
                status: self.state.status,
                question: self.open_question(),
                answer: None,
                tools: Vec::new(),
                first: Vec::new(),
            },
        });
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
        let folded = self.state.apply_next(self.generation, draft.at_ms, events);
        draft.events.extend(folded);
    }

    /// Adds the next decision, if there is something to decide.
    fn decide(&mut self, draft: &mut Draft) -> Option<Next> {
        if !strategy::may_decide(&self.state, &self.profile, draft.at_ms) {
            return None;
        }
        let inputs = self.inputs(draft.at_ms);
        let step = strategy::decide(&self.state, &self.profile, &inputs)?;
        let inputs = self.journalled(inputs, draft);
        let decided = TaskEvent::Decided {
            decision: Box::new(step.decision.clone()),
            inputs,
            track: step.track,
        };
        self.add(draft, vec![decided]);
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

    /// The inputs as they are journalled. A fleet that looks as it did when this actor journalled it last is in the journal, or
    /// before this draft on its way there.
    fn journalled(&mut self, inputs: Inputs, draft: &mut Draft) -> InputsRef {
        if let Some((fleet, hash)) = &self.fleet_journalled
            && *fleet == inputs.fleet
        {
            return inputs.with_fleet(hash.clone());
        }
        let (journalled, hash, content) = inputs.journalled();
        draft.blobs.push((hash.clone(), content.into()));
        self.fleet_journalled = Some((inputs.fleet, hash));
        journalled
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

    fn appended(&self, draft: Draft) -> (Append, Before) {
        let append = Append {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            expected_seq: draft.expected_seq,
            at_ms: draft.at_ms,
            events: draft.events.into(),
            blobs: draft.blobs,
            summary: self.state.summary().into(),
            idempotency_key: None,
            tools: draft.before.tools.clone(),
        };
        (append, draft.before)
    }
}
