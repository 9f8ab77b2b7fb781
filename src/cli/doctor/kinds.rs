//! Whether the kinds can be used, and whether the models are there that they name beside those of the settings.

use std::collections::BTreeMap;

use super::models::{LISTS_WITHIN, within};
use super::report::Report;
use crate::config::kinds::Kinds;
use crate::config::{ProviderKind, Settings};
use crate::domain::chat::Role;
use crate::domain::profile::Profile;
use crate::llm::ollama::same_model;
use crate::llm::{ModelInfo, Provider, set};
use crate::prompts::PromptLibrary;
use crate::strategy;

/// The kinds that name a model, by role and model.
type Named = BTreeMap<(Role, String), Vec<String>>;

/// Checks all kinds. A server is asked once for each role whose model some kind exchanges.
pub(super) async fn check(settings: &Settings, report: &mut Report) {
    let kinds = match load(settings) {
        Ok(kinds) => kinds,
        Err(error) => {
            return report.fail("kinds", &error, "correct it; docs/kinds.md lists every key");
        }
    };
    let count = kinds.iter().count();
    report.pass("kinds", &format!("{count}, each can be used"));
    let named = named(kinds.iter(), settings);
    for role in [Role::Planner, Role::Executor] {
        if !named.keys().any(|(of, _)| *of == role) {
            continue;
        }
        let chosen = settings.models.role(role);
        match set::build(chosen, settings.gateway.connect_timeout) {
            Ok(provider) => look(role, chosen.provider, &*provider, &named, report).await,
            // Said where the role itself was checked.
            Err(_) => cannot_tell(role, report),
        }
    }
}

fn load(settings: &Settings) -> Result<Kinds, String> {
    let prompts = PromptLibrary::load(settings.tasks.prompts_dir.as_deref());
    let prompts = prompts.map_err(|error| error.to_string())?;
    Kinds::load(settings, &prompts, strategy::version_of).map_err(|error| error.to_string())
}

/// The models that kinds ask for and the settings do not.
fn named<'a>(kinds: impl Iterator<Item = &'a Profile>, settings: &Settings) -> Named {
    let mut named = Named::new();
    for kind in kinds {
        for (role, choice) in &kind.models {
            let usual = &settings.models.role(*role).model;
            let other = choice.model.as_ref().filter(|own| !same_model(own, usual));
            if let Some(model) = other {
                let kinds = named.entry((*role, model.clone())).or_default();
                kinds.push(kind.kind.clone());
            }
        }
    }
    named
}

async fn look(
    role: Role,
    provider_kind: ProviderKind,
    provider: &dyn Provider,
    named: &Named,
    report: &mut Report,
) {
    if provider_kind == ProviderKind::Scripted {
        return;
    }
    report.waits(&format!("{} models of kinds", role.as_str()), LISTS_WITHIN);
    let Ok(models) = within(LISTS_WITHIN, provider.list_models()).await else {
        return cannot_tell(role, report);
    };
    for ((of, model), kinds) in named {
        if *of == role {
            tell(role, provider_kind, model, kinds, &models, report);
        }
    }
}

fn cannot_tell(role: Role, report: &mut Report) {
    let role = role.as_str();
    report.warn(
        &format!("{role} models of kinds"),
        "they cannot be looked up, the server lists no models",
        &format!("mend the {role}'s server first, then ask again"),
    );
}

