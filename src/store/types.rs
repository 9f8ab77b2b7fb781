//! What goes into the store and what comes out.

use super::checkpoint::Checkpoint;
use crate::domain::credential::TokenRecord;
use crate::domain::episodes::ArchiveRule;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{BlobHash, ClientId, Generation, TaskId};
use crate::domain::lifecycle::ToolRecord;
use crate::domain::task::{TaskState, TaskStatus, TaskSummary};
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who this journal is. `welcome` tells computers, so that they notice an older or foreign journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `srv_` and 32 hexadecimal digits, made when the journal was.
    pub server_id: String,
    /// Raised when an operator resumes after a backup was put back.
    pub journal_epoch: u64,
}

/// The journal's epoch as it is now. Clones share it; it changes once a raise is durable.
#[derive(Debug, Clone)]
pub struct Epoch(Arc<AtomicU64>);

impl Epoch {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// The journal alone raises it.
    pub(crate) fn raise(&self, epoch: u64) {
        self.0.fetch_max(epoch, Ordering::AcqRel);
    }
}

impl From<u64> for Epoch {
    fn from(epoch: u64) -> Self {
        Epoch(Arc::new(AtomicU64::new(epoch)))
    }
}

impl Default for Epoch {
    fn default() -> Self {
        Epoch::from(1)
    }
}

/// What the server as a whole keeps, beside tasks and computers. What is none stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemChange {
    /// Which computers are stopped, as JSON; it replaces what was kept.
    pub stops: Option<String>,
    /// A higher epoch: an operator resumed after a backup was put back.
    pub epoch: Option<u64>,
    /// Lanes that go on above these numbers.
    pub lanes: Vec<(ClientId, u64)>,
    /// In this order.
    pub tokens: Vec<TokenChange>,
}

/// What happens to a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenChange {
    /// It is new.
    Made(Box<TokenRecord>),
    /// It was shown. Times are milliseconds since the Unix epoch.
    Used { token_id: String, at_ms: i64 },
    /// It counts no more, and neither do sessions that began with it.
    Revoked { token_id: String, at_ms: i64 },
    /// Nothing of it is kept: a session that is over.
    Forgotten { token_id: String },
}

/// One entry of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    Append(Arc<Append>),
    SaveComputer(ComputerRecord),
    /// A computer was told how this task ended.
    NoticeDelivered(TaskId),
    System(SystemChange),
    /// The task cannot be run as it is journalled; people are shown why. Its next append, if there ever is one, lifts it.
    Quarantine {
        task_id: TaskId,
        reason: String,
    },
    /// Older episodes of a task that lives on go out of the way.
    Archive {
        task_id: TaskId,
        rule: ArchiveRule,
        /// Milliseconds since the Unix epoch.
        now_ms: i64,
    },
    /// Changes nothing that anybody sees; tells whether writing works again.
    Probe,
    /// How long servers have run on this journal, all runs together, in milliseconds.
    Uptime(i64),
    /// Where loading its task begins from now on; nothing if the task has ended or sleeps.
    Checkpoint(Box<Checkpoint>),
}

/// Events of one task with everything that becomes durable together with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    pub task_id: TaskId,
    pub generation: Generation,
    /// The last position that the writer knows of; 0 for a new task.
    pub expected_seq: u64,
    pub at_ms: i64,
    /// At the positions behind `expected_seq`, under this generation. Shared: whoever listens gets the same ones.
    pub events: Arc<Vec<StoredEvent>>,
    /// Contents that the events name by hash; kept once.
    pub blobs: Vec<(BlobHash, Arc<str>)>,
    /// The task as lists show it after these events.
    pub summary: Arc<TaskSummary>,
    /// Only with the first events of a task: a second task under the same key is refused.
    pub idempotency_key: Option<String>,
    /// What these events tell of tools ([`crate::domain::lifecycle::records_of`]), kept beside the computers.
    pub tools: Vec<ToolRecord>,
}

impl Append {
    /// What is appended behind a task's last event; `state` is folded on.
    pub fn behind(
        state: &mut TaskState,
        generation: Generation,
        at_ms: i64,
        events: Vec<TaskEvent>,
    ) -> Self {
        let expected_seq = state.last_seq;
        let events = state.apply_next(generation, at_ms, events);
        Append {
            task_id: state.task_id.clone(),
            generation,
            expected_seq,
            at_ms,
            events: events.into(),
            blobs: Vec::new(),
            summary: state.summary().into(),
            idempotency_key: None,
            tools: Vec::new(),
        }
    }

    /// A task that is one event. What is known of it is folded where the event does not tell all.
    pub fn whole(task_id: TaskId, generation: Generation, at_ms: i64, event: TaskEvent) -> Self {
        let only = StoredEvent {
            task_id,
            seq: 1,
            at_ms,
            generation,
            event,
        };
        let Some(summary) = only.short_form() else {
            let mut unborn = TaskState::new(only.task_id);
            return Append::behind(&mut unborn, generation, at_ms, vec![only.event]);
        };
        Append {
            task_id: only.task_id.clone(),
            generation,
            expected_seq: 0,
            at_ms,
            events: Arc::new(vec![only]),
            blobs: Vec::new(),
            summary: summary.into(),
            idempotency_key: None,
            tools: Vec::new(),
        }
    }

