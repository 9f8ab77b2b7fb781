//! Which tasks live: starts them, restarts them from the journal with the next generation, cancels and wakes
//! them. actix's own supervisor does not restart after a panic, so this one does.

mod cancel;
mod family;
mod fork;
mod late;
pub mod messages;
mod revive;
mod sleepers;
mod start;
mod uptime;
mod wake;

use super::journal::messages::{
    AppendEvents, ArchiveEpisodes, KeepUptime, LoadState, LoadTask, Quarantine, SleepingTasks,
    UnfinishedTasks, UptimeSoFar,
};
use super::registry::messages::FleetChanged;
use super::task::messages::{
    Answer, Cancel, FamilyNews, GetQuestion, Halt, LookAgain, TaskStopped,
};
use super::task::{Task, TaskDeps};
use crate::config::Settings;
use crate::config::kinds::LiveKinds;
use crate::domain::ids::{Generation, TaskId};
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use actix::prelude::*;
use family::{Family, Place};
use futures_util::future::join_all;
use messages::{
    AnswerError, AnswerQuestion, CancelTask, NoSuchTask, OpenQuestion, OpenQuestions, Shutdown,
    StartError, StartTask, StartedTask,
};
use sleepers::Sleepers;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use uptime::Uptime;
use wake::Waking;

/// How long a question to a task may wait for its answer. A task that writes its journal answers late.
const ASK_DEADLINE: Duration = Duration::from_secs(10);

/// How long the end of an actor may be on its way here.
const GONE_ALREADY: Duration = Duration::from_millis(10);

/// A task that stops this often without getting on is left alone until the server is started again.
const MOST_RESTARTS: u32 = 5;

/// 40 random bits of a ULID: enough for the few starts that one backup sees.
const SALT_CHARS: usize = 8;

/// Mailbox bound: requests beyond it are refused as busy by their senders' deadline.
const MAILBOX: usize = 1024;

/// What the supervisor needs of the others; the tasks' own needs are among them.
pub struct SupervisorDeps {
    pub load: Recipient<LoadTask>,
    pub load_state: Recipient<LoadState>,
    pub unfinished: Recipient<UnfinishedTasks>,
    pub sleeping: Recipient<SleepingTasks>,
    pub archive: Recipient<ArchiveEpisodes>,
    pub quarantine: Recipient<Quarantine>,
    pub uptime: Recipient<UptimeSoFar>,
    pub keep_uptime: Recipient<KeepUptime>,
    pub kinds: LiveKinds,
    /// Letters and digits that were never given before, for new task ids.
    pub unique: fn() -> String,
    /// Builds what a task needs, given where it reports its end and tells of its children.
    pub task_deps: Box<dyn FnOnce(Recipient<TaskStopped>, Recipient<FamilyNews>) -> TaskDeps>,
}

struct Live {
    addr: Addr<Task>,
    generation: Generation,
    past: Past,
    place: Place,
    /// Globs of names of events that it waits for.
    events: Vec<String>,
}

/// How a task fared until now.
#[derive(Debug, Clone, Copy, Default)]
struct Past {
    restarts: u32,
    /// The journal position at the last start: getting on resets the count of restarts.
    started_at_seq: u64,
}

/// The actor.
pub struct Supervisor {
    load: Recipient<LoadTask>,
    load_state: Recipient<LoadState>,
    unfinished: Recipient<UnfinishedTasks>,
    sleeping: Recipient<SleepingTasks>,
    archive: Recipient<ArchiveEpisodes>,
    quarantine: Recipient<Quarantine>,
    uptime_so_far: Recipient<UptimeSoFar>,
    uptime_kept: Recipient<KeepUptime>,
    uptime: Uptime,
    kinds: LiveKinds,
    unique: fn() -> String,
    deps: TaskDeps,
    live: HashMap<TaskId, Live>,
    /// Tasks without an actor, that are to be woken.
    sleepers: Sleepers,
    /// Tasks that are being woken.
    waking: HashMap<TaskId, Waking>,
    /// The next look at those who sleep.
    look_again: Option<SpawnHandle>,
    /// Late results of ended tasks that are being written down.
    late: usize,
    /// Tasks whose actor ended early and that are about to be started again.
    resting: HashSet<TaskId>,
    family: Family,
    stopping: bool,
}

