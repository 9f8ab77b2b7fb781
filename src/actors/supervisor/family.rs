//! Parents and children: who waits for whom, how deep they stand, and that children end with their parent.

use super::Supervisor;
use super::messages::{CancelTask, StartError, StartTask};
use crate::actors::journal::messages::{JournalError, LoadTask};
use crate::actors::task::commit;
use crate::actors::task::messages::{ChildEnded, ChildWanted, FamilyNews};
use crate::domain::call::{CallReport, Outcome};
use crate::domain::family::{not_started, report_of};
use crate::domain::ids::{Generation, TaskId};
use crate::domain::task::TaskState;
use actix::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Where a live task stands in its family.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    parent: Option<TaskId>,
    depth: u32,
    /// It has ended, and only its calls are waited for.
    over: bool,
}

/// All families with somebody alive.
#[derive(Default)]
pub(super) struct Family {
    children: HashMap<TaskId, BTreeSet<TaskId>>,
    /// Which parent waits for a child, and in which of its starts.
    waiting: HashMap<TaskId, Waiting>,
}

struct Waiting {
    generation: Generation,
    call_id: crate::domain::ids::CallId,
    reply_to: Recipient<ChildEnded>,
}

impl Family {
    /// A task starts: remembers whose child it is.
    pub fn take_in(&mut self, state: &TaskState) -> Place {
        let created = state.created.as_ref();
        let parent = created.and_then(|c| c.parent.clone());
        if let Some(parent) = &parent {
            let siblings = self.children.entry(parent.clone()).or_default();
            siblings.insert(state.task_id.clone());
        }
        Place {
            parent,
            depth: created.map_or(0, |c| c.depth),
            over: ends_children(state),
        }
    }

    fn forget(&mut self, child: &TaskId, parent: Option<&TaskId>) {
        let Some(parent) = parent else { return };
        if let Some(siblings) = self.children.get_mut(parent) {
            siblings.remove(child);
            if siblings.is_empty() {
                self.children.remove(parent);
            }
        }
    }
}

impl Handler<FamilyNews> for Supervisor {
    type Result = ();

    fn handle(&mut self, news: FamilyNews, ctx: &mut Self::Context) {
        match news {
            FamilyNews::Wanted(wanted) => self.want(*wanted, ctx),
            FamilyNews::Over(parent) => self.end_children_of(&parent, ctx),
            FamilyNews::EpisodeOver(parent) => self.end_awaited_children_of(&parent, ctx),
        }
    }
}

impl Supervisor {
    /// Starts a child, or finds the one that is there, and remembers who waits for it.
    fn want(&mut self, wanted: ChildWanted, ctx: &mut Context<Self>) {
        if self.stopping {
            // The parent asks again at the next start.
            return;
        }
        let child = wanted.child.task_id.clone();
        let waiting = Waiting {
            generation: wanted.generation,
            call_id: wanted.call_id.clone(),
            reply_to: wanted.reply_to.clone(),
        };
        self.family.waiting.insert(child.clone(), waiting);
        if self.live.contains_key(&child) || self.resting.contains(&child) {
            return;
        }
        let load = self.load.send(LoadTask { task_id: child });
        let found = async move { (load.await, wanted) };
        ctx.spawn(
            found
                .into_actor(self)
                .map(|(found, wanted), supervisor, ctx| {
                    let child = &wanted.child.task_id;
                    match found {
                        Ok(Ok(loaded)) => {
                            let mut state = TaskState::new(child.clone());
                            state.apply_all(&loaded.events);
                            // One that goes on is live, or will be.
                            if let Some(report) = report_of(&state) {
                                supervisor.tell_parent(child, report);
                            }
                        }
                        Ok(Err(JournalError::NoTask(_))) => supervisor.bear(wanted, ctx),
                        Ok(Err(error)) => {
                            supervisor.tell_parent(child, unknown(&error.to_string()))
                        }
                        Err(_) => {}
                    }
                }),
        );
    }

