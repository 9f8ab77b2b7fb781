//! What is said to a model and what comes back: messages, output contracts, answers, usage.

use super::schema::Schema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who a model call is made for. Each role has its own model, parameters and prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Thinks with the full memory of the task.
    Planner,
    /// Translates one directive (or one plan step) into one strict request.
    Executor,
}

impl Role {
    /// The name used in configuration, prompts and journals.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Planner => "planner",
            Role::Executor => "executor",
        }
    }
}

/// The speaker of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub speaker: Speaker,
    pub content: String,
    /// Calls that an assistant message made natively.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For a tool message: which call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<ToolCallRef>,
}

impl Message {
    fn of(speaker: Speaker, content: impl Into<String>) -> Self {
        Message {
            speaker,
            content: content.into(),
            tool_calls: Vec::new(),
            answers: None,
        }
    }
    pub fn system(content: impl Into<String>) -> Self {
        Self::of(Speaker::System, content)
    }
    pub fn user(content: impl Into<String>) -> Self {
        Self::of(Speaker::User, content)
    }
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::of(Speaker::Assistant, content)
    }
}

/// A call that a model asked for natively.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Absent with older model servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    /// Normally an object; whatever the model wrote otherwise.
    pub arguments: Value,
}

/// Names the call that a tool message answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallRef {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
}

/// A tool as it is shown to a model with native tool calling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDef {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: Schema,
}

/// The shape that an answer must have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "schema")]
pub enum OutputFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON value.
    Json,
    /// JSON that follows this schema.
    Schema(Value),
}

/// What a model call cost, as far as the server told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, including those served from the prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// The part of `tokens_in` that came from the prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_cached: Option<u64>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    Stop,
    /// The output limit or the window ran out: the text is cut off.
    Length,
    /// The server said something else, or nothing.
    Other,
}

/// A whole model answer, before anything was read into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatAnswer {
    pub content: String,
    /// The thinking part, where the server reports it apart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    pub stop: StopReason,
    /// The model's name as the server reports it.
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
    /// From sending the request to the last byte, in milliseconds.
    pub duration_ms: u64,
}

/// Why a model call gave no answer, in the form that is journalled and shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatFailure {
    /// Stable code, for example `model_unreachable`, `model_missing`, `prompt_too_long`.
    pub code: String,
    pub message: String,
    /// What a person can do about it.
    pub hint: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl ChatFailure {
    /// The server is away or has no room: whoever waits long enough is answered.
    pub fn is_away(&self) -> bool {
        const AWAY: [&str; 5] = [
            "model_unreachable",
            "model_circuit_open",
            "model_busy",
            "gateway_full",
            "gateway_gone",
        ];
        AWAY.contains(&self.code.as_str())
    }

    /// The server is there but not the model, or it wants another key: somebody has to mend that.
    pub fn needs_somebody(&self) -> bool {
        ["model_missing", "model_auth"].contains(&self.code.as_str())
    }
}
