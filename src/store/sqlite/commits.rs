//! The order of all commits: written with each append, read by those who follow the journal as a whole.

use super::read::Reader;
use super::rows::EventRow;
use super::{count, stored};
use crate::domain::event::StoredEvent;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskSummary;
use crate::store::{
    CommittedEvent, CommittedPage, JournalReads, PAGE_BYTES, Place, RETENTION, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The position below which the order of commits has holes: tasks were taken out of the journal.
const FLOOR: &str = "feed_floor";

/// How many events may be committed before the oldest are looked at again.
const SWEEP: u64 = 64;

/// Notes an append behind the position of all former ones, and now and then forgets what is older than the retention. Gives the
/// position of its last event.
pub(super) fn note(
    transaction: &Transaction<'_>,
    before: u64,
    events: &[StoredEvent],
) -> rusqlite::Result<u64> {
    let Some(last) = events.last() else {
        return Ok(before);
    };
    let added = events.len() as u64;
    let pos = before.saturating_add(added);
    transaction
        .prepare_cached(
            "INSERT INTO commits (last_pos, task_id, last_seq, events, mark) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            stored(pos),
            last.task_id.as_str(),
            stored(last.seq),
            stored(added),
            stored(Place::behind(pos, last).mark),
        ])?;
    if before / SWEEP != pos / SWEEP
        && let Some(old) = pos.checked_sub(RETENTION)
    {
        transaction
            .prepare_cached("DELETE FROM commits WHERE last_pos <= ?1")?
            .execute([stored(old)])?;
    }
    Ok(pos)
}

/// The position of the last event of all.
pub(super) fn end(connection: &Connection) -> rusqlite::Result<u64> {
    let last = connection
        .prepare_cached("SELECT last_pos FROM commits ORDER BY last_pos DESC LIMIT 1")?
        .query_row([], |row| count(row, 0))
        .optional()?;
    Ok(last.unwrap_or(0).max(floor_of_holes(connection)?))
}

fn floor_of_holes(connection: &Connection) -> rusqlite::Result<u64> {
    let floor = connection
        .prepare_cached("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?1")?
        .query_row([FLOOR], |row| count(row, 0))
        .optional()?;
    Ok(floor.unwrap_or(0))
}

/// Forgets a task's commits. Whoever is not behind all of them by now has missed something that cannot be told any more.
pub(super) fn take_out(transaction: &Transaction<'_>, task_id: &str) -> rusqlite::Result<()> {
    let last: Option<i64> = transaction
        .prepare_cached("SELECT max(last_pos) FROM commits WHERE task_id = ?1")?
        .query_row([task_id], |row| row.get(0))?;
    let Some(last) = last else {
        return Ok(());
    };
    transaction
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, CAST(?2 AS TEXT))
             ON CONFLICT (key) DO UPDATE SET value = CAST(max(CAST(value AS INTEGER), ?2) AS TEXT)",
        )?
        .execute(params![FLOOR, last])?;
    transaction
        .prepare_cached("DELETE FROM commits WHERE task_id = ?1")?
        .execute([task_id])?;
    Ok(())
}

/// One append.
struct Commit {
    last_pos: u64,
    task_id: String,
    last_seq: u64,
    events: u64,
    mark: u64,
}

impl Commit {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Commit {
            last_pos: count(row, 0)?,
            task_id: row.get(1)?,
            last_seq: count(row, 2)?,
            events: count(row, 3)?,
            mark: count(row, 4)?,
        })
    }

    /// Behind its last event.
    fn place(&self) -> Place {
        Place {
            pos: self.last_pos,
            mark: self.mark,
        }
    }

    /// The position before its first event.
    fn before(&self) -> u64 {
        self.last_pos.saturating_sub(self.events)
    }

    /// The task's own position behind which it holds events that come after `pos`.
    fn seq_after(&self, pos: u64) -> u64 {
        let seen = pos.saturating_sub(self.before()).min(self.events);
        (self.last_seq + seen).saturating_sub(self.events)
    }

    /// Whether these are all its events after `seq`.
    fn is_whole(&self, seq: u64, rows: &[EventRow]) -> bool {
        let wanted = self.last_seq.saturating_sub(seq);
        rows.len() as u64 == wanted && rows.last().is_none_or(|row| row.seq == self.last_seq)
    }
}