    /// The child is not there yet.
    fn bear(&mut self, wanted: ChildWanted, ctx: &mut Context<Self>) {
        let id = wanted.child.task_id.clone();
        let born = match self.may_bear(&wanted) {
            Ok(born) => born,
            Err((code, why)) => return self.tell_parent(&id, not_started(code, &why)),
        };
        let stored = commit(self.journal().clone(), born.append.clone());
        ctx.spawn(
            stored
                .into_actor(self)
                .map(move |stored, supervisor, ctx| match stored {
                    Ok(events) => {
                        supervisor.begin(born, &events, ctx);
                    }
                    // It was started by an earlier asking.
                    Err(JournalError::Sequence { .. } | JournalError::Fenced { .. }) => {}
                    Err(error) => {
                        let report = not_started("journal_unavailable", &error.to_string());
                        supervisor.tell_parent(&id, report);
                    }
                }),
        );
    }

    fn may_bear(&self, wanted: &ChildWanted) -> Result<super::start::Born, (&'static str, String)> {
        let told = |code, error: StartError| (code, error.to_string());
        if let Some(refused) = self.too_many() {
            return Err(told("too_many_tasks", refused));
        }
        let Some(parent) = self.live.get(&wanted.parent).filter(|p| !p.place.over) else {
            let ended = StartError::ParentEnded(wanted.parent.clone());
            return Err(told("parent_ended", ended));
        };
        let depth = parent.place.depth + 1;
        self.check_depth(depth)
            .map_err(|e| told("task_too_deep", e))?;
        let kind = wanted.child.kind.as_deref();
        let kinds = self.kinds.current();
        if kind.is_some() && !kinds.resolve(kind).1 {
            let known: Vec<&str> = kinds.iter().map(|k| k.kind.as_str()).collect();
            let words = format!(
                "there is no kind \"{}\"; there are: {}",
                kind.unwrap_or_default(),
                known.join(", ")
            );
            return Err(("unknown_kind", words));
        }
        let request = StartTask {
            prompt: wanted.child.prompt.clone(),
            kind: wanted.child.kind.clone(),
            client_id: wanted.child.computer.clone(),
            owner: wanted.owner.clone(),
            confined_to: wanted.confined_to.clone(),
            allowed_commands: wanted.allowed_commands.clone(),
            parent: Some(wanted.parent.clone()),
            ..StartTask::default()
        };
        self.birth(request, depth, Some(wanted))
            .map_err(|e| told("journal_unavailable", e))
    }

    fn check_depth(&self, depth: u32) -> Result<(), StartError> {
        let max = self.settings().tasks.max_depth;
        match depth <= max {
            true => Ok(()),
            false => Err(StartError::TooDeep { depth, max }),
        }
    }

    /// How deep a child of this task stands.
    pub(super) fn depth_below(
        &self,
        parent: TaskId,
    ) -> impl Future<Output = Result<u32, StartError>> + use<> {
        let max = self.settings().tasks.max_depth;
        let live = self.live.get(&parent).map(|live| live.place.clone());
        let load = self.load.clone();
        async move {
            let (depth, over) = match live {
                Some(place) => (place.depth, place.over),
                None => stands(load, &parent).await?,
            };
            match (over, depth + 1) {
                (true, _) => Err(StartError::ParentEnded(parent)),
                (false, depth) if depth > max => Err(StartError::TooDeep { depth, max }),
                (false, depth) => Ok(depth),
            }
        }
    }

    /// A task has ended with all its calls: whoever waits for it is told, and its own children end.
    pub(super) fn has_ended(&mut self, task_id: &TaskId, place: Place, ctx: &mut Context<Self>) {
        self.family.forget(task_id, place.parent.as_ref());
        if !self.family.waiting.contains_key(task_id) {
            return;
        }
        let (load, id) = (self.load.clone(), task_id.clone());
        let ended = async move {
            let loaded = load
                .send(LoadTask {
                    task_id: id.clone(),
                })
                .await;
            let mut state = TaskState::new(id);
            match loaded {
                Ok(Ok(loaded)) => state.apply_all(&loaded.events),
                Ok(Err(error)) => return (state.task_id, Some(unknown(&error.to_string()))),
                Err(_) => {}
            }
            let report = report_of(&state);
            (state.task_id, report)
        };
        ctx.spawn(
            ended
                .into_actor(self)
                .map(|(id, report), supervisor, _ctx| {
                    if let Some(report) = report {
                        supervisor.tell_parent(&id, report);
                    }
                }),
        );
    }

