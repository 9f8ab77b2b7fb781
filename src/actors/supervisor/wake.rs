//! Waking tasks: at their times, when something happens in the world, and when somebody asks.

use super::messages::{NoSuchTask, WakeError, WakeTask, WorldEvent};
use super::revive::NotRevived;
use super::sleepers::{Calls, Reply};
use super::{ASK_DEADLINE, GONE_ALREADY, Supervisor};
use crate::actors::journal::messages::{ArchiveEpisodes, LoadTask};
use crate::actors::task::messages::WakeUp;
use crate::domain::guard_rules::any_matches;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskState;
use crate::domain::wakes::{Asleep, Wake, WakeCause, bounded};
use crate::strategy::episodes::{self, NotWoken};
use actix::prelude::*;
use std::time::Duration;
use tokio::sync::oneshot;

/// Tasks that are read from the journal at once to be woken.
const MOST_WAKING: usize = 16;
/// Nobody sleeps longer without a look at the clock: it may have been moved.
const LONGEST_NAP_MS: i64 = 30_000;
/// Between two looks while there is no room for one that is due.
const NO_ROOM_MS: i64 = 1_000;
/// Before a task that could not be woken is tried again.
const TRY_AGAIN_MS: i64 = 5_000;

/// A task that is being woken.
pub(super) struct Waking {
    /// Globs of names of events that it waits for.
    events: Vec<String>,
    /// What called it meanwhile.
    later: Calls,
    /// It was cancelled meanwhile.
    cancelled: bool,
}

impl Supervisor {
    /// Wakes those who are due, and looks again when the next one is.
    pub(super) fn look(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.look_again.take() {
            ctx.cancel_future(timer);
        }
        if self.stopping {
            return;
        }
        let now_ms = (self.deps.clock)();
        let live = self.live.len() + self.waking.len();
        let room = self.settings().tasks.max_live.saturating_sub(live);
        let room = room.min(MOST_WAKING.saturating_sub(self.waking.len()));
        for (task_id, asleep, calls) in self.sleepers.due(now_ms, room) {
            self.wake(task_id, asleep, calls, ctx);
        }
        let Some(due_ms) = self.sleepers.next_due_ms() else {
            return;
        };
        let nap = match due_ms.saturating_sub(now_ms) {
            ..=0 => NO_ROOM_MS,
            nap => nap.min(LONGEST_NAP_MS),
        };
        let nap = Duration::from_millis(nap as u64);
        self.look_again = Some(ctx.run_later(nap, |supervisor, ctx| {
            supervisor.look_again = None;
            supervisor.look(ctx);
        }));
    }

    fn wake(&mut self, task_id: TaskId, asleep: Asleep, calls: Calls, ctx: &mut Context<Self>) {
        let waking = Waking {
            events: asleep.wakes.events.clone(),
            later: Calls::default(),
            cancelled: false,
        };
        self.waking.insert(task_id.clone(), waking);
        let (salt, wakes) = (Some(self.salt()), calls.wakes.clone());
        let revival = self.revive(task_id.clone(), "it was woken", salt, wakes);
        ctx.spawn(revival.into_actor(self).map(|revived, supervisor, ctx| {
            let waking = supervisor.waking.remove(&task_id);
            let cancelled = waking.as_ref().is_some_and(|waking| waking.cancelled);
            let later = waking.map(|waking| waking.later).unwrap_or_default();
            if supervisor.stopping {
                let stopping = Err(WakeError::Stopping);
                calls.answer(&stopping);
                return later.answer(&stopping);
            }
            match revived {
                Ok(revived) => {
                    supervisor.run(revived.state, revived.profile, revived.generation, 0);
                    calls.answer(&Ok(()));
                    supervisor.pass_on(&task_id, later, ctx);
                }
                // Its journal was written meanwhile, and not to end it.
                Err(NotRevived::Overtaken) if !cancelled => {
                    let mut calls = calls;
                    calls.wakes.extend(later.wakes);
                    calls.replies.extend(later.replies);
                    let now_ms = (supervisor.deps.clock)();
                    supervisor.sleepers.again(task_id, asleep, now_ms, calls);
                }
                Err(error) => {
                    let answer = Err(refused(&error));
                    calls.answer(&answer);
                    later.answer(&answer);
                    supervisor.not_woken(task_id, asleep, error);
                }
            }
            supervisor.look(ctx);
        }));
    }

    /// A task that fell asleep has one more former episode.
    pub(super) fn archive_episodes(&self, task_id: &TaskId) {
        // If it cannot be written now, the next episode's end tries again.
        self.archive.do_send(ArchiveEpisodes {
            task_id: task_id.clone(),
            rule: self.settings().journal,
            now_ms: (self.deps.clock)(),
        });
    }

    fn not_woken(&mut self, task_id: TaskId, asleep: Asleep, error: NotRevived) {
        match error {
            // It was cancelled.
            NotRevived::NotWoken(_) | NotRevived::Overtaken => {}
            NotRevived::Unavailable(error) => {
                tracing::warn!(task = %task_id, error, "a task could not be woken; it is tried again");
                let again_ms = (self.deps.clock)().saturating_add(TRY_AGAIN_MS);
                self.sleepers.put_back(task_id, asleep, again_ms);
            }
            NotRevived::Broken(error) => self.quarantine(task_id, error),
        }
    }

    /// A task was cancelled that slept, or was about to wake.
    pub(super) fn never_wakes(&mut self, task_id: &TaskId) {
        self.sleepers.remove(task_id);
        if let Some(waking) = self.waking.get_mut(task_id) {
            waking.cancelled = true;
        }
    }

