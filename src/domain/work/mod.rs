//! A task's own books of what is still to do: what strategies keep beside the conversation. They change by journalled
//! advances and by how calls end, never by a decider.

mod compaction;

pub use compaction::Compaction;

use super::directive::TranslatedBy;
use super::task::{Recalled, Step};
use serde::{Deserialize, Serialize};

/// A move that changes only the books. The fold carries it out, and the next move is decided at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "advance", rename_all = "snake_case")]
pub enum Advance {
    /// Steps up to `upto_step` are shown to models as these facts from now on.
    Compacted {
        upto_step: u32,
        facts: Vec<String>,
        /// Whether rules or a model wrote the facts.
        by: TranslatedBy,
    },
    /// A piece of a former result is shown again; it stands in the journal, so no computer is asked.
    Recalled { piece: Recalled },
}

impl Advance {
    /// Whether the open step of its track is over with it.
    pub fn closes(&self, step: &Step) -> bool {
        match self {
            // Facts may have to be made while a planner is asked again in the same step.
            Advance::Compacted { .. } => step.summary_upto.is_some(),
            Advance::Recalled { .. } => true,
        }
    }

    /// Whether it brings the task on, so that earlier answers that led to nothing are forgiven.
    pub fn is_progress(&self) -> bool {
        match self {
            Advance::Compacted { .. } | Advance::Recalled { .. } => false,
        }
    }
}

/// The books of a strategy.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Work {
    #[default]
    None,
}

impl Work {
    /// Takes a strategy's own advance into the books; `at_ms` is when it was committed.
    pub fn advance(&mut self, advance: &Advance, _at_ms: i64) {
        match advance {
            Advance::Compacted { .. } | Advance::Recalled { .. } => {}
        }
    }

    /// Every call of `step` has ended.
    pub fn calls_ended(&mut self, _step: &Step, _at_ms: i64) {
        match self {
            Work::None => {}
        }
    }
}
