//! What a kind says otherwise of the sections `[numbered]` and `[goals]`.

use crate::domain::work::{GoalRules, NumberedRules};
use serde::{Deserialize, Serialize};

/// What a kind says otherwise of `[numbered]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NumberedKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_tries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_items: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewrites: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    early_answers: Option<u32>,
}

impl NumberedKeys {
    pub(super) fn over(self, common: NumberedRules) -> NumberedRules {
        NumberedRules {
            plan_tries: self.plan_tries.unwrap_or(common.plan_tries).max(1),
            max_items: self.max_items.unwrap_or(common.max_items).max(1),
            rewrites: self.rewrites.unwrap_or(common.rewrites),
            early_answers: self.early_answers.unwrap_or(common.early_answers),
        }
    }
}

/// What a kind says otherwise of `[goals]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GoalKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_keep: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_objectives: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_subtasks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_tries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replans: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_files: Option<bool>,
}

impl GoalKeys {
    pub(super) fn over(self, common: GoalRules) -> GoalRules {
        GoalRules {
            rounds: self.rounds.unwrap_or(common.rounds).max(1),
            history_keep: self.history_keep.unwrap_or(common.history_keep).max(1),
            max_objectives: self.max_objectives.unwrap_or(common.max_objectives).max(1),
            max_subtasks: self.max_subtasks.unwrap_or(common.max_subtasks).max(1),
            plan_tries: self.plan_tries.unwrap_or(common.plan_tries).max(1),
            replans: self.replans.unwrap_or(common.replans),
            verify_files: self.verify_files.unwrap_or(common.verify_files),
        }
    }
}
