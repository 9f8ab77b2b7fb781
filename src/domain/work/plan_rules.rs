//! What a kind sets for plans (source document 002, "Configuration").

use serde::{Deserialize, Serialize};

/// `[plan]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRules {
    /// Answers that may fail to be a valid plan before a person is asked: the first, one with the error, and one to a
    /// simpler prompt.
    pub tries: u32,
    /// In which form a plan is asked for.
    #[serde(default, skip_serializing_if = "PlanForm::is_json")]
    pub form: PlanForm,
    /// Steps of one plan.
    pub max_steps: u32,
    /// The longest chain of dependencies.
    pub max_depth: u32,
    /// Further plans after a failure or a bad review.
    pub replans: u32,
    /// Whether the planner looks at the results before the task ends well.
    pub review: bool,
    /// Calls of one step.
    pub max_calls_per_step: u32,
    /// Steps under way at the same time.
    pub parallel_steps: u32,
    /// Whether steps that need a failed one are skipped.
    pub strict_dependencies: bool,
    /// Whether another tool may do what the usual one of an action does, where a computer lacks that.
    pub allow_tool_fallback: bool,
    /// Whether paths are looked up on their computer before the plan begins.
    pub resolve_targets: bool,
    /// Tokens of earlier results in one prompt.
    pub max_context_tokens: u32,
    pub compression: Compression,
    /// Bytes of one text in a result.
    pub max_content_length: usize,
    /// Whether texts longer than that are cut.
    pub truncate_large_outputs: bool,
    /// Whether the executor is asked why it calls a tool, and later steps are told.
    pub include_reasoning: bool,
}

/// The form of a plan as its model writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanForm {
    /// One JSON object (source document 002).
    #[default]
    Json,
    /// A line for each step.
    Lines,
}

impl PlanForm {
    fn is_json(&self) -> bool {
        *self == PlanForm::Json
    }
}

/// How earlier results are shortened when they are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// The first and the last steps keep their results, those between their headings.
    KeepEnds { first: usize, last: usize },
    /// Every step keeps its heading and what failed.
    SummaryOnly,
    /// Nothing is shortened while the model's window can hold it.
    None,
}

impl Default for PlanRules {
    fn default() -> Self {
        PlanRules {
            tries: 3,
            form: PlanForm::Json,
            max_steps: 12,
            max_depth: 10,
            replans: 2,
            review: false,
            max_calls_per_step: 8,
            parallel_steps: 4,
            strict_dependencies: true,
            allow_tool_fallback: true,
            resolve_targets: true,
            max_context_tokens: 8000,
            compression: Compression::KeepEnds { first: 2, last: 3 },
            max_content_length: 2000,
            truncate_large_outputs: true,
            include_reasoning: false,
        }
    }
}
