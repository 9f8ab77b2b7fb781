//! One transaction: who waits for what, and the blocking call itself.

use super::messages::JournalError;
use crate::domain::event::StoredEvent;
use crate::store::{JournalStore, Refusal, StoreError, Write, Written};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

pub(super) type Answer = Result<Arc<Vec<StoredEvent>>, JournalError>;

/// An entry and who waits for its answer; nobody waits for a probe.
pub(super) struct Pending {
    entry: Write,
    reply: Reply,
}

pub(super) struct Reply {
    to: Option<oneshot::Sender<Answer>>,
    since: Instant,
}

impl Pending {
    pub(super) fn new(entry: Write, reply: Option<oneshot::Sender<Answer>>) -> Self {
        Pending {
            entry,
            reply: Reply {
                to: reply,
                since: Instant::now(),
            },
        }
    }

    pub(super) fn split(self) -> (Write, Reply) {
        (self.entry, self.reply)
    }
}

impl Reply {
    /// How long ago the entry came.
    pub(super) fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    /// Somebody who no longer waits is no error: what was written stays written.
    pub(super) fn give(self, answer: Answer) {
        if let Some(reply) = self.to {
            let _ = reply.send(answer);
        }
    }
}

/// Blocking. A panic in the store becomes an error, so that the journal lives on: a transaction that was
/// unwound is rolled back.
pub(super) fn run(
    store: &mut Box<dyn JournalStore>,
    entries: &[Write],
) -> Result<Vec<Written>, StoreError> {
    catch_unwind(AssertUnwindSafe(|| store.write(entries))).unwrap_or_else(|_| {
        Err(StoreError::Storage {
            attempt: "write to the journal".into(),
            reason: "the store panicked".into(),
        })
    })
}

pub(super) fn refusal(refusal: Refusal) -> JournalError {
    match refusal {
        Refusal::Sequence { expected, found } => JournalError::Sequence { expected, found },
        Refusal::Fenced { ours, found } => JournalError::Fenced { ours, found },
        Refusal::Duplicate { existing } => JournalError::Duplicate { existing },
    }
}

pub(super) fn refused(error: &StoreError) -> JournalError {
    match error {
        StoreError::UnknownEvent { .. } => JournalError::UnknownEvent(error.to_string()),
        StoreError::Damaged { .. }
        | StoreError::DamagedTask { .. }
        | StoreError::Missing { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::Storage { .. } => JournalError::Storage(error.to_string()),
    }
}
