//! A model that knows nothing and answers at once, or after a time.

use ccfleet::domain::chat::{ChatAnswer, StopReason, ToolCall, Usage};
use ccfleet::llm::{ChatRequest, DeltaSink, LlmError, ModelInfo, Provider};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// What a model says: its text, and the calls that go with it.
pub type Said = (String, Vec<ToolCall>);

/// Who answers.
pub trait Voice: Send + Sync {
    /// A request has come.
    fn asked(&self, _: &ChatRequest) {}

    /// The answer to it, which leaves now.
    fn say(&self, request: &ChatRequest) -> Said;
}

impl<F: Fn(&ChatRequest) -> Said + Send + Sync> Voice for F {
    fn say(&self, request: &ChatRequest) -> Said {
        self(request)
    }
}

/// Says what a voice says, `after` so long.
pub struct Spoken<V> {
    pub after: Duration,
    pub say: V,
}

impl<V: Voice> Provider for Spoken<V> {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        _: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>> {
        async move {
            self.say.asked(&request);
            if !self.after.is_zero() {
                tokio::time::sleep(self.after).await;
            }
            let (content, tool_calls) = self.say.say(&request);
            Ok(ChatAnswer {
                content,
                thinking: String::new(),
                tool_calls,
                stop: StopReason::Stop,
                model: request.model,
                usage: Usage::default(),
                duration_ms: self.after.as_millis() as u64,
            })
        }
        .boxed()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn describe(&self) -> String {
        "a model of the bench".to_owned()
    }
}

/// The number of this answer among those of its role, from 0.
pub fn number(request: &ChatRequest) -> usize {
    request.script.prior_answers.len()
}
