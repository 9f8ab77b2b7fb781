//! One computer: its lane, and what its tasks and people tell it. Lives across connections.

pub mod lane;
pub mod messages;