impl Supervisor {
    /// Starts the actor. It does nothing before `Restore` or [`StartTask`].
    pub fn start(deps: SupervisorDeps) -> Addr<Supervisor> {
        Supervisor::create(|ctx| {
            ctx.set_mailbox_capacity(MAILBOX);
            let me = ctx.address();
            let task_deps = (deps.task_deps)(me.clone().recipient(), me.recipient());
            Supervisor {
                load: deps.load,
                load_state: deps.load_state,
                unfinished: deps.unfinished,
                sleeping: deps.sleeping,
                archive: deps.archive,
                quarantine: deps.quarantine,
                uptime_so_far: deps.uptime,
                uptime_kept: deps.keep_uptime,
                uptime: Uptime::new(),
                kinds: deps.kinds,
                unique: deps.unique,
                deps: task_deps,
                live: HashMap::new(),
                sleepers: Sleepers::default(),
                waking: HashMap::new(),
                look_again: None,
                late: 0,
                resting: HashSet::new(),
                family: Family::default(),
                stopping: false,
            }
        })
    }

    fn settings(&self) -> &Settings {
        &self.deps.settings
    }

    fn journal(&self) -> &Recipient<AppendEvents> {
        &self.deps.journal
    }

    /// Starts the actor of a task whose journal is folded.
    fn run(
        &mut self,
        state: TaskState,
        profile: Arc<Profile>,
        generation: Generation,
        restarts: u32,
    ) {
        let task_id = state.task_id.clone();
        let started_at_seq = state.last_seq;
        let place = self.family.take_in(&state);
        let events = state.wakes().map(|wakes| wakes.events.clone());
        let deps = self.deps.clone();
        let home = state.home();
        // Where its computer is: what they say to each other changes threads nowhere.
        let addr = match home.and_then(|home| deps.router.shards().home_of(home).cloned()) {
            Some(arbiter) => Task::start_in_arbiter(&arbiter, move |_| {
                Task::new(deps, state, profile, generation)
            }),
            None => Task::new(deps, state, profile, generation).start(),
        };
        self.live.insert(
            task_id,
            Live {
                addr,
                generation,
                past: Past {
                    restarts,
                    started_at_seq,
                },
                place,
                events: events.unwrap_or_default(),
            },
        );
    }

    /// What makes ids of this start of the server unlike those of any other.
    fn salt(&self) -> String {
        let unique = (self.unique)();
        let from = unique.len().saturating_sub(SALT_CHARS);
        // The end of a ULID is random, its beginning the time.
        unique.get(from..).unwrap_or(&unique).to_owned()
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.keep_uptime(ctx);
    }
}

impl Handler<TaskStopped> for Supervisor {
    type Result = ();

    fn handle(&mut self, told: TaskStopped, ctx: &mut Self::Context) {
        let current = self
            .live
            .get(&told.task_id)
            .is_some_and(|l| l.generation == told.generation);
        if !current {
            return;
        }
        let Some(ended) = self.live.remove(&told.task_id) else {
            return;
        };
        if told.finished && told.asleep.is_none() {
            self.has_ended(&told.task_id, ended.place, ctx);
        }
        if self.stopping {
            return;
        }
        if let Some(asleep) = told.asleep {
            self.archive_episodes(&told.task_id);
            self.sleepers.insert(told.task_id, *asleep);
            return self.look(ctx);
        }
        if told.finished {
            // There is room for one that waits to be woken.
            return self.look(ctx);
        }
        tracing::error!(task = %told.task_id, restarts = ended.past.restarts, "a task's actor ended early; it is restarted");
        self.restart_later(told.task_id, ended.past, ctx);
    }
}

impl Supervisor {
    /// The task stays as it is journalled and is not run; people are shown why.
    fn quarantine(&self, task_id: TaskId, reason: String) {
        tracing::error!(task = %task_id, reason, "a task is not run");
        // If even this cannot be written, the log has it, and the next start finds it again.
        self.quarantine.do_send(Quarantine { task_id, reason });
    }

    /// After a growing pause, so that a task that always fails does not take the machine with it.
    fn restart_later(&mut self, task_id: TaskId, ended: Past, ctx: &mut Context<Self>) {
        if ended.restarts > MOST_RESTARTS {
            let reason = "its actor fails at every start; it is tried again when the server starts";
            self.is_given_up(&task_id, reason);
            return self.quarantine(task_id, reason.to_owned());
        }
        self.resting.insert(task_id.clone());
        let pause = Duration::from_millis(100u64 << ended.restarts.min(8));
        ctx.run_later(pause, move |supervisor, ctx| {
            supervisor.restart(task_id, ended, ctx)
        });
    }

