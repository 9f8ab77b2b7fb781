//! What a task's own words say, read by rule: the runs, questions, tools, places, values, lines and whole files of which they speak. Nothing
//! here acts: `first_look`, `alone`, `guards` and `ends` do.

pub(super) mod asked_questions;
pub(super) mod asked_runs;
pub(super) mod calculation;
pub(super) mod named_tools;
pub(super) mod peripherals;
pub(super) mod places;
pub(super) mod refused_tools;
pub(super) mod said_lines;
pub(super) mod said_otherwise;
pub(super) mod said_values;
pub mod stated;
pub(super) mod told_changes;
pub(super) mod told_deletions;
pub(super) mod wanted_changes;