    /// The refusal of an append whose own events are not where it says that they are.
    pub fn misplaced(&self) -> Option<Refusal> {
        let mut placed = self.events.iter().zip(self.expected_seq..);
        let (stored, expected) = placed.find(|(stored, before)| {
            let is_own = stored.task_id == self.task_id && stored.generation == self.generation;
            !is_own || stored.seq != before + 1
        })?;
        let found = stored.seq.saturating_sub(1);
        Some(Refusal::Sequence { expected, found })
    }
}

/// How one entry of a batch fared: the events with their positions (none unless it was an append), or
/// why it was refused.
pub type Written = Result<Arc<Vec<StoredEvent>>, Refusal>;

/// Why an entry was refused although the store works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The journal of the task ends at another position.
    Sequence { expected: u64, found: u64 },
    /// A newer generation has written.
    Fenced { ours: u64, found: u64 },
    /// The owner used this idempotency key within 24 hours, for this task.
    Duplicate { existing: TaskId },
}

/// A task's journal as read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Journalled {
    pub events: Vec<StoredEvent>,
    /// The pinned profile as JSON; none if its blob is gone.
    pub profile: Option<String>,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub state: Box<TaskState>,
    /// The pinned profile as JSON; none if its blob is gone.
    pub profile: Option<String>,
}

/// Which tasks a list shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskQuery {
    pub status: Option<TaskStatus>,
    pub kind: Option<String>,
    pub client_id: Option<ClientId>,
    pub owner: Option<String>,
    /// Only tasks older than the one this cursor names.
    pub before: Option<Cursor>,
    /// 0 is taken as 1.
    pub limit: usize,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    pub tasks: Vec<TaskSummary>,
    /// Where the next page begins; none on the last one.
    pub next: Option<Cursor>,
}

/// A place in the list of tasks. Its text is opaque to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub created_at_ms: i64,
    pub task_id: TaskId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}", self.created_at_ms, self.task_id)
    }
}

/// A text that no list gave out as a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor that a list gave out")]
pub struct BadCursor;

impl std::str::FromStr for Cursor {
    type Err = BadCursor;
    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (time, task) = text.split_once('.').ok_or(BadCursor)?;
        Ok(Cursor {
            created_at_ms: i64::from_str_radix(time, 16).map_err(|_| BadCursor)?,
            task_id: TaskId::parse(task).map_err(|_| BadCursor)?,
        })
    }
}

/// What is kept of a computer between connections and runs of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ComputerRecord {
    pub client_id: ClientId,
    /// The start of its host program that registered last.
    pub boot_id: Option<String>,
    /// A hash of the secret that `welcome` gave it; the secret itself is not kept.
    pub secret_hash: Option<String>,
    pub owner: String,
    /// Label, kind, groups, tools: whatever the registry wants back, as JSON.
    pub registration: Value,
    /// When it was last heard of, milliseconds since the Unix epoch.
    pub last_seen_ms: i64,
}

/// A computer and how far its lane is.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownComputer {
    pub record: ComputerRecord,
    pub lane: Lane,
    /// What finished calls told of its tools.
    pub tools: Vec<ToolRecord>,
}

/// The numbers of a computer's lane (design section 8, "Backups and clones"). 0 = none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lane {
    /// The highest number ever granted to an `effect` call.
    pub high_seq: u64,
    /// The highest number whose result is stored: the computer itself must have come that far.
    pub stored_seq: u64,
}

/// Why the store did not do as asked. `code` is stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error(
        "{path} is no journal of ccfleet, or it is damaged ({reason}); put back a backup of the data \
         folder, or move it away to begin anew"
    )]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "event {seq} of task {task_id} is damaged ({reason}); the task is not run, the others go on. `ccfleet journal check` \
         looks through all; a backup may have it whole"
    )]
    DamagedTask {
        task_id: TaskId,
        seq: u64,
        reason: String,
    },
    #[error(
        "{path} was written by a newer ccfleet (schema {found}, this one knows up to {known}); start that \
         version again, or choose another data folder"
    )]
    NewerSchema {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("{path} does not exist; name the folder of the server's journal with --data")]
    Missing { path: PathBuf },
    #[error(
        "{path} was written by an older ccfleet (schema {found}, this one has {known}); start `ccfleet serve` on it once, \
         which brings it to this version"
    )]
    OlderSchema {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "the journal holds an event that this ccfleet does not know ({kind}, version {version}): a newer \
         one wrote it; start that version again, or choose another data folder"
    )]
    UnknownEvent { kind: String, version: u32 },
    #[error("{attempt}: {reason}")]
    Storage { attempt: String, reason: String },
}

impl StoreError {
    /// The stable code that goes with the text.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Damaged { .. } => "journal_damaged",
            StoreError::DamagedTask { .. } => "journal_task_damaged",
            StoreError::Missing { .. } => "journal_missing",
            StoreError::OlderSchema { .. } => "journal_older_schema",
            StoreError::NewerSchema { .. } => "journal_newer_schema",
            StoreError::UnknownEvent { .. } => "journal_unknown_event",
            StoreError::Storage { .. } => "journal_storage",
        }
    }
}
