//! Results that came after their calls were over, on their way to the journal.

use super::Computer;
use super::messages::{LateSettled, ResumeLane, ShowQueue, StopLane, WaitingCall};
use crate::actors::supervisor::messages::LateResult;
use crate::domain::call::CallReport;
use crate::domain::ids::CallId;
use actix::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

/// A computer that comes back repeats what it holds: its receipts are bounded, and so is this. What is dropped here
/// it repeats at the next reconnect.
const MAX_WAITING: usize = 64;
/// How long the journal may take; afterwards the next result has its turn.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);

/// One result at a time goes to the supervisor, so that no computer can flood it.
#[derive(Debug, Default)]
pub(super) struct LateQueue {
    waiting: VecDeque<(CallId, CallReport)>,
    asked: Option<(CallId, SpawnHandle)>,
}

impl Computer {
    /// Hands a result on to whoever can write it down.
    pub(super) fn pass_on(&mut self, call_id: CallId, report: CallReport, ctx: &mut Context<Self>) {
        let queue = &mut self.late;
        let known = queue.waiting.iter().any(|(id, _)| *id == call_id);
        let asked = queue.asked.as_ref().is_some_and(|(id, _)| *id == call_id);
        if !known && !asked && queue.waiting.len() < MAX_WAITING {
            queue.waiting.push_back((call_id, report));
        }
        self.pass_next(ctx);
    }

    fn pass_next(&mut self, ctx: &mut Context<Self>) {
        let Some(desk) = self.late_desk.get() else {
            return;
        };
        if self.late.asked.is_some() {
            return;
        }
        let Some((call_id, report)) = self.late.waiting.pop_front() else {
            return;
        };
        // A supervisor that has too much to do is asked again when the computer repeats itself.
        let told = desk.try_send(LateResult {
            client_id: self.cell.client_id().clone(),
            call_id: call_id.clone(),
            report,
            reply_to: ctx.address().recipient(),
        });
        if told.is_ok() {
            let overdue = call_id.clone();
            let timer = ctx.run_later(SETTLED_WITHIN, move |computer, ctx| {
                computer.late_is_settled(&overdue, ctx);
            });
            self.late.asked = Some((call_id, timer));
        }
    }

    fn late_is_settled(&mut self, call_id: &CallId, ctx: &mut Context<Self>) {
        if let Some((_, timer)) = self.late.asked.take_if(|(asked, _)| asked == call_id) {
            ctx.cancel_future(timer);
            self.pass_next(ctx);
        }
    }
}

impl Handler<LateSettled> for Computer {
    type Result = ();

    fn handle(&mut self, settled: LateSettled, ctx: &mut Self::Context) {
        if settled.stored {
            self.with(ctx, |shell| {
                shell.step(|lane, now, acts| lane.found_stored(&settled.call_id, now, acts));
            });
        }
        self.late_is_settled(&settled.call_id, ctx);
    }
}

impl Handler<ShowQueue> for Computer {
    type Result = Vec<WaitingCall>;

    fn handle(&mut self, _: ShowQueue, ctx: &mut Self::Context) -> Self::Result {
        self.with(ctx, |shell| shell.lane().waiting(shell.now()))
    }
}

impl Handler<StopLane> for Computer {
    type Result = usize;

    fn handle(&mut self, _: StopLane, ctx: &mut Self::Context) -> usize {
        self.with(ctx, |shell| {
            shell.step(|lane, now, acts| lane.stop_calls(now, acts))
        })
    }
}

impl Handler<ResumeLane> for Computer {
    type Result = MessageResult<ResumeLane>;

    fn handle(&mut self, resume: ResumeLane, ctx: &mut Self::Context) -> Self::Result {
        MessageResult(self.with(ctx, |shell| {
            shell.step(|lane, now, acts| lane.resume_calls(resume.by_operator, now, acts))
        }))
    }
}
