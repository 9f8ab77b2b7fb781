//! Talking to language models: one trait, three providers, no actors.
//!
//! Read in this order: [`provider`] (what is asked and answered), [`error`] (what can go wrong and
//! what mends it), then one dialect. The rules of the two HTTP dialects are facts about the servers,
//! kept as comments where they are used. Queueing, deadlines and retries belong to
//! `actors::gateway`; what a text means belongs to `strategy`.

pub mod error;
pub mod provider;

pub use error::{Deadline, LlmError};
pub use provider::{
    ChatRequest, Delta, DeltaSink, LastResult, ModelInfo, ModelParams, Provider, ScriptPosition,
    Think,
};