    /// What came while it was being woken.
    fn pass_on(&mut self, task_id: &TaskId, later: Calls, ctx: &mut Context<Self>) {
        let Some(live) = self.live.get(task_id).filter(|_| !later.wakes.is_empty()) else {
            return later.answer(&Ok(()));
        };
        let wakes = later.wakes.clone();
        let asked = live.addr.send(WakeUp { wakes }).timeout(ASK_DEADLINE);
        let answered = async move {
            let answer = asked.await;
            later.answer(&answer.unwrap_or(Err(WakeError::Resting)));
        };
        ctx.spawn(answered.into_actor(self));
    }

    /// Calls a task wherever it stands. False if nothing is known of it here.
    fn call(&mut self, task_id: &TaskId, wake: Wake, reply: Option<Reply>) -> bool {
        if let Some(waking) = self.waking.get_mut(task_id) {
            waking.later.take(wake, reply);
            return true;
        }
        let sleeps = self.sleepers.contains(task_id);
        if sleeps {
            self.sleepers.call(task_id, wake, reply);
        }
        sleeps
    }

    /// Asks a task's actor; one that has just fallen asleep is called in its sleep.
    fn call_live(
        &self,
        ask: WakeTask,
        wake: Wake,
        ctx: &mut Context<Self>,
    ) -> Option<ResponseFuture<Result<(), WakeError>>> {
        let live = self.live.get(&ask.task_id)?;
        let wakes = vec![wake];
        let asked = live.addr.send(WakeUp { wakes }).timeout(ASK_DEADLINE);
        let address = ctx.address();
        Some(Box::pin(async move {
            match asked.await {
                Ok(answer) => answer,
                Err(MailboxError::Timeout) => {
                    Err(WakeError::Journal("the task writes for long".to_owned()))
                }
                Err(MailboxError::Closed) => {
                    actix_rt::time::sleep(GONE_ALREADY).await;
                    let again = address.send(ask).await;
                    again.unwrap_or(Err(WakeError::Stopping))
                }
            }
        }))
    }
}

fn refused(error: &NotRevived) -> WakeError {
    match error {
        NotRevived::NotWoken(why) => WakeError::NotWoken(*why),
        NotRevived::Overtaken => WakeError::NotWoken(NotWoken::Ended),
        NotRevived::Broken(_) => WakeError::Resting,
        NotRevived::Unavailable(error) => WakeError::Journal(error.clone()),
    }
}

impl Handler<WakeTask> for Supervisor {
    type Result = ResponseFuture<Result<(), WakeError>>;

    fn handle(&mut self, ask: WakeTask, ctx: &mut Self::Context) -> Self::Result {
        if self.stopping {
            return Box::pin(async { Err(WakeError::Stopping) });
        }
        let wake = ask.at((self.deps.clock)());
        if let Some(answer) = self.call_live(ask.clone(), wake.clone(), ctx) {
            return answer;
        }
        let (live, max) = (
            self.live.len() + self.waking.len(),
            self.settings().tasks.max_live,
        );
        if live >= max && self.sleepers.contains(&ask.task_id) {
            return Box::pin(async move { Err(WakeError::NoRoom { live, max }) });
        }
        let (reply, answer) = oneshot::channel();
        if self.call(&ask.task_id, wake, Some(reply)) {
            self.look(ctx);
            return Box::pin(async move {
                match tokio::time::timeout(ASK_DEADLINE, answer).await {
                    Ok(answer) => answer.unwrap_or(Err(WakeError::Stopping)),
                    Err(_) => Err(WakeError::Resting),
                }
            });
        }
        if self.resting.contains(&ask.task_id) {
            return Box::pin(async { Err(WakeError::Resting) });
        }
        let load = self.load.clone();
        Box::pin(async move { Err(why_not(load, ask.task_id).await) })
    }
}

/// Why a task that neither runs nor sleeps cannot be woken.
async fn why_not(load: Recipient<LoadTask>, task_id: TaskId) -> WakeError {
    let asked = LoadTask {
        task_id: task_id.clone(),
    };
    let Ok(Ok(loaded)) = load.send(asked).await else {
        return NoSuchTask(task_id).into();
    };
    let mut state = TaskState::new(task_id);
    state.apply_all(&loaded.events);
    match episodes::woken(&state, &[]) {
        Err(why) => why.into(),
        Ok(_) => WakeError::Resting,
    }
}

impl Handler<WorldEvent> for Supervisor {
    type Result = ();

    fn handle(&mut self, event: WorldEvent, ctx: &mut Self::Context) {
        let computer = &event.client_id;
        tracing::debug!(%computer, event = event.name, "something happened in the world");
        let cause = WakeCause::Event {
            name: event.name.clone(),
            client_id: event.client_id,
            data: bounded(event.data),
        };
        let waits = |events: &Vec<String>| any_matches(events, &event.name);
        let live = self.live.iter().filter(|(_, live)| waits(&live.events));
        let live: Vec<TaskId> = live.map(|(task_id, _)| task_id.clone()).collect();
        let waking = self
            .waking
            .iter()
            .filter(|(_, waking)| waits(&waking.events));
        let waking: Vec<TaskId> = waking.map(|(task_id, _)| task_id.clone()).collect();
        let asleep = self.sleepers.waiting_for(&event.name);
        let at_ms = (self.deps.clock)();
        for task_id in live {
            let cause = cause.clone();
            let ask = WakeTask { task_id, cause };
            let wake = ask.at(at_ms);
            if let Some(answer) = self.call_live(ask, wake, ctx) {
                let answered = async move {
                    // Its kept wakes are full, or it has ended: nothing is lost that it would have learned.
                    let _ = answer.await;
                };
                ctx.spawn(answered.into_actor(self));
            }
        }
        for task_id in waking.into_iter().chain(asleep) {
            let cause = cause.clone();
            self.call(&task_id, Wake { at_ms, cause }, None);
        }
        self.look(ctx);
    }
}
