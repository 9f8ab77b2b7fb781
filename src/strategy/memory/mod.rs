//! What models remember of a task.

pub mod diff;
pub mod facts;
pub mod pins;
pub mod plan;
pub mod recall;
pub mod window;
