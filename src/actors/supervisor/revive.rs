//! Starting tasks from their journals: those of the last run, one whose actor ended early, one that is woken.

use super::Supervisor;
use super::messages::{Restore, RestoreError};
use crate::actors::journal::messages::{JournalError, LoadState, SleepingTasks, UptimeSoFar};
use crate::crash_points::{self, Point};
use crate::domain::event::TaskEvent;
use crate::domain::ids::{Generation, TaskId};
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::wakes::Wake;
use crate::store::Append;
use crate::strategy::episodes::{self, NotWoken};
use actix::prelude::*;
use futures_util::StreamExt;
use futures_util::stream;
use std::collections::HashSet;
use std::sync::Arc;

/// Journals that are read at once at a start; well below what the journal queues.
const AT_ONCE: usize = 128;

/// A task that can run.
pub(super) struct Revived {
    pub state: TaskState,
    pub profile: Arc<Profile>,
    pub generation: Generation,
}

/// Why a task was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotRevived {
    /// It has ended, or never sleeps.
    #[error(transparent)]
    NotWoken(#[from] NotWoken),
    /// Somebody else wrote its journal in between: to be looked at again.
    #[error("its journal was written meanwhile")]
    Overtaken,
    #[error("{0}")]
    Unavailable(String),
    /// It cannot be run as it is journalled.
    #[error("{0}")]
    Broken(String),
}

impl From<JournalError> for NotRevived {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Sequence { .. } | JournalError::Fenced { .. } => NotRevived::Overtaken,
            JournalError::Storage(_) | JournalError::Unavailable => {
                NotRevived::Unavailable(error.to_string())
            }
            other => NotRevived::Broken(other.to_string()),
        }
    }
}

impl Supervisor {
    /// Loads a task from the journal and starts it with the next generation; with wakes, its next episode begins in the
    /// same transaction.
    pub(super) fn revive(
        &self,
        task_id: TaskId,
        reason: &str,
        salt: Option<String>,
        wakes: Vec<Wake>,
    ) -> impl Future<Output = Result<Revived, NotRevived>> + use<> {
        let load = self.load_state.clone();
        let journal = self.journal().clone();
        let (clock, uptime) = (self.deps.clock, self.uptime);
        let reason = reason.to_owned();
        let gone = |error: MailboxError| NotRevived::Unavailable(error.to_string());
        async move {
            let asked = LoadState { task_id };
            let loaded = load.send(asked).await.map_err(gone)?;
            // What cannot be read now may be damaged; whoever asked decides.
            let loaded = loaded.map_err(|error| match error {
                JournalError::Unavailable => NotRevived::Unavailable(error.to_string()),
                other => NotRevived::Broken(other.to_string()),
            })?;
            let mut state = *loaded.state;
            let profile: Profile = serde_json::from_str(&loaded.profile).map_err(|e| {
                NotRevived::Broken(format!("its pinned profile cannot be read: {e}"))
            })?;
            let generation = state.generation.next();
            if state.created.is_none() {
                let words = "its journal does not begin with its creation";
                return Err(NotRevived::Broken(words.to_owned()));
            }
            let mut events = vec![TaskEvent::GenerationStarted {
                generation,
                reason,
                salt,
                up_ms: Some(uptime.ms()),
            }];
            if !wakes.is_empty() {
                events.extend(episodes::woken(&state, &wakes)?);
            }
            let append = Append::behind(&mut state, generation, clock(), events);
            journal.send(append.into()).await.map_err(gone)??;
            crash_points::pass(Point::GenerationCommitted);
            Ok(Revived {
                state,
                profile: Arc::new(profile),
                generation,
            })
        }
    }
}

impl Handler<Restore> for Supervisor {
    type Result = ResponseActFuture<Self, Result<usize, RestoreError>>;

    /// Ended tasks and those that sleep are not read: the store knows which they are.
    fn handle(&mut self, _: Restore, _ctx: &mut Self::Context) -> Self::Result {
        let unfinished = self.unfinished.send(super::UnfinishedTasks);
        let sleeping = self.sleeping.send(SleepingTasks);
        let uptime = self.uptime_so_far.send(UptimeSoFar);
        let lists = async move {
            let wrong = |error: String| RestoreError(error);
            let tasks = unfinished.await.map_err(|e| wrong(e.to_string()))?;
            let tasks = tasks.map_err(|e| wrong(e.to_string()))?;
            let asleep = sleeping.await.map_err(|e| wrong(e.to_string()))?;
            let asleep = asleep.map_err(|e| wrong(e.to_string()))?;
            let before_ms = uptime.await.map_err(|e| wrong(e.to_string()))?;
            Ok((tasks, asleep, before_ms.map_err(|e| wrong(e.to_string()))?))
        };
        Box::pin(lists.into_actor(self).then(|lists, supervisor, _ctx| {
            let (tasks, asleep) = match lists {
                Ok((tasks, asleep, before_ms)) => {
                    supervisor.uptime.begin_after(before_ms);
                    (Ok(tasks), asleep)
                }
                Err(error) => (Err(error), Vec::new()),
            };
            let revivals: Vec<_> = tasks
                .iter()
                .flatten()
                .map(|id| {
                    let salt = Some(supervisor.salt());
                    let why = "the server was started";
                    let revival = supervisor.revive(id.clone(), why, salt, Vec::new());
                    let id = id.clone();
                    async move { (id, revival.await) }
                })
                .collect();
            let all = stream::iter(revivals).buffered(AT_ONCE).collect::<Vec<_>>();
            let all = async move { (tasks.map(|_| ()), all.await) };
            all.into_actor(supervisor)
                .map(|(listed, revived), supervisor, ctx| {
                    listed?;
                    let unfinished: HashSet<TaskId> =
                        revived.iter().map(|(id, _)| id.clone()).collect();
                    let mut count = 0;
                    for (task_id, revived) in revived {
                        match revived {
                            Ok(r) => {
                                supervisor.run(r.state, r.profile, r.generation, 0);
                                count += 1;
                            }
                            Err(error) => supervisor.quarantine(task_id, error.to_string()),
                        }
                    }
                    for (task_id, asleep) in asleep {
                        // One whose calls have no outcome yet runs until they do.
                        if !supervisor.live.contains_key(&task_id) {
                            supervisor.sleepers.insert(task_id, asleep);
                        }
                    }
                    supervisor.end_orphans(&unfinished, ctx);
                    supervisor.look(ctx);
                    Ok(count)
                })
        }))
    }
}