fn tell(
    role: Role,
    provider: ProviderKind,
    model: &str,
    kinds: &[String],
    models: &[ModelInfo],
    report: &mut Report,
) {
    let what = format!("kind {} {} model", kinds.join(", "), role.as_str());
    if models.iter().any(|known| same_model(&known.name, model)) {
        return report.pass(&what, &format!("{model} is there"));
    }
    let names: Vec<&str> = models.iter().map(|known| known.name.as_str()).collect();
    let found = match names.as_slice() {
        [] => format!("no {model}, the server has no model at all"),
        names => format!("no {model}, the server has {}", names.join(", ")),
    };
    let one_of_them = format!(
        "set models.{}.model in the kind's file to one of them",
        role.as_str()
    );
    match provider {
        ProviderKind::Ollama => report.fail(&what, &found, &format!("ollama pull {model}")),
        // llama.cpp's server ignores the name and answers with the one model it has.
        ProviderKind::OpenAi if names.len() == 1 => report.warn(&what, &found, &one_of_them),
        ProviderKind::OpenAi | ProviderKind::Scripted => report.fail(&what, &found, &one_of_them),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::domain::chat::ChatAnswer;
    use crate::llm::{ChatRequest, DeltaSink, LlmError};
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    /// A server that only lists these models.
    struct Lists(&'static [&'static str]);

    impl Provider for Lists {
        fn chat<'a>(
            &'a self,
            _: ChatRequest,
            _: DeltaSink,
        ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
            panic!("nothing is asked of a kind's model")
        }

        fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
            let info = |name: &&str| ModelInfo {
                name: (*name).to_owned(),
                ..ModelInfo::default()
            };
            let models = self.0.iter().map(info).collect();
            async { Ok(models) }.boxed()
        }

        fn describe(&self) -> String {
            "fake server".into()
        }
    }

    const KIND: &str = "description = ''\nstrategy = 'directive'\nallowed_tools = []\ndemand_proof = false\ninstructions = ''\n";

    /// Settings with these kinds beside those that come with the program.
    fn settings(folder: &std::path::Path, kinds: &[(&str, &str)]) -> Settings {
        for (name, models) in kinds {
            let text = format!("kind = '{name}'\n{KIND}{models}");
            std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        }
        let mut settings = Loader::new().load().unwrap();
        settings.tasks.kinds_dir = Some(folder.to_owned());
        settings
    }

    async fn told(kinds: &[(&str, &str)], has: Lists, provider: ProviderKind) -> (String, usize) {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), kinds);
        let named = named(load(&settings).unwrap().iter(), &settings);
        let (mut report, said) = Report::to_memory();
        for role in [Role::Planner, Role::Executor] {
            look(role, provider, &has, &named, &mut report).await;
        }
        let failed = report.end();
        (said.text(), failed)
    }

    #[actix::test]
    async fn a_missing_model_is_told_with_its_kinds_and_the_command_that_fetches_it() {
        let kinds = [
            ("big_job", "[models.planner]\nmodel = 'huge:70b'"),
            ("big_look", "[models.planner]\nmodel = 'huge:70b'"),
            ("quick", "[models.executor]\nmodel = 'tiny'"),
        ];
        let has = Lists(&["tiny:latest"]);
        let (text, failed) = told(&kinds, has, ProviderKind::Ollama).await;
        assert_eq!(failed, 1, "{text}");
        assert!(
            text.contains("FAIL  kind big_job, big_look planner model: no huge:70b, the server has tiny:latest"),
            "{text}"
        );
        assert!(text.contains("mend: ollama pull huge:70b"), "{text}");
        assert!(
            text.contains("PASS  kind quick executor model: tiny is there"),
            "{text}"
        );
    }

    #[actix::test]
    async fn the_one_model_of_a_llama_cpp_server_will_do_for_every_kind() {
        let kinds = [("big_job", "[models.planner]\nmodel = 'huge'")];
        let (text, failed) = told(&kinds, Lists(&["other"]), ProviderKind::OpenAi).await;
        assert_eq!(failed, 0, "{text}");
        assert!(text.contains("WARN  kind big_job planner model"), "{text}");
    }

    #[test]
    fn a_kind_that_names_the_usual_model_is_not_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let usual = Loader::new().load().unwrap().models.planner.model;
        let own = format!("[models.planner]\nmodel = '{usual}'");
        let settings = settings(folder.path(), &[("same", &own)]);
        let kinds = load(&settings).unwrap();
        assert!(named(kinds.iter(), &settings).is_empty());
    }

    #[actix::test]
    async fn a_kind_that_cannot_be_used_fails_with_its_file_and_key() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), &[("odd", "budget = 3")]);
        let (mut report, said) = Report::to_memory();
        check(&settings, &mut report).await;
        assert_eq!(report.end(), 1);
        let text = said.text();
        assert!(
            text.contains("odd.toml") && text.contains("budget"),
            "{text}"
        );
    }
}
