//! The pure vocabulary of the house: ids, tools, calls, chat, directives, profiles, decisions, events
//! and the task state that is folded from them.
//!
//! Nothing here knows actix, does I/O, reads a clock or draws randomness (kept by `tests/tidy.rs`).
//! Times are milliseconds since the Unix epoch, given from outside.

pub mod access;
pub mod by_rule;
pub mod call;
pub mod chat;
pub mod credential;
pub mod decision;
pub mod directive;
pub mod episodes;
pub mod event;
pub mod expectation;
pub mod family;
pub mod files;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod fold;
pub mod fork;
pub mod grammar;
pub mod guard_rules;
pub mod ids;
pub mod lifecycle;
pub mod memo;
pub mod model_call;
pub mod nap;
pub mod profile;
pub mod prompt_echo;
pub mod read;
pub mod schedule;
pub mod schema;
pub mod schema_brief;
pub mod shared;
pub mod step;
pub mod task;
pub mod task_summary;
pub mod text;
pub mod tokens;
pub mod tool;
pub mod toolbox;
pub mod track;
pub mod uptime;
pub mod wakes;
pub mod work;

/// What is left out of journals where it says nothing.
fn is_zero(number: &u32) -> bool {
    *number == 0
}
