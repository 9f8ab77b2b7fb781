//! A kind as it is written: its keys, and what they come to over the settings.

use super::{CALL, KindError, Strategies, Toolsets};
use crate::config::Settings;
use crate::config::guard_keys::{GuardKeys, PolicyKeys};
use crate::config::plan::PlanKeys;
use crate::config::strategy_keys::{GoalKeys, NumberedKeys};
use crate::config::wake_keys::WakeRuleKeys;
use crate::domain::chat::Role;
use crate::domain::profile::{
    Budgets, DriftRule, ExecutorMode, MemoryRules, ModelChoice, Profile, Summarizer, Template,
    ToolRules, WakeOverrides,
};
use crate::prompts::PromptLibrary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest name of a kind.
const MAX_NAME: usize = 64;

/// A kind with the keys of its file, as TOML and as JSON. What is left out is as the settings say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindForm {
    pub kind: String,
    description: String,
    pub strategy: String,
    #[serde(default)]
    toolsets: Vec<String>,
    #[serde(default)]
    allowed_tools: Vec<String>,
    demand_proof: bool,
    instructions: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    executor_mode: Option<ExecutorMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    executor_draft: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    executor_mends: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_tasks: Option<bool>,
    #[serde(default)]
    budgets: BudgetKeys,
    #[serde(default)]
    guards: GuardKeys,
    #[serde(default)]
    policy: PolicyKeys,
    #[serde(default)]
    plan: PlanKeys,
    #[serde(default)]
    numbered: NumberedKeys,
    #[serde(default)]
    goals: GoalKeys,
    #[serde(default)]
    memory: MemoryKeys,
    #[serde(default)]
    wakes: WakeRuleKeys,
    #[serde(default)]
    tools: ToolKeys,
    #[serde(default)]
    models: BTreeMap<Role, ModelChoice>,
    #[serde(default)]
    templates: Vec<Template>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BudgetKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    questions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_time_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_failures: Option<u32>,
    #[serde(skip_serializing_if = "WakeOverrides::is_empty")]
    per_wake: WakeOverrides,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MemoryKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    verbatim_results: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_to: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summarizer: Option<Summarizer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<DriftRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    named_files: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ToolKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_shown: Option<usize>,
}

impl KindForm {
    /// The profile that tasks of this kind get: its own keys over the settings, with the strategy's prompts.
    ///
    /// # Errors
    /// What cannot be meant, with the path to its key.
    pub(super) fn resolve(
        &self,
        settings: &Settings,
        prompts: &PromptLibrary,
        toolsets: &Toolsets,
        strategies: Strategies,
    ) -> Result<Profile, KindError> {
        let Some(strategy_version) = strategies(&self.strategy) else {
            return Err(KindError::Strategy {
                kind: self.kind.clone(),
                strategy: self.strategy.clone(),
            });
        };
        self.check_values()?;
        let keyed = |text: String| self.keyed(&text);
        let guards = self.guards.clone().over(&settings.guards).map_err(keyed)?;
        let policy = self.policy.clone().over(&settings.policy).map_err(keyed)?;
        let wakes = self.wakes.clone().over(&settings.wakes).map_err(keyed)?;
        let plan = self.plan.over(settings.plan);
        let plan = plan.map_err(|(key, reason)| self.wrong(&format!("plan.{key}"), &reason))?;
        let first = self.tools_of_sets(toolsets)?;
        let mut allowed_tools = self.allowed_tools.clone();
        allowed_tools.extend(first.iter().cloned());
        Ok(Profile {
            prompts: prompts.texts(&self.strategy),
            strategy_version,
            kind: self.kind.clone(),
            description: self.description.clone(),
            strategy: self.strategy.clone(),
            executor_mode: self.executor_mode.unwrap_or(settings.executor.mode),
            executor_draft: self.executor_draft.unwrap_or(settings.executor.draft),
            executor_mends: self.executor_mends.unwrap_or(settings.executor.mends),
            one_model: self.has_one_model(settings),
            allowed_tools,
            demand_proof: self.demand_proof,
            instructions: self.instructions.clone(),
            budgets: self.budgets.over(&settings.budgets),
            guards,
            policy,
            plan,
            numbered: self.numbered.over(settings.numbered),
            goals: self.goals.over(settings.goals),
            memory: self.memory_rules(settings.memory.rules)?,
            tools: ToolRules {
                max_shown: self.tools.max_shown.unwrap_or(settings.tools.max_shown),
                first,
            },
            start_tasks: self.start_tasks.unwrap_or(settings.tasks.start_tasks),
            wakes,
            models: self.models.clone(),
            templates: self.templates.clone(),
        })
    }

    fn has_one_model(&self, settings: &Settings) -> bool {
        let model = |role: Role| {
            let common = settings.models.role(role);
            let own = self.models.get(&role).and_then(|own| own.model.as_ref());
            (
                common.provider,
                &common.base_url,
                own.unwrap_or(&common.model),
                &common.script,
            )
        };
        model(Role::Planner) == model(Role::Executor)
    }

