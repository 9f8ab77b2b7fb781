//! What is special about the SQLite store: its files.

use super::super::fixtures::*;
use super::super::{Append, OpenStore, StoreError, SystemChange, TaskQuery, TokenChange, Write};
use super::{APPLICATION_ID, FILE_NAME, MIGRATIONS, open};
use crate::domain::call::Outcome;
use crate::domain::event::StoredEvent;
use crate::domain::task::TaskState;
use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn open_here(folder: &Path) -> OpenStore {
    open(folder).unwrap_or_else(|error| panic!("{error}"))
}

/// Changes the journal's file behind the store's back.
pub(super) fn tamper(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join(FILE_NAME)).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn refused(folder: &Path) -> StoreError {
    match open(folder) {
        Ok(_) => panic!("the journal was opened"),
        Err(error) => error,
    }
}

/// A journal with some committed appends, and its files as a crash would leave them.
fn crashed(appends: usize) -> (tempfile::TempDir, OpenStore) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open_here(folder.path());
    let mut author = Author::new("A");
    for index in 0..appends {
        let events = if index == 0 {
            vec![created("dig")]
        } else {
            vec![noted("one"), noted("two")]
        };
        store.writer.write(&[author.write(events)]).unwrap();
    }
    (folder, store)
}

fn copy_files(from: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // The shared-memory index does not survive a crash of the machine.
        if !entry.file_name().to_string_lossy().ends_with("-shm") {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

#[test]
fn a_server_that_was_killed_finds_every_answered_append_again() {
    let (folder, _still_open) = crashed(5);
    let copy = copy_files(folder.path());
    let read = open_here(copy.path()).reads.load_task(&task("A")).unwrap();
    assert_eq!(read.unwrap().events.len(), 9);
}

#[test]
fn a_torn_write_ahead_log_yields_whole_appends_from_the_beginning_and_can_be_continued() {
    let (folder, _still_open) = crashed(5);
    let wal = fs::read(folder.path().join(format!("{FILE_NAME}-wal"))).unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for tenth in 1..=10 {
        let copy = copy_files(folder.path());
        let cut = wal.len() * tenth / 10;
        fs::write(copy.path().join(format!("{FILE_NAME}-wal")), &wal[..cut]).unwrap();
        let mut store = open_here(copy.path());
        let events = match store.reads.load_task(&task("A")).unwrap() {
            Some(read) => read.events.len(),
            None => 0,
        };
        assert!([0, 1, 3, 5, 7, 9].contains(&events), "{events} at {cut}");
        lengths.insert(events);
        let mut state = TaskState::new(task("A"));
        state.last_seq = events as u64;
        let again = Author::new("A").append(vec![created("again")]);
        let append = Append {
            blobs: again.blobs,
            ..Append::behind(
                &mut state,
                again.generation,
                again.at_ms,
                vec![created("again")],
            )
        };
        assert!(
            store
                .writer
                .write(&[Write::Append(Arc::new(append))])
                .unwrap()[0]
                .is_ok()
        );
    }
    assert_eq!(lengths.last(), Some(&9));
    assert!(
        lengths.len() > 2,
        "the cuts met different appends: {lengths:?}"
    );
}

#[test]
fn an_unknown_or_newer_event_stops_the_start_and_says_which() {
    for (change, expected) in [
        (
            "INSERT INTO event_kinds VALUES ('task_teleported', 1)",
            "task_teleported, version 1",
        ),
        (
            "INSERT INTO event_kinds VALUES ('noted', 2)",
            "noted, version 2",
        ),
    ] {
        let (folder, store) = crashed(2);
        drop(store);
        tamper(folder.path(), change);
        let error = refused(folder.path());
        assert_eq!(error.code(), "journal_unknown_event");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn an_unknown_event_that_comes_up_while_reading_is_told_as_such() {
    let (folder, store) = crashed(2);
    tamper(
        folder.path(),
        "UPDATE events SET type = 'task_teleported' WHERE seq = 2",
    );
    let error = store.reads.load_task(&task("A")).unwrap_err();
    assert_eq!(error.code(), "journal_unknown_event");
}

#[test]
fn every_type_of_event_that_was_written_is_on_record_for_the_next_start() {
    let (folder, store) = crashed(2);
    drop(store);
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let missing: u64 = connection
        .query_row(
            "SELECT count(*) FROM events LEFT JOIN event_kinds USING (type, version)
             WHERE event_kinds.type IS NULL",
            [],
            |row| row.get::<_, i64>(0),
        )
        .unwrap()
        .unsigned_abs();
    assert_eq!(missing, 0);
}

#[test]
fn a_newer_foreign_or_damaged_file_is_refused_with_what_to_do() {
    let newer = crashed(1).0;
    tamper(newer.path(), "PRAGMA user_version = 99");
    let foreign = tempfile::tempdir().unwrap();
    tamper(
        foreign.path(),
        "PRAGMA user_version = 3; CREATE TABLE recipes (name TEXT)",
    );
    let noise = tempfile::tempdir().unwrap();
    fs::write(
        noise.path().join(FILE_NAME),
        "not a database at all ".repeat(999),
    )
    .unwrap();
    for (folder, code, hint) in [
        (
            newer.path(),
            "journal_newer_schema",
            "start that version again",
        ),
        (
            foreign.path(),
            "journal_damaged",
            "belongs to another program",
        ),
        (noise.path(), "journal_damaged", "put back a backup"),
    ] {
        let error = refused(folder);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(hint), "{error}");
    }
}

#[test]
fn the_text_of_an_event_says_what_its_data_is() {
    let (call_id, client_id) = (call("A"), client("sim-1"));
    let events = [
        created("dig, \"data\":{} and }"),
        decided(&[(call_id.clone(), "fs_read")]),
        intended(&call_id, &client_id, Some(7)),
        finished(&call_id, Outcome::Done),
        noted("\u{0}\u{2028}é"),
        completed("done"),
    ];
    for event in events {
        let text = event.data_text().unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, event.data().unwrap(), "{text}");
    }
}

#[test]
fn an_event_whose_data_is_damaged_is_named_by_task_and_position() {
    let (folder, store) = crashed(2);
    tamper(folder.path(), "UPDATE events SET data = '{}' WHERE seq = 2");
    let error = store.reads.load_task(&task("A")).unwrap_err();
    assert_eq!(error.code(), "journal_task_damaged");
    assert!(
        error.to_string().contains("event 2 of task tsk_A"),
        "{error}"
    );
}

#[test]
fn commits_are_durable_and_readers_do_not_wait_for_a_writer() {
    let (folder, store) = crashed(1);
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    connection
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM meta")
        .unwrap();
    assert_eq!(
        store
            .reads
            .load_task(&task("A"))
            .unwrap()
            .unwrap()
            .events
            .len(),
        1
    );
}

#[test]
fn a_store_that_could_not_write_can_when_the_obstacle_is_gone() {
    let (folder, mut store) = crashed(1);
    tamper(
        folder.path(),
        "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'disk full'); END",
    );
    let mut author = Author::new("B");
    let entry = author.write(vec![created("dig")]);
    let batch = [Write::SaveComputer(computer("x")), entry.clone()];
    let error = store.writer.write(&batch).unwrap_err();
    assert_eq!(error.code(), "journal_storage");
    assert!(error.to_string().contains("disk full"), "{error}");
    assert!(
        store.reads.computers().unwrap().is_empty(),
        "all of the batch is undone"
    );
    tamper(folder.path(), "DROP TRIGGER full");
    assert!(store.writer.write(&[entry]).unwrap()[0].is_ok());
}

#[cfg(unix)]
#[test]
fn the_journal_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _store) = crashed(1);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}

