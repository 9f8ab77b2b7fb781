//! A plan (source document 002), the answers that lead to one, and the moves of its books. What a plan must be and what
//! happens next is decided by `strategy/plan`.

pub use super::plan_action::PlanAction;
pub use super::plan_books::{PlanWork, StepState, StepWork};

use super::MadeBy;
use crate::domain::ids::ClientId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a planner makes of a task. A plan that was adopted has its steps numbered on from those of the plan before it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskPlan {
    pub plan_id: String,
    /// The task as the planner read it.
    pub query: String,
    /// What holds once the plan is carried out.
    pub goal: String,
    #[serde(alias = "tasks")]
    pub steps: Vec<PlanStep>,
    /// Whatever else the planner noted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    #[serde(default, skip_serializing_if = "MadeBy::is_model")]
    pub made_by: MadeBy,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// From 1, in order.
    pub id: u32,
    pub action: PlanAction,
    /// What the action is about: a path, a command, a tool, a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Another computer than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<ClientId>,
    pub reason: String,
    /// Evidence for people and models; only a quoted part of it is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_outcome: Option<String>,
    /// Earlier steps that have to be done first.
    #[serde(default)]
    pub depends_on: Vec<u32>,
    /// Details of the action; an object, or null.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub params: Value,
}

/// What was read out of a planner's answer that had to be a plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanRead {
    /// The plan as it was said; whether it can be carried out is decided with the fleet in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TaskPlan>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl PlanRead {
    pub fn title(&self) -> String {
        match &self.plan {
            Some(plan) => format!("plan of {} steps: {}", plan.steps.len(), plan.goal),
            None => format!("no plan: {}", self.problems.join("; ")),
        }
    }
}

/// What was read out of an executor's answer for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum StepRead {
    /// At least one call, to be made in this order.
    Calls {
        calls: Vec<StepCall>,
    },
    /// The words of a step that is done by thinking.
    Words {
        text: String,
    },
    /// The executor declines: this is what it would have to guess.
    Unclear {
        missing: Vec<String>,
    },
    Invalid {
        problems: Vec<String>,
    },
}

impl StepRead {
    pub fn title(&self) -> String {
        match self {
            StepRead::Calls { calls } => {
                let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
                tools.join(", ")
            }
            StepRead::Words { text } => text.lines().next().unwrap_or_default().to_owned(),
            StepRead::Unclear { missing } => format!("unclear: {}", missing.join("; ")),
            StepRead::Invalid { problems } => format!("no call: {}", problems.join("; ")),
        }
    }
}

/// One call as an executor says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCall {
    pub tool: String,
    pub args: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// What a planner says of the whole at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Whether the task's goal holds.
    pub achieved: bool,
    pub message: String,
    /// What is still to be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// What was read out of a review.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReviewRead {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl ReviewRead {
    pub fn title(&self) -> String {
        match &self.review {
            Some(review) if review.achieved => format!("achieved: {}", review.message),
            Some(review) => format!("not achieved: {}", review.message),
            None => format!("no review: {}", self.problems.join("; ")),
        }
    }
}

/// A move of the plan's books.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "plan_move", rename_all = "snake_case")]
pub enum PlanAdvance {
    /// An answer is no plan that can be carried out.
    Refused { problems: Vec<String> },
    /// A plan is sound but for its targets, which are looked up first.
    Drafted { plan: TaskPlan },
    /// The plan is followed from now on. `after_step` is the number of the task's last step by then.
    Adopted { plan: TaskPlan, after_step: u32 },
    /// A step is under way, on the track of its number.
    StepBegun { step: u32 },
    /// A step has ended; those in `skips` will not be begun because of it.
    StepSettled {
        step: u32,
        settled: Settled,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skips: Vec<u32>,
    },
    /// The planner looked at the results.
    Reviewed { review: Review },
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "settled", rename_all = "snake_case")]
pub enum Settled {
    Done,
    /// The same was done by an earlier step, and nothing has changed since: its result is taken.
    Carried {
        from: u32,
    },
    Failed {
        error: String,
    },
}
