//! Goal, objectives, subtasks, actions (source document 004): what strategy `goals` keeps in the task's state. The one
//! way to complete a subtask is a mark; how marks change the books is decided here and nowhere else.

use super::{Advance, MadeBy};
use crate::domain::ids::ClientId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// What was read out of an answer that shall break a goal down.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GoalsRead {
    /// Empty if there are problems.
    pub objectives: Vec<ObjectiveDraft>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An objective as a model wrote it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ObjectiveDraft {
    pub description: String,
    pub subtasks: Vec<SubtaskDraft>,
}

/// A subtask as a model wrote it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SubtaskDraft {
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
}

/// An objective that passed the check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectivePlan {
    pub description: String,
    pub subtasks: Vec<SubtaskPlan>,
}

/// A subtask that passed the check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubtaskPlan {
    pub description: String,
    /// A tool that exists; empty only where a rule found none.
    pub tool: String,
    /// Files, programs, computers or other things that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Another computer than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<ClientId>,
    /// The named tool changes something, so reading alone cannot complete the subtask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_change: bool,
    /// Files that the named tool is to write: they have to be there when the subtask is called complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
}

/// A goal and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoalWork {
    pub objectives: Vec<Objective>,
    pub made_by: MadeBy,
    /// How often what remained was planned again.
    pub replans: u32,
    /// A subtask failed, and nothing has been decided about what remains.
    pub failed_now: bool,
    /// The model called the current subtask complete; what it wrote is being looked at.
    pub claim: Option<Claim>,
    /// What the model is told about its mark, by the step of the mark.
    pub told: BTreeMap<u32, String>,
}

/// A subtask that is called complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub step: u32,
    pub reason: String,
    /// Calls that looked at its files have ended, however.
    pub looked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    pub description: String,
    pub subtasks: Vec<Subtask>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subtask {
    pub plan: SubtaskPlan,
    pub state: SubtaskState,
    /// What the model or the rule said of its end.
    pub reason: String,
    /// The last step before it became the current one; none while it waits for its turn.
    pub begun_after: Option<u32>,
    /// Its calls that succeeded, and those among them that change something.
    pub succeeded: u32,
    pub changed: u32,
    pub failed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubtaskState {
    Open,
    Done,
    Failed,
    /// It failed, or was still open, when what remained was planned again.
    Replaced,
}

/// The place of a subtask: `1.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub objective: usize,
    pub subtask: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.objective + 1, self.subtask + 1)
    }
}

/// How a goal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A subtask is open.
    UnderWay,
    /// Nothing is open, and nothing failed.
    Achieved,
    /// Something failed, and what remains may be planned again, or not.
    Failed,
}

/// How the calls of one step ended, as far as the books want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallEnds {
    pub succeeded: u32,
    pub changed: u32,
    pub failed: u32,
}

impl GoalWork {
    /// `step`: the last one that was begun.
    pub fn new(objectives: Vec<ObjectivePlan>, made_by: MadeBy, step: u32) -> Self {
        let mut work = GoalWork {
            objectives: Vec::new(),
            made_by,
            replans: 0,
            failed_now: false,
            claim: None,
            told: BTreeMap::new(),
        };
        work.append(objectives);
        work.begin(step);
        work
    }

    fn append(&mut self, objectives: Vec<ObjectivePlan>) {
        self.objectives
            .extend(objectives.into_iter().map(|plan| Objective {
                description: plan.description,
                subtasks: plan.subtasks.into_iter().map(Subtask::new).collect(),
            }));
    }

    /// The first open subtask becomes the current one.
    fn begin(&mut self, step: u32) {
        if let Some(subtask) = self.current_mut() {
            subtask.begun_after.get_or_insert(step);
        }
    }

    /// Whether only one subtask is open: its mark is the end of the task.
    pub fn is_at_the_last(&self) -> bool {
        let open = self.subtasks();
        open.filter(|(_, subtask)| subtask.state == SubtaskState::Open)
            .count()
            == 1
    }

    pub fn subtasks(&self) -> impl Iterator<Item = (Place, &Subtask)> {
        let objectives = self.objectives.iter().enumerate();
        objectives.flat_map(|(objective, of)| {
            let subtasks = of.subtasks.iter().enumerate();
            subtasks.map(move |(subtask, it)| (Place { objective, subtask }, it))
        })
    }

    /// The subtask to work on.
    pub fn current(&self) -> Option<(Place, &Subtask)> {
        self.subtasks()
            .find(|(_, subtask)| subtask.state == SubtaskState::Open)
    }

    fn current_mut(&mut self) -> Option<&mut Subtask> {
        let mut all = self.objectives.iter_mut().flat_map(|o| &mut o.subtasks);
        all.find(|subtask| subtask.state == SubtaskState::Open)
    }

    pub fn standing(&self) -> Standing {
        let has = |state| self.subtasks().any(|(_, subtask)| subtask.state == state);
        if has(SubtaskState::Failed) {
            Standing::Failed
        } else if has(SubtaskState::Open) {
            Standing::UnderWay
        } else {
            Standing::Achieved
        }
    }

    /// The current subtask is called complete in `step`; its files are looked at first.
    pub fn claimed(&mut self, reason: &str, step: u32) {
        self.claim = Some(Claim {
            step,
            reason: reason.to_owned(),
            looked: false,
        });
    }

    /// The claim does not hold; `why` is told to the model.
    pub fn refused(&mut self, why: &str) {
        if let Some(claim) = self.claim.take() {
            self.told.insert(claim.step, format!("NOT accepted: {why}"));
        }
    }

