//! Taking ended tasks out of the journal, and what nothing refers to any more. No task that may still act, or of which somebody
//! is still to be told, is touched; what lanes granted stays, so that no number is given twice.

use super::archive::archived;
use super::{At, FILE_NAME, connect, open_to_read};
use crate::domain::ids::TaskId;
use crate::store::StoreError;
use rusqlite::{Connection, OpenFlags, Transaction, params};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What is taken out, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    pub tasks: usize,
    /// Those in the archive not counted.
    pub events: usize,
    /// Prompts and fleets that no task refers to any more.
    pub blobs: usize,
}

/// Takes out tasks that ended before a moment (milliseconds since the Unix epoch) and whose calls all have their outcome, unless
/// their computer is still to be told of the end. For a journal that no server has open.
///
/// # Errors
/// There is no journal, or it cannot be read or written; then nothing is taken out.
pub fn prune(folder: &Path, ended_before_ms: i64, only_look: bool) -> Result<Pruned, StoreError> {
    open_to_read(folder)?;
    let at = At(folder.join(FILE_NAME));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let mut connection = at.map("open the journal", connect(&at.0, flags))?;
    let transaction = at.map("begin to take tasks out", connection.transaction())?;
    let tasks = at.map("look for ended tasks", ended(&transaction, ended_before_ms))?;
    let mut pruned = Pruned {
        tasks: tasks.len(),
        ..Pruned::default()
    };
    for task_id in &tasks {
        pruned.events += at.map("take a task out", take_out(&transaction, task_id))?;
    }
    pruned.blobs = drop_blobs(&transaction, &at)?;
    if only_look {
        return Ok(pruned);
    }
    at.map("take tasks out", transaction.commit())?;
    // The file gets smaller only now. What was taken out is out, also if there is no room for this.
    if let Err(error) = connection.execute_batch("VACUUM") {
        tracing::warn!(%error, "the journal's file keeps its size");
    }
    Ok(pruned)
}

fn ended(transaction: &Transaction<'_>, before_ms: i64) -> rusqlite::Result<BTreeSet<String>> {
    let mut ended: BTreeSet<String> = transaction
        .prepare(
            "SELECT task_id FROM tasks WHERE final = 1 AND updated_at_ms < ?1 AND notice != 1 AND quarantine IS NULL
             AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.task_id = tasks.task_id AND calls.open = 1)",
        )?
        .query_map([before_ms], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // A replay of a fork looks into the task that it came from.
    let forks: Vec<(String, String)> = transaction
        .prepare(
            "SELECT task_id, summary ->> '$.forked_from.task_id' FROM tasks
             WHERE summary ->> '$.forked_from.task_id' IS NOT NULL",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    while let Some((_, former)) = forks
        .iter()
        .find(|(fork, former)| !ended.contains(fork) && ended.contains(former))
    {
        ended.remove(former);
    }
    Ok(ended)
}

fn take_out(transaction: &Transaction<'_>, task_id: &str) -> rusqlite::Result<usize> {
    let delete = |table: &str| {
        transaction
            .prepare_cached(&format!("DELETE FROM {table} WHERE task_id = ?1"))?
            .execute(params![task_id])
    };
    let events = delete("events")?;
    super::commits::take_out(transaction, task_id)?;
    for table in ["checkpoints", "archive", "calls", "idempotency", "tasks"] {
        delete(table)?;
    }
    Ok(events)
}

/// Blobs are counted when it matters: whoever is left is asked what it refers to. A count that is kept can be wrong.
fn drop_blobs(transaction: &Transaction<'_>, at: &At) -> Result<usize, StoreError> {
    let mut named = BTreeSet::new();
    let plain = "SELECT DISTINCT profile FROM tasks WHERE profile IS NOT NULL
                 UNION SELECT DISTINCT data ->> '$.inputs.fleet' FROM events WHERE type = 'decided'";
    named.extend(at.map("look for what tasks refer to", texts(transaction, plain))?);
    let forks = "SELECT data FROM events WHERE type = 'forked'";
    for data in at.map("look for what forks refer to", texts(transaction, forks))? {
        collect(&data, &mut named);
    }
    let episodes = "SELECT DISTINCT task_id FROM archive";
    for task_id in at.map("look for archived episodes", texts(transaction, episodes))? {
        let task_id = TaskId::parse(&task_id).map_err(|error| at.damaged(error.to_string()))?;
        for event in archived(transaction, at, &task_id, 0, -1)? {
            collect(&event.data, &mut named);
        }
    }
    let kept = at.map(
        "list the blobs",
        texts(transaction, "SELECT hash FROM blobs"),
    )?;
    let mut dropped = 0;
    for hash in kept.iter().filter(|hash| !named.contains(*hash)) {
        let delete = || {
            transaction
                .prepare_cached("DELETE FROM blobs WHERE hash = ?1")?
                .execute([hash])
        };
        dropped += at.map("drop a blob", delete())?;
    }
    Ok(dropped)
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0))?;
    rows.filter_map(Result::transpose).collect()
}

