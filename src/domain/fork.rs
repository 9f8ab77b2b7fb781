//! Forks: a new task goes on from a step of another one. What the other one did is folded, and is
//! never decided, sent, settled or asked again: its ids belong to the other task.

use super::decision::Decision;
use super::event::{StoredEvent, TaskEvent};
use super::files;
use super::ids::TaskId;
use super::task::{CallRecord, TaskState};
use super::task_summary::Usage;
use super::tokens::TokenRatio;
use crate::domain::chat::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often a fork may be forked again: each carries the events of those before it, one within the other.
pub const MOST_FORKS: usize = 8;

/// The code of the note that tells the planner of the fork.
pub const FORKED: &str = "forked";

/// What a new task carries over from another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    pub from: TaskId,
    /// The last step that is carried over.
    pub at_step: u32,
    /// The journal position of the other task up to which it is carried over.
    pub at_seq: u64,
    /// The planner's model from here on, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the planner is told: the world may differ.
    pub words: String,
    /// The other task's events up to `at_seq`, as they are in its journal.
    pub carried: Vec<StoredEvent>,
}

/// The fork in a task's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkPoint {
    pub from: TaskId,
    pub at_step: u32,
    pub at_seq: u64,
    /// What the other task had used up by then: the budgets begin anew behind it.
    pub usage: Usage,
    /// Answers of the planner that another model gave than the one that goes on.
    pub foreign_answers: usize,
}

/// The steps at which a journal can be forked, each with the last position at which nothing was open behind it. A direct
/// call has none.
pub fn places(task_id: &TaskId, events: &[StoredEvent]) -> BTreeMap<u32, u64> {
    let mut state = TaskState::new(task_id.clone());
    let mut places = BTreeMap::new();
    for stored in events {
        state.apply(stored);
        let ends = match &stored.event {
            TaskEvent::Decided { decision, .. } => {
                matches!(**decision, Decision::Finish { .. } | Decision::Fail { .. })
            }
            _ => false,
        };
        if let Some(step) = state.steps.last()
            && !ends
            && state.can_be_carried()
        {
            places.insert(step.number, stored.seq);
        }
    }
    places
}

/// How many forks lie within each other in a journal.
pub fn depth(events: &[StoredEvent]) -> usize {
    let within = events.iter().find_map(|stored| match &stored.event {
        TaskEvent::Forked(forked) => Some(1 + depth(&forked.carried)),
        _ => None,
    });
    within.unwrap_or(0)
}

/// What a journal carries over from another task.
pub fn of(events: &[StoredEvent]) -> Option<&Forked> {
    events.iter().find_map(|stored| match &stored.event {
        TaskEvent::Forked(forked) => Some(&**forked),
        _ => None,
    })
}

impl TaskState {
    /// Whether another task could go on from here: a step is behind it and nothing is open.
    fn can_be_carried(&self) -> bool {
        let direct = self.created.as_ref().is_none_or(|c| c.call.is_some());
        !direct
            && !self.status.is_final()
            && self.is_idle()
            && self.steps.iter().all(|step| step.closed)
            && !self.calls().any(CallRecord::is_open)
    }

    /// Takes over what another task did. Its ids stay its own; this task's identity, generation and position stay too.
    pub(super) fn take_over(&mut self, forked: &Forked) {
        let fresh = self.steps.is_empty() && self.forked.is_none() && self.started_at_ms.is_none();
        if self.created.is_none() || !fresh {
            return;
        }
        let mut former = TaskState::new(forked.from.clone());
        former.apply_all(&forked.carried);
        if !former.can_be_carried() {
            return;
        }
        let answers = former.conversations.get(&Role::Planner);
        let answers = answers.map_or(0, |planner| planner.answers.len());
        self.forked = Some(ForkPoint {
            from: forked.from.clone(),
            at_step: forked.at_step,
            at_seq: forked.at_seq,
            usage: former.usage,
            foreign_answers: forked.model.as_ref().map_or(0, |_| answers),
        });
        self.usage = former.usage;
        self.steps = former.steps;
        self.conversations = former.conversations;
        self.notes = former.notes;
        self.episodes.past = former.episodes.past;
        self.work = former.work;
        self.compaction = former.compaction;
        self.sticky = former.sticky;
        self.no_native_tools = former.no_native_tools;
        self.prompt_ceiling = former.prompt_ceiling;
        self.files = former.files;
        // Whoever goes on elsewhere has changed files since; that is nobody's drift, and no test of then proves anything now.
        files::doubt(&mut self.files, |_| true);
        self.tests_before_change = former.tests.len();
        self.tests = former.tests;
        if forked.model.is_some() {
            // What was learned of the former model says nothing of this one.
            self.no_native_tools = false;
            self.prompt_ceiling = None;
            if let Some(planner) = self.conversations.get_mut(&Role::Planner) {
                planner.ratio = TokenRatio::default();
            }
        }
        self.note(FORKED, forked.words.clone());
    }

    /// Whether a call was made by this task itself, and not by the one that it was forked from.
    pub fn is_own(&self, call: &CallRecord) -> bool {
        call.call_id.task().as_ref() == Some(&self.task_id)
    }

    /// Whether the model of a role has answered in this task: then it was there.
    pub fn has_answered(&self, role: Role) -> bool {
        let foreign = match (&self.forked, role) {
            (Some(point), Role::Planner) => point.foreign_answers,
            _ => 0,
        };
        let conversation = self.conversations.get(&role);
        conversation.is_some_and(|told| told.answers.len() > foreign)
    }

    /// What this task used up itself, without what it was forked from.
    pub fn own_usage(&self) -> Usage {
        match &self.forked {
            Some(point) => self.usage.since(&point.usage),
            None => self.usage,
        }
    }
}
