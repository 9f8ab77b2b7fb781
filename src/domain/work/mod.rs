//! A task's own books of what is still to do: what strategies keep beside the conversation. They change by journalled
//! advances and by how calls end, never by a decider.

mod compaction;
mod echoes;
mod goals;
mod list;
pub mod plan;
mod plan_action;
mod plan_books;
pub mod plan_rules;
mod rules;

pub use compaction::Compaction;
pub use echoes::without_echoes;
pub use goals::{
    CallEnds, Claim, GoalWork, GoalsRead, Objective, ObjectiveDraft, ObjectivePlan, Place,
    Standing, Subtask, SubtaskDraft, SubtaskPlan, SubtaskState,
};
pub use list::{Item, ItemState, ListRead, ListWork, ReactMove, ReactRead, SaidDone};
pub use rules::{GoalRules, NumberedRules};

use super::by_rule::ByRule;
use super::call::Target;
use super::directive::TranslatedBy;
use super::read::Read;
use super::task::{CallEnd, CallRecord, Recalled, Step};
use super::tool::EffectClass;
use plan::{PlanAdvance, PlanWork};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who made a plan, a list or a decomposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeBy {
    #[default]
    Model,
    /// A rule, after the model's tries had failed.
    Rules,
    /// A ready decomposition of the task's kind.
    Template,
}

impl MadeBy {
    /// Whether a model made it, as mostly.
    pub fn is_model(&self) -> bool {
        *self == MadeBy::Model
    }
}

/// A move that changes only the books. The fold carries it out, and the next move is decided at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "advance", rename_all = "snake_case")]
pub enum Advance {
    /// Steps up to `upto_step` are shown to models as these facts from now on.
    Compacted {
        upto_step: u32,
        facts: Vec<String>,
        /// Whether rules or a model wrote the facts.
        by: TranslatedBy,
    },
    /// A numbered plan lies in the state from now on. The rule's plan stands for one that no model wrote.
    ListAdopted { items: Vec<String>, by: MadeBy },
    /// The open part of the numbered plan is written anew, by a turn that may also act.
    ListRewritten {
        items: Vec<String>,
        step: u32,
        /// The turn does nothing else.
        closes: bool,
    },
    /// The goal is broken down. `step` is the last one so far, here and below.
    GoalsAdopted {
        objectives: Vec<ObjectivePlan>,
        by: MadeBy,
        step: u32,
    },
    /// What remains of the goal is planned again; no objectives means that nobody could.
    GoalsReplanned {
        objectives: Vec<ObjectivePlan>,
        by: MadeBy,
        step: u32,
    },
    /// The model calls the current subtask complete; what it wrote is looked at first.
    SubtaskClaimed { reason: String, step: u32 },
    /// What was claimed does not hold.
    SubtaskRefused { why: String },
    /// The current subtask is over.
    SubtaskMarked {
        success: bool,
        reason: String,
        step: u32,
    },
    /// The ready decomposition that fits the task's words cannot be carried out here, so a model has to make one.
    TemplateRefused {
        template: String,
        problems: Vec<String>,
    },
    /// Strategy `plan`.
    Plan(PlanAdvance),
    /// A piece of a former result is shown again; it stands in the journal, so no computer is asked.
    Recalled { piece: Recalled },
}

impl Advance {
    /// Whether the open step of its track is over with it.
    pub fn closes(&self, step: &Step) -> bool {
        match self {
            // Facts may have to be made while a planner is asked again in the same step.
            Advance::Compacted { .. } => step.summary_upto.is_some(),
            Advance::SubtaskRefused { .. } => false,
            Advance::ListRewritten { closes, .. } => *closes,
            Advance::Recalled { .. }
            | Advance::TemplateRefused { .. }
            | Advance::ListAdopted { .. }
            | Advance::GoalsAdopted { .. }
            | Advance::GoalsReplanned { .. }
            | Advance::SubtaskClaimed { .. }
            | Advance::SubtaskMarked { .. } => true,
            // A step of the plan is begun before anything happens on its track.
            Advance::Plan(advance) => !matches!(advance, PlanAdvance::StepBegun { .. }),
        }
    }

