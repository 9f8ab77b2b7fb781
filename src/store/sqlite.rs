//! The embedded store: one SQLite file in WAL mode, a connection that writes and one that reads.

mod archive;
pub mod checkpoints;
mod commits;
mod known;
mod meta;
mod open_work;
pub mod prune;
mod read;
mod rows;
mod tasks;
#[cfg(test)]
mod tests;
mod tokens;
pub mod transfer;
mod write;

use super::{Identity, JournalReads, OpenStore, StoreError};
use crate::domain::event::{EVENT_VERSION, TaskEvent};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name in the data folder.
pub const FILE_NAME: &str = "journal.db";

/// Marks the file as ours ("ccft"), so that a foreign database is not migrated by mistake.
const APPLICATION_ID: i64 = 0x6363_6674;

/// In order; the position (from 1) is the `user_version` after it. Append only.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001_init.sql"),
    include_str!("schema/0002_tools.sql"),
    include_str!("schema/0003_checksums.sql"),
    include_str!("schema/0004_asleep.sql"),
    include_str!("schema/0005_tokens.sql"),
    include_str!("schema/0006_commits.sql"),
    include_str!("schema/0007_checkpoints.sql"),
    include_str!("schema/0008_events_in_order.sql"),
    include_str!("schema/0009_told_by_the_event.sql"),
];

/// The store is used by one server, so only a foreign tool can make it wait.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Statements kept prepared by each connection; more than there are.
const STATEMENT_CACHE: usize = 64;

/// Opens the journal in `folder`, or makes it.
///
/// # Errors
/// The file is damaged, foreign, from a newer version, or holds events that this version does not know.
pub fn open(folder: &Path) -> Result<OpenStore, StoreError> {
    let path = folder.join(FILE_NAME);
    let at = At(path.clone());
    make_private(&path).map_err(|error| StoreError::Storage {
        attempt: format!("make the journal ({})", path.display()),
        reason: error.to_string(),
    })?;
    let mut writer = at.map(
        "open the journal",
        connect(
            &path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        ),
    )?;
    migrate(&mut writer, &at)?;
    refuse_unknown_events(&writer, &at)?;
    let identity = identity(&mut writer, &at)?;
    let reader = at.map(
        "open the journal for reading",
        connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY),
    )?;
    Ok(OpenStore {
        identity,
        writer: Box::new(write::Writer::new(writer, at.clone())),
        reads: Box::new(read::Reader::new(reader, at)),
    })
}

/// Opens the journal in `folder` for reading alone, also while a server writes it. Nothing in the folder is changed.
///
/// # Errors
/// There is none, or one that this version cannot read as it is.
pub fn open_to_read(folder: &Path) -> Result<Box<dyn JournalReads>, StoreError> {
    let path = folder.join(FILE_NAME);
    if !path.is_file() {
        return Err(StoreError::Missing { path });
    }
    let at = At(path.clone());
    let reader = at.map(
        "open the journal for reading",
        connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY),
    )?;
    let (found, application) = versions(&reader, &at)?;
    let known = MIGRATIONS.len() as i64;
    if application != APPLICATION_ID {
        return Err(at.damaged("it belongs to another program"));
    }
    if found > known {
        return Err(StoreError::NewerSchema { path, found, known });
    }
    if found < known {
        return Err(StoreError::OlderSchema { path, found, known });
    }
    refuse_unknown_events(&reader, &at)?;
    Ok(Box::new(read::Reader::new(reader, at)))
}

/// Makes the file before SQLite would, readable by its owner alone: it holds prompts and what tools said.
/// SQLite gives the files beside it the same rights.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(|_| ())
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    connection.pragma_update(None, "foreign_keys", true)?;
    if flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) {
        // FULL: a commit that was answered survives a power cut, which at-most-once rests on.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
    }
    Ok(connection)
}

/// The schema's version, and whose file it is.
fn versions(connection: &Connection, at: &At) -> Result<(i64, i64), StoreError> {
    let read = |name: &str| -> Result<i64, StoreError> {
        at.map(
            "read the journal's schema version",
            connection.pragma_query_value(None, name, |row| row.get(0)),
        )
    };
    Ok((read("user_version")?, read("application_id")?))
}

