//! Finds out whether an Ollama with a usable model runs, for commands that were told no model.

use std::time::Duration;

use super::error::{Dialect, LlmError};
use super::http::Server;
use super::ollama::{Ollama, same_model};
use super::provider::{ModelInfo, Provider};
use crate::config::{ProviderKind, Settings, reference};

/// A local server answers at once or is not there; people wait for this.
const PROBE_DEADLINE: Duration = Duration::from_millis(1500);

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub enum Detection {
    /// An Ollama with a model that can chat.
    Ollama { base_url: String, model: ModelInfo },
    /// Nothing usable, and why, in words for people.
    None { reason: String },
}

/// Probes the configured Ollama, or the usual one if another provider is configured, within 1.5 s.
/// The configured model is preferred if it is there.
pub async fn detect_default(settings: &Settings) -> Detection {
    let planner = &settings.models.planner;
    let configured = planner.provider == ProviderKind::Ollama;
    let base_url = match reference::key("models.planner.base_url") {
        _ if configured => planner.base_url.clone(),
        Some(key) => key.value.as_str().unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let wanted = configured.then_some(planner.model.as_str());
    detect_at(&base_url, wanted, PROBE_DEADLINE).await
}

/// Probes one address.
pub async fn detect_at(base_url: &str, wanted: Option<&str>, deadline: Duration) -> Detection {
    let none = |reason: String| Detection::None { reason };
    let models = match tokio::time::timeout(deadline, list(base_url, deadline)).await {
        Err(_) => return none(format!("{base_url} did not answer in {deadline:?}")),
        Ok(Err(LlmError::Unreachable { .. })) => {
            return none(format!("no Ollama answers at {base_url}"));
        }
        Ok(Err(error)) => return none(error.to_string()),
        Ok(Ok(models)) => models,
    };
    match choose(&models, wanted) {
        Some(model) => Detection::Ollama {
            base_url: base_url.trim_end_matches('/').to_owned(),
            model: model.clone(),
        },
        None if models.is_empty() => none(format!(
            "the Ollama at {base_url} has no models; `ollama pull {}` fetches one",
            wanted.unwrap_or("qwen2.5-coder:7b")
        )),
        None => none(format!(
            "the Ollama at {base_url} has no model that can chat"
        )),
    }
}

async fn list(base_url: &str, deadline: Duration) -> Result<Vec<ModelInfo>, LlmError> {
    let server = Server::new(Dialect::Ollama, base_url, None, deadline)?;
    Ollama::new(server).list_models().await
}

/// The most suitable chat model: the wanted one, else coders before instruct models before others,
/// bigger ones first among equals. Pure.
pub fn choose<'a>(models: &'a [ModelInfo], wanted: Option<&str>) -> Option<&'a ModelInfo> {
    let usable = || models.iter().filter(|model| can_chat(model));
    let same = |model: &&ModelInfo| wanted.is_some_and(|wanted| same_model(&model.name, wanted));
    let found = usable().find(same);
    found.or_else(|| usable().max_by_key(|model| (suitability(&model.name), model.size)))
}

fn suitability(name: &str) -> u32 {
    let name = name.to_lowercase();
    let points = [("coder", 4), ("instruct", 2), ("qwen", 1)];
    let fitting = points.iter().filter(|(part, _)| name.contains(part));
    fitting.map(|(_, points)| points).sum()
}

/// Newer servers list capabilities; on older ones an embedding model shows by its family or name.
/// Cloud models only look local.
fn can_chat(model: &ModelInfo) -> bool {
    let name = model.name.to_lowercase();
    if name.ends_with("-cloud") || name.ends_with(":cloud") {
        return false;
    }
    if !model.capabilities.is_empty() {
        return model.capabilities.iter().any(|can| can == "completion");
    }
    let family = model.family.as_deref().unwrap_or_default().to_lowercase();
    !family.contains("bert") && !name.contains("embed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, family: &str, capabilities: &[&str], size: u64) -> ModelInfo {
        ModelInfo {
            name: name.into(),
            family: Some(family.into()),
            capabilities: capabilities.iter().map(|c| (*c).to_owned()).collect(),
            size: Some(size),
            context_length: None,
        }
    }

    fn chosen(models: &[ModelInfo], wanted: Option<&str>) -> Option<String> {
        choose(models, wanted).map(|model| model.name.clone())
    }

    #[test]
    fn the_wanted_model_is_taken_with_or_without_its_tag() {
        let models = [
            model("qwen2.5-coder:7b", "qwen2", &[], 9),
            model("llama3:latest", "llama", &[], 1),
        ];
        assert_eq!(
            chosen(&models, Some("llama3")),
            Some("llama3:latest".into())
        );
        assert_eq!(
            chosen(&models, Some("absent")),
            Some("qwen2.5-coder:7b".into())
        );
    }

    #[test]
    fn coders_come_before_instruct_models_and_bigger_before_smaller() {
        let models = [
            model("llama3:8b-instruct", "llama", &["completion"], 90),
            model("qwen2.5-coder:1.5b", "qwen2", &["completion", "tools"], 10),
            model("qwen2.5-coder:7b", "qwen2", &["completion", "tools"], 50),
        ];
        assert_eq!(chosen(&models, None), Some("qwen2.5-coder:7b".into()));
    }

    #[test]
    fn embedding_and_cloud_models_are_never_chosen() {
        let models = [
            model("nomic-embed-text:latest", "nomic-bert", &[], 1),
            model("qwen-coder-embedding", "qwen2", &["embedding"], 1),
            model("qwen3-coder:480b-cloud", "qwen3", &["completion"], 1),
        ];
        assert_eq!(chosen(&models, None), None);
    }
}