/// A journal as an earlier version left it: two tasks, one of which has ended.
fn of_schema(version: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    connection
        .execute_batch(&MIGRATIONS[..version].concat())
        .unwrap();
    connection
        .pragma_update(None, "user_version", version as i64)
        .unwrap();
    connection
        .pragma_update(None, "application_id", APPLICATION_ID)
        .unwrap();
    for (name, ended) in [("LIVE", false), ("DONE", true)] {
        let mut author = Author::new(name);
        let mut events = vec![created("dig")];
        events.extend(ended.then(|| completed("dug")));
        let append = author.append(events);
        let summary = serde_json::to_string(&append.summary).unwrap();
        let status = append.summary.status.as_str();
        connection
            .execute(
                "INSERT INTO tasks (task_id, created_at_ms, updated_at_ms, status, final, kind, owner, generation,
                                    last_seq, summary)
                 VALUES (?1, 1, 1, ?2, ?3, 'code_job', 'local', 1, ?4, ?5)",
                (append.task_id.as_str(), status, ended, append.events.len() as i64, summary),
            )
            .unwrap();
        for StoredEvent { seq, event, .. } in append.events.iter() {
            let data = event.data().unwrap().to_string();
            connection
                .execute(
                    "INSERT INTO events (task_id, seq, at_ms, generation, type, version, data)
                     VALUES (?1, ?2, 1, 1, ?3, 1, ?4)",
                    (append.task_id.as_str(), *seq as i64, event.name(), data),
                )
                .unwrap();
        }
    }
    folder
}

#[test]
fn a_journal_of_every_earlier_schema_goes_on_with_what_it_held() {
    for version in 1..MIGRATIONS.len() {
        let folder = of_schema(version);
        let mut store = open_here(folder.path());
        assert_eq!(
            store.reads.unfinished_tasks().unwrap(),
            [task("LIVE")],
            "{version}"
        );
        assert_eq!(store.reads.sleeping_tasks().unwrap(), []);
        assert_eq!(store.reads.tokens().unwrap(), []);
        let change = SystemChange {
            tokens: vec![TokenChange::Made(Box::new(token("tok_1")))],
            ..SystemChange::default()
        };
        store.writer.write(&[Write::System(change)]).unwrap();
        assert_eq!(store.reads.tokens().unwrap(), [token("tok_1")], "{version}");
        let events = store
            .reads
            .load_task(&task("DONE"))
            .unwrap()
            .unwrap()
            .events;
        assert_eq!(events.len(), 2, "{version}");
        let mut author = Author::new("NEW");
        store
            .writer
            .write(&[author.write(vec![created("dig")])])
            .unwrap();
        drop(store);
        assert_eq!(
            open_here(folder.path())
                .reads
                .unfinished_tasks()
                .unwrap()
                .len(),
            2
        );
    }
}

