//! What the open calls of a task wait for: a computer that is away, or one that people stopped.

use super::perform::not_placed;
use super::{Task, Then};
use crate::actors::computer::messages::CancelCall;
use crate::domain::call::{NoRoute, NoRouteReason, Target};
use crate::domain::decision::WaitReason;
use crate::domain::event::TaskEvent;
use crate::domain::ids::CallId;
use crate::domain::task::{CallRecord, Open};
use actix::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// One entry for each call that waits, one timer for each that never left and whose computer is away.
#[derive(Default)]
pub(super) struct Waits {
    reasons: HashMap<CallId, WaitReason>,
    timers: HashMap<CallId, SpawnHandle>,
    /// Since when each of these waits, in milliseconds since the Unix epoch.
    since: BTreeMap<CallId, i64>,
    /// Calls whose computer was there when it was last told of, since the task's actor was started.
    back: HashSet<CallId>,
}

impl Waits {
    pub(super) fn drain_timers(&mut self) -> impl Iterator<Item = SpawnHandle> {
        self.reasons.clear();
        self.since.clear();
        self.back.clear();
        self.timers.drain().map(|(_, timer)| timer)
    }

    /// What the task shows: the reason that people can do something about first.
    fn shown(&self) -> Option<WaitReason> {
        let any = |reason| {
            self.reasons
                .values()
                .any(|r| *r == reason)
                .then_some(reason)
        };
        any(WaitReason::Stopped).or(any(WaitReason::ComputerOffline))
    }
}

impl Task {
    /// The lane says how a call stands that has not left.
    pub(super) fn is_queued(
        &mut self,
        call: &CallRecord,
        offline: bool,
        stopped: bool,
        ctx: &mut Context<Self>,
    ) {
        let reason = match (stopped, offline) {
            (true, _) => WaitReason::Stopped,
            (false, true) => WaitReason::ComputerOffline,
            (false, false) => return self.waits_no_more(&call.call_id, ctx),
        };
        // Whoever made a direct call waits for its answer and can decide better than we whether to try again.
        if self.is_direct_call() {
            return match reason {
                WaitReason::Stopped => self.give_up_place(
                    call,
                    NoRouteReason::Stopped,
                    "was stopped; an operator has to resume it",
                    ctx,
                ),
                _ => {
                    let lane = self.lanes.get(&call.call_id);
                    let now_ms = (self.deps.clock)();
                    let stands = lane.map(|lane| lane.view.whereabouts(now_ms));
                    let stands = stands.unwrap_or_else(|| "is offline".to_owned());
                    let why = format!("has \"{}\" but {stands}", call.tool);
                    self.give_up_place(call, NoRouteReason::Offline, &why, ctx);
                }
            };
        }
        if reason == WaitReason::ComputerOffline {
            self.watch_offline(&call.call_id, ctx);
        } else {
            self.stop_offline_timer(&call.call_id, ctx);
        }
        self.waits.reasons.insert(call.call_id.clone(), reason);
        self.show_waits(ctx);
    }

    /// A call that was sent: its computer went away, or is back. Its own deadline goes on.
    pub(super) fn is_away(&mut self, call_id: &CallId, away: bool, ctx: &mut Context<Self>) {
        if away {
            let reason = WaitReason::ComputerOffline;
            self.waits.reasons.insert(call_id.clone(), reason);
            self.show_waits(ctx);
        } else {
            self.waits_no_more(call_id, ctx);
        }
    }

    pub(super) fn waits_no_more(&mut self, call_id: &CallId, ctx: &mut Context<Self>) {
        self.forget_wait(call_id, ctx);
        self.show_waits(ctx);
    }

    pub(super) fn forget_wait(&mut self, call_id: &CallId, ctx: &mut Context<Self>) {
        self.stop_offline_timer(call_id, ctx);
        self.waits.reasons.remove(call_id);
    }

    fn stop_offline_timer(&mut self, call_id: &CallId, ctx: &mut Context<Self>) {
        self.waits.since.remove(call_id);
        self.waits.back.insert(call_id.clone());
        if let Some(timer) = self.waits.timers.remove(call_id) {
            ctx.cancel_future(timer);
        }
    }

    /// Journals what the task waits for, if that changed.
    pub(super) fn show_waits(&mut self, ctx: &mut Context<Self>) {
        let events = self.wait_events();
        if !events.is_empty() {
            let then: Then = Box::new(|_, _| {});
            self.append(ctx, events, then);
        }
    }

    /// News of one call ends what the task shows; this says again what its others wait for.
    pub(super) fn waits_on(&self) -> Option<TaskEvent> {
        let reason = self.waits.shown()?;
        Some(TaskEvent::WaitStarted { reason })
    }