fn migrate(connection: &mut Connection, at: &At) -> Result<(), StoreError> {
    let (found, application) = versions(connection, at)?;
    let known = MIGRATIONS.len() as i64;
    if application != APPLICATION_ID && (application != 0 || found != 0) {
        return Err(at.damaged("it belongs to another program"));
    }
    if found > known {
        return Err(StoreError::NewerSchema {
            path: at.0.clone(),
            found,
            known,
        });
    }
    if found == known {
        return Ok(());
    }
    // All in one transaction: a start that is cut short changes nothing, and a new journal costs one sync instead of six.
    let step = |connection: &mut Connection| -> rusqlite::Result<()> {
        let transaction = connection.transaction()?;
        for (_, script) in (1i64..).zip(MIGRATIONS).filter(|(v, _)| *v > found) {
            transaction.execute_batch(script)?;
        }
        transaction.pragma_update(None, "user_version", known)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()
    };
    at.map("bring the journal to this version", step(connection))
}

/// A newer server may have written events that this one would fold wrongly: better not to start.
fn refuse_unknown_events(connection: &Connection, at: &At) -> Result<(), StoreError> {
    let kinds = at.map("read the journal's event types", event_kinds(connection))?;
    match kinds
        .into_iter()
        .find(|(kind, version)| !is_known(kind, *version))
    {
        Some((kind, version)) => Err(StoreError::UnknownEvent { kind, version }),
        None => Ok(()),
    }
}

fn event_kinds(connection: &Connection) -> rusqlite::Result<HashSet<(String, u32)>> {
    let mut statement =
        connection.prepare("SELECT type, version FROM event_kinds ORDER BY type")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn is_known(kind: &str, version: u32) -> bool {
    version <= EVENT_VERSION && TaskEvent::NAMES.contains(&kind)
}

/// Reads who this journal is, or settles it at the first start.
fn identity(connection: &mut Connection, at: &At) -> Result<Identity, StoreError> {
    let fresh = fresh_server_id()?;
    let settle = |connection: &mut Connection| -> rusqlite::Result<(String, Option<u64>)> {
        let transaction = connection.transaction()?;
        let insert = "INSERT OR IGNORE INTO meta (key, value) VALUES (?1, ?2)";
        transaction.execute(insert, params!["server_id", fresh])?;
        transaction.execute(insert, params!["journal_epoch", "1"])?;
        let read = "SELECT value FROM meta WHERE key = ?1";
        let server_id = transaction.query_row(read, ["server_id"], |row| row.get(0))?;
        let epoch: String = transaction.query_row(read, ["journal_epoch"], |row| row.get(0))?;
        transaction.commit()?;
        Ok((server_id, epoch.parse().ok()))
    };
    let (server_id, epoch) = at.map("read the journal's identity", settle(connection))?;
    Ok(Identity {
        server_id,
        journal_epoch: epoch.ok_or_else(|| at.damaged("its epoch is no number"))?,
    })
}

fn fresh_server_id() -> Result<String, StoreError> {
    let mut random = [0u8; 16];
    getrandom::fill(&mut random).map_err(|error| StoreError::Storage {
        attempt: "draw a server id".into(),
        reason: error.to_string(),
    })?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("srv_{hex}"))
}

/// Where the journal is, for error texts.
#[derive(Debug, Clone)]
struct At(PathBuf);

impl At {
    fn damaged(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.0.clone(),
            reason: reason.into(),
        }
    }

    /// Names what was attempted, and tells damage from a store that is only unwilling.
    fn map<T>(&self, attempt: &str, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                self.damaged(error.to_string())
            }
            _ => StoreError::Storage {
                attempt: format!("{attempt} ({})", self.0.display()),
                reason: error.to_string(),
            },
        })
    }
}

/// What an event's row has to be, as long as nobody changes it.
fn checksum(
    task_id: &str,
    seq: u64,
    at_ms: i64,
    generation: u64,
    kind: (&str, u32),
    data: &str,
) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for text in [task_id, kind.0, data] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    for number in [seq, at_ms as u64, generation, u64::from(kind.1)] {
        hasher.update(&number.to_le_bytes());
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// SQLite's integers are signed. Our counts never come near the end of that; one that did would stay there.
fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count that [`stored`] wrote.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
