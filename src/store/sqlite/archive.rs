//! Older episodes of tasks that live on, out of the way: their events leave the table that every task is read from, and lie
//! compressed beside it. Nothing is lost: whoever reads the whole journal of a task reads them too.

use super::rows::EventRow;
use super::{At, stored};
use crate::domain::episodes::ArchiveRule;
use crate::domain::ids::TaskId;
use crate::store::StoreError;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use rusqlite::{Connection, Transaction, params};

/// Bytes of events that are compressed together, before that; a single larger event is a piece of its own.
const PIECE: usize = 512 * 1024;
/// How hard it is compressed: the usual middle.
const LEVEL: u8 = 6;

/// Moves what the rule says out of the way. What is needed to go on stays: the creation, and all from the end of the last
/// episode on.
pub(super) fn archive(
    transaction: &Transaction<'_>,
    task_id: &TaskId,
    rule: &ArchiveRule,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let Some(upto) = upto(transaction, task_id, rule, now_ms)? else {
        return Ok(());
    };
    let mut statement = transaction.prepare_cached(
        "SELECT seq, at_ms, generation, type, version, data, checksum FROM events
         WHERE task_id = ?1 AND seq > 1 AND seq < ?2 ORDER BY seq",
    )?;
    let mut rows = statement.query(params![task_id.as_str(), upto])?;
    let mut piece: Vec<EventRow> = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let event = EventRow::read(row)?;
        if bytes > 0 && bytes + event.data.len() > PIECE {
            keep(transaction, task_id, &piece)?;
            piece.clear();
            bytes = 0;
        }
        bytes += event.data.len();
        piece.push(event);
    }
    keep(transaction, task_id, &piece)?;
    transaction
        .prepare_cached("DELETE FROM events WHERE task_id = ?1 AND seq > 1 AND seq < ?2")?
        .execute(params![task_id.as_str(), upto])?;
    Ok(())
}

/// The end of the newest episode before which everything may go; none if everything stays.
fn upto(
    transaction: &Transaction<'_>,
    task_id: &TaskId,
    rule: &ArchiveRule,
    now_ms: i64,
) -> rusqlite::Result<Option<i64>> {
    let mut statement = transaction.prepare_cached(
        "SELECT seq, at_ms FROM events WHERE task_id = ?1 AND type = 'episode_ended' ORDER BY seq DESC",
    )?;
    let ends: Vec<(i64, i64)> = statement
        .query_map([task_id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let keep = rule.keep_episodes.max(1) as usize;
    let Some((seq, _)) = ends.get(keep - 1) else {
        return Ok(None);
    };
    let bytes: i64 = transaction
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(data)), 0) FROM events WHERE task_id = ?1",
        )?
        .query_row([task_id.as_str()], |row| row.get(0))?;
    if u64::try_from(bytes).unwrap_or(0) > rule.more_than_bytes {
        return Ok(Some(*seq).filter(|seq| *seq > 2));
    }
    let old_ms = now_ms.saturating_sub(rule.older_than_ms);
    let old = ends[keep - 1..].iter().find(|(_, at_ms)| *at_ms < old_ms);
    Ok(old.map(|(seq, _)| *seq).filter(|seq| *seq > 2))
}

fn keep(
    transaction: &Transaction<'_>,
    task_id: &TaskId,
    events: &[EventRow],
) -> rusqlite::Result<()> {
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Ok(());
    };
    let text = serde_json::to_vec(events)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction
        .prepare_cached(
            "INSERT INTO archive (task_id, first_seq, last_seq, bytes, data) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            task_id.as_str(),
            stored(first.seq),
            stored(last.seq),
            stored(text.len() as u64),
            compress_to_vec_zlib(&text, LEVEL),
        ])?;
    Ok(())
}

/// Archived events after a position, oldest first, at most about `limit` (a piece is read whole); a negative limit is none.
pub(super) fn archived(
    connection: &Connection,
    at: &At,
    task_id: &TaskId,
    after: u64,
    limit: i64,
) -> Result<Vec<EventRow>, StoreError> {
    let mut found: Vec<EventRow> = Vec::new();
    let mut read = || -> rusqlite::Result<Result<(), StoreError>> {
        let mut statement = connection.prepare_cached(
            "SELECT first_seq, bytes, data FROM archive WHERE task_id = ?1 AND last_seq > ?2 ORDER BY first_seq",
        )?;
        let mut rows = statement.query(params![task_id.as_str(), stored(after)])?;
        while let Some(row) = rows.next()? {
            let (first, bytes): (i64, i64) = (row.get(0)?, row.get(1)?);
            let data: Vec<u8> = row.get(2)?;
            match opened(&data, bytes) {
                Ok(events) => found.extend(events.into_iter().filter(|event| event.seq > after)),
                Err(reason) => {
                    return Ok(Err(StoreError::DamagedTask {
                        task_id: task_id.clone(),
                        seq: u64::try_from(first).unwrap_or(0),
                        reason: format!("its archived episodes: {reason}"),
                    }));
                }
            }
            if usize::try_from(limit).is_ok_and(|limit| found.len() >= limit) {
                break;
            }
        }
        Ok(Ok(()))
    };
    at.map("read a task's archived events", read())??;
    Ok(found)
}

fn opened(data: &[u8], bytes: i64) -> Result<Vec<EventRow>, String> {
    let most = usize::try_from(bytes).map_err(|_| "its size is none".to_owned())?;
    let text = decompress_to_vec_zlib_with_limit(data, most).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}
