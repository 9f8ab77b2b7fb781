//! The merged values as TOML knows them: types checked, meaning not yet.
//!
//! A key without a default is an `Option`; all others are there because `default.toml` has them
//! (a test keeps the two in step). Only `validate` turns these into [`super::Settings`].

use super::plan::PlanKeys;
use crate::domain::guard_rules::{Confine, PolicyRule};
use crate::domain::profile::WakeBudgets;
use crate::domain::wakes::WakeRules;
use crate::domain::work::{GoalRules, NumberedRules};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub server: RawServer,
    pub models: RawModels,
    pub gateway: RawGateway,
    pub executor: RawExecutor,
    pub budgets: RawBudgets,
    pub guards: RawGuards,
    pub policy: RawPolicy,
    pub memory: RawMemory,
    pub numbered: NumberedRules,
    pub goals: GoalRules,
    pub plan: PlanKeys,
    pub wakes: WakeRules,
    pub tools: RawTools,
    pub calls: RawCalls,
    pub tasks: RawTasks,
    pub journal: RawJournal,
    pub mcp: RawMcp,
    pub log: RawLog,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawServer {
    pub bind: String,
    pub data_dir: String,
    pub heartbeat_ms: u64,
    pub program_ping_ms: u64,
    pub window: u32,
    pub max_frame_bytes: u64,
    pub max_to_computer: u64,
    pub max_from_computer: u64,
    pub shutdown_grace_ms: u64,
    pub allowed_hosts: Vec<String>,
    pub trusted_proxies: Vec<String>,
    pub requests_per_second: u32,
    pub requests_burst: u32,
    pub max_connections: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawModels {
    pub planner: RawRole,
    pub executor: RawRole,
}

/// All optional, so that the executor can inherit.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRole {
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub api_key: Option<String>,
    pub api_key_file: Option<String>,
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub num_ctx: Option<u32>,
    pub max_tokens: Option<u32>,
    pub keep_alive: Option<String>,
    pub think: Option<String>,
    pub tools: Option<String>,
    pub seed: Option<u64>,
    pub stop: Option<Vec<String>>,
    pub script: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGateway {
    pub max_concurrent: u32,
    pub queue: u32,
    pub batch: u32,
    pub connect_timeout_ms: u64,
    pub headers_timeout_ms: u64,
    pub chunk_timeout_ms: u64,
    pub total_timeout_ms: u64,
    pub retries: u32,
    pub backoff_ms: u64,
    pub backoff_max_ms: u64,
    pub breaker_failures: u32,
    pub breaker_cooldown_ms: u64,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExecutor {
    pub mode: String,
    pub draft: bool,
    pub mends: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBudgets {
    pub steps: u32,
    pub calls: u32,
    pub questions: u32,
    pub wall_time_s: u64,
    pub tokens: u64,
    pub model_failures: u32,
    pub per_wake: WakeBudgets,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGuards {
    pub duplicate_calls: u32,
    pub bounces: u32,
    pub repair_attempts: u32,
    pub hold_to_form: bool,
    pub look_before_overwrite: bool,
    pub window: u32,
    pub cycle_repeats: u32,
    pub patient_repeats: u32,
    pub work_tools: Vec<String>,
    pub wait_tools: Vec<String>,
    pub volatile_fields: Vec<String>,
    pub max_args_depth: u32,
    pub max_args_bytes: usize,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPolicy {
    pub rules: Vec<PolicyRule>,
    pub path_roots: Vec<String>,
    pub shell_programs: Vec<String>,
    pub url_hosts: Vec<String>,
    pub confirm_destructive: bool,
    pub destructive: Vec<String>,
    pub destructive_tools: Vec<String>,
    pub fatal: Vec<Confine>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMemory {
    pub verbatim_results: u32,
    pub cut_to: u32,
    pub result_bytes: u64,
    pub summarizer: String,
    pub diff_bytes: u64,
    pub drift: String,
    pub named_files: u32,
    pub step_log_bytes: u64,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTools {
    pub max_shown: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCalls {
    pub timeout_ms: u64,
    pub cancel_grace_ms: u64,
    pub offline_timeout_s: u64,
    pub queue_per_computer: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTasks {
    pub default_kind: String,
    pub max_live: u32,
    pub start_tasks: bool,
    pub max_depth: u32,
    pub max_sleeping: u32,
    pub question_timeout_s: u64,
    pub prompts_dir: Option<String>,
    pub kinds_dir: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJournal {
    pub keep_episodes: u32,
    pub archive_after_days: u32,
    pub archive_over_bytes: u64,
    pub checkpoint_every: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMcp {
    pub handle_after_ms: u64,
    pub max_sessions: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLog {
    pub filter: String,
    pub format: String,
    pub spans: bool,
    pub prompts: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::Merged;
    use crate::config::reference;

    #[test]
    fn default_toml_names_every_field_and_no_other() {
        let mut all = Merged::defaults();
        for key in reference::keys().filter(|key| !key.has_default) {
            let text = match &key.value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let origin = crate::config::Origin::Flag("test".into());
            all.add_one(&key.path, &text, origin);
        }
        assert_eq!(all.problems(), [], "every example fits");
        let raw: Raw = all.table().try_into().expect("every key has a field");
        let back = toml::Value::try_from(&raw).expect("raw values are TOML");
        assert_eq!(
            leaves(&back),
            reference::keys().count(),
            "a field of the raw structs is missing in default.toml"
        );
        let role_fields = toml::Value::try_from(&raw.models.planner).expect("role");
        assert_eq!(leaves(&role_fields), 14);
    }

    fn leaves(value: &toml::Value) -> usize {
        match value {
            toml::Value::Table(table) => table.values().map(leaves).sum(),
            _ => 1,
        }
    }
}
