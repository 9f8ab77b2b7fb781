//! Looking a journal through, backing it up, and JSON lines.

use super::super::super::fixtures::*;
use super::super::super::{OpenStore, Write};
use super::super::tests::tamper;
use super::super::{FILE_NAME, MIGRATIONS, open, open_to_read};
use super::{backup, check, export, import};
use crate::domain::call::Outcome;
use crate::domain::ids::CallId;
use rusqlite::Connection;
use std::path::Path;

/// A journal with two tasks, a call, a computer, and what is kept of it.
fn journal() -> (tempfile::TempDir, OpenStore) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    let mut a = Author::new("A");
    let call = CallId::derive(&a.task_id(), a.generation, 2, 0);
    let base = client("base");
    let batch = [
        a.write(vec![created("dig"), decided(&[(call.clone(), "base")])]),
        a.write(vec![intended(&call, &base, Some(1)), noted("one")]),
        a.write(vec![finished(&call, Outcome::Done)]),
        Author::new("B").write(vec![created("look \"around\"\nand back")]),
        Write::SaveComputer(computer("base")),
    ];
    for entry in batch {
        store.writer.write(&[entry]).unwrap()[0].as_ref().unwrap();
    }
    (folder, store)
}

fn problems(folder: &Path) -> Vec<String> {
    let (_, problems) = check(folder).unwrap();
    let told = problems.into_iter();
    told.map(|p| format!("{}: {}", p.task_id.unwrap_or_default(), p.what))
        .collect()
}

#[test]
fn a_journal_that_is_as_it_was_written_has_no_problem() {
    let (folder, _running) = journal();
    let (counts, problems) = check(folder.path()).unwrap();
    assert_eq!((counts.tasks, counts.events), (2, 6));
    assert_eq!(problems, []);
}

#[test]
fn what_was_changed_in_the_file_is_named_with_its_task_and_the_others_are_read() {
    for (change, expected) in [
        (
            "UPDATE events SET data = replace(data, 'one', 'two') WHERE seq = 4",
            "tsk_A: event 4 is damaged",
        ),
        (
            "UPDATE events SET at_ms = at_ms + 1 WHERE seq = 2",
            "tsk_A: event 2 is damaged",
        ),
        (
            "DELETE FROM events WHERE task_id = 'tsk_A' AND seq = 2",
            "event 2 is missing",
        ),
        (
            "UPDATE tasks SET summary = replace(summary, '\"running\"', '\"failed\"') WHERE task_id = 'tsk_A'",
            "its list says failed",
        ),
        ("UPDATE blobs SET content = 'x'", "is no longer what it was"),
        (
            "PRAGMA foreign_keys = off; DELETE FROM blobs",
            "a blob that is not there",
        ),
    ] {
        let (folder, store) = journal();
        tamper(folder.path(), change);
        let found = problems(folder.path());
        assert!(
            found.iter().any(|p| p.contains(expected)),
            "{change}: {found:?}"
        );
        assert_eq!(
            store
                .reads
                .load_task(&task("B"))
                .unwrap()
                .unwrap()
                .events
                .len(),
            1
        );
    }
}

#[test]
fn a_damaged_task_is_refused_by_its_own_code() {
    let (folder, store) = journal();
    tamper(
        folder.path(),
        "UPDATE events SET data = replace(data, 'one', 'two') WHERE seq = 4",
    );
    let error = store.reads.load_task(&task("A")).unwrap_err();
    assert_eq!(error.code(), "journal_task_damaged");
    assert!(error.to_string().contains("the others go on"), "{error}");
}

#[test]
fn what_is_exported_and_imported_is_the_same_journal_again() {
    let (folder, store) = journal();
    let mut lines = Vec::new();
    let rows = export(folder.path(), &mut lines).unwrap();
    let copy = tempfile::tempdir().unwrap();
    assert_eq!(import(copy.path(), &mut lines.as_slice()).unwrap(), rows);
    assert_eq!(problems(copy.path()), [] as [String; 0]);
    let again = open(copy.path()).unwrap();
    assert_eq!(again.identity, store.identity);
    for name in ["A", "B"] {
        let read = |store: &OpenStore| store.reads.load_task(&task(name)).unwrap();
        assert_eq!(read(&again), read(&store));
        let short = |store: &OpenStore| store.reads.task(&task(name)).unwrap();
        assert_eq!(short(&again), short(&store));
    }
    assert_eq!(
        again.reads.computers().unwrap(),
        store.reads.computers().unwrap()
    );
    let mut second = Vec::new();
    export(copy.path(), &mut second).unwrap();
    assert_eq!(second, lines);
}

