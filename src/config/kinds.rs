//! Kinds: named task profiles in `config/kinds/*.toml`, embedded, and overridable by the user file by file.

use super::Settings;
use super::guard_keys::{GuardKeys, PolicyKeys, WakeKeys};
use super::plan::PlanKeys;
use super::strategy_keys::{GoalKeys, NumberedKeys};
use super::wake_keys::WakeRuleKeys;
use crate::domain::chat::Role;
use crate::domain::profile::{
    Budgets, DriftRule, ExecutorMode, MemoryRules, ModelChoice, Profile, Summarizer, Template,
    ToolRules,
};
use crate::prompts::PromptLibrary;
use rust_embed::RustEmbed;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(RustEmbed)]
#[folder = "config/kinds/"]
struct Embedded;

/// The named sets of tools that come with the program.
const TOOLSETS: &str = include_str!("../../config/toolsets.toml");
/// The file of the user's own sets, beside their kinds.
const TOOLSETS_FILE: &str = "toolsets.toml";

/// Why the kinds cannot be used. Each text says which file is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    #[error("kind file {file}: {reason}")]
    File { file: String, reason: String },
    #[error("kind {kind}: there is no strategy \"{strategy}\"")]
    Strategy { kind: String, strategy: String },
    #[error("kind {kind}: there is no toolset \"{toolset}\"; there are: {known}")]
    Toolset {
        kind: String,
        toolset: String,
        known: String,
    },
    #[error("kind {kind}: {key} {reason}")]
    Value {
        kind: String,
        key: String,
        reason: String,
    },
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
    #[serde(default)]
    toolsets: Vec<String>,
    #[serde(default)]
    allowed_tools: Vec<String>,
    demand_proof: bool,
    instructions: String,
    executor_mode: Option<ExecutorMode>,
    executor_draft: Option<bool>,
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

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BudgetKeys {
    steps: Option<u32>,
    calls: Option<u32>,
    questions: Option<u32>,
    wall_time_s: Option<u64>,
    tokens: Option<u64>,
    model_failures: Option<u32>,
    per_wake: WakeKeys,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MemoryKeys {
    verbatim_results: Option<usize>,
    cut_to: Option<usize>,
    result_bytes: Option<usize>,
    summarizer: Option<Summarizer>,
    diff_bytes: Option<usize>,
    drift: Option<DriftRule>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ToolKeys {
    max_shown: Option<usize>,
}

/// A named set of tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolset {
    pub description: String,
    /// Globs.
    pub tools: Vec<String>,
}

type Toolsets = BTreeMap<String, Toolset>;

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
        let (sets, own): (Vec<_>, Vec<_>) = own
            .into_iter()
            .partition(|(file, _)| Path::new(file).ends_with(TOOLSETS_FILE));
        let mut toolsets: Toolsets = read_toml("toolsets.toml", TOOLSETS)?;
        for (file, text) in &sets {
            toolsets.extend(read_toml::<Toolsets>(file, text)?);
        }
        let embedded = embedded.map(|(file, text)| (file, text, true));
        let own = own.into_iter().map(|(file, text)| (file, text, false));
        for (file, text, comes_with) in embedded.chain(own) {
            let kind: KindFile = read_toml(&file, &text)?;
            // A program that is built without one of the strategies goes without its kinds.
            if comes_with && strategies(&kind.strategy).is_none() {
                continue;
            }
            let profile = resolve(kind, settings, prompts, &toolsets, strategies)?;
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

fn read_toml<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, KindError> {
    toml::from_str(text).map_err(|e| KindError::File {
        file: file.to_owned(),
        reason: e.to_string(),
    })
}

fn resolve(
    kind: KindFile,
    settings: &Settings,
    prompts: &PromptLibrary,
    toolsets: &Toolsets,
    strategies: Strategies,
) -> Result<Profile, KindError> {
    let Some(strategy_version) = strategies(&kind.strategy) else {
        return Err(KindError::Strategy {
            kind: kind.kind,
            strategy: kind.strategy,
        });
    };
    let broken = |kind: &str| {
        let file = kind.to_owned();
        move |reason| KindError::File { file, reason }
    };
    let guards = kind.guards.clone().over(&settings.guards);
    let guards = guards.map_err(broken(&kind.kind))?;
    let policy = kind.policy.clone().over(&settings.policy);
    let policy = policy.map_err(broken(&kind.kind))?;
    let plan_rules = kind.plan.over(settings.plan).map_err(|(key, reason)| {
        let reason = format!("plan.{key} {reason}");
        let file = kind.kind.clone();
        KindError::File { file, reason }
    })?;
    let wakes = kind.wakes.clone().over(&settings.wakes);
    let wakes = wakes.map_err(broken(&kind.kind))?;
    let first = tools_of_sets(&kind, toolsets)?;
    let memory = memory_of(&kind, settings.memory.rules)?;
    check_values(&kind)?;
    let common = settings.budgets;
    let own = kind.budgets;
    let mut allowed_tools = kind.allowed_tools;
    allowed_tools.extend(first.iter().cloned());
    Ok(Profile {
        prompts: prompts.texts(&kind.strategy),
        strategy_version,
        kind: kind.kind,
        description: kind.description,
        strategy: kind.strategy,
        executor_mode: kind.executor_mode.unwrap_or(settings.executor.mode),
        executor_draft: kind.executor_draft.unwrap_or(settings.executor.draft),
        allowed_tools,
        demand_proof: kind.demand_proof,
        instructions: kind.instructions,
        budgets: Budgets {
            steps: own.steps.unwrap_or(common.steps),
            calls: own.calls.unwrap_or(common.calls),
            questions: own.questions.unwrap_or(common.questions),
            wall_time_s: own.wall_time_s.unwrap_or(common.wall_time_s),
            tokens: own.tokens.unwrap_or(common.tokens),
            model_failures: own.model_failures.unwrap_or(common.model_failures),
            per_wake: own.per_wake.over(&common),
        },
        guards,
        policy,
        plan: plan_rules,
        numbered: kind.numbered.over(settings.numbered),
        goals: kind.goals.over(settings.goals),
        memory,
        tools: ToolRules {
            max_shown: kind.tools.max_shown.unwrap_or(settings.tools.max_shown),
            first,
        },
        start_tasks: kind.start_tasks.unwrap_or(settings.tasks.start_tasks),
        wakes,
        models: kind.models,
        templates: kind.templates,
    })
}

/// The globs of the kind's toolsets, in their order.
fn tools_of_sets(kind: &KindFile, toolsets: &Toolsets) -> Result<Vec<String>, KindError> {
    let mut globs: Vec<String> = Vec::new();
    for name in &kind.toolsets {
        let set = toolsets.get(name).ok_or_else(|| KindError::Toolset {
            kind: kind.kind.clone(),
            toolset: name.clone(),
            known: toolsets.keys().cloned().collect::<Vec<_>>().join(", "),
        })?;
        globs.extend(set.tools.iter().cloned());
    }
    Ok(globs)
}

fn memory_of(kind: &KindFile, common: MemoryRules) -> Result<MemoryRules, KindError> {
    let own = kind.memory;
    let rules = MemoryRules {
        verbatim_results: own.verbatim_results.unwrap_or(common.verbatim_results),
        cut_to: own.cut_to.unwrap_or(common.cut_to),
        result_bytes: own.result_bytes.unwrap_or(common.result_bytes),
        summarizer: own.summarizer.unwrap_or(common.summarizer),
        diff_bytes: own.diff_bytes.unwrap_or(common.diff_bytes),
        drift: own.drift.unwrap_or(common.drift),
    };
    if rules.verbatim_results == 0 || rules.cut_to > rules.verbatim_results {
        let reason = "must not be more than memory.verbatim_results, and that at least 1";
        return Err(wrong(kind, "memory.cut_to", reason));
    }
    if rules.result_bytes < 256 {
        return Err(wrong(kind, "memory.result_bytes", "must be at least 256"));
    }
    Ok(rules)
}

fn check_values(kind: &KindFile) -> Result<(), KindError> {
    for (role, model) in &kind.models {
        let key = |name: &str| format!("models.{}.{name}", role.as_str());
        if model.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return Err(wrong(kind, &key("temperature"), "must be from 0 to 2"));
        }
        if model.max_tokens == Some(0) {
            return Err(wrong(kind, &key("max_tokens"), "must be at least 1"));
        }
    }
    for template in &kind.templates {
        let key = format!("template {}", template.name);
        let steps = template.steps.len();
        let forward = template.steps.iter().enumerate().any(|(at, step)| {
            step.depends_on
                .iter()
                .any(|on| *on == 0 || *on as usize > at)
        });
        if steps == 0
            || template
                .patterns
                .iter()
                .all(|pattern| pattern.trim().is_empty())
        {
            return Err(wrong(kind, &key, "needs a pattern and a step"));
        }
        if forward {
            return Err(wrong(
                kind,
                &key,
                "depends_on must name earlier steps, from 1",
            ));
        }
    }
    Ok(())
}

fn wrong(kind: &KindFile, key: &str, reason: &str) -> KindError {
    KindError::Value {
        kind: kind.kind.clone(),
        key: key.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::work::{GoalRules, NumberedRules};

    fn known(strategy: &str) -> Option<u32> {
        matches!(
            strategy,
            "direct" | "directive" | "plan" | "numbered" | "goals" | "call"
        )
        .then_some(1)
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
    fn a_kind_may_have_its_own_figures_for_its_strategy() {
        let settings = settings();
        // Profiles that were pinned before the strategies were there get what is the default now.
        assert_eq!(settings.numbered, NumberedRules::default());
        assert_eq!(settings.goals, GoalRules::default());
        let own: KindFile = toml::from_str(
            "kind = \"x\"\ndescription = \"\"\nstrategy = \"goals\"\nallowed_tools = []\ndemand_proof = false\n\
             instructions = \"\"\n[goals]\nrounds = 7\nreplans = 0\n[numbered]\nmax_items = 4\n",
        )
        .unwrap();
        let prompts = PromptLibrary::embedded().unwrap();
        let profile = resolve(own, &settings, &prompts, &Toolsets::new(), known).unwrap();
        let figures = (
            profile.goals.rounds,
            profile.goals.replans,
            profile.goals.history_keep,
        );
        assert_eq!(figures, (7, 0, 5));
        assert_eq!(
            (profile.numbered.max_items, profile.numbered.rewrites),
            (4, 5)
        );
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
            (
                format!("{own}strategy = \"directive\"\ntoolsets = [\"garden\"]"),
                "no toolset \"garden\"; there are: code, files",
            ),
            (
                format!("{own}strategy = \"directive\"\n[memory]\ncut_to = 11"),
                "memory.cut_to must not be more",
            ),
            (
                format!("{own}strategy = \"directive\"\n[models.planner]\ntemperature = 3.0"),
                "models.planner.temperature must be from 0 to 2",
            ),
            (
                format!(
                    "{own}strategy = \"directive\"\n[[templates]]\nname = \"t\"\npatterns = [\"fix {{path}}\"]\n\
                     [[templates.steps]]\nobjective = \"\"\naction = \"read_file\"\nreason = \"\"\ndepends_on = [1]"
                ),
                "template t depends_on must name earlier steps",
            ),
        ] {
            std::fs::write(folder.path().join("x.toml"), text).unwrap();
            let error = Kinds::load(&settings, &prompts, known)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn every_kind_that_comes_with_the_program_is_there_as_far_as_its_strategy_is() {
        let prompts = PromptLibrary::embedded().unwrap();
        let all = Kinds::load(&settings(), &prompts, crate::strategy::version_of).unwrap();
        let few = Kinds::load(&settings(), &prompts, known).unwrap();
        let mut seen = 0;
        for file in Embedded::iter() {
            let text = Embedded::get(&file).unwrap().data;
            let kind: KindFile = read_toml(&file, &String::from_utf8_lossy(&text)).unwrap();
            assert_eq!(
                *file,
                format!("{}.toml", kind.kind),
                "a file is named as its kind"
            );
            let there = |kinds: &Kinds| kinds.iter().any(|profile| profile.kind == kind.kind);
            let runs = crate::strategy::version_of(&kind.strategy).is_some();
            assert_eq!(there(&all), runs, "{}", kind.kind);
            assert_eq!(
                there(&few),
                known(&kind.strategy).is_some(),
                "{}",
                kind.kind
            );
            seen += usize::from(runs);
        }
        assert!(seen >= 4);
    }

    #[test]
    fn toolsets_give_tools_and_their_order_and_may_be_the_user_s_own() {
        let folder = tempfile::tempdir().unwrap();
        let prompts = PromptLibrary::embedded().unwrap();
        let mut settings = settings();
        settings.tasks.kinds_dir = Some(folder.path().to_owned());
        let sets = "[garden]\ndescription = \"\"\ntools = [\"rake\"]\n[look]\ndescription = \"\"\ntools = [\"peek\"]";
        std::fs::write(folder.path().join("toolsets.toml"), sets).unwrap();
        let kind = "kind = \"gardening\"\ndescription = \"\"\nstrategy = \"directive\"\ntoolsets = [\"garden\", \"turtle\"]\n\
            allowed_tools = [\"fs_read\"]\ndemand_proof = false\ninstructions = \"\"\n[tools]\nmax_shown = 5\n\
            [memory]\nsummarizer = \"model\"\ndrift = \"fail\"\n[models.executor]\nmodel = \"small\"";
        std::fs::write(folder.path().join("gardening.toml"), kind).unwrap();
        let kinds = Kinds::load(&settings, &prompts, known).unwrap();
        let (profile, _) = kinds.resolve(Some("gardening"));
        assert_eq!(profile.allowed_tools, ["fs_read", "rake", "turtle_*"]);
        assert_eq!(profile.tools.first, ["rake", "turtle_*"]);
        assert_eq!(profile.tools.max_shown, 5);
        assert_eq!(profile.memory.summarizer, Summarizer::Model);
        assert_eq!(profile.memory.drift, DriftRule::Fail);
        assert_eq!(
            profile.models[&Role::Executor].model.as_deref(),
            Some("small")
        );
        assert_eq!(kinds.resolve(Some("inspect")).0.allowed_tools, ["peek"]);
    }
}
