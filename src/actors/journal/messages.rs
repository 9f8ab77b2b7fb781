//! What may be asked of the journal.

use crate::domain::episodes::ArchiveRule;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{ClientId, TaskId};
use crate::domain::task::{TaskState, TaskSummary};
use crate::domain::wakes::Asleep;
use crate::store::{Append, ComputerRecord, KnownComputer, SystemChange};
use actix::Message;
use std::sync::Arc;

/// Append events of one task. Answered after they are durable; then they are published to the feed.
///
/// The store fences: `expected_seq` must be the last position in the journal and `generation` not older
/// than the one that wrote last. A `CallIntended` with a lane number raises the lane's `high_seq` in the
/// same transaction.
///
/// Shared: who tries again keeps it, without a copy of its events.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Vec<StoredEvent>>, JournalError>")]
pub struct AppendEvents(pub Arc<Append>);

impl From<Append> for AppendEvents {
    fn from(append: Append) -> Self {
        AppendEvents(Arc::new(append))
    }
}

/// Read as much of a task's journal as it takes to go on: all of it, or of a task that lives on its creation and what
/// came since its last episode ended.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<LoadedTask, JournalError>")]
pub struct LoadTask {
    pub task_id: TaskId,
}

/// A task as it stands in the journal.
#[derive(Debug, Clone)]
pub struct LoadedTask {
    pub events: Vec<StoredEvent>,
    /// The pinned profile, as JSON; empty if the blob is gone.
    pub profile: String,
}

/// Fold as much of a task's journal as it takes to go on with it, from its newest checkpoint on.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<StandingTask, JournalError>")]
pub struct LoadState {
    pub task_id: TaskId,
}

/// Where a task stands by the journal.
#[derive(Debug, Clone)]
pub struct StandingTask {
    pub state: Box<TaskState>,
    /// The pinned profile, as JSON; empty if the blob is gone.
    pub profile: String,
}

/// The tasks that have not ended and do not sleep, oldest first; also others that still wait for a call's outcome.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Vec<TaskId>, JournalError>")]
pub struct UnfinishedTasks;

/// How long servers have run on this journal, all runs together, in milliseconds.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<i64, JournalError>")]
pub struct UptimeSoFar;

/// Keep that in mind. It is written now and then: the end of a life that a crash ends is lost.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct KeepUptime {
    pub up_ms: i64,
}

/// The tasks that sleep, with what wakes them.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Vec<(TaskId, Asleep)>, JournalError>")]
pub struct SleepingTasks;

/// Keep what is known of a computer; it replaces what was kept under the same `client_id`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct SaveComputer {
    pub record: ComputerRecord,
}

/// Keep what concerns the server as a whole. An epoch in it holds as soon as it is durable.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct KeepSystem {
    pub change: SystemChange,
}

/// Every computer that was ever saved, with the numbers of its lane.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Vec<KnownComputer>, JournalError>")]
pub struct KnownComputers;

/// The ended tasks of a computer that it was not told of, oldest first, at most 100: when those are marked
/// ask again.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Vec<TaskSummary>, JournalError>")]
pub struct UndeliveredNotices {
    pub client_id: ClientId,
}

/// The computer acknowledged `task_completed` or `task_failed`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct NoticeDelivered {
    pub task_id: TaskId,
}

/// A task cannot be run as it is journalled: people are shown why until it can.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct Quarantine {
    pub task_id: TaskId,
    pub reason: String,
}

/// Put older episodes of a task that lives on out of the way.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct ArchiveEpisodes {
    pub task_id: TaskId,
    pub rule: ArchiveRule,
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// How the journal fares.
#[derive(Debug, Clone, Message)]
#[rtype(result = "JournalHealth")]
pub struct ObserveJournal;

/// Answer of [`ObserveJournal`].
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct JournalHealth {
    /// False from a write that did not work until one that does.
    pub writable: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Entries that wait for the next transaction.
    pub queued: usize,
    /// Transactions since the start.
    pub transactions: u64,
    /// Entries that were carried out or refused in them.
    pub entries: u64,
}

/// Take nothing more, write what is queued, and let go of the files.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CloseJournal;

/// Wait until everything appended so far is durable.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), JournalError>")]
pub struct Flush;

/// Why the journal did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("the journal has events up to {found}, the writer expected {expected}")]
    Sequence { expected: u64, found: u64 },
    #[error("a newer generation ({found}) writes this task, this one is {ours}")]
    Fenced { ours: u64, found: u64 },
    #[error("a task with this idempotency key exists: {existing}")]
    Duplicate { existing: TaskId },
    #[error("no task {0}")]
    NoTask(TaskId),
    #[error("the journal cannot be written: {0}")]
    Storage(String),
    #[error("the journal holds an event this version does not know: {0}")]
    UnknownEvent(String),
    #[error("the journal is overloaded, or stopping")]
    Unavailable,
}
