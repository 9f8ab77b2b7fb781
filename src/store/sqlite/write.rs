//! The writing connection.

use super::super::{
    Append, ComputerRecord, IDEMPOTENCY_MS, JournalStore, Refusal, StoreError, SystemChange, Write,
    Written,
};
use super::archive::archive;
use super::known::Known;
use super::{At, checkpoints, checksum, commits, count, meta, stored, tasks, unwritable};
use crate::crash_points::{self, Point};
use crate::domain::call::{CallReport, Outcome};
use crate::domain::event::{CallIntended, EVENT_VERSION, StoredEvent, TaskEvent};
use crate::domain::ids::{CallId, TaskId};
use crate::domain::lifecycle::ToolRecord;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::sync::Arc;

pub(super) struct Writer {
    connection: Connection,
    at: At,
    known: Known,
    /// As [`JournalStore::position`]; 0 before the first write.
    position: u64,
}

impl Writer {
    pub(super) fn new(connection: Connection, at: At) -> Self {
        Writer {
            connection,
            at,
            known: Known::default(),
            position: 0,
        }
    }

    fn write_all(&mut self, batch: &[Write]) -> rusqlite::Result<Vec<Written>> {
        let transaction = self.connection.transaction()?;
        let mut answers = Vec::with_capacity(batch.len());
        let mut position = match self.position {
            0 => commits::end(&transaction)?,
            known => known,
        };
        for entry in batch {
            answers.push(match entry {
                Write::Append(append) => {
                    let written = write_append(&transaction, append, &self.known)?;
                    if let Ok(events) = &written
                        && !events.is_empty()
                    {
                        position = commits::note(&transaction, position, events)?;
                    }
                    written
                }
                Write::SaveComputer(record) => {
                    save_computer(&transaction, record)?;
                    Ok(Arc::default())
                }
                Write::NoticeDelivered(task_id) => {
                    tasks::notice_delivered(&transaction, task_id)?;
                    Ok(Arc::default())
                }
                Write::System(change) => {
                    change_system(&transaction, change)?;
                    Ok(Arc::default())
                }
                Write::Quarantine { task_id, reason } => {
                    tasks::quarantine(&transaction, task_id, reason)?;
                    Ok(Arc::default())
                }
                Write::Archive {
                    task_id,
                    rule,
                    now_ms,
                } => {
                    archive(&transaction, task_id, rule, *now_ms)?;
                    Ok(Arc::default())
                }
                Write::Uptime(up_ms) => {
                    meta::keep_uptime(&transaction, *up_ms)?;
                    Ok(Arc::default())
                }
                Write::Checkpoint(checkpoint) => {
                    checkpoints::keep(&transaction, checkpoint)?;
                    Ok(Arc::default())
                }
                Write::Probe => {
                    meta::probe(&transaction)?;
                    Ok(Arc::default())
                }
            });
        }
        crash_points::pass(Point::InTransaction);
        transaction.commit()?;
        crash_points::pass(Point::CommittedUntold);
        self.position = position;
        self.known.learn(batch, &answers);
        Ok(answers)
    }
}

impl JournalStore for Writer {
    fn write(&mut self, batch: &[Write]) -> Result<Vec<Written>, StoreError> {
        let result = self.write_all(batch);
        self.at.map("write to the journal", result)
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// All refusals come before the first change, so a refused entry leaves nothing behind.
fn write_append(
    transaction: &Transaction<'_>,
    append: &Append,
    known: &Known,
) -> rusqlite::Result<Written> {
    if let Some(refusal) = refusal(transaction, append)? {
        return Ok(Err(refusal));
    }
    if append.events.is_empty() {
        return Ok(Ok(Arc::default()));
    }
    tasks::save(transaction, append)?;
    for (hash, content) in known.new_blobs(append) {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO blobs (hash, content) VALUES (?1, ?2)")?
            .execute(params![hash.0, content])?;
    }
    for event in append.events.iter() {
        insert_event(transaction, event, known)?;
        match &event.event {
            TaskEvent::CallIntended(intended) => call_intended(transaction, event, intended)?,
            TaskEvent::CallFinished { call_id, report } => {
                call_finished(transaction, call_id, report)?;
            }
            _ => {}
        }
    }
    for record in &append.tools {
        save_tool(transaction, record)?;
    }
    if let Some(key) = &append.idempotency_key {
        transaction
            .prepare_cached(
                "REPLACE INTO idempotency (owner, key, task_id, at_ms) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                append.summary.owner,
                key,
                append.task_id.as_str(),
                append.at_ms
            ])?;
        transaction
            .prepare_cached("DELETE FROM idempotency WHERE at_ms <= ?1")?
            .execute([append.at_ms - IDEMPOTENCY_MS])?;
    }
    Ok(Ok(append.events.clone()))
}

fn refusal(transaction: &Transaction<'_>, append: &Append) -> rusqlite::Result<Option<Refusal>> {
    let head: Option<(u64, u64)> = transaction
        .prepare_cached("SELECT generation, last_seq FROM tasks WHERE task_id = ?1")?
        .query_row([append.task_id.as_str()], |row| {
            Ok((count(row, 0)?, count(row, 1)?))
        })
        .optional()?;
    let (generation, last_seq) = head.unwrap_or_default();
    if append.generation.0 < generation {
        return Ok(Some(Refusal::Fenced {
            ours: append.generation.0,
            found: generation,
        }));
    }
    // The key first: a repeated request is answered with its task whatever else holds.
    if let Some(existing) = known_key(transaction, append)? {
        return Ok(Some(Refusal::Duplicate { existing }));
    }
    if append.expected_seq != last_seq {
        return Ok(Some(Refusal::Sequence {
            expected: append.expected_seq,
            found: last_seq,
        }));
    }
    Ok(append.misplaced())
}

/// The task that the append's idempotency key names already.
fn known_key(transaction: &Transaction<'_>, append: &Append) -> rusqlite::Result<Option<TaskId>> {
    let Some(key) = &append.idempotency_key else {
        return Ok(None);
    };
    let existing: Option<String> = transaction
        .prepare_cached(
            "SELECT task_id FROM idempotency WHERE owner = ?1 AND key = ?2 AND at_ms > ?3",
        )?
        .query_row(
            params![append.summary.owner, key, append.at_ms - IDEMPOTENCY_MS],
            |row| row.get(0),
        )
        .optional()?;
    Ok(existing.and_then(|id| TaskId::parse(&id).ok()))
}

fn insert_event(
    transaction: &Transaction<'_>,
    event: &StoredEvent,
    known: &Known,
) -> rusqlite::Result<()> {
    let name = event.event.name();
    if !known.has_kind(name) {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO event_kinds (type, version) VALUES (?1, ?2)")?
            .execute(params![name, EVENT_VERSION])?;
    }
    let data = event.event.data_text().map_err(unwritable)?;
    transaction
        .prepare_cached(
            "INSERT INTO events (task_id, seq, at_ms, generation, type, version, data, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            event.task_id.as_str(),
            stored(event.seq),
            event.at_ms,
            stored(event.generation.0),
            name,
            EVENT_VERSION,
            data,
            checksum(
                event.task_id.as_str(),
                event.seq,
                event.at_ms,
                event.generation.0,
                (name, EVENT_VERSION),
                &data,
            ),
        ])?;
    Ok(())
}

