//! Source document 004.
pub mod check;
pub mod decomposition;
