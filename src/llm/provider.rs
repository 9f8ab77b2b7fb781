//! The provider trait: what every model server, real or scripted, can be asked.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::error::LlmError;
use crate::domain::chat::{ChatAnswer, Message, OutputFormat, Role, ToolDef};
pub use crate::domain::model_call::{LastResult, ModelParams, ScriptPosition, Think};

/// One call to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// For whom the call is made; picks the provider.
    pub role: Role,
    /// The model's name as the server knows it.
    pub model: String,
    /// The conversation, oldest first. Neighbours of the same speaker are merged before sending.
    pub messages: Vec<Message>,
    /// The shape the answer must have. Not to be combined with `tools`: servers define no order
    /// between the two.
    pub format: OutputFormat,
    /// Tools for native calling; empty for none.
    pub tools: Vec<ToolDef>,
    /// Sampling and sizes.
    pub params: ModelParams,
    /// Where a scripted model stands; other providers ignore it.
    pub script: ScriptPosition,
}

/// A piece of an answer while it is being made.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Bytes came from the server. Sent before anything that was read from them, also when they
    /// hold no text; deadlines between chunks count from here.
    Progress,
    /// More of the answer's text.
    Content(String),
    /// More of the thinking part.
    Thinking(String),
}

/// Where the pieces of an answer go. Cheap to clone; never blocks.
#[derive(Clone)]
pub struct DeltaSink(Option<Arc<dyn Fn(Delta) + Send + Sync>>);

impl DeltaSink {
    /// A sink that throws everything away.
    pub fn ignore() -> Self {
        DeltaSink(None)
    }

    /// A sink that calls `listener`, which must return at once.
    pub fn new(listener: impl Fn(Delta) + Send + Sync + 'static) -> Self {
        DeltaSink(Some(Arc::new(listener)))
    }

    /// Hands one piece over.
    pub fn emit(&self, delta: Delta) {
        if let Some(listener) = &self.0 {
            listener(delta);
        }
    }
}

impl fmt::Debug for DeltaSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.0.is_some() {
            "listening"
        } else {
            "ignoring"
        };
        write!(f, "DeltaSink({kind})")
    }
}

/// A model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ModelInfo {
    pub name: String,
    /// Ollama's family, for example `qwen2` or `bert`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// What the model can do (`completion`, `tools`, `thinking`, `embedding`, ...); empty where the
    /// server does not say.
    pub capabilities: Vec<String>,
    /// Size of the model file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The context the model was trained for, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
}

/// A source of model answers.
///
/// Dropping a returned future closes the connection, which is the only way to cancel that model
/// servers know. A provider neither queues nor retries: the gateway does.
pub trait Provider: Send + Sync {
    /// Makes one call and returns the whole answer; `on_delta` sees the pieces on the way.
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_delta: DeltaSink,
    ) -> BoxFuture<'a, Result<ChatAnswer, LlmError>>;

    /// The models that can be asked for.
    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, LlmError>>;

    /// One phrase for people, for example `Ollama at http://127.0.0.1:11434`. Holds no key.
    fn describe(&self) -> String;
}
