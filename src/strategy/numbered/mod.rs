//! Source document 003: one planning call gives a numbered list, which lies in the task's state with a cursor; from then
//! on every turn is ReAct text.

pub mod input;
pub mod labels;
pub mod list;
pub mod react;
