//! Looks at the journal from outside, with eyes of their own: the file is opened, read and closed again each time, so that
//! a server that starts finds it as a killed one leaves it.

use rusqlite::{Connection, OpenFlags};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// A call whose intent is durable and whose outcome is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    pub call_id: String,
    pub client_id: String,
}

/// How a task stands that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    pub status: String,
    /// Its calls in flight.
    pub open_calls: usize,
}

/// How far the work has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mileage {
    /// Tasks that have ended, without those that other tasks started and those that go on from others.
    pub ended: usize,
    /// Grows with every effect that is intended, and with every one whose result is stored.
    pub effects: i64,
    /// Calls in flight.
    pub open: usize,
    /// Tasks that have not ended, whoever started them.
    pub living: usize,
    pub forks: usize,
}

fn open(folder: &Path) -> rusqlite::Result<Connection> {
    let path = folder.join(crate::store::sqlite::FILE_NAME);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Every call in flight.
///
/// # Errors
/// The journal cannot be read.
pub fn open_calls(folder: &Path) -> rusqlite::Result<Vec<OpenCall>> {
    let connection = open(folder)?;
    let mut statement =
        connection.prepare("SELECT call_id, client_id FROM calls WHERE open = 1")?;
    let calls = statement.query_map([], |row| {
        Ok(OpenCall {
            call_id: row.get(0)?,
            client_id: row.get(1)?,
        })
    })?;
    calls.collect()
}

/// Every task that has not ended, by its id.
///
/// # Errors
/// The journal cannot be read.
pub fn stands(folder: &Path) -> rusqlite::Result<HashMap<String, Stand>> {
    let connection = open(folder)?;
    let mut statement = connection.prepare(
        "SELECT task_id, status, (SELECT count(*) FROM calls WHERE calls.task_id = tasks.task_id AND open = 1)
         FROM tasks WHERE final = 0",
    )?;
    let stands = statement.query_map([], |row| {
        let stand = Stand {
            status: row.get(1)?,
            open_calls: row.get::<_, u32>(2)? as usize,
        };
        Ok((row.get(0)?, stand))
    })?;
    stands.collect()
}

/// # Errors
/// The journal cannot be read.
pub fn mileage(folder: &Path) -> rusqlite::Result<Mileage> {
    let connection = open(folder)?;
    connection.query_row(
        "SELECT (SELECT count(*) FROM tasks WHERE final = 1 AND json_extract(summary, '$.parent') IS NULL
                    AND json_extract(summary, '$.forked_from') IS NULL),
                (SELECT coalesce(sum(high_seq + stored_seq), 0) FROM lanes),
                (SELECT count(*) FROM calls WHERE open = 1),
                (SELECT count(*) FROM tasks WHERE final = 0),
                (SELECT count(*) FROM tasks WHERE json_extract(summary, '$.forked_from') IS NOT NULL)",
        [],
        |row| {
            Ok(Mileage {
                ended: row.get::<_, u32>(0)? as usize,
                effects: row.get(1)?,
                open: row.get::<_, u32>(2)? as usize,
                living: row.get::<_, u32>(3)? as usize,
                forks: row.get::<_, u32>(4)? as usize,
            })
        },
    )
}