    /// Whether it brings the task on, so that earlier answers that led to nothing are forgiven.
    pub fn is_progress(&self) -> bool {
        match self {
            Advance::Compacted { .. }
            | Advance::Recalled { .. }
            | Advance::TemplateRefused { .. }
            | Advance::ListRewritten { .. }
            | Advance::SubtaskClaimed { .. }
            | Advance::SubtaskRefused { .. } => false,
            Advance::ListAdopted { .. }
            | Advance::GoalsAdopted { .. }
            | Advance::GoalsReplanned { .. }
            | Advance::SubtaskMarked { .. } => true,
            Advance::Plan(advance) => !matches!(advance, PlanAdvance::Refused { .. }),
        }
    }
}

/// The books of a strategy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Work {
    #[default]
    None,
    /// Of strategy `numbered`.
    List(ListWork),
    /// Of strategy `goals`.
    Goals(GoalWork),
    /// Of strategy `plan`.
    Plan(Box<PlanWork>),
}

impl Work {
    /// Takes a strategy's own advance into the books; `at_ms` is when it was committed. One that does not fit the
    /// books changes nothing.
    pub fn advance(&mut self, advance: &Advance, at_ms: i64) {
        match (advance, &mut *self) {
            (Advance::ListAdopted { items, by }, Work::None) => {
                *self = Work::List(ListWork::new(items.clone(), *by));
            }
            (Advance::ListRewritten { items, step, .. }, Work::List(list)) => {
                list.rewritten(items.clone(), *step);
            }
            (
                Advance::GoalsAdopted {
                    objectives,
                    by,
                    step,
                },
                Work::None,
            ) => *self = Work::Goals(GoalWork::new(objectives.clone(), *by, *step)),
            (Advance::Plan(advance), Work::None) => {
                let mut plan = PlanWork::default();
                plan.advance(advance, at_ms);
                *self = Work::Plan(Box::new(plan));
            }
            (Advance::Plan(advance), Work::Plan(plan)) => plan.advance(advance, at_ms),
            (Advance::TemplateRefused { .. }, Work::Plan(plan)) => plan.draft = None,
            (advance, Work::Goals(goals)) => goals.advance(advance),
            _ => {}
        }
    }

    /// What was read out of the main track's answer in this step.
    pub fn answer_read(&mut self, read: &Read) {
        if let (Work::List(list), Read::React(turn)) = (self, read)
            && turn.problems.is_empty()
        {
            list.heard(turn);
        }
    }

    /// Every call of `step` has ended.
    pub fn calls_ended(&mut self, step: &Step, _at_ms: i64) {
        // Where something is that was not there nobody's item asks for: a search that ends well would make it look done.
        if step.by_rule() == Some(ByRule::LookAround) {
            return;
        }
        match self {
            // The state of a plan's steps is settled by advances.
            Work::None | Work::Plan(_) => {}
            Work::List(list) => {
                let ends = ends_of(&step.calls);
                let done = || step.calls.iter().filter(|call| call.succeeded());
                let lasting = || done().filter(|call| lasts(call));
                list.done_ahead(|item| lasting().any(|call| is_what(item, call)));
                list.calls_ended(ends.succeeded, ends.failed, |item| {
                    done().any(|call| is_what(item, call))
                });
            }
            Work::Goals(goals) => {
                let lasting = || {
                    let done = step.calls.iter().filter(|call| call.succeeded());
                    done.filter(|call| lasts(call))
                };
                goals.done_ahead(|plan| lasting().any(|call| is_call_of(plan, call)));
                goals.calls_ended(ends_of(&step.calls));
            }
        }
    }
}

/// Whether a call that was made before its turn need not be made again. What a program does may differ then.
fn lasts(call: &CallRecord) -> bool {
    call.tool.starts_with("fs_")
}

