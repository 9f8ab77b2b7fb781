//! A task's own books of what is still to do.

pub mod plan;
