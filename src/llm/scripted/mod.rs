//! A model that reads its answers from a scenario file: for tests and the demo.
//!
//! It keeps no state. Which answer is next follows from the answers that the task has journalled
//! ([`Scenario::answer`]), so a server that was killed goes on where it stood.

pub mod export;
mod scenario;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rust_embed::RustEmbed;
use tokio::time::Instant;

pub use scenario::{Scenario, ScenarioError, ScriptedAnswer, Told, When};

use super::error::LlmError;
use super::provider::{ChatRequest, Delta, DeltaSink, ModelInfo, Provider};
use crate::domain::chat::{ChatAnswer, Usage};

/// The built-in scenarios, `NAME.toml`.
#[derive(RustEmbed)]
#[folder = "prompts/scenarios/"]
struct BuiltIn;

/// A provider that answers from a [`Scenario`].
pub struct Scripted {
    scenario: Arc<Scenario>,
    name: String,
}

impl Scripted {
    /// Answers from a scenario; `name` is for people.
    pub fn new(scenario: Scenario, name: impl Into<String>) -> Self {
        Scripted {
            scenario: Arc::new(scenario),
            name: name.into(),
        }
    }

    /// Loads a scenario: a name without a slash and without `.toml` is a built-in one, anything else
    /// a path.
    ///
    /// # Errors
    /// `script_invalid` if it cannot be read, with the reason.
    pub fn load(script: &str) -> Result<Self, LlmError> {
        let invalid = |detail: String| LlmError::ScriptInvalid {
            detail: format!("{script}: {detail}"),
        };
        let is_path = script.ends_with(".toml") || script.contains(['/', '\\']);
        let text = if is_path {
            std::fs::read_to_string(Path::new(script))
                .map_err(|error| invalid(error.to_string()))?
        } else {
            built_in(script).ok_or_else(|| {
                invalid(format!(
                    "no built-in scenario of this name; there are {}",
                    built_in_names().join(", ")
                ))
            })?
        };
        let scenario = Scenario::parse(&text).map_err(|error| invalid(error.to_string()))?;
        Ok(Scripted::new(scenario, script))
    }

    async fn call(&self, request: ChatRequest, sink: DeltaSink) -> Result<ChatAnswer, LlmError> {
        let started = Instant::now();
        let answer = self.scenario.answer(request.role, &request.script)?;
        if answer.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        }
        sink.emit(Delta::Progress);
        if !answer.thinking.is_empty() {
            sink.emit(Delta::Thinking(answer.thinking.clone()));
        }
        if !answer.text.is_empty() {
            sink.emit(Delta::Content(answer.text.clone()));
        }
        Ok(said(answer, started.elapsed().as_millis() as u64))
    }
}

/// A scripted answer as a model server gives it.
fn said(answer: ScriptedAnswer, duration_ms: u64) -> ChatAnswer {
    ChatAnswer {
        content: answer.text,
        thinking: answer.thinking,
        tool_calls: answer.tool_calls,
        stop: answer.told.stop,
        model: "scripted".into(),
        usage: Usage {
            tokens_in: answer.told.tokens_in,
            tokens_out: answer.told.tokens_out,
            tokens_cached: answer.told.tokens_cached,
        },
        duration_ms,
    }
}

/// The text of a built-in scenario.
pub fn built_in(name: &str) -> Option<String> {
    let file = BuiltIn::get(&format!("{name}.toml"))?;
    String::from_utf8(file.data.into_owned()).ok()
}

/// The names of the built-in scenarios.
pub fn built_in_names() -> Vec<String> {
    BuiltIn::iter()
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .collect()
}

impl Provider for Scripted {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_delta: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
        self.call(request, on_delta).boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        let model = ModelInfo {
            name: "scripted".into(),
            ..ModelInfo::default()
        };
        async { Ok(vec![model]) }.boxed()
    }

    fn describe(&self) -> String {
        format!("scripted model ({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Role;
    use crate::domain::model_call::{LastResult, ScriptPosition};

    #[test]
    fn every_built_in_scenario_parses() {
        let names = built_in_names();
        assert!(names.contains(&"hello".to_owned()));
        for name in names {
            let text = built_in(&name).expect("listed scenarios exist");
            Scenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// A demo that is killed while the program of its unclear directive runs goes on with the same words.
    #[test]
    fn a_run_of_the_demo_whose_fate_nobody_knows_is_asked_for_again_by_both_roles() {
        let scenario = Scenario::parse(&built_in("todo").expect("built in")).expect("parses");
        let ordered = |role, answers| {
            let mut position = ScriptPosition::default();
            for _ in 0..answers {
                let answer = scenario.answer(role, &position).expect("in order");
                position.prior_answers.push(answer.text);
            }
            position
        };
        for (role, answers, holds) in [
            (Role::Planner, 4, "PATH: /TODO.lua list"),
            (Role::Executor, 2, "Running TODO.lua list"),
        ] {
            let mut position = ordered(role, answers);
            position.last_result = Some(LastResult {
                outcome: "unknown".into(),
                success: None,
                text: String::new(),
            });
            for _ in 0..2 {
                let again = scenario.answer(role, &position).expect("says it again");
                assert!(again.text.contains(holds), "{role:?}: {}", again.text);
                position.prior_answers.push(again.text);
            }
        }
    }

    #[test]
    fn an_unknown_scenario_names_the_known_ones() {
        let Err(error) = Scripted::load("helo") else {
            panic!("`helo` exists");
        };
        assert!(error.to_string().contains("hello"), "{error}");
    }
}
