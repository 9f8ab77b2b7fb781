//! Rows as the tables have them.

use super::tasks::TOLD_BY_EVENT;
use super::{At, checksum, count, is_known};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{ClientId, Generation, TaskId};
use crate::domain::task::{TaskState, TaskStatus, TaskSummary};
use crate::store::{Lane, StoreError};
use rusqlite::Row;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Serialize, Deserialize)]
pub(super) struct EventRow {
    pub(super) seq: u64,
    pub(super) at_ms: i64,
    pub(super) generation: u64,
    pub(super) kind: String,
    pub(super) version: u32,
    pub(super) data: String,
    /// None in rows of earlier versions.
    pub(super) checksum: Option<i64>,
}

impl EventRow {
    /// The event, if it is what was written.
    ///
    /// # Errors
    /// It is not, or this version does not know it.
    pub(super) fn event(self, task_id: &TaskId) -> Result<StoredEvent, StoreError> {
        let row = self;
        if !is_known(&row.kind, row.version) {
            return Err(StoreError::UnknownEvent {
                kind: row.kind,
                version: row.version,
            });
        }
        let wrong = |reason: String| StoreError::DamagedTask {
            task_id: task_id.clone(),
            seq: row.seq,
            reason,
        };
        let damaged = |error: serde_json::Error| wrong(error.to_string());
        let kind = (row.kind.as_str(), row.version);
        let now = checksum(
            task_id.as_str(),
            row.seq,
            row.at_ms,
            row.generation,
            kind,
            &row.data,
        );
        if row.checksum.is_some_and(|written| written != now) {
            return Err(wrong("it is not what was written".to_owned()));
        }
        let data: Value = serde_json::from_str(&row.data).map_err(damaged)?;
        let event: TaskEvent =
            serde_json::from_value(json!({"type": row.kind, "data": data})).map_err(damaged)?;
        Ok(StoredEvent {
            task_id: task_id.clone(),
            seq: row.seq,
            at_ms: row.at_ms,
            generation: Generation(row.generation),
            event,
        })
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(EventRow {
            seq: count(row, 0)?,
            at_ms: row.get(1)?,
            generation: count(row, 2)?,
            kind: row.get(3)?,
            version: row.get(4)?,
            data: row.get(5)?,
            checksum: row.get(6)?,
        })
    }
}

/// Why a task has no short form whose event should tell it.
const NO_EVENT: &str = "its one event, which tells all of it, is not there";

/// A task as lists show it.
pub(super) struct SummaryRow {
    /// What tells the short form, if it is the event.
    event: Option<EventRow>,
    task_id: String,
    /// As [`TOLD_BY_EVENT`] says, or as JSON.
    summary: String,
    quarantine: Option<String>,
    kind: String,
    owner: String,
    client_id: Option<String>,
    created_at_ms: i64,
    updated_at_ms: i64,
}

impl SummaryRow {
    /// What [`SummaryRow::read`] reads, of such tasks `t`.
    pub(super) fn select(which: &str) -> String {
        format!(
            "SELECT e.seq, e.at_ms, e.generation, e.type, e.version, e.data, e.checksum,
                    t.task_id, t.summary, t.quarantine, t.kind, t.owner, t.client_id, t.created_at_ms, t.updated_at_ms
             FROM tasks t LEFT JOIN events e ON t.summary = '{TOLD_BY_EVENT}' AND e.task_id = t.task_id AND e.seq = 1
             {which}"
        )
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let has_event = row.get::<_, Option<i64>>(0)?.is_some();
        Ok(SummaryRow {
            event: has_event.then(|| EventRow::read(row)).transpose()?,
            task_id: row.get(7)?,
            summary: row.get(8)?,
            quarantine: row.get(9)?,
            kind: row.get(10)?,
            owner: row.get(11)?,
            client_id: row.get(12)?,
            created_at_ms: row.get(13)?,
            updated_at_ms: row.get(14)?,
        })
    }

    /// # Errors
    /// It is damaged.
    pub(super) fn summary(mut self, at: &At) -> Result<TaskSummary, StoreError> {
        let damaged = |error: String| at.damaged(format!("a task's short form: {error}"));
        let summary: TaskSummary = if self.summary == TOLD_BY_EVENT {
            let task_id =
                TaskId::parse(&self.task_id).map_err(|error| damaged(error.to_string()))?;
            let event = self.event.take().map(|event| event.event(&task_id));
            // Others are to be listed all the same.
            match event.transpose().map(|event| event?.short_form()) {
                Ok(Some(told)) => told,
                Ok(None) => return Ok(self.untold(task_id, NO_EVENT.to_owned())),
                Err(error) => return Ok(self.untold(task_id, error.to_string())),
            }
        } else {
            serde_json::from_str(&self.summary).map_err(|error| damaged(error.to_string()))?
        };
        Ok(TaskSummary {
            quarantine: self.quarantine,
            ..summary
        })
    }

    /// What is known of a task whose event cannot be read.
    fn untold(self, task_id: TaskId, why: String) -> TaskSummary {
        TaskSummary {
            kind: self.kind,
            status: TaskStatus::Completed,
            owner: self.owner,
            client_id: self.client_id.and_then(|id| ClientId::parse(&id).ok()),
            created_at_ms: self.created_at_ms,
            updated_at_ms: self.updated_at_ms,
            quarantine: self.quarantine.or(Some(why)),
            ..TaskState::new(task_id).summary()
        }
    }
}

pub(super) struct ComputerRow {
    pub(super) client_id: String,
    pub(super) boot_id: Option<String>,
    pub(super) secret_hash: Option<String>,
    pub(super) owner: String,
    pub(super) registration: String,
    pub(super) last_seen_ms: i64,
    pub(super) lane: Lane,
}

impl ComputerRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(ComputerRow {
            client_id: row.get(0)?,
            boot_id: row.get(1)?,
            secret_hash: row.get(2)?,
            owner: row.get(3)?,
            registration: row.get(4)?,
            last_seen_ms: row.get(5)?,
            lane: Lane {
                high_seq: count(row, 6)?,
                stored_seq: count(row, 7)?,
            },
        })
    }
}

pub(super) struct ToolRow {
    pub(super) client_id: String,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) tool_version: Option<String>,
    pub(super) seq: Option<u64>,
}

impl ToolRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let seq: Option<i64> = row.get(4)?;
        Ok(ToolRow {
            client_id: row.get(0)?,
            name: row.get(1)?,
            state: row.get(2)?,
            tool_version: row.get(3)?,
            seq: seq.and_then(|seq| u64::try_from(seq).ok()),
        })
    }
}
