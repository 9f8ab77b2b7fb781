//! The journal as a whole: looked through, backed up, as JSON lines and back. None of it needs the server; looking
//! through, backing up and writing out may run beside it.

use super::checkpoints::{self, Compared, Found};
use super::{
    At, FILE_NAME, MIGRATIONS, StoreError, connect, make_private, migrate, open_to_read, versions,
};
use crate::domain::event::TaskEvent;
use crate::domain::ids::BlobHash;
use crate::domain::task::TaskState;
use crate::store::{JournalReads, TaskQuery};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::Path;

/// The tables, in an order in which what is referred to comes first.
const TABLES: [&str; 12] = [
    "meta",
    "blobs",
    "tasks",
    "events",
    "archive",
    "event_kinds",
    "calls",
    "lanes",
    "computers",
    "tools",
    "idempotency",
    "commits",
];

/// Columns that hold JSON, written out as such.
const JSON_COLUMNS: [(&str, &str); 3] = [
    ("events", "data"),
    ("tasks", "summary"),
    ("computers", "registration"),
];

/// How bytes stand in a line.
const HEX: &str = "$hex";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is no byte is left out; who reads the piece then finds that it is damaged.
fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap_or_default().as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).filter_map(byte).collect()
}

/// The format of the lines.
const FORMAT: u64 = 1;

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub tasks: usize,
    pub events: usize,
    pub blobs: usize,
    pub checkpoints: Found,
}

/// Something that is wrong, in words, with the task that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub task_id: Option<String>,
    pub what: String,
}

/// Looks the whole journal through: the file's own structure, every event's checksum, that positions have no gap, that
/// everything that a task refers to is there and is what its hash says, that it can be folded, and that each checkpoint is what
/// the events before it come to.
///
/// # Errors
/// There is no journal, or it cannot be read at all.
pub fn check(folder: &Path) -> Result<(Counts, Vec<Problem>), StoreError> {
    let reads = open_to_read(folder)?;
    let at = At(folder.join(FILE_NAME));
    let file = at.map(
        "open the journal for reading",
        connect(&at.0, OpenFlags::SQLITE_OPEN_READ_ONLY),
    )?;
    let mut problems = Vec::new();
    let mut counts = Counts::default();
    let told = strings(&file, "PRAGMA integrity_check(20)");
    for told in at
        .map("check the file", told)?
        .into_iter()
        .filter(|told| told != "ok")
    {
        problems.push(Problem {
            task_id: None,
            what: format!("the file itself: {told}"),
        });
    }
    counts.blobs = blobs(&file, &at, &mut problems)?;
    let known: BTreeSet<String> = at
        .map("list the blobs", strings(&file, "SELECT hash FROM blobs"))?
        .into_iter()
        .collect();
    let mut before = None;
    loop {
        let page = reads.tasks(&TaskQuery {
            before,
            limit: 500,
            ..TaskQuery::default()
        })?;
        for task in &page.tasks {
            counts.tasks += 1;
            let kept = checkpoints::of(&file, &task.task_id);
            let kept = at.map("read a checkpoint", kept)?;
            let compared = Compared::begin(kept, &mut counts.checkpoints);
            let (events, wrong) = look_at(reads.as_ref(), task, &known, compared)?;
            counts.events += events;
            let task_id = Some(task.task_id.to_string());
            problems.extend(wrong.into_iter().map(|what| Problem {
                task_id: task_id.clone(),
                what,
            }));
        }
        match page.next {
            Some(next) => before = Some(next),
            None => return Ok((counts, problems)),
        }
    }
}