fn call_intended(
    transaction: &Transaction<'_>,
    event: &StoredEvent,
    intended: &CallIntended,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO calls (call_id, task_id, client_id, seq, open) VALUES (?1, ?2, ?3, ?4, 1)
             ON CONFLICT (call_id) DO NOTHING",
        )?
        .execute(params![
            intended.call_id.as_str(),
            event.task_id.as_str(),
            intended.client_id.as_str(),
            intended.seq.map(stored),
        ])?;
    let Some(seq) = intended.seq else {
        return Ok(());
    };
    raise_lane(transaction, intended.client_id.as_str(), stored(seq), 0)
}

/// Closes the call. A result of an `effect` call proves that the computer came as far as its number;
/// `unknown` and `not_started` prove nothing.
fn call_finished(
    transaction: &Transaction<'_>,
    call_id: &CallId,
    report: &CallReport,
) -> rusqlite::Result<()> {
    let has_result = matches!(report.outcome, Outcome::Done | Outcome::Failed);
    let lane: Option<(String, Option<i64>)> = transaction
        .prepare_cached(
            "UPDATE calls SET open = 0, result = max(result, ?2) WHERE call_id = ?1
             RETURNING client_id, seq",
        )?
        .query_row(params![call_id.as_str(), has_result], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    match lane {
        Some((client_id, Some(seq))) if has_result => raise_lane(transaction, &client_id, seq, seq),
        _ => Ok(()),
    }
}

fn raise_lane(
    transaction: &Transaction<'_>,
    client_id: &str,
    high_seq: i64,
    stored_seq: i64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO lanes (client_id, high_seq, stored_seq) VALUES (?1, ?2, ?3)
             ON CONFLICT (client_id) DO UPDATE SET
                 high_seq = max(high_seq, excluded.high_seq),
                 stored_seq = max(stored_seq, excluded.stored_seq)",
        )?
        .execute(params![client_id, high_seq, stored_seq])?;
    Ok(())
}

fn save_computer(transaction: &Transaction<'_>, record: &ComputerRecord) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "REPLACE INTO computers (client_id, boot_id, secret_hash, owner, registration, last_seen_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            record.client_id.as_str(),
            record.boot_id,
            record.secret_hash,
            record.owner,
            record.registration.to_string(),
            record.last_seen_ms,
        ])?;
    Ok(())
}

/// As [`ToolRecord::replaces`]: what a later call told stays, also if an earlier one is resolved afterwards, and what was
/// activated stays so when it is written once more.
fn save_tool(transaction: &Transaction<'_>, record: &ToolRecord) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO tools (client_id, name, state, tool_version, seq) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (client_id, name) DO UPDATE SET
                 state = excluded.state, tool_version = excluded.tool_version, seq = excluded.seq
             WHERE (tools.seq IS NULL OR excluded.seq IS NULL OR excluded.seq >= tools.seq)
               AND NOT (excluded.state = 'draft' AND tools.state = 'active'
                        AND coalesce(excluded.tool_version = tools.tool_version, 0))",
        )?
        .execute(params![
            record.client_id.as_str(),
            record.name,
            record.state.as_str(),
            record.tool_version,
            record.seq.map(stored),
        ])?;
    Ok(())
}

fn change_system(transaction: &Transaction<'_>, change: &SystemChange) -> rusqlite::Result<()> {
    if let Some(stops) = &change.stops {
        transaction
            .prepare_cached("REPLACE INTO meta (key, value) VALUES ('stops', ?1)")?
            .execute([stops])?;
    }
    if let Some(epoch) = change.epoch {
        transaction
            .prepare_cached(
                "UPDATE meta SET value = max(CAST(value AS INTEGER), ?1) WHERE key = 'journal_epoch'",
            )?
            .execute([stored(epoch)])?;
    }
    for (client_id, high_seq) in &change.lanes {
        raise_lane(transaction, client_id.as_str(), stored(*high_seq), 0)?;
    }
    for token in &change.tokens {
        super::tokens::change(transaction, token)?;
    }
    Ok(())
}
