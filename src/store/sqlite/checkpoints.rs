//! Where checkpoints lie, one a task: the newest. What is wrong with one never keeps a task from going on.

use super::read::Reader;
use super::rows::EventRow;
use super::{At, FILE_NAME, connect, count, open_to_read, stored};
use crate::domain::ids::TaskId;
use crate::domain::task::TaskState;
use crate::store::checkpoint::{Checkpoint, Unusable};
use crate::store::{JournalReads, Standing, StoreError};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};
use std::path::Path;

/// A checkpoint as it lies there.
pub(super) struct Kept {
    checkpoint: Checkpoint,
    /// Whether the event that it is of is still the same one.
    anchored: bool,
}

/// Keeps a checkpoint instead of the former one of its task, unless the task has ended or sleeps, or its episode has ended
/// since: that event says all that a checkpoint could.
pub(super) fn keep(transaction: &Transaction<'_>, checkpoint: &Checkpoint) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "REPLACE INTO checkpoints (task_id, seq, mark, version, bytes, data, checksum)
             SELECT ?1, ?2, events.checksum, ?3, ?4, ?5, ?6 FROM tasks JOIN events USING (task_id)
             WHERE tasks.task_id = ?1 AND events.seq = ?2
               AND tasks.final = 0 AND tasks.asleep IS NULL AND tasks.episode_seq < ?2",
        )?
        .execute(params![
            checkpoint.task_id.as_str(),
            stored(checkpoint.seq),
            checkpoint.version,
            stored(checkpoint.bytes),
            checkpoint.data,
            checkpoint.checksum,
        ])?;
    Ok(())
}

/// Nobody will go on from there.
pub(super) fn forget(transaction: &Transaction<'_>, task_id: &TaskId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM checkpoints WHERE task_id = ?1")?
        .execute([task_id.as_str()])?;
    Ok(())
}

pub(super) fn of(connection: &Connection, task_id: &TaskId) -> rusqlite::Result<Option<Kept>> {
    connection
        .prepare_cached(
            "SELECT checkpoints.seq, version, bytes, data, checksum,
                    mark IS (SELECT events.checksum FROM events
                             WHERE events.task_id = ?1 AND events.seq = checkpoints.seq)
             FROM checkpoints WHERE task_id = ?1",
        )?
        .query_row([task_id.as_str()], |row| {
            let checkpoint = Checkpoint {
                task_id: task_id.clone(),
                seq: count(row, 0)?,
                version: row.get(1)?,
                bytes: count(row, 2)?,
                data: row.get(3)?,
                checksum: row.get(4)?,
            };
            let anchored = row.get(5)?;
            Ok(Kept {
                checkpoint,
                anchored,
            })
        })
        .optional()
}

impl Kept {
    /// The state, if the checkpoint is of this very course of events.
    pub(super) fn state(&self) -> Result<TaskState, Unusable> {
        if !self.anchored {
            let why = format!("event {} is not the one that it is of", self.checkpoint.seq);
            return Err(Unusable::Damaged(why));
        }
        self.checkpoint.state()
    }
}

/// Where a task stands: by its newest checkpoint that can be used and the events since, else by all that it takes to go on.
pub(super) fn standing(reader: &Reader, task_id: &TaskId) -> Result<Option<Standing>, StoreError> {
    let Some((profile, episode_seq)) = reader.head_of(task_id)? else {
        return Ok(None);
    };
    let newest = newest(&reader.connection, task_id);
    // Behind the end of an episode nothing before it is needed.
    if let Some(mut state) = newest.filter(|state| state.last_seq > episode_seq) {
        let rows = reader.hot_events(task_id, state.last_seq, -1)?;
        if follows(&rows, state.last_seq) {
            state.apply_all(&reader.events_of(task_id, rows)?);
            let state = Box::new(state);
            return Ok(Some(Standing { state, profile }));
        }
    }
    let loaded = reader.load_last_episode(task_id)?;
    Ok(loaded.map(|journalled| {
        let mut state = Box::new(TaskState::new(task_id.clone()));
        state.apply_all(&journalled.events);
        let profile = journalled.profile;
        Standing { state, profile }
    }))
}

fn newest(connection: &Connection, task_id: &TaskId) -> Option<TaskState> {
    let kept = match of(connection, task_id) {
        Ok(kept) => kept?,
        Err(error) => {
            tracing::warn!(task = %task_id, %error, "a checkpoint cannot be read; the task is folded from its events");
            return None;
        }
    };
    match kept.state() {
        Ok(state) => Some(state),
        Err(Unusable::OtherVersion(_)) => None,
        Err(Unusable::Damaged(why)) => {
            tracing::warn!(task = %task_id, why, "a checkpoint is damaged; the task is folded from its events");
            None
        }
    }
}

/// Whether rows follow a position without a gap.
fn follows(rows: &[EventRow], position: u64) -> bool {
    (position + 1..).zip(rows).all(|(seq, row)| row.seq == seq)
}

/// What a look through the journal finds of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    pub all: usize,
    /// Those among them that another version made: they are not used.
    pub of_others: usize,
}

/// One task's checkpoint while its events are folded.
#[derive(Default)]
pub(super) struct Compared {
    state: Option<TaskState>,
    wrong: Option<String>,
}

impl Compared {
    pub(super) fn begin(kept: Option<Kept>, found: &mut Found) -> Self {
        let Some(kept) = kept else {
            return Compared::default();
        };
        found.all += 1;
        match kept.state() {
            Ok(state) => Compared {
                state: Some(state),
                wrong: None,
            },
            Err(Unusable::OtherVersion(_)) => {
                found.of_others += 1;
                Compared::default()
            }
            Err(Unusable::Damaged(why)) => Compared {
                state: None,
                wrong: Some(format!("its checkpoint is damaged: {why}")),
            },
        }
    }

    /// The task's events up to some one are folded.
    pub(super) fn with(&mut self, folded: &TaskState) {
        let here = |state: &mut TaskState| state.last_seq == folded.last_seq;
        if let Some(state) = self.state.take_if(here)
            && state != *folded
        {
            let seq = folded.last_seq;
            self.wrong = Some(format!(
                "its checkpoint is not what its events up to {seq} come to"
            ));
        }
    }

    /// What is wrong, once all events were folded.
    pub(super) fn end(self) -> Option<String> {
        let beyond = self.state.map(|state| {
            let seq = state.last_seq;
            format!("its checkpoint is of event {seq}, which it does not have")
        });
        let wrong = self.wrong.or(beyond)?;
        Some(format!(
            "{wrong}; nothing is lost: `ccfleet journal drop-checkpoints` throws it away"
        ))
    }
}

/// Throws all checkpoints away; answers how many there were. For a journal that no server has open.
///
/// # Errors
/// There is no journal, or it cannot be read or written.
pub fn drop_all(folder: &Path) -> Result<usize, StoreError> {
    open_to_read(folder)?;
    let at = At(folder.join(FILE_NAME));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = at.map("open the journal", connect(&at.0, flags))?;
    at.map(
        "throw checkpoints away",
        connection.execute("DELETE FROM checkpoints", []),
    )
}

#[cfg(test)]
#[path = "checkpoints_tests.rs"]
mod tests;
