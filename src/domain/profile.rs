//! The profile of a task: its kind as it was when the task was created, pinned by hash, so that a later
//! change of configuration or prompts never changes a running task.

use super::chat::Role;
use super::guard_rules::{ArgLimits, LoopRules, PolicyRules};
use super::wakes::WakeRules;
use super::work::plan_rules::PlanRules;
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
    /// Whether the executor model first drafts freely, and is then held to a form with that draft in view.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executor_draft: bool,
    /// How often in a task a program that failed may be mended in a prompt of its own.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub executor_mends: u32,
    /// Whether one and the same model answers for both roles: what the executor wrote, its planner would not judge better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_model: bool,
    /// Globs of tools that a task of this kind may use.
    pub allowed_tools: Vec<String>,
    /// Whether `DONE` needs a test that ran since the last change.
    pub demand_proof: bool,
    /// What a planner of this kind is told beside the general rules.
    pub instructions: String,
    pub budgets: Budgets,
    pub guards: Guards,
    /// What tasks of this kind may touch.
    #[serde(default)]
    pub policy: PolicyRules,
    pub memory: MemoryRules,
    #[serde(default)]
    pub plan: PlanRules,
    #[serde(default)]
    pub numbered: NumberedRules,
    #[serde(default)]
    pub goals: GoalRules,
    #[serde(default)]
    pub tools: ToolRules,
    /// Whether tasks of this kind may start others as a tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_tasks: bool,
    #[serde(default)]
    pub wakes: WakeRules,
    /// What differs for this kind from the settings of a role's model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<Role, ModelChoice>,
    /// Ready decompositions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<Template>,
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
    /// The same from one wake to the next, beside the whole.
    #[serde(default, skip_serializing_if = "WakeBudgets::is_unlimited")]
    pub per_wake: WakeBudgets,
}

/// What a task may use up from one wake to the next; 0 = no limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WakeBudgets {
    pub steps: u32,
    pub calls: u32,
    pub questions: u32,
    /// Seconds from the wake.
    pub wall_time_s: u64,
    pub tokens: u64,
}

impl WakeBudgets {
    /// Whether there is no limit at all.
    pub fn is_unlimited(&self) -> bool {
        *self == WakeBudgets::default()
    }
}

/// Budgets of one wake that a kind or a request sets itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WakeOverrides {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl WakeOverrides {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == WakeOverrides::default()
    }

    /// These in place of others.
    pub fn over(self, other: WakeBudgets) -> WakeBudgets {
        WakeBudgets {
            steps: self.steps.unwrap_or(other.steps),
            calls: self.calls.unwrap_or(other.calls),
            questions: self.questions.unwrap_or(other.questions),
            wall_time_s: self.wall_time_s.unwrap_or(other.wall_time_s),
            tokens: self.tokens.unwrap_or(other.tokens),
        }
    }
}

/// Limits that catch a model going round in circles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// The same call with the same arguments and outcome this often in a row is blocked; 0 = never.
    pub duplicate_calls: u32,
    /// Answers in a row that led to nothing before the task gives up.
    pub bounces: u32,
    /// How often the executor may repair its own answer for one directive.
    pub repair_attempts: u32,
    /// Whether an answer after one that led to nothing is held to the form of a call, where calls are written as text.
    #[serde(default)]
    pub hold_to_form: bool,
    /// Whether a file whose content the task does not know is kept when the task would replace it, and shown.
    #[serde(default)]
    pub look_before_overwrite: bool,
    /// What else counts as a circle.
    #[serde(default)]
    pub loops: LoopRules,
    #[serde(default)]
    pub args: ArgLimits,
}

/// What the planner remembers, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryRules {
    /// Steps kept verbatim before the window is cut.
    pub verbatim_results: usize,
    /// Steps that stay verbatim after a cut.
    pub cut_to: usize,
    /// The longest tool output shown, in bytes; longer ones keep head and tail.
    pub result_bytes: usize,
    /// Who turns older steps into facts.
    #[serde(default)]
    pub summarizer: Summarizer,
    /// A file of more bytes that was shown before is shown as what changed in it; 0 = never.
    #[serde(default = "default_diff_bytes")]
    pub diff_bytes: usize,
    /// What follows when a file is not what the task left there.
    #[serde(default)]
    pub drift: DriftRule,
    /// Files that the task's words name and that are read before its model is asked anything, at most; 0 = none.
    #[serde(default)]
    pub named_files: usize,
}

fn default_diff_bytes() -> usize {
    4096
}

/// Who turns older steps into facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summarizer {
    /// One line for each step, without a model.
    #[default]
    Rules,
    /// The planner's model, in a journalled call; rules where it fails.
    Model,
}

/// What follows when a file is not what the task left there, and nothing of the task can have changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftRule {
    /// The planner is told.
    #[default]
    Tell,
    /// The task fails with `workspace_drift`.
    Fail,
}

/// Another model, or another way to ask it, on the same server; what is unset stays as the settings say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelChoice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens of the longest answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// Which tools models are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRules {
    /// Tools that are shown with all they take; of the others only the names; 0 = all.
    pub max_shown: usize,
    /// Globs of tools that are shown before others: those of the kind's toolsets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
}

/// A ready decomposition for tasks whose prompt matches a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Words; `*` stands for any number of them, `a|b` for either, `{name}` for one that the steps use.
    pub patterns: Vec<String>,
    pub steps: Vec<TemplateStep>,
}

/// One step of a template, in the words of a plan (source document 002).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateStep {
    /// What it is good for; steps with the same one belong together.
    pub objective: String,
    /// An action of the `plan` strategy.
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Another computer than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_outcome: Option<String>,
    /// Positions of other steps, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<u32>,
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub params: serde_json::Value,
}
