//! Loading kinds, and what is refused.

use super::*;
use crate::domain::chat::Role;
use crate::domain::profile::{DriftRule, Summarizer};
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
    let own: KindForm = toml::from_str(
        "kind = \"x\"\ndescription = \"\"\nstrategy = \"goals\"\nallowed_tools = []\ndemand_proof = false\n\
         instructions = \"\"\n[goals]\nrounds = 7\nreplans = 0\n[numbered]\nmax_items = 4\n",
    )
    .unwrap();
    let prompts = PromptLibrary::embedded().unwrap();
    let profile = own
        .resolve(&settings, &prompts, &Toolsets::new(), known)
        .unwrap();
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
            format!("{own}strategy = \"directive\"\n[memory]\ncut_to = 15"),
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
            "templates[0].steps[0].depends_on in template \"t\" must name earlier steps",
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
        let kind: KindForm = read_toml(Path::new(&*file), &String::from_utf8_lossy(&text)).unwrap();
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