    fn restart(&mut self, task_id: TaskId, ended: Past, ctx: &mut Context<Self>) {
        self.resting.remove(&task_id);
        if self.stopping {
            return;
        }
        let revival = self
            .revive(task_id.clone(), "its actor ended early", None, Vec::new())
            .into_actor(self);
        ctx.spawn(revival.map(move |revived, supervisor, ctx| match revived {
            Ok(revived) => {
                // One event is the restart itself; more mean that the task got on.
                let got_on = revived.state.last_seq > ended.started_at_seq + 1;
                let restarts = if got_on { 1 } else { ended.restarts + 1 };
                supervisor.run(revived.state, revived.profile, revived.generation, restarts);
            }
            Err(error) => {
                tracing::error!(task = %task_id, %error, "a task could not be restarted");
                supervisor.restart_later(
                    task_id,
                    Past {
                        restarts: ended.restarts + 1,
                        ..ended
                    },
                    ctx,
                );
            }
        }));
    }
}

impl Handler<FleetChanged> for Supervisor {
    type Result = ();

    fn handle(&mut self, changed: FleetChanged, _ctx: &mut Self::Context) {
        if changed.online {
            for live in self.live.values() {
                live.addr.do_send(LookAgain);
            }
        }
    }
}

impl Handler<CancelTask> for Supervisor {
    type Result = ResponseActFuture<Self, Result<bool, NoSuchTask>>;

    fn handle(&mut self, cancel: CancelTask, ctx: &mut Self::Context) -> Self::Result {
        let task_id = cancel.task_id.clone();
        match self.live.get(&task_id) {
            Some(live) => {
                let asked = live.addr.send(Cancel {
                    reason: cancel.reason.clone(),
                    by: cancel.by.clone(),
                });
                let address = ctx.address();
                let asked = async move {
                    match asked.timeout(ASK_DEADLINE).await {
                        Ok(cancelled) => Ok(cancelled),
                        Err(MailboxError::Timeout) => Ok(false),
                        // It fell asleep, or ended, just now.
                        Err(MailboxError::Closed) => {
                            actix_rt::time::sleep(GONE_ALREADY).await;
                            let again = address.send(cancel).await;
                            again.unwrap_or(Ok(false))
                        }
                    }
                };
                Box::pin(asked.into_actor(self))
            }
            // Ended tasks have no actor, nor has one that rests between two starts: the journal knows.
            None => self.cancel_in_journal(cancel, ctx),
        }
    }
}

impl Handler<AnswerQuestion> for Supervisor {
    type Result = ResponseFuture<Result<(), AnswerError>>;

    fn handle(&mut self, given: AnswerQuestion, _ctx: &mut Self::Context) -> Self::Result {
        let not_open = AnswerError::NotOpen(given.question_id.clone());
        // A question's id begins with its task's; asking every task would cost too much.
        let asked = self
            .live
            .iter()
            .find(|(task_id, _)| given.question_id.belongs_to(task_id));
        let Some((_, live)) = asked else {
            return Box::pin(async { Err(not_open) });
        };
        let answer = live.addr.send(Answer {
            question_id: given.question_id,
            answer: given.answer,
            by: given.by,
            authenticated: given.authenticated,
        });
        Box::pin(async move { answer.timeout(ASK_DEADLINE).await.unwrap_or(Err(not_open)) })
    }
}

impl Handler<OpenQuestions> for Supervisor {
    type Result = ResponseFuture<Vec<OpenQuestion>>;

    fn handle(&mut self, _: OpenQuestions, _ctx: &mut Self::Context) -> Self::Result {
        let asks: Vec<_> = self
            .live
            .values()
            .map(|live| live.addr.send(GetQuestion).timeout(ASK_DEADLINE))
            .collect();
        Box::pin(async move {
            let answers = join_all(asks).await;
            answers
                .into_iter()
                .filter_map(|answer| answer.ok().flatten())
                .collect()
        })
    }
}

impl Handler<Shutdown> for Supervisor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Shutdown, _ctx: &mut Self::Context) -> Self::Result {
        self.stopping = true;
        let up_ms = self.uptime.ms();
        self.uptime_kept.do_send(KeepUptime { up_ms });
        let halts: Vec<_> = self
            .live
            .drain()
            .map(|(_, live)| live.addr.send(Halt).timeout(ASK_DEADLINE))
            .collect();
        Box::pin(async move {
            join_all(halts).await;
        })
    }
}

#[cfg(test)]
mod tests;
