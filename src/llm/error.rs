//! What can go wrong in a model call: a stable code, the mend, and whether trying again makes sense.

use std::fmt;
use std::time::Duration;

use crate::domain::chat::{ChatFailure, Role};
use crate::domain::fold::TOOLS_UNSUPPORTED;

/// The two ways of speaking to a model server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Ollama's own `/api/chat`.
    Ollama,
    /// `/v1/chat/completions`, as llama.cpp, vLLM, LM Studio and many more speak it.
    OpenAi,
}

impl Dialect {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Ollama => "ollama",
            Dialect::OpenAi => "openai",
        }
    }
}

/// Which wait was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// Opening the connection.
    Connect,
    /// From sending the request to the first byte: queueing, loading the model, reading the prompt.
    FirstByte,
    /// Between two pieces of an answer.
    BetweenChunks,
    /// The whole call with all its retries.
    Total,
}

impl Deadline {
    /// The configuration key that sets it.
    pub fn key(self) -> &'static str {
        match self {
            Deadline::Connect => "gateway.connect_timeout_ms",
            Deadline::FirstByte => "gateway.headers_timeout_ms",
            Deadline::BetweenChunks => "gateway.chunk_timeout_ms",
            Deadline::Total => "gateway.total_timeout_ms",
        }
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Deadline::Connect => "opening the connection",
            Deadline::FirstByte => "waiting for the first byte",
            Deadline::BetweenChunks => "waiting for the next piece",
            Deadline::Total => "the whole call",
        })
    }
}

/// Why a model call gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    #[error("no model server answers at {server}: {detail}")]
    Unreachable {
        dialect: Dialect,
        server: String,
        detail: String,
    },
    #[error("the server at {server} has no model `{model}`")]
    ModelMissing {
        dialect: Dialect,
        server: String,
        model: String,
    },
    #[error("the prompt is longer than the model's context{}", sizes(*.n_prompt, *.n_ctx))]
    PromptTooLong {
        /// Tokens of the prompt, where the server says.
        n_prompt: Option<u64>,
        /// Tokens of the context, where the server says.
        n_ctx: Option<u64>,
    },
    #[error("the model server refused the request ({status}): {text}")]
    Refused { status: u16, text: String },
    #[error("the model `{model}` does not take tools")]
    ToolsUnsupported { model: String },
    #[error("the model server is busy ({status}): {text}")]
    Busy { status: u16, text: String },
    #[error("the model server failed: {text}")]
    Crashed { text: String },
    #[error("the model server at {server} wants another key ({status})")]
    Auth { server: String, status: u16 },
    #[error("the model took too long: {deadline} exceeded {} s", .after.as_secs_f64())]
    TimedOut { deadline: Deadline, after: Duration },
    #[error("the answer was cut off after {received} bytes: the stream ended without its end mark")]
    CutOff {
        /// Bytes that came, protocol included.
        received: usize,
    },
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the model server's answer cannot be read: {detail}")]
    BadAnswer { detail: String },
    #[error("the scenario has no further answer for the {} after {given}", .role.as_str())]
    ScriptExhausted { role: Role, given: usize },
    #[error("the scenario cannot be used: {detail}")]
    ScriptInvalid { detail: String },
}

fn sizes(n_prompt: Option<u64>, n_ctx: Option<u64>) -> String {
    match (n_prompt, n_ctx) {
        (Some(prompt), Some(ctx)) => format!(": {prompt} tokens for a context of {ctx}"),
        (Some(prompt), None) => format!(": {prompt} tokens"),
        (None, Some(ctx)) => format!(" of {ctx} tokens"),
        (None, None) => String::new(),
    }
}