    /// What has to be journalled so that the task shows what its calls wait for.
    fn wait_events(&self) -> Vec<TaskEvent> {
        let (now, shown) = (self.state.wait, self.waits.shown());
        let ours = matches!(
            now,
            None | Some(WaitReason::ComputerOffline | WaitReason::Stopped)
        );
        let mut open = self.state.open.values();
        let calls = open.any(|open| matches!(open, Open::Calls { .. }));
        if !calls {
            return Vec::new();
        }
        let away = self.calls_away().into_iter();
        if !ours || now == shown {
            return away.collect();
        }
        let ended = now.map(|reason| TaskEvent::WaitEnded { reason });
        let started = shown.map(|reason| TaskEvent::WaitStarted { reason });
        away.chain(ended).chain(started).collect()
    }

    /// What has to be journalled so that a restart knows of each call how long it has waited. One that is alone is known by the
    /// task's own wait.
    pub(super) fn calls_away(&self) -> Option<TaskEvent> {
        let unsent = |id: &CallId| {
            let call = self.state.call(id);
            call.is_some_and(|call| call.is_open() && call.intended.is_none())
        };
        let known = &self.state.away;
        // Of whom nothing was told since the start, what is journalled still holds.
        let mut since = known.clone();
        since.retain(|id, _| unsent(id) && !self.waits.back.contains(id));
        for (id, since_ms) in &self.waits.since {
            if unsent(id) {
                since.entry(id.clone()).or_insert(*since_ms);
            }
        }
        let several = self.open_calls().len() > 1;
        let news = since != *known && (several || !known.is_empty());
        news.then_some(TaskEvent::CallsAway { since })
    }

    /// Gives up on a computer that does not come back in the configured time of the server.
    fn watch_offline(&mut self, call_id: &CallId, ctx: &mut Context<Self>) {
        if self.waits.timers.contains_key(call_id) {
            return;
        }
        let timeout = self.deps.settings.calls.offline_timeout;
        let waited = self.waited_before(call_id);
        let rest = timeout.saturating_sub(waited);
        let waited_ms = i64::try_from(waited.as_millis()).unwrap_or(i64::MAX);
        let since_ms = (self.deps.clock)().saturating_sub(waited_ms);
        self.waits.since.insert(call_id.clone(), since_ms);
        self.waits.back.remove(call_id);
        let id = call_id.clone();
        let timer = ctx.run_later(rest, move |task, ctx| {
            task.waits.timers.remove(&id);
            let call = task.state.call(&id);
            let waits = call.filter(|c| c.is_open() && c.intended.is_none());
            if let Some(call) = waits.cloned() {
                let why = format!("did not come back in {} s", timeout.as_secs());
                task.give_up_place(&call, NoRouteReason::Offline, &why, ctx);
            }
        });
        self.waits.timers.insert(call_id.clone(), timer);
    }

    /// How long a call has waited already, before the server was started again.
    fn waited_before(&self, call_id: &CallId) -> Duration {
        let calls = self.state.calls();
        let queued = |call: &&CallRecord| {
            let elsewhere = call.child.is_some() || call.until_ms.is_some();
            call.is_open() && call.intended.is_none() && !elsewhere
        };
        let mut waiting = calls.filter(queued);
        let alone = waiting.next().is_some() && waiting.next().is_none();
        let own = self.state.away.get(call_id).copied();
        // In journals of before each call was told of, nobody knows which of several it was: they wait anew.
        let since = own.or(self.state.away_since_ms.filter(|_| alone));
        let waited = since.map_or(0, |since| (self.deps.clock)().saturating_sub(since));
        Duration::from_millis(u64::try_from(waited).unwrap_or(0))
    }

    fn is_direct_call(&self) -> bool {
        let created = self.state.created.as_ref();
        created.is_some_and(|created| created.call.is_some())
    }

    /// Takes a call that never left out of its lane.
    fn give_up_place(
        &mut self,
        call: &CallRecord,
        reason: NoRouteReason,
        why: &str,
        ctx: &mut Context<Self>,
    ) {
        self.forget_wait(&call.call_id, ctx);
        let message = format!("{} {why}", self.place_of(call));
        if let Some(lane) = self.lanes.remove(&call.call_id) {
            let call_id = call.call_id.clone();
            lane.cancel.do_send(CancelCall { call_id });
        }
        let mut events: Vec<TaskEvent> = self.calls_away().into_iter().collect();
        events.push(not_placed(call, NoRoute { reason, message }));
        events.extend(self.waits_on());
        self.append_then_advance(ctx, events);
    }

    fn place_of(&self, call: &CallRecord) -> String {
        match &call.target {
            Target::Computer(id) => id.to_string(),
            Target::Group(name) => format!("a computer of the group {name}"),
            Target::Any => {
                let home = self.state.home();
                home.map_or("the computer".to_owned(), |id| id.to_string())
            }
        }
    }
}
