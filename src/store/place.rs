//! Places in the order of all commits: what a follower of the whole journal goes on from.

use crate::domain::event::StoredEvent;
use crate::domain::task::TaskSummary;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Events whose order among all tasks is kept. Older ones stay in their tasks' journals.
pub const RETENTION: u64 = 250_000;

/// What a page of commits holds at most, in bytes of events as they are stored; a single larger append is a page of its own.
pub const PAGE_BYTES: usize = 1024 * 1024;

/// A place in the order of all commits: behind one event. Its text is opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The position of that event among all, from 1; 0 = before the first.
    pub pos: u64,
    /// What tells its append from another one at the same position, in a journal that was put back from a backup and went another
    /// way since. 0 where no append stands before.
    pub mark: u64,
}

impl Place {
    /// Behind the last event of an append, which is at this position.
    pub fn behind(pos: u64, last: &StoredEvent) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(last.task_id.as_str().as_bytes());
        for number in [last.seq, last.at_ms as u64, last.generation.0] {
            hasher.update(&number.to_le_bytes());
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        // Positive in SQLite too, and never the mark of no append.
        let mark = (u64::from_le_bytes(first) >> 1).max(1);
        Place { pos, mark }
    }

    /// In the same append, behind another event of it.
    pub fn at(self, pos: u64) -> Self {
        Place { pos, ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.pos, self.mark)
    }
}

/// A text that no feed gave out as a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor that the feed gave out")]
pub struct BadPlace;

impl FromStr for Place {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let (pos, mark) = text.split_once('-').ok_or(BadPlace)?;
        let number = |text: &str| u64::from_str_radix(text, 16).map_err(|_| BadPlace);
        Ok(Place {
            pos: number(pos)?,
            mark: number(mark)?,
        })
    }
}

/// An event as a follower gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct CommittedEvent {
    /// Behind this event.
    pub place: Place,
    pub event: StoredEvent,
    /// The task as it stands after the event, or later.
    pub task: Arc<TaskSummary>,
}

/// A page of what was committed.
#[derive(Debug, Clone, PartialEq)]
pub struct CommittedPage {
    pub events: Vec<CommittedEvent>,
    /// Behind everything that was looked at, wanted or not.
    pub upto: Place,
    /// Whether there is more behind it.
    pub more: bool,
}