/// Every text in an event: a hash that stands in one is referred to.
fn collect(data: &str, named: &mut BTreeSet<String>) {
    fn walk(value: Value, named: &mut BTreeSet<String>) {
        match value {
            // The length of a hash.
            Value::String(text) if text.len() == 64 => {
                named.insert(text);
            }
            Value::Array(items) => items.into_iter().for_each(|item| walk(item, named)),
            Value::Object(fields) => fields.into_iter().for_each(|(_, field)| walk(field, named)),
            _ => {}
        }
    }
    walk(serde_json::from_str(data).unwrap_or_default(), named);
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::super::transfer::check;
    use super::*;
    use crate::domain::call::Outcome;
    use crate::domain::decision::Inputs;
    use crate::domain::ids::CallId;
    use crate::store::fixtures::*;
    use crate::store::{OpenStore, Place, Write};

    fn write(store: &mut OpenStore, entry: Write) {
        store.writer.write(&[entry]).unwrap()[0].as_ref().unwrap();
    }

    /// `OLD` has ended, `BUSY` too but for a call's outcome, `NEW` after the moment, `LIVE` goes on.
    fn journal() -> (tempfile::TempDir, i64) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path()).unwrap();
        let mut old = Author::new("OLD");
        let call = CallId::derive(&old.task_id(), old.generation, 2, 0);
        let base = client("base");
        let decided = decided(&[(call.clone(), "base")]);
        write(&mut store, old.write(vec![created("dig"), decided]));
        write(&mut store, old.write(vec![intended(&call, &base, Some(1))]));
        write(
            &mut store,
            old.write(vec![finished(&call, Outcome::Done), completed("dug")]),
        );
        let mut busy = Author::new("BUSY");
        let call = CallId::derive(&busy.task_id(), busy.generation, 2, 0);
        write(
            &mut store,
            busy.write(vec![
                created("dig"),
                intended(&call, &base, Some(2)),
                completed("?"),
            ]),
        );
        let mut new = Author::new("NEW");
        let moment = new.now_ms + 1;
        new.now_ms = moment;
        write(
            &mut store,
            new.write(vec![created("dig"), completed("dug")]),
        );
        write(&mut store, Author::new("LIVE").write(vec![created("dig")]));
        // Their computers were told.
        let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        connection
            .execute_batch("UPDATE tasks SET notice = 2 WHERE notice = 1")
            .unwrap();
        (folder, moment)
    }

    #[test]
    fn only_what_ended_before_with_all_its_calls_goes_and_the_blobs_that_nobody_else_names() {
        let (folder, moment) = journal();
        let (_, fleet, _) = Inputs::default().journalled();
        let would = prune(folder.path(), moment, true).unwrap();
        assert_eq!((would.tasks, would.blobs), (1, 1));
        assert_eq!(check(folder.path()).unwrap().0.tasks, 4);

        assert_eq!(prune(folder.path(), moment, false).unwrap(), would);
        let store = open(folder.path()).unwrap();
        assert_eq!(store.reads.load_task(&task("OLD")).unwrap(), None);
        assert_eq!(store.reads.blob(&fleet).unwrap(), None);
        for left in ["BUSY", "NEW", "LIVE"] {
            let read = store.reads.load_task(&task(left)).unwrap().unwrap();
            assert!(read.profile.is_some(), "{left}");
        }
        // No number is given twice.
        assert_eq!(store.reads.lane(&client("base")).unwrap().high_seq, 2);
        drop(store);
        assert_eq!(check(folder.path()).unwrap().1, []);
        assert_eq!(
            prune(folder.path(), moment, false).unwrap(),
            Pruned::default()
        );
    }

    #[test]
    fn a_task_that_another_one_goes_on_from_stays_with_it() {
        let (folder, moment) = journal();
        let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        let forked = r#"UPDATE tasks SET summary = json_set(summary, '$.forked_from',
            json('{"task_id": "tsk_OLD", "step": 1}')) WHERE task_id = 'tsk_LIVE'"#;
        connection.execute_batch(forked).unwrap();
        assert_eq!(prune(folder.path(), moment, false).unwrap().tasks, 0);
    }

    #[test]
    fn a_task_whose_computer_is_still_to_be_told_of_its_end_stays() {
        let (folder, moment) = journal();
        let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        connection
            .execute_batch("UPDATE tasks SET notice = 1 WHERE final = 1")
            .unwrap();
        assert_eq!(
            prune(folder.path(), moment, false).unwrap(),
            Pruned::default()
        );
    }

    #[test]
    fn who_had_not_heard_of_what_was_taken_out_starts_anew_and_others_go_on() {
        let (folder, moment) = journal();
        let read = |place| {
            let store = open(folder.path()).unwrap();
            let page = store.reads.committed_after(place, 100, &|_| true);
            page.unwrap().map(|page| page.events)
        };
        let all = read(Place { pos: 0, mark: 0 }).unwrap();
        // `OLD` came first; its last event is the fifth.
        let (early, late) = (all[2].place, all[5].place);
        assert_eq!(prune(folder.path(), moment, false).unwrap().tasks, 1);
        assert_eq!(read(early), None);
        assert_eq!(read(late).unwrap(), all[6..]);
        let mut store = open(folder.path()).unwrap();
        write(&mut store, Author::new("LATER").write(vec![created("dig")]));
        assert_eq!(store.writer.position(), all.len() as u64 + 1);
    }
}
