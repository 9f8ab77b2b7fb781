//! The figures of the strategies `numbered` and `goals`, pinned with a task's profile.

use serde::{Deserialize, Serialize};

/// `[numbered]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberedRules {
    /// Answers without a usable list before a plan of one item is made by rule.
    pub plan_tries: u32,
    /// The longest plan.
    pub max_items: u32,
    /// How often a model may write the plan anew.
    pub rewrites: u32,
    /// Final answers that are sent back while the same items are open and nothing was changed, at most.
    pub early_answers: u32,
}

/// `[goals]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalRules {
    /// Model turns after the decomposition.
    pub rounds: u32,
    /// Exchanges of a model that it is shown word for word.
    pub history_keep: u32,
    pub max_objectives: u32,
    /// Subtasks of one objective.
    pub max_subtasks: u32,
    /// Decompositions in a row that may fail the check before one is made by rule.
    pub plan_tries: u32,
    /// How often what remains may be planned again after a subtask failed.
    pub replans: u32,
    /// Whether files that a subtask wrote are looked at on the computer before it counts as complete.
    pub verify_files: bool,
}

impl Default for NumberedRules {
    /// Those of `config/default.toml`, for profiles that were pinned before the strategy was there.
    fn default() -> Self {
        NumberedRules {
            plan_tries: 3,
            max_items: 12,
            rewrites: 5,
            early_answers: 2,
        }
    }
}

impl Default for GoalRules {
    /// As above.
    fn default() -> Self {
        GoalRules {
            rounds: 24,
            history_keep: 5,
            max_objectives: 3,
            max_subtasks: 6,
            plan_tries: 3,
            replans: 1,
            verify_files: true,
        }
    }
}
