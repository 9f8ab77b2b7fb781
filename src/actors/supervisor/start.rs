//! Creating a task: its kind is resolved and pinned, its birth is journalled, then its actor starts.

use super::{StartError, StartTask, StartedTask, Supervisor};
use crate::actors::journal::messages::{JournalError, LoadTask};
use crate::actors::task::messages::ChildWanted;
use crate::domain::event::{StoredEvent, TaskCreated, TaskEvent};
use crate::domain::ids::{BlobHash, Generation, TaskId};
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::wakes::{WakeRules, Wakes};
use crate::store::Append;
use crate::strategy::episodes;
use actix::prelude::*;
use std::sync::Arc;

/// The longest prompt of a task, in bytes: a book would not fit any model.
const MAX_PROMPT_BYTES: usize = 64 * 1024;

/// The kind of a one-call task.
pub(super) const CALL_KIND: &str = "call";

impl Handler<StartTask> for Supervisor {
    type Result = ResponseActFuture<Self, Result<StartedTask, StartError>>;

    fn handle(&mut self, request: StartTask, _ctx: &mut Self::Context) -> Self::Result {
        if let Err(refused) = self.may_start(&request) {
            return Box::pin(async { Err(refused) }.into_actor(self));
        }
        let Some(parent) = request.parent.clone() else {
            return self.start_at(request, 0);
        };
        let depth = self.depth_below(parent).into_actor(self);
        Box::pin(depth.then(|depth, supervisor, _ctx| match depth {
            Ok(depth) => supervisor.start_at(request, depth),
            Err(refused) => Box::pin(async { Err(refused) }.into_actor(supervisor)),
        }))
    }
}

type Started = ResponseActFuture<Supervisor, Result<StartedTask, StartError>>;

impl Supervisor {
    /// Starts a task below so many others.
    fn start_at(&mut self, request: StartTask, depth: u32) -> Started {
        let mut born = match self.birth(request, depth, None) {
            Ok(born) => born,
            Err(refused) => return Box::pin(async { Err(refused) }.into_actor(self)),
        };
        let too_many = self.too_many();
        if too_many.is_some() {
            // No task begins in the middle of its journal: this only asks whether the key is known.
            born.append.expected_seq = 1;
        }
        let stored = self.journal().send(born.append.clone().into());
        Box::pin(
            stored
                .into_actor(self)
                .then(move |stored, supervisor, ctx| {
                    let existing = supervisor.load.clone();
                    let outcome = match stored {
                        Ok(Ok(events)) => Ok(supervisor.begin(born, &events, ctx)),
                        Ok(Err(JournalError::Duplicate { existing: task_id })) => {
                            Err(Refused::Exists(task_id))
                        }
                        Ok(Err(JournalError::Sequence { .. })) if too_many.is_some() => {
                            Err(Refused::TooMany)
                        }
                        Ok(Err(error)) => Err(Refused::Journal(error.to_string())),
                        Err(error) => Err(Refused::Journal(error.to_string())),
                    };
                    let answer = async move {
                        match outcome {
                            Ok(started) => Ok(started),
                            Err(Refused::Journal(error)) => Err(StartError::Journal(error)),
                            Err(Refused::TooMany) => Err(too_many.unwrap_or(StartError::Stopping)),
                            Err(Refused::Exists(task_id)) => as_it_stands(existing, task_id).await,
                        }
                    };
                    answer.into_actor(supervisor)
                }),
        )
    }
}

enum Refused {
    Exists(TaskId),
    TooMany,
    Journal(String),
}

/// A task that is about to be journalled.
pub(super) struct Born {
    pub append: Append,
    pub profile: Arc<Profile>,
}

impl Supervisor {
    fn may_start(&self, request: &StartTask) -> Result<(), StartError> {
        if self.stopping {
            return Err(StartError::Stopping);
        }
        if request.prompt.trim().is_empty() && request.call.is_none() {
            return Err(StartError::EmptyPrompt);
        }
        if request.prompt.len() > MAX_PROMPT_BYTES {
            return Err(StartError::PromptTooLong {
                got: request.prompt.len(),
                max: MAX_PROMPT_BYTES,
            });
        }
        match self.too_many() {
            // The key may name a task that is there already.
            Some(_) if request.idempotency_key.is_some() => Ok(()),
            Some(refused) => Err(refused),
            None => Ok(()),
        }
    }

    pub(super) fn too_many(&self) -> Option<StartError> {
        let (live, max) = (self.live.len(), self.settings().tasks.max_live);
        (live >= max).then_some(StartError::TooMany { live, max })
    }