    /// A child that is not run any more says nothing; its parent shall not wait for it.
    pub(super) fn is_given_up(&mut self, task_id: &TaskId, why: &str) {
        self.tell_parent(task_id, unknown(why));
    }

    fn tell_parent(&mut self, child: &TaskId, report: CallReport) {
        if let Some(waiting) = self.family.waiting.remove(child) {
            waiting.reply_to.do_send(ChildEnded {
                generation: waiting.generation,
                call_id: waiting.call_id,
                report,
            });
        }
    }

    pub(super) fn end_children_of(&mut self, parent: &TaskId, ctx: &mut Context<Self>) {
        if let Some(live) = self.live.get_mut(parent) {
            live.place.over = true;
        }
        for child in self.family.children.remove(parent).into_iter().flatten() {
            self.family.waiting.remove(&child);
            end_child(child, format!("its parent {parent} has ended"), ctx);
        }
    }

    /// What a child does for an episode that is over would reach nobody.
    fn end_awaited_children_of(&mut self, parent: &TaskId, ctx: &mut Context<Self>) {
        let waiting = &mut self.family.waiting;
        let unwanted =
            waiting.extract_if(|_, waiting| waiting.call_id.task().as_ref() == Some(parent));
        for (child, _) in unwanted {
            let why = format!("the episode of its parent {parent} that waited for it has ended");
            end_child(child, why, ctx);
        }
    }

    /// The parent may have ended while its child was written down.
    pub(super) fn end_if_orphaned(
        &mut self,
        child: TaskId,
        parent: TaskId,
        ctx: &mut Context<Self>,
    ) {
        if let Some(live) = self.live.get(&parent) {
            if live.place.over {
                end_child(child, format!("its parent {parent} has ended"), ctx);
            }
            return;
        }
        let load = self.load.clone();
        let over = async move {
            let over = stands(load, &parent).await.is_ok_and(|(_, over)| over);
            (over, child, parent)
        };
        ctx.spawn(over.into_actor(self).map(|(over, child, parent), _, ctx| {
            if over {
                end_child(child, format!("its parent {parent} has ended"), ctx);
            }
        }));
    }

    /// After a start: children whose parent has ended before they could be told.
    pub(super) fn end_orphans(&mut self, unfinished: &HashSet<TaskId>, ctx: &mut Context<Self>) {
        let families = self.family.children.iter();
        let orphans = families.filter(|(parent, _)| !unfinished.contains(parent));
        let orphans: Vec<(TaskId, TaskId)> = orphans
            .flat_map(|(parent, all)| all.iter().map(|child| (child.clone(), parent.clone())))
            .collect();
        for (child, parent) in orphans {
            self.end_if_orphaned(child, parent, ctx);
        }
    }
}

/// Whether a task's children end now. What the computer of a direct call started goes on after that call.
fn ends_children(state: &TaskState) -> bool {
    let direct = state.created.as_ref().is_some_and(|c| c.call.is_some());
    state.status.is_final() && !direct
}

fn end_child(child: TaskId, reason: String, ctx: &mut Context<Supervisor>) {
    // Bounded by the number of its children.
    ctx.address().do_send(CancelTask {
        task_id: child,
        reason,
        by: "parent".to_owned(),
    });
}

/// How deep a task stands that is not live, and whether it has ended with its children.
async fn stands(load: Recipient<LoadTask>, task_id: &TaskId) -> Result<(u32, bool), StartError> {
    let asked = LoadTask {
        task_id: task_id.clone(),
    };
    let gone = |error: String| StartError::Journal(error);
    let loaded = match load.send(asked).await.map_err(|e| gone(e.to_string()))? {
        Ok(loaded) => loaded,
        Err(JournalError::NoTask(id)) => return Err(StartError::NoParent(id)),
        Err(error) => return Err(gone(error.to_string())),
    };
    let mut state = TaskState::new(task_id.clone());
    state.apply_all(&loaded.events);
    let depth = state.created.as_ref().map_or(0, |created| created.depth);
    Ok((depth, ends_children(&state)))
}

/// Nobody can tell how a child ended.
fn unknown(why: &str) -> CallReport {
    CallReport::without_answer(
        Outcome::Unknown,
        "task_not_run",
        format!("the task cannot be run, and nobody can tell how far it came: {why}"),
    )
}