impl LlmError {
    /// The stable code that is journalled and shown.
    pub fn code(&self) -> &'static str {
        match self {
            LlmError::Unreachable { .. } => "model_unreachable",
            LlmError::ModelMissing { .. } => "model_missing",
            LlmError::PromptTooLong { .. } => "prompt_too_long",
            LlmError::Refused { .. } => "model_refused",
            LlmError::ToolsUnsupported { .. } => TOOLS_UNSUPPORTED,
            LlmError::Busy { .. } => "model_busy",
            LlmError::Crashed { .. } => "model_crashed",
            LlmError::Auth { .. } => "model_auth",
            LlmError::TimedOut { .. } => "model_timed_out",
            LlmError::CutOff { .. } => "model_cut_off",
            LlmError::Cancelled => "model_cancelled",
            LlmError::BadAnswer { .. } => "model_bad_answer",
            LlmError::ScriptExhausted { .. } => "script_exhausted",
            LlmError::ScriptInvalid { .. } => "script_invalid",
        }
    }

    /// What a person can do about it, with the command where there is one.
    pub fn hint(&self) -> String {
        match self {
            LlmError::Unreachable {
                dialect: Dialect::Ollama,
                ..
            } => "start it with `ollama serve`, or set models.planner.base_url".into(),
            LlmError::Unreachable {
                dialect: Dialect::OpenAi,
                ..
            } => "start it, for example `llama-server -m MODEL.gguf --port 8081 -c 8192`, or set \
                  models.planner.base_url"
                .into(),
            LlmError::ModelMissing {
                dialect: Dialect::Ollama,
                model,
                ..
            } => format!("fetch it with `ollama pull {model}`, or set models.planner.model"),
            LlmError::ModelMissing {
                dialect: Dialect::OpenAi,
                model,
                server,
            } => format!(
                "start the server with it, for example `llama-server -m {model}.gguf -a {model}`, or \
                 choose one of `curl {server}/v1/models`"
            ),
            LlmError::PromptTooLong { .. } => {
                "raise models.planner.num_ctx (with llama.cpp: `llama-server -m MODEL.gguf -c 16384`) \
                 or lower memory.verbatim_results"
                    .into()
            }
            LlmError::Refused { .. } => {
                "the request does not fit this server or model; `ccfleet doctor` tries both".into()
            }
            LlmError::ToolsUnsupported { .. } => {
                "nothing to do: the tools are told in the prompt instead".into()
            }
            LlmError::Busy { .. } => {
                "wait until it has loaded or has room; lower gateway.max_concurrent if it happens often"
                    .into()
            }
            LlmError::Crashed { .. } => {
                "see the model server's log; a smaller model or num_ctx helps when memory is short".into()
            }
            LlmError::Auth { .. } => "set models.planner.api_key or api_key_file".into(),
            LlmError::TimedOut { deadline, .. } => {
                format!("raise {}, or use a smaller model", deadline.key())
            }
            LlmError::CutOff { .. } => "see the model server's log: it stopped in mid-answer".into(),
            LlmError::Cancelled => "nothing to do".into(),
            LlmError::BadAnswer { .. } => {
                "check that models.planner.provider fits the server at base_url".into()
            }
            LlmError::ScriptExhausted { .. } => {
                "add an answer to the scenario, or use a real model".into()
            }
            LlmError::ScriptInvalid { .. } => "mend the scenario file (docs/models.md)".into(),
        }
    }

    /// Whether the same request may succeed later. The only place where this is decided.
    ///
    /// Source: a model server's 503, 429, 500 and a lost connection pass; a 400 or 404 never does.
    pub fn retryable(&self) -> bool {
        match self {
            LlmError::Unreachable { .. }
            | LlmError::Busy { .. }
            | LlmError::Crashed { .. }
            | LlmError::TimedOut { .. }
            | LlmError::CutOff { .. }
            // A proxy's page of errors, a line that was garbled: the next answer may be a whole one. A server of another
            // dialect goes on like this, and the limits of tries and failures end that.
            | LlmError::BadAnswer { .. } => true,
            LlmError::ModelMissing { .. }
            | LlmError::PromptTooLong { .. }
            | LlmError::Refused { .. }
            | LlmError::ToolsUnsupported { .. }
            | LlmError::Auth { .. }
            | LlmError::Cancelled
            | LlmError::ScriptExhausted { .. }
            | LlmError::ScriptInvalid { .. } => false,
        }
    }

    /// Whether the server could not even be spoken to; counted by the gateway's circuit breaker.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            LlmError::Unreachable { .. }
                | LlmError::TimedOut {
                    deadline: Deadline::Connect,
                    ..
                }
        )
    }
}

impl From<LlmError> for ChatFailure {
    fn from(error: LlmError) -> Self {
        ChatFailure {
            code: error.code().into(),
            message: error.to_string(),
            hint: error.hint(),
            retryable: error.retryable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_ollama_model_names_the_pull_command() {
        let failure = ChatFailure::from(LlmError::ModelMissing {
            dialect: Dialect::Ollama,
            server: "http://127.0.0.1:11434".into(),
            model: "qwen2.5-coder:7b".into(),
        });
        assert_eq!(failure.code, "model_missing");
        assert!(failure.hint.contains("`ollama pull qwen2.5-coder:7b`"));
        assert!(!failure.retryable);
    }

    #[test]
    fn a_prompt_too_long_shows_both_sizes_where_known() {
        let known = LlmError::PromptTooLong {
            n_prompt: Some(5000),
            n_ctx: Some(4096),
        };
        assert!(
            known
                .to_string()
                .contains("5000 tokens for a context of 4096")
        );
        let unknown = LlmError::PromptTooLong {
            n_prompt: None,
            n_ctx: None,
        };
        assert_eq!(
            unknown.to_string(),
            "the prompt is longer than the model's context"
        );
    }
}
