//! Forking a task: what it did up to a step is carried over into a new one; the old one stays as it is.

use super::Supervisor;
use super::messages::{ForkError, ForkTask, StartError, StartedTask};
use super::start::{Born, CALL_KIND};
use crate::actors::journal::messages::{JournalError, LoadTask, LoadedTask};
use crate::domain::chat::Role;
use crate::domain::event::{TaskCreated, TaskEvent};
use crate::domain::fork::{self, Forked, MOST_FORKS};
use crate::domain::ids::{BlobHash, Generation, TaskId};
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::prompts::render;
use crate::store::Append;
use crate::strategy;
use actix::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// The template of what a forked task's planner is told.
const WORDS: &str = "shared/forked";

/// The most that is carried over, in bytes of JSON: it is written as one event.
const MOST_CARRIED: usize = 64 * 1024 * 1024;

/// The longest name of a model, in bytes.
const MOST_MODEL: usize = 200;

impl Handler<ForkTask> for Supervisor {
    type Result = ResponseActFuture<Self, Result<StartedTask, ForkError>>;

    fn handle(&mut self, request: ForkTask, _ctx: &mut Self::Context) -> Self::Result {
        if let Err(refused) = self.may_fork(&request) {
            return Box::pin(async { Err(refused) }.into_actor(self));
        }
        let load = self.load.send(LoadTask {
            task_id: request.task_id.clone(),
        });
        let loaded = async move {
            let gone = |e: String| ForkError::Start(StartError::Journal(e));
            match load.await.map_err(|e| gone(e.to_string()))? {
                Ok(loaded) => Ok((request, loaded)),
                Err(JournalError::NoTask(id)) => Err(ForkError::NoSuchTask(id)),
                Err(error) => Err(gone(error.to_string())),
            }
        };
        Box::pin(loaded.into_actor(self).then(|loaded, supervisor, _ctx| {
            let born = loaded.and_then(|(request, loaded)| supervisor.fork(request, loaded));
            let stored =
                born.map(|born| (supervisor.journal().send(born.append.clone().into()), born));
            let written = async move {
                let (stored, born) = stored?;
                let gone = |e: String| ForkError::Start(StartError::Journal(e));
                match stored.await.map_err(|e| gone(e.to_string()))? {
                    Ok(events) => Ok(Ok((born, events))),
                    Err(JournalError::Duplicate { existing }) => Ok(Err(existing)),
                    Err(error) => Err(gone(error.to_string())),
                }
            };
            written
                .into_actor(supervisor)
                .then(|written, supervisor, ctx| {
                    let load = supervisor.load.clone();
                    let outcome = written.map(|written| {
                        written.map(|(born, events)| supervisor.begin(born, &events, ctx))
                    });
                    let answer = async move {
                        match outcome? {
                            Ok(started) => Ok(started),
                            Err(known) => super::start::as_it_stands(load, known)
                                .await
                                .map_err(ForkError::Start),
                        }
                    };
                    answer.into_actor(supervisor)
                })
        }))
    }
}

impl Supervisor {
    fn may_fork(&self, request: &ForkTask) -> Result<(), ForkError> {
        if self.stopping {
            return Err(ForkError::Start(StartError::Stopping));
        }
        if let Some(model) = &request.model
            && (model.trim().is_empty() || model.len() > MOST_MODEL)
        {
            return Err(ForkError::BadModel);
        }
        self.too_many()
            .map_or(Ok(()), |refused| Err(ForkError::Start(refused)))
    }

    /// The new task, from what the other one's journal says.
    fn fork(&self, request: ForkTask, loaded: LoadedTask) -> Result<Born, ForkError> {
        let from = request.task_id;
        let created = created_of(&loaded, &from)?;
        if created.call.is_some() || created.kind == CALL_KIND {
            return Err(ForkError::DirectCall(from));
        }
        let ours = strategy::version_of(&created.strategy);
        if ours != Some(created.strategy_version) {
            return Err(ForkError::OtherVersion {
                strategy: created.strategy.clone(),
                pinned: created.strategy_version,
            });
        }
        if fork::depth(&loaded.events) >= MOST_FORKS {
            return Err(ForkError::TooDeep);
        }
        let places = fork::places(&from, &loaded.events);
        let Some(at_seq) = places.get(&request.at).copied() else {
            return Err(ForkError::NoPlace {
                step: request.at,
                places: places.into_keys().collect(),
            });
        };
        let mut profile: Profile =
            serde_json::from_str(&loaded.profile).map_err(|e| ForkError::Profile(e.to_string()))?;
        if let Some(model) = &request.model {
            let planner = profile.models.entry(Role::Planner).or_default();
            planner.model = Some(model.clone());
        }
        let now = (self.deps.clock)();
        let went_on = loaded.events.iter().any(|e| e.seq > at_seq);
        let mut carried = loaded.events;
        carried.retain(|stored| stored.seq <= at_seq);
        let size = serde_json::to_string(&carried).map_or(usize::MAX, |text| text.len());
        if size > MOST_CARRIED {
            return Err(ForkError::TooLarge {
                bytes: size,
                most: MOST_CARRIED,
            });
        }
        let since = carried.last().map_or(now, |last| last.at_ms);
        let words = self.words(&profile, &from, request.at, now - since, went_on)?;
        let text =
            serde_json::to_string(&profile).map_err(|e| ForkError::Profile(e.to_string()))?;
        let hash = BlobHash::of(&text);
        let events = vec![
            TaskEvent::TaskCreated(Box::new(TaskCreated {
                profile: hash.clone(),
                owner: request.owner,
                confined_to: request.confined_to,
                // Nobody waits for it, and it ends with nobody.
                parent: None,
                // Two would run at the same times: this one ends with its first end.
                wakes: None,
                up_ms: Some(self.uptime.ms()),
                ..created
            })),
            TaskEvent::Forked(Box::new(Forked {
                from,
                at_step: request.at,
                at_seq,
                model: request.model,
                words,
                carried,
            })),
        ];
        let task_id = TaskId::from_unique(&(self.unique)())
            .map_err(|e| ForkError::Start(StartError::Journal(e.to_string())))?;
        let mut unborn = TaskState::new(task_id);
        let append = Append {
            blobs: vec![(hash, text.into())],
            idempotency_key: request.idempotency_key,
            ..Append::behind(&mut unborn, Generation(1), now, events)
        };
        let profile = Arc::new(profile);
        Ok(Born { append, profile })
    }

    /// What the planner is told. A task that was made before there were forks has not pinned the words for it.
    fn words(
        &self,
        profile: &Profile,
        from: &TaskId,
        step: u32,
        since_ms: i64,
        went_on: bool,
    ) -> Result<String, ForkError> {
        let kinds = self.kinds.current();
        let prompts = match profile.prompts.contains_key(WORDS) {
            true => &profile.prompts,
            false => &kinds.resolve(None).0.prompts,
        };
        let minutes = since_ms.max(0) / 60_000;
        let told = json!({"from": from, "step": step, "minutes": minutes, "went_on": went_on});
        let words = render(prompts, WORDS, told);
        words
            .map(|words| words.trim_end().to_owned())
            .map_err(|e| ForkError::Profile(e.to_string()))
    }
}

fn created_of(loaded: &LoadedTask, from: &TaskId) -> Result<TaskCreated, ForkError> {
    let created = loaded
        .events
        .first()
        .and_then(|first| first.event.created());
    created
        .cloned()
        .ok_or_else(|| ForkError::NoSuchTask(from.clone()))
}
