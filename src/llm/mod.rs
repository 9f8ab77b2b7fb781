//! Talking to language models: one trait, three providers, no actors.
//!
//! Read in this order: [`provider`] (what is asked and answered), [`error`] (what can go wrong and
//! what mends it), then one dialect. The rules of the two HTTP dialects are facts about the servers,
//! kept as comments where they are used. Queueing, deadlines and retries belong to
//! `actors::gateway`; what a text means belongs to `strategy`.

mod client;
pub mod deadlines;
pub mod detect;
pub mod error;
mod http;
mod in_order;
#[cfg(test)]
mod loopback_tests;
pub mod messages;
pub mod ollama;
pub mod openai;
pub mod provider;
mod repetition;
pub mod scripted;
pub mod set;

pub use crate::strategy::answers::content_calls::calls_in_content;
pub use client::client as http_client;
pub use detect::{Detection, detect_default};
pub use error::{Deadline, Dialect, LlmError};
pub use provider::{
    ChatRequest, Delta, DeltaSink, LastResult, ModelInfo, ModelParams, Provider, ScriptPosition,
    Think,
};
pub use set::ProviderSet;