    /// A task that is about to be born; `known` is its id, where that follows from something else.
    pub(super) fn birth(
        &self,
        request: StartTask,
        depth: u32,
        known: Option<&ChildWanted>,
    ) -> Result<Born, StartError> {
        let asked = match &request.call {
            Some(_) => Some(CALL_KIND.to_owned()),
            None => request.kind.clone(),
        };
        let kinds = self.kinds.current();
        let (profile, is_known) = kinds.resolve(asked.as_deref());
        let text =
            serde_json::to_string(profile).map_err(|e| StartError::Journal(e.to_string()))?;
        let hash = BlobHash::of(&text);
        let task_id = match known {
            Some(wanted) => wanted.child.task_id.clone(),
            None => TaskId::from_unique(&(self.unique)())
                .map_err(|e| StartError::Journal(e.to_string()))?,
        };
        let budgets = request.budgets.over(profile.budgets);
        let budgets = known.map_or(budgets, |wanted| wanted.child.allowance.within(budgets));
        let kind_label = asked.clone().unwrap_or_else(|| profile.kind.clone());
        // One call is made once, and a child ends with its parent.
        let wakes = match request.call.is_some() || request.parent.is_some() {
            true => None,
            false => wakes_of(request.wakes.clone(), &profile.wakes),
        };
        let idempotency_key = request.idempotency_key.clone();
        let created = TaskCreated {
            wakes,
            depth,
            may_start_tasks: profile.start_tasks && depth < self.settings().tasks.max_depth,
            up_ms: Some(self.uptime.ms()),
            may_sleep: profile.wakes.sleep,
            ..request.created(profile, hash.clone(), kind_label, budgets)
        };
        let at_ms = (self.deps.clock)();
        let wakes = created.wakes.as_ref();
        let sleep = wakes.and_then(|wakes| episodes::first_sleep(wakes, at_ms));
        let (sleeping, max) = (self.sleepers.len(), self.settings().tasks.max_sleeping);
        if created.wakes.is_some() && sleeping >= max {
            return Err(StartError::TooManySleep { sleeping, max });
        }
        let mut events = vec![TaskEvent::TaskCreated(Box::new(created))];
        if !is_known {
            let asked = asked.unwrap_or_default();
            events.push(TaskEvent::Noted {
                code: "unknown_kind".to_owned(),
                message: format!(
                    "there is no kind \"{asked}\" here; the task runs as {}",
                    profile.kind
                ),
            });
        }
        events.extend(sleep);
        let mut unborn = TaskState::new(task_id);
        let append = Append {
            blobs: vec![(hash, text.into())],
            idempotency_key,
            ..Append::behind(&mut unborn, Generation(1), at_ms, events)
        };
        Ok(Born {
            append,
            profile: Arc::new(profile.clone()),
        })
    }

    /// The birth is durable.
    pub(super) fn begin(
        &mut self,
        born: Born,
        events: &[StoredEvent],
        ctx: &mut Context<Self>,
    ) -> StartedTask {
        let mut state = TaskState::new(born.append.task_id);
        state.apply_all(events);
        if self.stopping {
            // It was born while everything stopped: the next start takes it up.
            return StartedTask {
                summary: Arc::unwrap_or_clone(born.append.summary),
                created: true,
            };
        }
        let parent = state.created.as_ref().and_then(|c| c.parent.clone());
        let child = state.task_id.clone();
        match state.asleep() {
            Some(asleep) => {
                self.sleepers.insert(state.task_id, asleep);
                self.look(ctx);
            }
            None => self.run(state, born.profile, born.append.generation, 0),
        }
        if let Some(parent) = parent {
            self.end_if_orphaned(child, parent, ctx);
        }
        StartedTask {
            summary: Arc::unwrap_or_clone(born.append.summary),
            created: true,
        }
    }
}

/// What wakes a task: what was asked for it, beside what its kind says; none if neither says anything. A schedule that was
/// asked for stands in place of the kind's.
fn wakes_of(asked: Wakes, kind: &WakeRules) -> Option<Wakes> {
    let mut wakes = asked;
    for event in &kind.events {
        if !wakes.events.contains(event) {
            wakes.events.push(event.clone());
        }
    }
    wakes.on_demand |= kind.on_demand;
    wakes.schedule = wakes.schedule.or_else(|| kind.schedule.clone());
    (wakes != Wakes::default()).then_some(wakes)
}

/// The task that an idempotency key named already.
pub(super) async fn as_it_stands(
    load: Recipient<LoadTask>,
    task_id: TaskId,
) -> Result<StartedTask, StartError> {
    let loaded = load
        .send(LoadTask {
            task_id: task_id.clone(),
        })
        .await;
    let loaded = loaded.map_err(|e| StartError::Journal(e.to_string()))?;
    let loaded = loaded.map_err(|e| StartError::Journal(e.to_string()))?;
    let mut state = TaskState::new(task_id);
    state.apply_all(&loaded.events);
    Ok(StartedTask {
        summary: state.summary(),
        created: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::schedule::Schedule;

    #[test]
    fn a_task_runs_at_the_times_of_its_kind_unless_it_was_given_its_own() {
        let every = |seconds| Schedule::of(Some(seconds), None, None, 0).ok();
        let kind = WakeRules {
            schedule: every(3600),
            ..WakeRules::default()
        };
        let of_kind = wakes_of(Wakes::default(), &kind).unwrap();
        assert_eq!(of_kind.schedule, every(3600));
        let asked = Wakes {
            schedule: every(60),
            ..Wakes::default()
        };
        assert_eq!(wakes_of(asked.clone(), &kind), Some(asked));
        assert_eq!(wakes_of(Wakes::default(), &WakeRules::default()), None);
    }
}
