//! Which model answers in the demo, and the settings that make it so.

use super::super::{Exit, Failure};
use crate::config::{Loader, ProviderKind, Settings};
use crate::llm::detect::{choose as choose_model, detect_at};
use crate::llm::{Detection, LlmError, detect_default, set};
use std::time::Duration;

/// How long a named server may take to say what it is.
const PROBE_WITHIN: Duration = Duration::from_secs(5);

/// `--dialect`
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DialectArg {
    Ollama,
    Openai,
}

/// The choice.
pub struct Chosen {
    /// For programs: "scripted" or the model's name.
    pub name: String,
    /// For people.
    pub told: String,
    /// Settings that make the choice.
    pub overrides: Vec<(&'static str, String)>,
}

/// The scenario of the scripted model.
const SCENARIO: &str = "todo";

/// What somebody asked for on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// `--model`
    pub model: Option<&'a str>,
    /// `--model-server`
    pub server: Option<&'a str>,
    /// `--dialect`
    pub dialect: Option<DialectArg>,
}

pub async fn choose(wish: Wish<'_>) -> Result<Chosen, Failure> {
    let settings = Loader::new()
        .with_process_env()
        .load()
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    match (wish.model, wish.server) {
        (Some("scripted"), None) => Ok(scripted("as asked for")),
        (Some("scripted"), Some(_)) => Err(Failure::new(
            Exit::Usage,
            "the scripted model needs no --model-server: leave one of them out",
        )),
        (None, None) => Ok(detected(detect_default(&settings).await)),
        (Some(name), None) => Ok(served(ProviderKind::Ollama, &ollama_url(&settings), name)),
        (_, Some(url)) => on_server(wish, &settings, url.trim_end_matches('/')).await,
    }
}

/// Ollama if one answers with a usable model, else the script: the demo always works.
fn detected(detection: Detection) -> Chosen {
    match detection {
        Detection::Ollama { base_url, model } => {
            served(ProviderKind::Ollama, &base_url, &model.name)
        }
        Detection::None { reason } => scripted(&reason),
    }
}

fn scripted(why: &str) -> Chosen {
    Chosen {
        name: "scripted".to_owned(),
        told: format!("scripted answers ({why})"),
        overrides: vec![
            ("models.planner.provider", "scripted".to_owned()),
            ("models.planner.script", SCENARIO.to_owned()),
        ],
    }
}

fn served(provider: ProviderKind, url: &str, name: &str) -> Chosen {
    Chosen {
        name: name.to_owned(),
        told: format!("{name} ({} at {url})", provider.as_str()),
        overrides: vec![
            ("models.planner.provider", provider.as_str().to_owned()),
            ("models.planner.base_url", url.to_owned()),
            ("models.planner.model", name.to_owned()),
        ],
    }
}

fn ollama_url(settings: &Settings) -> String {
    let planner = &settings.models.planner;
    match planner.provider {
        ProviderKind::Ollama => planner.base_url.clone(),
        ProviderKind::OpenAi | ProviderKind::Scripted => "http://127.0.0.1:11434".to_owned(),
    }
}

async fn on_server(wish: Wish<'_>, settings: &Settings, url: &str) -> Result<Chosen, Failure> {
    let name = wish.model;
    let is_ollama = match wish.dialect {
        Some(dialect) => dialect == DialectArg::Ollama,
        None => matches!(
            detect_at(url, name, PROBE_WITHIN).await,
            Detection::Ollama { .. }
        ),
    };
    let provider = if is_ollama {
        ProviderKind::Ollama
    } else {
        ProviderKind::OpenAi
    };
    if let Some(name) = name {
        return Ok(served(provider, url, name));
    }
    let mut role = settings.models.planner.clone();
    role.provider = provider;
    role.base_url = url.to_owned();
    let failed =
        |error: LlmError| Failure::new(Exit::Failed, format!("{error}\n  {}", error.hint()));
    let server = set::build(&role, PROBE_WITHIN).map_err(failed)?;
    let models = server.list_models().await.map_err(failed)?;
    match choose_model(&models, None) {
        Some(model) => Ok(served(provider, url, &model.name)),
        None => Err(Failure::new(
            Exit::Failed,
            format!("{url} offers no model that can chat; name one with --model"),
        )),
    }
}