/// One task: how many events it has, and what is wrong.
fn look_at(
    reads: &dyn JournalReads,
    task: &crate::domain::task::TaskSummary,
    known: &BTreeSet<String>,
    mut checkpoint: Compared,
) -> Result<(usize, Vec<String>), StoreError> {
    let events = match reads.load_task(&task.task_id) {
        Ok(journalled) => journalled.map(|j| j.events).unwrap_or_default(),
        Err(StoreError::DamagedTask { seq, reason, .. }) => {
            return Ok((0, vec![format!("event {seq} is damaged: {reason}")]));
        }
        Err(error) => return Err(error),
    };
    let mut wrong = Vec::new();
    let mut state = TaskState::new(task.task_id.clone());
    for (at, stored) in (1u64..).zip(&events) {
        if stored.seq != at {
            wrong.push(format!("event {at} is missing"));
            break;
        }
        let needs = match &stored.event {
            TaskEvent::Decided { inputs, .. } => Some(&inputs.fleet),
            event => event.created().map(|created| &created.profile),
        };
        if let Some(hash) = needs.filter(|hash| !known.contains(&hash.0)) {
            wrong.push(format!(
                "event {at} refers to a blob that is not there ({})",
                hash.0
            ));
        }
        state.apply(stored);
        checkpoint.with(&state);
    }
    wrong.extend(checkpoint.end());
    if state.created.is_none() {
        wrong.push("it does not begin with its creation".to_owned());
    } else if state.status != task.status {
        wrong.push(format!(
            "its list says {}, its events say {}",
            task.status.as_str(),
            state.status.as_str()
        ));
    }
    Ok((events.len(), wrong))
}

/// Compares every blob with its hash; answers how many there are.
fn blobs(file: &Connection, at: &At, problems: &mut Vec<Problem>) -> Result<usize, StoreError> {
    let mut look = || -> rusqlite::Result<usize> {
        let mut statement = file.prepare("SELECT hash, content FROM blobs")?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let (hash, content): (String, String) = (row.get(0)?, row.get(1)?);
            if BlobHash::of(&content).0 != hash {
                let what = format!("blob {hash} is no longer what it was");
                problems.push(Problem {
                    task_id: None,
                    what,
                });
            }
            count += 1;
        }
        Ok(count)
    };
    at.map("read the blobs", look())
}

fn strings(file: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = file.prepare(sql)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Writes a copy of the journal to a new file, as it is at one moment, also while a server writes on.
///
/// # Errors
/// There is no journal, or the copy cannot be written; a file that is there already is left alone.
pub fn backup(folder: &Path, to: &Path) -> Result<(), StoreError> {
    open_to_read(folder)?;
    let at = At(folder.join(FILE_NAME));
    if to.exists() {
        return Err(StoreError::Storage {
            attempt: format!("back the journal up to {}", to.display()),
            reason: "there is such a file; name a new one".to_owned(),
        });
    }
    let file = at.map(
        "open the journal for reading",
        connect(&at.0, OpenFlags::SQLITE_OPEN_READ_ONLY),
    )?;
    // The copy holds prompts and what tools said: its owner's alone, from the first byte on.
    make_private(to).map_err(|error| StoreError::Storage {
        attempt: format!("make {}", to.display()),
        reason: error.to_string(),
    })?;
    at.map(
        "back the journal up",
        file.execute("VACUUM INTO ?1", [to.to_string_lossy()]),
    )?;
    Ok(())
}

/// Writes everything out as JSON lines: a head, then a line for each row.
///
/// # Errors
/// The journal cannot be read, or the lines cannot be written.
pub fn export(folder: &Path, out: &mut dyn Write) -> Result<usize, StoreError> {
    open_to_read(folder)?;
    let at = At(folder.join(FILE_NAME));
    let file = at.map(
        "open the journal for reading",
        connect(&at.0, OpenFlags::SQLITE_OPEN_READ_ONLY),
    )?;
    let (schema, _) = versions(&file, &at)?;
    let unwritten = |error: std::io::Error| StoreError::Storage {
        attempt: "write the lines".to_owned(),
        reason: error.to_string(),
    };
    writeln!(
        out,
        "{}",
        json!({"ccfleet_journal": FORMAT, "schema": schema})
    )
    .map_err(unwritten)?;
    // One transaction: all lines are of one moment.
    let transaction = at.map("begin to read", file.unchecked_transaction())?;
    let mut lines = 0;
    for table in TABLES {
        let mut failed = None;
        let read = each_row(&transaction, table, |row| {
            lines += 1;
            let line = json!({"table": table, "row": row});
            let written = writeln!(out, "{line}");
            failed = written.err();
            failed.is_none()
        });
        at.map("read a table", read)?;
        if let Some(error) = failed {
            return Err(unwritten(error));
        }
    }
    Ok(lines)
}

/// Gives each row of a table as an object, until `take` says that it is enough.
fn each_row(
    file: &Connection,
    table: &str,
    mut take: impl FnMut(Map<String, Value>) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = file.prepare(&format!("SELECT * FROM {table}"))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut object = Map::new();
        for (at, name) in names.iter().enumerate() {
            let cell = match row.get_ref(at)? {
                ValueRef::Integer(number) => json!(number),
                ValueRef::Text(text) => {
                    let text = String::from_utf8_lossy(text);
                    let is_json = JSON_COLUMNS.contains(&(table, name.as_str()));
                    let parsed: Option<Value> =
                        is_json.then(|| serde_json::from_str(&text).ok()).flatten();
                    // Checksums are of the text: what would come back otherwise goes as it is.
                    parsed
                        .filter(|parsed| parsed.is_object() && parsed.to_string() == text)
                        .unwrap_or_else(|| json!(text))
                }
                ValueRef::Blob(bytes) => json!({HEX: hex(bytes)}),
                _ => Value::Null,
            };
            object.insert(name.clone(), cell);
        }
        if !take(object) {
            break;
        }
    }
    Ok(())
}