/// A journal of which most episodes of a task are archived.
fn archived() -> (tempfile::TempDir, OpenStore, usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open_here(folder.path());
    let whole = super::super::contract::episodes(&mut store, 30);
    let counted = |sql: &str| -> i64 {
        let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let before = counted("SELECT sum(octet_length(data)) FROM events");
    super::super::contract::archive(&mut store, 2, 0, u64::MAX);
    // The creation, the end of the last episode but one, and the last one.
    assert_eq!(counted("SELECT count(*) FROM events"), 1 + 1 + 3);
    let after = counted("SELECT sum(octet_length(data)) FROM events");
    let packed = counted("SELECT sum(octet_length(data)) FROM archive");
    assert!(
        after + packed < before / 4,
        "{before} bytes became {after} and {packed}"
    );
    (folder, store, whole.len())
}

#[test]
fn archived_episodes_take_little_room_and_survive_a_backup_an_export_and_an_import() {
    let (folder, store, events) = archived();
    drop(store);
    let (counts, problems) = super::transfer::check(folder.path()).unwrap();
    assert_eq!((counts.events, problems), (events, vec![]));
    let mut lines = Vec::new();
    super::transfer::export(folder.path(), &mut lines).unwrap();
    let other = tempfile::tempdir().unwrap();
    super::transfer::import(other.path(), &mut lines.as_slice()).unwrap();
    let read = |folder: &Path| open_here(folder).reads.load_task(&task("A")).unwrap();
    assert_eq!(read(other.path()), read(folder.path()));
}

#[test]
fn a_damaged_archive_is_told_with_its_task_and_the_task_still_goes_on() {
    let (folder, store, _) = archived();
    tamper(
        folder.path(),
        "UPDATE archive SET data = zeroblob(octet_length(data))",
    );
    let error = store.reads.load_task(&task("A")).unwrap_err();
    assert_eq!(error.code(), "journal_task_damaged");
    assert!(error.to_string().contains("archived"), "{error}");
    assert!(store.reads.load_last_episode(&task("A")).unwrap().is_some());
}

/// A journal with a one-call task, and one whose event somebody has changed.
fn of_one_call() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open_here(folder.path());
    for name in ["A", "B"] {
        let call = direct_call(name, Outcome::Done);
        let written = store.writer.write(&[Author::new(name).write(vec![call])]);
        assert!(written.unwrap()[0].is_ok());
    }
    drop(store);
    tamper(
        folder.path(),
        "UPDATE events SET data = replace(data, 'turtle-1', 'turtle-2') WHERE task_id = 'tsk_B'",
    );
    folder
}

#[test]
fn a_one_call_task_is_written_once_and_one_that_cannot_be_read_hides_no_other() {
    let folder = of_one_call();
    let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let short: i64 = connection
        .query_row("SELECT max(length(summary)) FROM tasks", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(short, 2);
    let all = TaskQuery {
        limit: 10,
        ..TaskQuery::default()
    };
    let tasks = open_here(folder.path()).reads.tasks(&all).unwrap().tasks;
    let [b, a] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    assert_eq!((a.prompt.as_str(), &a.quarantine), ("A", &None));
    assert_eq!((&b.task_id, b.prompt.as_str()), (&task("B"), ""));
    assert_eq!(b.client_id, Some(client("turtle-1")));
    let why = b.quarantine.as_deref().unwrap_or_default();
    assert!(why.contains("not what was written"), "{why}");
}

#[test]
fn a_one_call_task_whose_event_is_gone_hides_no_other() {
    let folder = of_one_call();
    tamper(folder.path(), "DELETE FROM events WHERE task_id = 'tsk_B'");
    let store = open_here(folder.path());
    let read = |name: &str| store.reads.task(&task(name)).unwrap().unwrap();
    assert_eq!(read("A").quarantine, None);
    let why = read("B").quarantine.unwrap_or_default();
    assert!(why.contains("is not there"), "{why}");
}

#[test]
fn a_one_call_task_survives_an_export_and_an_import() {
    let folder = of_one_call();
    tamper(
        folder.path(),
        "UPDATE events SET data = replace(data, 'turtle-2', 'turtle-1') WHERE task_id = 'tsk_B'",
    );
    let mut lines = Vec::new();
    super::transfer::export(folder.path(), &mut lines).unwrap();
    let other = tempfile::tempdir().unwrap();
    super::transfer::import(other.path(), &mut lines.as_slice()).unwrap();
    let read = |folder: &Path| open_here(folder).reads.task(&task("B")).unwrap();
    assert_eq!(read(other.path()), read(folder.path()));
    assert!(read(other.path()).is_some_and(|task| task.quarantine.is_none()));
}