/// Behind the last append of all.
fn head(connection: &Connection) -> rusqlite::Result<Place> {
    let last = connection
        .prepare_cached(
            "SELECT last_pos, task_id, last_seq, events, mark FROM commits ORDER BY last_pos DESC LIMIT 1",
        )?
        .query_row([], Commit::read)
        .optional()?;
    let pos = floor_of_holes(connection)?;
    Ok(match last {
        Some(last) if last.last_pos > pos => last.place(),
        _ => Place { pos, mark: 0 },
    })
}

/// Appends with an event behind a place, at most two more than `limit`; none if the place is none of this journal, or something
/// behind it is not kept.
fn behind(
    connection: &Connection,
    place: Place,
    limit: usize,
) -> rusqlite::Result<Option<Vec<Commit>>> {
    if place.pos < floor_of_holes(connection)? {
        return Ok(None);
    }
    // The append that the place is in comes first, to know it by.
    let rows = connection
        .prepare_cached(
            "SELECT last_pos, task_id, last_seq, events, mark FROM commits
             WHERE last_pos >= ?1 ORDER BY last_pos LIMIT ?2",
        )?
        .query_map(
            params![stored(place.pos), stored(limit as u64).saturating_add(2)],
            Commit::read,
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let known = match rows.first() {
        // Before everything that is kept, with nothing forgotten in between.
        Some(first) if place.mark == 0 => first.before() == place.pos,
        Some(first) => first.mark == place.mark && first.before() < place.pos,
        None => head(connection)? == place,
    };
    let behind = rows.into_iter().filter(|row| row.last_pos > place.pos);
    Ok(known.then(|| behind.collect()))
}

impl Reader {
    /// As [`JournalReads::head`].
    pub(super) fn commits_end(&self) -> Result<Place, StoreError> {
        let head = head(&self.connection);
        self.at.map("look where the commits end", head)
    }

    /// As [`JournalReads::committed_after`]. What is damaged cannot be told, as if it were not kept.
    pub(super) fn committed(
        &self,
        after: Place,
        limit: usize,
        wanted: &dyn Fn(&TaskSummary) -> bool,
    ) -> Result<Option<CommittedPage>, StoreError> {
        let limit = limit.max(1);
        let commits = behind(&self.connection, after, limit);
        let Some(mut commits) = self.at.map("follow the commits", commits)? else {
            return Ok(None);
        };
        let mut page = CommittedPage {
            events: Vec::new(),
            upto: after,
            more: commits.len() > limit,
        };
        commits.truncate(limit);
        let mut tasks = HashMap::new();
        let mut bytes = 0;
        for commit in &commits {
            if bytes >= PAGE_BYTES {
                page.more = true;
                break;
            }
            page.upto = commit.place();
            let Some(task) = self.task_of(commit, &mut tasks, wanted)? else {
                continue;
            };
            let from = commit.seq_after(after.pos);
            let many = stored(commit.last_seq.saturating_sub(from));
            let rows = self.some_rows(&task.task_id, from, many)?;
            if !commit.is_whole(from, &rows) {
                return Ok(None);
            }
            for row in rows {
                bytes += row.data.len();
                let pos = commit.last_pos - (commit.last_seq - row.seq);
                let event = match row.event(&task.task_id) {
                    Err(StoreError::DamagedTask { .. }) => return Ok(None),
                    other => other?,
                };
                page.events.push(CommittedEvent {
                    place: commit.place().at(pos),
                    event,
                    task: Arc::clone(&task),
                });
            }
        }
        Ok(Some(page))
    }

    /// The task of a commit, if it is wanted; each is read once for a page.
    fn task_of(
        &self,
        commit: &Commit,
        known: &mut HashMap<String, Option<Arc<TaskSummary>>>,
        wanted: &dyn Fn(&TaskSummary) -> bool,
    ) -> Result<Option<Arc<TaskSummary>>, StoreError> {
        match known.entry(commit.task_id.clone()) {
            Entry::Occupied(task) => Ok(task.get().clone()),
            Entry::Vacant(place) => {
                let id = TaskId::parse(&commit.task_id);
                let id = id.map_err(|error| self.at.damaged(error.to_string()))?;
                let task = self.task(&id)?.filter(|task| wanted(task));
                Ok(place.insert(task.map(Arc::new)).clone())
            }
        }
    }
}