    /// The current subtask is over. `step`: the one that said so.
    pub fn marked(&mut self, success: bool, reason: &str, step: u32) {
        let claimed_in = self.claim.take().map(|claim| claim.step);
        let Some((place, _)) = self.current() else {
            return;
        };
        if let Some(subtask) = self.current_mut() {
            subtask.reason = reason.to_owned();
            subtask.state = match success {
                true => SubtaskState::Done,
                false => SubtaskState::Failed,
            };
        }
        self.failed_now = !success;
        let word = if success { "complete" } else { "failed" };
        let told = format!("subtask {place} is {word}");
        self.told.insert(claimed_in.unwrap_or(step), told);
        if success {
            self.begin(step);
        }
    }

    /// What remained was planned again: `objectives` take the place of everything that is not done. Without any, what
    /// is open stays as it is, and what failed has failed.
    pub fn replanned(&mut self, objectives: Vec<ObjectivePlan>, made_by: MadeBy, step: u32) {
        self.replans = self.replans.saturating_add(1);
        self.failed_now = false;
        if !objectives.is_empty() {
            self.made_by = made_by;
            for subtask in self.objectives.iter_mut().flat_map(|o| &mut o.subtasks) {
                if subtask.state != SubtaskState::Done {
                    subtask.state = SubtaskState::Replaced;
                }
            }
            self.append(objectives);
        }
        self.begin(step);
    }

    /// Takes in what was decided about the goal.
    pub fn advance(&mut self, advance: &Advance) {
        match advance {
            Advance::GoalsReplanned {
                objectives,
                by,
                step,
            } => self.replanned(objectives.clone(), *by, *step),
            Advance::SubtaskClaimed { reason, step } => self.claimed(reason, *step),
            Advance::SubtaskRefused { why } => self.refused(why),
            Advance::SubtaskMarked {
                success,
                reason,
                step,
            } => self.marked(*success, reason, *step),
            _ => {}
        }
    }

    /// Takes in how the calls of a step ended. While a claim is open they are looks at its files.
    pub fn calls_ended(&mut self, ends: CallEnds) {
        if let Some(claim) = &mut self.claim {
            claim.looked = true;
            return;
        }
        if let Some(subtask) = self.current_mut() {
            subtask.succeeded = subtask.succeeded.saturating_add(ends.succeeded);
            subtask.changed = subtask.changed.saturating_add(ends.changed);
            subtask.failed = subtask.failed.saturating_add(ends.failed);
        }
    }

    /// Takes in what calls did of a later subtask, while the current one is not what they did: small models do a thing that several subtasks
    /// are made of at once, and could not do it again. `does` tells of calls that need not be made again later.
    pub fn done_ahead(&mut self, does: impl Fn(&SubtaskPlan) -> bool) {
        if self.claim.is_some() {
            return;
        }
        let all = self.objectives.iter_mut().flat_map(|o| &mut o.subtasks);
        let mut open = all.filter(|subtask| subtask.state == SubtaskState::Open);
        if open.next().is_none_or(|current| does(&current.plan)) {
            return;
        }
        if let Some(later) = open.find(|later| later.changed == 0 && does(&later.plan)) {
            later.succeeded = later.succeeded.saturating_add(1);
            later.changed = later.changed.saturating_add(1);
        }
    }

    /// What is done and what is not, for people.
    pub fn status(&self) -> Value {
        let subtask = |place: Place, subtask: &Subtask| {
            json!({
                "subtask": place.to_string(),
                "description": subtask.plan.description,
                "state": subtask.state,
                "reason": subtask.reason,
                "actions": {"succeeded": subtask.succeeded, "failed": subtask.failed},
            })
        };
        let objectives: Vec<Value> = self
            .objectives
            .iter()
            .enumerate()
            .map(|(at, objective)| {
                let mine = self.subtasks().filter(|(place, _)| place.objective == at);
                let mine: Vec<Value> = mine.map(|(place, it)| subtask(place, it)).collect();
                json!({"objective": objective.description, "subtasks": mine})
            })
            .collect();
        json!({"objectives": objectives, "made_by": self.made_by, "replans": self.replans})
    }

    /// The same in one line: `2 of 3 subtasks are done; open: 2.1 test it`.
    pub fn status_line(&self) -> String {
        let counted = || {
            self.subtasks()
                .filter(|(_, subtask)| subtask.state != SubtaskState::Replaced)
        };
        let of = |state| {
            let named = counted().filter(move |(_, subtask)| subtask.state == state);
            let named =
                named.map(|(place, subtask)| format!("{place} {}", subtask.plan.description));
            named.collect::<Vec<_>>()
        };
        let (done, open, failed) = (
            of(SubtaskState::Done).len(),
            of(SubtaskState::Open),
            of(SubtaskState::Failed),
        );
        let mut line = format!("{done} of {} subtasks are done", counted().count());
        for (word, which) in [("failed", failed), ("open", open)] {
            if !which.is_empty() {
                line.push_str(&format!("; {word}: {}", which.join(", ")));
            }
        }
        line
    }
}

impl Subtask {
    fn new(plan: SubtaskPlan) -> Self {
        Subtask {
            plan,
            state: SubtaskState::Open,
            reason: String::new(),
            begun_after: None,
            succeeded: 0,
            changed: 0,
            failed: 0,
        }
    }

    /// Why it cannot be called complete yet; none if its actions allow it.
    pub fn lacks(&self) -> Option<&'static str> {
        if self.succeeded == 0 {
            Some("no action has succeeded in this subtask yet: do what it says first")
        } else if self.plan.needs_change && self.changed == 0 {
            Some("so far this subtask has changed nothing: do what it says first")
        } else {
            None
        }
    }
}

#[cfg(test)]
#[path = "goals_tests.rs"]
mod tests;
