//! Source document 000: a planner gives one directive a turn, an executor translates it strictly.

pub mod block;
pub mod parser;
pub mod printer;
