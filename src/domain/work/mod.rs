//! A task's own books of what is still to do.

pub mod plan;
pub mod plan_rules;
