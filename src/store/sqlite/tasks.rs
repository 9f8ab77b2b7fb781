//! The row of a task: what lists show, and what a start looks for.

use super::{checkpoints, stored, unwritable};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::TaskId;
use crate::store::Append;
use rusqlite::{Transaction, params};
use std::borrow::Cow;

/// The short form in the row of a task whose first event tells it, as [`StoredEvent::short_form`] gives it.
pub(super) const TOLD_BY_EVENT: &str = "{}";

/// Brings the row to what it is after an append.
pub(super) fn save(transaction: &Transaction<'_>, append: &Append) -> rusqlite::Result<()> {
    let summary = &append.summary;
    let last_seq = append
        .events
        .last()
        .map_or(append.expected_seq, |last| last.seq);
    let last_seq = stored(last_seq);
    let ends = |stored: &&StoredEvent| matches!(stored.event, TaskEvent::EpisodeEnded(_));
    let ended = append.events.iter().rfind(ends);
    let episode_seq = ended.map_or(0, |ended| ended.seq);
    if episode_seq > 0 || summary.status.is_final() {
        // A task that is new has none.
        if append.expected_seq > 0 {
            checkpoints::forget(transaction, &append.task_id)?;
        }
    } else if summary.asleep.is_none() && goes_on(transaction, append, last_seq)? {
        return Ok(());
    }
    let mut events = append.events.iter();
    let profile = events.find_map(|stored| Some(stored.event.created()?.profile.0.as_str()));
    let due = summary.status.is_final() && summary.client_id.is_some();
    transaction
        .prepare_cached(
            "INSERT INTO tasks (task_id, created_at_ms, updated_at_ms, status, final, kind, client_id,
                                owner, generation, last_seq, profile, summary, notice, asleep,
                                episode_seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (task_id) DO UPDATE SET
                 updated_at_ms = excluded.updated_at_ms, status = excluded.status,
                 final = excluded.final, kind = excluded.kind, client_id = excluded.client_id,
                 owner = excluded.owner, generation = excluded.generation,
                 last_seq = excluded.last_seq, profile = coalesce(tasks.profile, excluded.profile),
                 summary = excluded.summary, notice = max(tasks.notice, excluded.notice),
                 quarantine = NULL, asleep = excluded.asleep,
                 episode_seq = max(tasks.episode_seq, excluded.episode_seq)",
        )?
        .execute(params![
            append.task_id.as_str(),
            summary.created_at_ms,
            summary.updated_at_ms,
            summary.status.as_str(),
            summary.status.is_final(),
            summary.kind,
            summary.client_id.as_ref().map(|id| id.as_str()),
            summary.owner,
            stored(append.generation.0),
            last_seq,
            profile,
            short_form(append)?,
            due,
            summary.asleep.as_ref().map(json).transpose()?,
            stored(episode_seq),
        ])?;
    Ok(())
}

/// Most appends: the task is known, runs and goes on running. No column that an index of live tasks is made of is touched, so no
/// page of an index is written. Gives whether it is so.
fn goes_on(
    transaction: &Transaction<'_>,
    append: &Append,
    last_seq: i64,
) -> rusqlite::Result<bool> {
    let summary = &append.summary;
    let changed = transaction
        .prepare_cached(
            "UPDATE tasks SET updated_at_ms = ?2, status = ?3, kind = ?4, client_id = ?5, owner = ?6,
                              generation = ?7, last_seq = ?8, summary = ?9, quarantine = NULL
             WHERE task_id = ?1 AND profile IS NOT NULL AND final = 0 AND asleep IS NULL",
        )?
        .execute(params![
            append.task_id.as_str(),
            summary.updated_at_ms,
            summary.status.as_str(),
            summary.kind,
            summary.client_id.as_ref().map(|id| id.as_str()),
            summary.owner,
            stored(append.generation.0),
            last_seq,
            json(summary)?,
        ])?;
    Ok(changed == 1)
}

pub(super) fn notice_delivered(
    transaction: &Transaction<'_>,
    task_id: &TaskId,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET notice = 2 WHERE task_id = ?1 AND notice = 1")?
        .execute([task_id.as_str()])?;
    Ok(())
}

pub(super) fn quarantine(
    transaction: &Transaction<'_>,
    task_id: &TaskId,
    reason: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE tasks SET quarantine = ?2 WHERE task_id = ?1")?
        .execute([task_id.as_str(), reason])?;
    Ok(())
}

fn short_form(append: &Append) -> rusqlite::Result<Cow<'static, str>> {
    match append.events.as_slice() {
        [only] if append.expected_seq == 0 && only.tells_all() => {
            debug_assert_eq!(only.short_form().as_ref(), Some(&*append.summary));
            Ok(Cow::Borrowed(TOLD_BY_EVENT))
        }
        _ => json(&append.summary).map(Cow::Owned),
    }
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(unwritable)
}
