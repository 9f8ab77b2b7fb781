//! Where the journal is kept. One writer appends in transactions; readers never wait for it.
//!
//! The traits are blocking on purpose: the journal actor calls them on a thread of its own. SQLite is the
//! embedded store; another one only has to pass the same contract tests (`contract.rs`).

pub mod checkpoint;
#[cfg(test)]
mod contract;
#[cfg(test)]
pub mod fixtures;
mod place;
pub mod sqlite;
mod types;

pub use place::{BadPlace, CommittedEvent, CommittedPage, PAGE_BYTES, Place, RETENTION};
pub use types::*;

use crate::domain::credential::TokenRecord;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{BlobHash, CallId, ClientId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::tool::EffectClass;
use crate::domain::wakes::Asleep;

/// How long an idempotency key holds, in milliseconds (wire contract: 24 hours per owner).
pub const IDEMPOTENCY_MS: i64 = 24 * 60 * 60 * 1000;

/// A store that is open: one writer, one reader, and who it says it is.
pub struct OpenStore {
    pub identity: Identity,
    pub writer: Box<dyn JournalStore>,
    pub reads: Box<dyn JournalReads>,
}

/// The writing half. There is one at a time, which the lock on the data folder ensures.
pub trait JournalStore: Send {
    /// Carries out the batch in one transaction and answers each entry in order. A refused entry changes
    /// nothing and does not undo the others; a storage error undoes all.
    ///
    /// # Errors
    /// The store could not write. It stays usable: the next batch is a new attempt.
    fn write(&mut self, batch: &[Write]) -> Result<Vec<Written>, StoreError>;

    /// The position of the last event of the last batch that appended one ([`Place::pos`]); 0 before the first such batch.
    fn position(&self) -> u64;
}

/// The reading half. What it sees is always the state after some committed batch.
pub trait JournalReads: Send {
    /// All events of a task with its pinned profile; none if there is no such task.
    fn load_task(&self, task_id: &TaskId) -> Result<Option<Journalled>, StoreError>;

    /// The same with no more events than it takes to go on: its creation, and all from the end of its last episode on.
    fn load_last_episode(&self, task_id: &TaskId) -> Result<Option<Journalled>, StoreError>;

    /// The state of a task from which it goes on, by its newest checkpoint that can be used and the events since. Those before it are not read.
    fn standing(&self, task_id: &TaskId) -> Result<Option<Standing>, StoreError>;

    /// Tasks that have not ended and do not sleep, and others of which a call has no outcome yet; oldest first.
    fn unfinished_tasks(&self) -> Result<Vec<TaskId>, StoreError>;

    /// Tasks that sleep, with what wakes them.
    fn sleeping_tasks(&self) -> Result<Vec<(TaskId, Asleep)>, StoreError>;

    /// How many tasks have not ended, by status; a status that no task has may be missing.
    fn open_tasks(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError>;

    /// The calls that were intended and have no outcome yet.
    fn open_calls(&self) -> Result<Vec<(CallId, EffectClass)>, StoreError>;

    fn task(&self, task_id: &TaskId) -> Result<Option<TaskSummary>, StoreError>;

    /// Tasks, newest first.
    fn tasks(&self, query: &TaskQuery) -> Result<TaskPage, StoreError>;

    /// Up to `limit` events of a task with positions greater than `after`, oldest first; none if there is
    /// no such task.
    fn events(
        &self,
        task_id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Option<EventPage>, StoreError>;

    fn blob(&self, hash: &BlobHash) -> Result<Option<String>, StoreError>;

    /// Every computer that was ever saved, with its lane, by name.
    fn computers(&self) -> Result<Vec<KnownComputer>, StoreError>;

    /// Which computers are stopped, as [`SystemChange::stops`] was given last.
    fn stops(&self) -> Result<Option<String>, StoreError>;

    /// How long servers have run on this journal, as [`Write::Uptime`] was given last, in milliseconds; 0 before that.
    fn up_ms(&self) -> Result<i64, StoreError>;

    /// Every token that is kept, revoked and expired ones too, by id.
    fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError>;

    fn lane(&self, client_id: &ClientId) -> Result<Lane, StoreError>;

    /// Whether a call's result is stored: it is journalled as done or failed, not only as unknown.
    fn has_result(&self, call_id: &CallId) -> Result<bool, StoreError>;

    /// Where the order of all commits ends.
    fn head(&self) -> Result<Place, StoreError>;

    /// What was committed after a place, of the tasks that are wanted, in the order of the commits: up to `limit` appends, and not
    /// much more than [`PAGE_BYTES`]. None if the place is none of this journal, or what follows it is not all kept.
    fn committed_after(
        &self,
        after: Place,
        limit: usize,
        wanted: &dyn Fn(&TaskSummary) -> bool,
    ) -> Result<Option<CommittedPage>, StoreError>;

    /// Ended tasks of a computer that it was not told of, oldest first.
    fn undelivered_notices(
        &self,
        client_id: &ClientId,
        limit: usize,
    ) -> Result<Vec<TaskSummary>, StoreError>;
}

/// The events of a task as one page.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    pub events: Vec<StoredEvent>,
    /// Whether there are more after the last one.
    pub more: bool,
}
