//! From one episode to the next: the actor of a task that fell asleep goes, and a wake while it is awake is kept. A model's own
//! sleep is a call that ends at its time, or by a wake.

use super::messages::WakeUp;
use super::{Task, commit};
use crate::actors::computer::messages::CancelCall;
use crate::actors::gateway::messages::CancelTask as CancelModelCalls;
use crate::actors::supervisor::messages::WakeError;
use crate::domain::ids::CallId;
use crate::domain::nap;
use crate::domain::task::CallRecord;
use crate::strategy::episodes;
use actix::prelude::*;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Nobody sleeps longer without a look at the clock.
const LONGEST_NAP: Duration = Duration::from_secs(30);

impl Task {
    /// The end of an episode is durable: the task is over, sleeps, or goes on at once because a wake was kept.
    pub(super) fn after_an_end(&mut self, ctx: &mut Context<Self>) {
        self.end_children_of_episode();
        if self.state.status.is_final() || self.state.is_asleep() {
            return self.wind_down(ctx);
        }
        let task_id = self.state.task_id.clone();
        let cancel = CancelModelCalls { task_id };
        self.deps.cancel_model_calls.do_send(cancel);
        self.give_up_former_turns();
        for call in self.open_calls() {
            if let Some(lane) = self.lanes.get(&call.call_id) {
                let call_id = call.call_id.clone();
                lane.cancel.do_send(CancelCall { call_id });
            }
        }
        self.begin_episode(ctx);
    }

    /// A call that is a sleep: it ends at its time. The clock may be moved meanwhile, so it is looked at now and then.
    pub(super) fn nap(&mut self, call: &CallRecord, ctx: &mut Context<Self>) {
        let Some(until_ms) = call.until_ms else {
            return;
        };
        // A clock that is moved back makes no sleep of so many seconds longer.
        let rest_ms = until_ms.saturating_sub((self.deps.clock)());
        let rest_ms = rest_ms.max(0).unsigned_abs();
        let over = nap::lasts_ms(&call.args).map(|most| rest_ms.min(most));
        let over = over.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        self.nap_on(call.call_id.clone(), until_ms, over, ctx);
    }

    /// Until the clock shows its time, or its seconds are over.
    fn nap_on(
        &mut self,
        call_id: CallId,
        until_ms: i64,
        over: Option<Instant>,
        ctx: &mut Context<Self>,
    ) {
        let rest_ms = until_ms.saturating_sub((self.deps.clock)());
        let rest = Duration::from_millis(rest_ms.max(0).unsigned_abs());
        let left = over.map(|over| over.saturating_duration_since(Instant::now()));
        let look = rest.min(left.unwrap_or(rest)).min(LONGEST_NAP);
        ctx.run_later(look, move |task, ctx| {
            if !task.state.naps().any(|nap| nap.call_id == call_id) {
                return;
            }
            let now_ms = (task.deps.clock)();
            let is_over = over.is_some_and(|over| over <= Instant::now());
            if now_ms < until_ms && !is_over {
                return task.nap_on(call_id, until_ms, over, ctx);
            }
            let report = nap::report(now_ms, "its time", &Value::Null);
            task.settle(call_id, report, ctx);
        });
    }

    /// The clocks of an episode begin with it.
    fn begin_episode(&mut self, ctx: &mut Context<Self>) {
        self.drop_timers(ctx);
        self.watch_wall_time(ctx);
        self.advance(ctx);
    }

    /// Turns that the last episode waited for and never used: nobody will.
    pub(super) fn give_up_former_turns(&mut self) {
        let known = |id: &CallId| self.state.call(id).is_some();
        let gone: Vec<CallId> = self.lanes.keys().filter(|id| !known(id)).cloned().collect();
        for call_id in gone {
            if let Some(lane) = self.lanes.remove(&call_id) {
                lane.cancel.do_send(CancelCall { call_id });
            }
        }
    }
}

impl Handler<WakeUp> for Task {
    type Result = AtomicResponse<Self, Result<(), WakeError>>;

    fn handle(&mut self, wake: WakeUp, _ctx: &mut Self::Context) -> Self::Result {
        let events = match episodes::woken(&self.state, &wake.wakes) {
            Ok(events) if !events.is_empty() => events,
            nothing => {
                let answer = nothing.map(|_| ()).map_err(WakeError::from);
                return AtomicResponse::new(Box::pin(async { answer }.into_actor(self)));
            }
        };
        let (append, before) = self.prepare(events);
        let stored = commit(self.deps.journal.clone(), append).into_actor(self);
        AtomicResponse::new(Box::pin(stored.map(move |stored, task, ctx| {
            let answer = stored.as_ref().map(|_| ());
            let answer = answer.map_err(|error| WakeError::Journal(error.to_string()));
            let then: super::Then = match task.state.is_asleep() {
                // It was about to go, once the calls of its last episode ended.
                true => Box::new(Task::begin_episode),
                // Its model's sleep may have ended.
                false => Box::new(Task::advance),
            };
            task.committed(before, stored, ctx, then);
            answer
        })))
    }
}
