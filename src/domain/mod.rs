//! The pure vocabulary of the house: ids, tools, calls, chat, events, task state and decisions.
//!
//! Nothing here knows actix, does I/O, reads a clock or draws randomness (kept by `tests/tidy.rs`).
//! Times are milliseconds since the Unix epoch, given from outside.

pub mod chat;
pub mod model_call;
