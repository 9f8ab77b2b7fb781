//! Kinds: named task profiles in `config/kinds/*.toml`, embedded, and overridable by the user file by file.

use super::Settings;
use crate::domain::profile::{Budgets, ExecutorMode, Profile};
use crate::domain::work::{GoalRules, NumberedRules};
use crate::prompts::PromptLibrary;
use rust_embed::RustEmbed;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(RustEmbed)]
#[folder = "config/kinds/"]
struct Embedded;

/// Why the kinds cannot be used. Each text says which file is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    #[error("kind file {file}: {reason}")]
    File { file: String, reason: String },
    #[error(
        "kind {kind}: there is no strategy \"{strategy}\" (there are: directive, numbered, goals, call)"
    )]
    Strategy { kind: String, strategy: String },
    #[error("tasks.default_kind is \"{0}\", but there is no such kind; there are: {1}")]
    Default(String, String),
}

/// Tells the version in which the program runs a strategy; given from above, for configuration lies below
/// the strategies.
pub type Strategies = fn(&str) -> Option<u32>;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindFile {
    kind: String,
    description: String,
    strategy: String,
    allowed_tools: Vec<String>,
    demand_proof: bool,
    instructions: String,
    executor_mode: Option<ExecutorMode>,
    #[serde(default)]
    budgets: BudgetKeys,
    #[serde(default)]
    numbered: NumberedKeys,
    #[serde(default)]
    goals: GoalKeys,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BudgetKeys {
    steps: Option<u32>,
    calls: Option<u32>,
    questions: Option<u32>,
    wall_time_s: Option<u64>,
    tokens: Option<u64>,
    model_failures: Option<u32>,
}

/// What a kind says otherwise of `[numbered]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NumberedKeys {
    plan_tries: Option<u32>,
    max_items: Option<u32>,
    rewrites: Option<u32>,
    early_answers: Option<u32>,
}

impl NumberedKeys {
    fn over(self, common: NumberedRules) -> NumberedRules {
        NumberedRules {
            plan_tries: self.plan_tries.unwrap_or(common.plan_tries).max(1),
            max_items: self.max_items.unwrap_or(common.max_items).max(1),
            rewrites: self.rewrites.unwrap_or(common.rewrites),
            early_answers: self.early_answers.unwrap_or(common.early_answers),
        }
    }
}

/// What a kind says otherwise of `[goals]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GoalKeys {
    rounds: Option<u32>,
    history_keep: Option<u32>,
    max_objectives: Option<u32>,
    max_subtasks: Option<u32>,
    plan_tries: Option<u32>,
    replans: Option<u32>,
    verify_files: Option<bool>,
}