    /// The globs of the kind's toolsets, in their order.
    fn tools_of_sets(&self, toolsets: &Toolsets) -> Result<Vec<String>, KindError> {
        let mut globs: Vec<String> = Vec::new();
        for name in &self.toolsets {
            let set = toolsets.get(name).ok_or_else(|| KindError::Toolset {
                kind: self.kind.clone(),
                toolset: name.clone(),
                known: toolsets.keys().cloned().collect::<Vec<_>>().join(", "),
            })?;
            globs.extend(set.tools.iter().cloned());
        }
        Ok(globs)
    }

    fn memory_rules(&self, common: MemoryRules) -> Result<MemoryRules, KindError> {
        let own = self.memory;
        let rules = MemoryRules {
            verbatim_results: own.verbatim_results.unwrap_or(common.verbatim_results),
            cut_to: own.cut_to.unwrap_or(common.cut_to),
            result_bytes: own.result_bytes.unwrap_or(common.result_bytes),
            summarizer: own.summarizer.unwrap_or(common.summarizer),
            diff_bytes: own.diff_bytes.unwrap_or(common.diff_bytes),
            drift: own.drift.unwrap_or(common.drift),
            named_files: own.named_files.unwrap_or(common.named_files),
        };
        if rules.verbatim_results == 0 || rules.cut_to > rules.verbatim_results {
            let reason = "must not be more than memory.verbatim_results, and that at least 1";
            return Err(self.wrong("memory.cut_to", reason));
        }
        if rules.result_bytes < 256 {
            return Err(self.wrong("memory.result_bytes", "must be at least 256"));
        }
        Ok(rules)
    }

    fn check_values(&self) -> Result<(), KindError> {
        self.check_name()?;
        for (role, model) in &self.models {
            let key = |name: &str| format!("models.{}.{name}", role.as_str());
            if model.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
                return Err(self.wrong(&key("temperature"), "must be from 0 to 2"));
            }
            if model.max_tokens == Some(0) {
                return Err(self.wrong(&key("max_tokens"), "must be at least 1"));
            }
            if model.model.as_ref().is_some_and(|m| m.trim().is_empty()) {
                return Err(self.wrong(&key("model"), "must not be empty; leave it out instead"));
            }
        }
        self.templates
            .iter()
            .enumerate()
            .try_for_each(|(at, template)| self.check_template(at, template))
    }

    /// A name is also that of a file, on any file system.
    fn check_name(&self) -> Result<(), KindError> {
        let name = &self.kind;
        let sane = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        if !(1..=MAX_NAME).contains(&name.len())
            || !name.chars().all(sane)
            || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
            || name == "toolsets"
        {
            let reason = format!(
                "must be 1 to {MAX_NAME} of a-z, 0-9, `_` and `-`, with a letter or digit first, and not \"toolsets\""
            );
            return Err(self.wrong("kind", &reason));
        }
        if (name == CALL) != (self.strategy == CALL) {
            let reason = "\"call\" is for the kind \"call\", and that has no other";
            return Err(self.wrong("strategy", reason));
        }
        Ok(())
    }

    fn check_template(&self, at: usize, template: &Template) -> Result<(), KindError> {
        let named = format!("in template \"{}\"", template.name);
        let says_nothing = |pattern: &String| pattern.trim().is_empty();
        if template.patterns.iter().all(says_nothing) {
            let key = format!("templates[{at}].patterns");
            return Err(self.wrong(&key, &format!("{named} needs a pattern")));
        }
        if template.steps.is_empty() {
            let key = format!("templates[{at}].steps");
            return Err(self.wrong(&key, &format!("{named} needs a step")));
        }
        for (place, step) in template.steps.iter().enumerate() {
            let backward = |on: &u32| (1..=place).contains(&(*on as usize));
            if !step.depends_on.iter().all(backward) {
                let key = format!("templates[{at}].steps[{place}].depends_on");
                return Err(self.wrong(&key, &format!("{named} must name earlier steps, from 1")));
            }
        }
        Ok(())
    }

    /// An error of a section's own check, which begins with the key.
    fn keyed(&self, text: &str) -> KindError {
        let (key, reason) = text.split_once(' ').unwrap_or((text, "cannot be used"));
        self.wrong(key, reason)
    }

    pub(super) fn wrong(&self, key: &str, reason: &str) -> KindError {
        KindError::Value {
            kind: self.kind.clone(),
            key: key.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

impl BudgetKeys {
    fn over(self, common: &Budgets) -> Budgets {
        Budgets {
            steps: self.steps.unwrap_or(common.steps),
            calls: self.calls.unwrap_or(common.calls),
            questions: self.questions.unwrap_or(common.questions),
            wall_time_s: self.wall_time_s.unwrap_or(common.wall_time_s),
            tokens: self.tokens.unwrap_or(common.tokens),
            model_failures: self.model_failures.unwrap_or(common.model_failures),
            per_wake: self.per_wake.over(common.per_wake),
        }
    }
}