/// Whether a call is what a subtask names: its tool, and the files that it is about.
pub fn is_call_of(plan: &SubtaskPlan, call: &CallRecord) -> bool {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    let is_named = |path: &str| {
        let path = path.trim_start_matches('/');
        let mut named = plan.targets.iter();
        named.any(|target| target.trim_start_matches('/') == path)
    };
    is_of_its_tool(plan, call)
        && match (text("path"), text("from"), text("to")) {
            (Some(path), _, _) => is_named(path),
            (None, Some(from), Some(to)) => is_named(from) && is_named(to),
            _ => false,
        }
}

/// Whether a call is one of a subtask's tool, on the subtask's computer.
pub fn is_of_its_tool(plan: &SubtaskPlan, call: &CallRecord) -> bool {
    let is_there = match &plan.on {
        Some(on) => call
            .intended
            .as_ref()
            .is_some_and(|call| call.client_id == *on),
        None => call.target == Target::Any,
    };
    is_there && plan.tool == call.tool
}

/// Whether the text of an item names this call: its tool and no other one, and its file, or both files of a copy; or it begins with "run"
/// and names the program, or with "write" and names the file. Small models write such items and never say that they are done.
fn is_what(item: &str, call: &CallRecord) -> bool {
    let is_mark = |c: char| !(c.is_alphanumeric() || c == '_');
    let mut tools = item
        .split(is_mark)
        .filter(|word| word.contains('_'))
        .peekable();
    let named = match tools.peek() {
        Some(_) => tools.all(|word| word == call.tool),
        None => match call.tool.as_str() {
            "run_program" => begins_with_run(item),
            "fs_write" => only_writes(item),
            _ => false,
        },
    };
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    let is_there = |path: &str| {
        let path = path.trim_start_matches('/');
        // Written as a function's call, `fs_read("/a")`, too.
        let apart = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',');
        let mut words = item.split(apart);
        words.any(|word| {
            word.trim_matches(|c: char| is_mark(c) && c != '.')
                .trim_end_matches('.')
                == path
        })
    };
    named
        && match (text("path"), text("from"), text("to")) {
            (Some(path), _, _) => is_there(path),
            (None, Some(from), Some(to)) => is_there(from) && is_there(to),
            _ => false,
        }
}

/// Whether an item says in words that something is run.
pub fn begins_with_run(item: &str) -> bool {
    let first = item.split_whitespace().next();
    first.is_some_and(|word| word.eq_ignore_ascii_case("run"))
}

/// Whether an item says in words that a file is written, and nothing more.
fn only_writes(item: &str) -> bool {
    let is_mark = |c: char| !c.is_alphanumeric();
    let mut words = item.split(is_mark).filter(|word| !word.is_empty());
    let is_one = |word: &str, of: &[&str]| of.iter().any(|one| word.eq_ignore_ascii_case(one));
    let first = words.next();
    first.is_some_and(|word| is_one(word, &["write", "create"]))
        && !words.any(|word| is_one(word, &["and", "then"]))
}

/// How calls ended, counted.
fn ends_of(calls: &[CallRecord]) -> CallEnds {
    let mut ends = CallEnds::default();
    for call in calls {
        if !call.succeeded() {
            ends.failed += 1;
            continue;
        }
        ends.succeeded += 1;
        ends.changed += u32::from(changed(call));
    }
    ends
}

/// Whether a call that succeeded changed something: not if it only reads, and not if the tool says that it did nothing.
/// What is idempotent is done also where it was done before.
fn changed(call: &CallRecord) -> bool {
    let effect = call.intended.as_ref().map(|intended| intended.effect);
    match effect {
        Some(EffectClass::Read) => false,
        Some(EffectClass::Idempotent) => true,
        Some(EffectClass::Effect) | None => match &call.end {
            CallEnd::Finished(report) => report.did_something(),
            CallEnd::NotPlaced(_) | CallEnd::Open => false,
        },
    }
}

#[cfg(test)]
mod tests;