impl GoalKeys {
    fn over(self, common: GoalRules) -> GoalRules {
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

/// All kinds, resolved against the settings and the prompts.
#[derive(Debug, Clone)]
pub struct Kinds {
    profiles: BTreeMap<String, Profile>,
    default: String,
}

impl Kinds {
    /// The embedded kinds, with those of the user's folder (`tasks.kinds_dir`) beside or in place of them.
    pub fn load(
        settings: &Settings,
        prompts: &PromptLibrary,
        strategies: Strategies,
    ) -> Result<Self, KindError> {
        let mut profiles = BTreeMap::new();
        let embedded = Embedded::iter().filter_map(|file| {
            let content = Embedded::get(&file)?;
            Some((
                file.to_string(),
                String::from_utf8_lossy(&content.data).into_owned(),
            ))
        });
        let folder = settings.tasks.kinds_dir.as_deref();
        let own = folder.map(read_folder).transpose()?.unwrap_or_default();
        for (file, text) in embedded.chain(own) {
            let kind: KindFile = toml::from_str(&text).map_err(|e| KindError::File {
                file: file.clone(),
                reason: e.to_string(),
            })?;
            let profile = resolve(kind, settings, prompts, strategies)?;
            profiles.insert(profile.kind.clone(), profile);
        }
        let default = settings.tasks.default_kind.clone();
        if !profiles.contains_key(&default) {
            let known = profiles.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(KindError::Default(default, known));
        }
        Ok(Kinds { profiles, default })
    }

    /// The profile of a kind. An unknown one runs as the default kind; then the second value is false.
    pub fn resolve(&self, kind: Option<&str>) -> (&Profile, bool) {
        let found = kind.map(|kind| self.profiles.get(kind));
        match found {
            Some(Some(profile)) => (profile, true),
            Some(None) => (&self.profiles[&self.default], false),
            None => (&self.profiles[&self.default], true),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }
}

fn read_folder(folder: &Path) -> Result<Vec<(String, String)>, KindError> {
    let broken = |path: &Path, e: std::io::Error| KindError::File {
        file: path.display().to_string(),
        reason: e.to_string(),
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| broken(folder, e))? {
        let path = entry.map_err(|e| broken(folder, e))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            let text = std::fs::read_to_string(&path).map_err(|e| broken(&path, e))?;
            files.push((path.display().to_string(), text));
        }
    }
    files.sort();
    Ok(files)
}

fn resolve(
    kind: KindFile,
    settings: &Settings,
    prompts: &PromptLibrary,
    strategies: Strategies,
) -> Result<Profile, KindError> {
    let Some(strategy_version) = strategies(&kind.strategy) else {
        return Err(KindError::Strategy {
            kind: kind.kind,
            strategy: kind.strategy,
        });
    };
    let common = settings.budgets;
    let own = kind.budgets;
    Ok(Profile {
        prompts: prompts.texts(&format!("{}/", kind.strategy)),
        strategy_version,
        kind: kind.kind,
        description: kind.description,
        strategy: kind.strategy,
        executor_mode: kind.executor_mode.unwrap_or(settings.executor.mode),
        allowed_tools: kind.allowed_tools,
        demand_proof: kind.demand_proof,
        instructions: kind.instructions,
        budgets: Budgets {
            steps: own.steps.unwrap_or(common.steps),
            calls: own.calls.unwrap_or(common.calls),
            questions: own.questions.unwrap_or(common.questions),
            wall_time_s: own.wall_time_s.unwrap_or(common.wall_time_s),
            tokens: own.tokens.unwrap_or(common.tokens),
            model_failures: own.model_failures.unwrap_or(common.model_failures),
        },
        guards: settings.guards,
        memory: settings.memory.rules,
        numbered: kind.numbered.over(settings.numbered),
        goals: kind.goals.over(settings.goals),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(strategy: &str) -> Option<u32> {
        matches!(strategy, "directive" | "call").then_some(1)
    }

    fn settings() -> Settings {
        crate::config::Loader::new().load().unwrap()
    }

    #[test]
    fn the_embedded_kinds_resolve_and_an_unknown_one_runs_as_the_default() {
        let prompts = PromptLibrary::embedded().unwrap();
        let kinds = Kinds::load(&settings(), &prompts, known).unwrap();
        assert_eq!(kinds.resolve(None).0.kind, "code_job");
        assert_eq!(kinds.resolve(Some("inspect")).0.budgets.steps, 20);
        let (profile, known) = kinds.resolve(Some("gardening"));
        assert_eq!((profile.kind.as_str(), known), ("code_job", false));
    }

    #[test]
    fn a_kind_with_an_unknown_strategy_or_key_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let prompts = PromptLibrary::embedded().unwrap();
        let mut settings = settings();
        settings.tasks.kinds_dir = Some(folder.path().to_owned());
        let own = "kind = \"x\"\ndescription = \"\"\nallowed_tools = []\ndemand_proof = false\ninstructions = \"\"\n";
        for (text, expected) in [
            (
                format!("{own}strategy = \"magic\""),
                "no strategy \"magic\"",
            ),
            (format!("{own}strategy = \"directive\"\nfoo = 1"), "foo"),
        ] {
            std::fs::write(folder.path().join("x.toml"), text).unwrap();
            let error = Kinds::load(&settings, &prompts, known)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