#[test]
fn lines_that_are_none_of_ours_leave_no_journal_behind() {
    let (folder, _running) = journal();
    let mut lines = Vec::new();
    export(folder.path(), &mut lines).unwrap();
    let whole = String::from_utf8(lines).unwrap();
    let head = whole.lines().next().unwrap();
    for (broken, expected) in [
        (String::new(), "nothing in it"),
        (head.to_owned(), "nothing in it"),
        (
            "{\"ccfleet_journal\": 1, \"schema\": 99}".to_owned(),
            "the first line has to be",
        ),
        (
            format!("{head}\n{{\"table\": \"recipes\", \"row\": {{}}}}"),
            "no row of a table",
        ),
        (
            format!("{head}\n{{\"table\": \"lanes\", \"row\": {{\"a; DROP\": 1}}}}"),
            "a; DROP",
        ),
        (format!("{whole}{{\"table\": \"events\""), "line"),
    ] {
        let copy = tempfile::tempdir().unwrap();
        let error = import(copy.path(), &mut broken.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(
            std::fs::read_dir(copy.path()).unwrap().count(),
            0,
            "{expected}"
        );
    }
    let error = import(folder.path(), &mut whole.as_bytes()).unwrap_err();
    assert!(
        error.to_string().contains("name an empty folder"),
        "{error}"
    );
}

#[test]
fn a_backup_beside_a_server_that_writes_is_a_whole_journal_and_overwrites_nothing() {
    let (folder, mut store) = journal();
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join(FILE_NAME);
    backup(folder.path(), &to).unwrap();
    store
        .writer
        .write(&[Author::new("C").write(vec![created("later")])])
        .unwrap();
    let copy = open(elsewhere.path()).unwrap();
    assert_eq!(copy.identity, store.identity);
    assert!(copy.reads.load_task(&task("A")).unwrap().is_some());
    assert!(copy.reads.load_task(&task("C")).unwrap().is_none());
    drop(copy);
    let error = backup(folder.path(), &to).unwrap_err();
    assert!(error.to_string().contains("name a new one"), "{error}");
}

#[test]
fn a_journal_of_the_schema_before_is_read_on_and_its_old_events_need_no_checksum() {
    let (folder, store) = journal();
    drop(store);
    // As the version before wrote it.
    let old = tempfile::tempdir().unwrap();
    let connection = Connection::open(old.path().join(FILE_NAME)).unwrap();
    for script in &MIGRATIONS[..2] {
        connection.execute_batch(script).unwrap();
    }
    let from = folder.path().join(FILE_NAME);
    connection
        .execute_batch(&format!(
            "PRAGMA application_id = 1667458676; PRAGMA user_version = 2; ATTACH '{}' AS new;
             INSERT INTO tasks SELECT task_id, created_at_ms, updated_at_ms, status, final, kind, client_id, owner, generation,
                 last_seq, profile, summary, notice FROM new.tasks;
             INSERT INTO events SELECT task_id, seq, at_ms, generation, type, version,
                 json_remove(data, '$.inputs.offline_timeout_ms') FROM new.events;
             INSERT INTO event_kinds SELECT * FROM new.event_kinds; INSERT INTO blobs SELECT * FROM new.blobs; DETACH new;",
            from.display()
        ))
        .unwrap();
    drop(connection);
    let older = open_to_read(old.path()).err().unwrap();
    assert_eq!(older.code(), "journal_older_schema");
    let mut store = open(old.path()).unwrap();
    assert_eq!(
        store
            .reads
            .load_task(&task("A"))
            .unwrap()
            .unwrap()
            .events
            .len(),
        5
    );
    store
        .writer
        .write(&[Author::new("C").write(vec![created("later")])])
        .unwrap()[0]
        .as_ref()
        .unwrap();
    assert_eq!(problems(old.path()), [] as [String; 0]);
}
