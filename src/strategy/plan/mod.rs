//! Source document 002: a planner makes a plan of steps with dependencies; rules or an executor turn each step into
//! calls; what came of them goes to the steps after it.

pub mod answer;
pub mod check;
pub mod context;
pub mod json_text;
pub mod parse;
pub mod place;
pub mod rules;
pub mod summary;
pub mod targets;