/// Makes a journal in an empty folder out of lines that [`export`] wrote. All or nothing.
///
/// # Errors
/// There is a journal already, or a line is none of ours; then no journal is left behind.
pub fn import(folder: &Path, lines: &mut dyn BufRead) -> Result<usize, StoreError> {
    let path = folder.join(FILE_NAME);
    if path.exists() {
        return Err(StoreError::Storage {
            attempt: format!("make the journal {}", path.display()),
            reason: "there is one; name an empty folder with --data".to_owned(),
        });
    }
    let imported = import_into(&path, lines);
    if imported.is_err() {
        for ending in ["", "-wal", "-shm"] {
            let mut file = path.clone().into_os_string();
            file.push(ending);
            // What could not be made is no loss.
            let _ = std::fs::remove_file(file);
        }
    }
    imported
}

fn import_into(path: &Path, lines: &mut dyn BufRead) -> Result<usize, StoreError> {
    let at = At(path.to_owned());
    let refused = |number: usize, reason: String| StoreError::Storage {
        attempt: format!("take line {number}"),
        reason,
    };
    make_private(path).map_err(|error| refused(0, error.to_string()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut file = at.map("make the journal", connect(path, flags))?;
    migrate(&mut file, &at)?;
    let transaction = at.map("begin to write", file.transaction())?;
    let mut count = 0;
    for (number, line) in (1..).zip(lines.lines()) {
        let line = line.map_err(|error| refused(number, error.to_string()))?;
        let value: Value =
            serde_json::from_str(&line).map_err(|error| refused(number, error.to_string()))?;
        if number == 1 {
            let ours = json!({"ccfleet_journal": FORMAT, "schema": MIGRATIONS.len()});
            if value != ours {
                let reason = format!(
                    "the first line has to be {ours}: another version, or no journal, was written out"
                );
                return Err(refused(number, reason));
            }
            continue;
        }
        let row = value.get("row").and_then(Value::as_object);
        let table = TABLES.iter().find(|table| value["table"] == **table);
        let (Some(table), Some(row)) = (table, row) else {
            return Err(refused(number, "it is no row of a table".to_owned()));
        };
        insert(&transaction, table, row).map_err(|error| refused(number, error.to_string()))?;
        count += 1;
    }
    if count == 0 {
        return Err(refused(1, "there is nothing in it".to_owned()));
    }
    at.map("write the journal", transaction.commit())?;
    Ok(count)
}

fn insert(file: &Connection, table: &str, row: &Map<String, Value>) -> rusqlite::Result<usize> {
    let known: BTreeSet<String> = {
        let mut statement = file.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
        statement
            .query_map([table], |row| row.get(0))?
            .collect::<Result<_, _>>()?
    };
    // Names go into the statement, so only those of the schema may.
    if let Some(unknown) = row.keys().find(|name| !known.contains(*name)) {
        return Err(rusqlite::Error::InvalidColumnName(unknown.clone()));
    }
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!(
        "REPLACE INTO {table} ({}) VALUES ({marks})",
        names.join(", ")
    );
    let cells = row.values().map(|value| match value {
        Value::Null => Cell::Null,
        Value::Number(number) => number.as_i64().map_or(Cell::Null, Cell::Integer),
        Value::String(text) => Cell::Text(text.clone()),
        json if json.get(HEX).is_some() => Cell::Blob(bytes(&json[HEX])),
        json => Cell::Text(json.to_string()),
    });
    file.prepare_cached(&sql)?.execute(params_from_iter(cells))
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
