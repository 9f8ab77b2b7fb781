//! The scripted model of the evaluation: a provider that knows each task's right solution as moves, says the next one
//! in the words of whatever strategy asks, and errs on purpose.
//!
//! After a mistake it behaves like a sensible weak model: it looks at the newest part of its prompt and takes up the
//! next move that was not yet reported done. It knows the prompt and its own earlier answers, and nothing of the
//! server's state. [`play`] is that memory, [`slip`] the mistakes; a [`voice::Voice`] is a strategy's contract.

mod direct;
mod directive;
mod executor;
mod goals;
mod mender;
mod naive;
mod numbered;
mod plan;
pub mod play;
pub mod slip;
mod voice;
mod words;

use super::suite::Task;
use crate::domain::chat::{ChatAnswer, Usage};
use crate::llm::{ChatRequest, DeltaSink, LlmError, ModelInfo, Provider};
use crate::strategy::text::estimate_tokens;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use play::Play;
use slip::{Dice, Slip};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice::Voice;

/// The strategies that it can speak for, in the order of the table.
pub const STRATEGIES: [&str; 5] = ["direct", "directive", "plan", "numbered", "goals"];

/// Those of them that this program has.
pub fn strategies() -> impl Iterator<Item = &'static str> {
    let has = |name: &&str| crate::strategy::version_of(name).is_some();
    STRATEGIES.into_iter().filter(has)
}

/// The contender that is no strategy.
pub const BASELINE: &str = "baseline";

/// How it speaks for a contender.
fn voice_of(contender: &str) -> Option<Box<dyn Voice>> {
    match contender {
        "direct" => Some(Box::new(direct::Direct::default())),
        "directive" => Some(Box::new(directive::Directive)),
        "plan" => Some(Box::new(plan::Plan::default())),
        "numbered" => Some(Box::new(numbered::Numbered::default())),
        "goals" => Some(Box::new(goals::Goals::default())),
        BASELINE => Some(Box::new(naive::Naive)),
        _ => None,
    }
}

/// The provider. It plays one run at a time.
#[derive(Default)]
pub struct EvalModel {
    play: Mutex<Option<Play>>,
}

impl EvalModel {
    /// Begins a run. False if it does not know the contender's contract.
    pub fn begin(&self, task: &Arc<Task>, contender: &str, rate: f64, seed: u64) -> bool {
        let Some(voice) = voice_of(contender) else {
            return false;
        };
        let dice = Dice::of(&[&task.name, contender, &seed.to_string()]);
        *self.lock() = Some(Play::new(task, voice, rate, dice));
        true
    }

    /// Ends a run: the mistakes that it made.
    pub fn end(&self) -> BTreeMap<Slip, u32> {
        let play = self.lock().take();
        play.map(Play::into_slips).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Play>> {
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for EvalModel {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        _on_delta: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
        let said = self.lock().as_mut().map(|play| play.answer(&request));
        let answer = said.ok_or_else(|| LlmError::ScriptInvalid {
            detail: "the evaluation's model was asked outside of a run".to_owned(),
        });
        let answer = answer.map(|said| {
            let tokens_in: usize = request
                .messages
                .iter()
                .map(|m| estimate_tokens(&m.content))
                .sum();
            ChatAnswer {
                usage: Usage {
                    tokens_in: Some(tokens_in as u64),
                    tokens_out: Some(estimate_tokens(&said.content) as u64),
                    tokens_cached: None,
                },
                content: said.content,
                thinking: String::new(),
                tool_calls: said.tool_calls,
                stop: said.stop,
                model: "scripted".to_owned(),
                duration_ms: 0,
            }
        });
        async move { answer }.boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        let model = ModelInfo {
            name: "scripted".to_owned(),
            ..ModelInfo::default()
        };
        async { Ok(vec![model]) }.boxed()
    }

    fn describe(&self) -> String {
        "the evaluation's scripted model".to_owned()
    }
}
