//! The profile of a task: its kind as it was when the task was created, pinned by hash, so that a later
//! change of configuration or prompts never changes a running task.

use super::work::{GoalRules, NumberedRules};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A kind, resolved and complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub kind: String,
    pub description: String,
    pub strategy: String,
    pub strategy_version: u32,
    pub executor_mode: ExecutorMode,
    /// Globs of tools that a task of this kind may use.
    pub allowed_tools: Vec<String>,
    /// Whether `DONE` needs a test that ran since the last change.
    pub demand_proof: bool,
    /// What a planner of this kind is told beside the general rules.
    pub instructions: String,
    pub budgets: Budgets,
    pub guards: Guards,
    pub memory: MemoryRules,
    #[serde(default)]
    pub numbered: NumberedRules,
    #[serde(default)]
    pub goals: GoalRules,
    /// The prompt templates by id, exactly as they were.
    pub prompts: BTreeMap<String, String>,
}

/// When the executor model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorMode {
    /// Rules first; the model only for an unclear directive.
    #[default]
    Auto,
    /// The model for every directive.
    Always,
    /// Rules only; an unclear directive goes back to the planner.
    Never,
}

/// What a task may use up before it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// Planner turns.
    pub steps: u32,
    /// Tool calls.
    pub calls: u32,
    /// Questions to a person; an interactive task has no limit.
    pub questions: u32,
    /// Seconds from the start of the first decision.
    pub wall_time_s: u64,
    /// Tokens in and out together; 0 = no limit.
    pub tokens: u64,
    /// Model failures in a row before the task gives up.
    pub model_failures: u32,
}

/// Limits that catch a model going round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// The same call with the same arguments and outcome this often in a row is blocked; 0 = never.
    pub duplicate_calls: u32,
    /// Answers in a row that led to nothing before the task gives up.
    pub bounces: u32,
    /// How often the executor may repair its own answer for one directive.
    pub repair_attempts: u32,
}

/// What the planner remembers word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryRules {
    /// Steps kept verbatim before the window is cut.
    pub verbatim_results: usize,
    /// Steps that stay verbatim after a cut.
    pub cut_to: usize,
    /// The longest tool output shown, in bytes; longer ones keep head and tail.
    pub result_bytes: usize,
}
