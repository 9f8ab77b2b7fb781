//! Tracks: the lines of work of one task that go on at the same time.

use serde::{Deserialize, Serialize};

/// A line of work. Most strategies have only the main one; a plan has one for each of its steps that is under way, so
/// that steps which do not depend on each other run at the same time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Track(pub u32);

impl Track {
    /// Where a task thinks, and where everything happens that is not a plan's step.
    pub const MAIN: Track = Track(0);

    pub fn is_main(&self) -> bool {
        *self == Track::MAIN
    }
}
