//! What is kept of the server as a whole, a row each.

use rusqlite::Transaction;

/// A write that changes nothing which anybody reads: whether the store can be written again.
pub(super) fn probe(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES ('probe', '0')
             ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        )?
        .execute([])?;
    Ok(())
}

/// It never falls: a server that was started and has not read it yet knows less.
pub(super) fn keep_uptime(transaction: &Transaction<'_>, up_ms: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES ('up_ms', CAST(?1 AS TEXT))
             ON CONFLICT (key) DO UPDATE SET value = CAST(max(CAST(value AS INTEGER), ?1) AS TEXT)",
        )?
        .execute([up_ms])?;
    Ok(())
}
