//! What stands in prompts for older steps.

use crate::domain::directive::TranslatedBy;
use serde::{Deserialize, Serialize};

/// Steps up to `upto_step`, as facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// The number of the last step that the facts stand for.
    pub upto_step: u32,
    pub facts: Vec<String>,
    /// Whether rules or a model wrote the facts.
    pub by: TranslatedBy,
}
