//! Outcomes that come late: an `unknown` call turns out done or failed.

use super::perform::may_settle;
use super::{Task, Then, commit};
use crate::actors::computer::messages::LateSettled;
use crate::actors::supervisor::messages::LateResult;
use crate::crash_points::{self, Point};
use crate::domain::call::{CallReport, Outcome};
use crate::domain::event::TaskEvent;
use crate::domain::ids::ClientId;
use crate::domain::task::{CallEnd, CallRecord, TaskState};
use actix::prelude::*;

/// What a late result means to a task's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::actors) enum Late {
    /// It resolves an `unknown` call, once: to be journalled.
    Resolves,
    /// Nothing to write down: the outcome stands, or the journal never knew the call (it was put back from a
    /// backup).
    Known,
    /// The call is open: whoever adopts it takes the result. Or it is not this computer's to tell.
    NotNow,
}

/// Judges a late result by the journal.
pub(in crate::actors) fn judge_late(state: &TaskState, late: &LateResult) -> Late {
    let Some(call) = state.call(&late.call_id) else {
        return Late::Known;
    };
    let whose = call.intended.as_ref().map(|intended| &intended.client_id);
    let settles = matches!(late.report.outcome, Outcome::Done | Outcome::Failed);
    match &call.end {
        _ if whose.is_some_and(|whose| whose != &late.client_id) => Late::NotNow,
        CallEnd::Open => Late::NotNow,
        CallEnd::Finished(report) if report.outcome == Outcome::Unknown && settles => {
            Late::Resolves
        }
        CallEnd::Finished(report) if report.outcome == Outcome::NotStarted && settles => {
            tracing::error!(call = %late.call_id, "a call that had not started has a result");
            Late::Known
        }
        CallEnd::Finished(_) | CallEnd::NotPlaced(_) => Late::Known,
    }
}

/// The event that resolves an `unknown` call.
pub(in crate::actors) fn resolution(late: &LateResult) -> TaskEvent {
    TaskEvent::CallFinished {
        call_id: late.call_id.clone(),
        report: late.report.clone(),
    }
}

impl Task {
    /// Tells the lanes of calls whose outcome is unknown, so that a late answer finds its way here.
    pub(super) fn remember_unknown_calls(&mut self, ctx: &mut Context<Self>) {
        let unknown = |call: &&CallRecord| !call.is_open() && may_settle(call);
        // What was carried over from another task is that task's to settle.
        let own = |call: &&CallRecord| self.state.is_own(call);
        let calls = self.state.all_calls().filter(unknown).filter(own);
        let calls: Vec<CallRecord> = calls.cloned().collect();
        for call in calls {
            let known = call.intended.as_ref().map(|intended| &intended.client_id);
            if known.is_some_and(|id: &ClientId| self.deps.router.lane(id).is_some()) {
                self.adopt(&call, ctx);
            }
        }
    }

    /// Journals how a call ended, then lets the lane go on.
    pub(super) fn settle(
        &mut self,
        call_id: crate::domain::ids::CallId,
        report: CallReport,
        ctx: &mut Context<Self>,
    ) {
        self.forget_wait(&call_id, ctx);
        let settled = call_id.clone();
        self.spans.settled(&call_id, &report);
        let mut events = vec![TaskEvent::CallFinished { call_id, report }];
        events.extend(self.waits_on());
        let first: Then = Box::new(move |task, _| task.stored(&settled));
        crash_points::pass(Point::BeforeResultCommit);
        self.append_first_then_advance(ctx, events, first);
    }
}

impl Handler<LateResult> for Task {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, late: LateResult, _ctx: &mut Self::Context) -> Self::Result {
        let judged = judge_late(&self.state, &late);
        if judged != Late::Resolves {
            late.reply_to.do_send(LateSettled {
                call_id: late.call_id,
                // What is folded and waits for a turn is not durable yet: the result comes again.
                stored: judged == Late::Known && self.held.is_none(),
            });
            return AtomicResponse::new(Box::pin(async {}.into_actor(self)));
        }
        let (append, before) = self.prepare(vec![resolution(&late)]);
        let stored = commit(self.deps.journal.clone(), append).into_actor(self);
        AtomicResponse::new(Box::pin(stored.map(move |stored, task, ctx| {
            let is_stored = stored.is_ok();
            task.committed(before, stored, ctx, Box::new(Task::advance));
            late.reply_to.do_send(LateSettled {
                call_id: late.call_id,
                stored: is_stored,
            });
        })))
    }
}
