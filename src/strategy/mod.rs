//! The pure rules that decide a task's next move: parsers, translation, guards, memory and the deciders.
//!
//! No actix, no I/O, no clock, no randomness (kept by `tests/tidy.rs`).

pub mod directive;
