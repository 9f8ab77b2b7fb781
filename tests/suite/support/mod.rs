//! What several integration tests use.

pub mod ollama_translator;
pub mod python;
pub mod real_model;
