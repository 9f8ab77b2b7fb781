//! Durable appends a second: the journal's actor beside bare SQLite that writes the same rows in the same groups.
//!
//! Writers append the first events of a story, two at a time, each after the one before is durable. What the journal wrote is
//! then read out of its file, and a thread writes the same rows with the same statements into a new file of the same schema: no
//! JSON, no checksums, no looking whether an append may be there, no actor; what waits meanwhile is one transaction, as in
//! the journal.

use crate::story::{Story, of_task};
use actix::{Actor, Addr};
use ccfleet::actors::feed::Feed;
use ccfleet::actors::journal::Journal;
use ccfleet::actors::journal::messages::{AppendEvents, CloseJournal};
use ccfleet::domain::ids::TaskId;
use ccfleet::domain::task::TaskSummary;
use ccfleet::store::{Append, sqlite};
use rusqlite::{Connection, Transaction, params};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Events of one append: about what a step of a task commits at a time.
const EVENTS: usize = 2;
/// Entries of one transaction, as in the journal.
const BATCH: usize = ccfleet::actors::journal::BATCH;
const ROUNDS: usize = 5;
/// The journal's file in its folder.
const FILE: &str = sqlite::FILE_NAME;

/// Appends a second for each number of writers, of both, in turn.
pub fn measure(story: &Story, writers: &[usize], appends: usize) -> Value {
    let rows = writers.iter().map(|&writers| row(story, writers, appends));
    Value::Array(rows.collect())
}

fn row(story: &Story, writers: usize, appends: usize) -> Value {
    let each = (appends / writers).clamp(1, story.journal.len() / EVENTS);
    let (mut ours, mut raw, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut transactions = Vec::new();
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a folder");
        let (seconds, made) = of_journal(folder.path(), story, writers, each);
        let written = Written::read(folder.path());
        let (raw_seconds, raw_made) = of_sqlite(written);
        let all = (writers * each) as f64;
        ours.push(all / seconds);
        raw.push(all / raw_seconds);
        ratios.push(raw_seconds / seconds);
        transactions.push((made as f64, raw_made as f64));
        eprintln!(
            "{writers} writers: {:.0} appends/s in {made} transactions, bare SQLite {:.0} in {raw_made}",
            all / seconds,
            all / raw_seconds
        );
    }
    let middle = |values: Vec<f64>| crate::middle(values);
    json!({
        "writers": writers, "appends": writers * each, "events_of_an_append": EVENTS,
        "appends_per_s": middle(ours), "raw_appends_per_s": middle(raw), "ratio": middle(ratios),
        "transactions": middle(transactions.iter().map(|t| t.0).collect()),
        "raw_transactions": middle(transactions.iter().map(|t| t.1).collect()),
    })
}

fn task_id(number: usize) -> TaskId {
    TaskId::from_unique(&format!("{number:026}")).expect("an id")
}

/// Seconds, and transactions.
fn of_journal(folder: &Path, story: &Story, writers: usize, each: usize) -> (f64, u64) {
    let store = sqlite::open(folder).expect("a journal");
    actix::System::new().block_on(async {
        let journal = Journal::start(store, Feed::default().start().recipient()).0;
        let appends: Vec<_> = (0..writers).map(|n| appends_of(story, n, each)).collect();
        let began = Instant::now();
        let writing: Vec<_> = appends
            .into_iter()
            .map(|appends| actix::spawn(write(journal.clone(), appends)))
            .collect();
        for writer in writing {
            writer.await.expect("a writer comes to its end");
        }
        let seconds = began.elapsed().as_secs_f64();
        let health = ccfleet::actors::journal::messages::ObserveJournal;
        let made = journal.send(health).await.expect("a journal").transactions;
        journal.send(CloseJournal).await.expect("a journal");
        (seconds, made)
    })
}

async fn write(journal: Addr<Journal>, appends: Vec<Append>) {
    for append in appends {
        let written = journal
            .send(AppendEvents::from(append))
            .await
            .expect("the journal lives");
        written.expect("the journal takes it");
    }
}

fn appends_of(story: &Story, number: usize, each: usize) -> Vec<Append> {
    let id = task_id(number);
    let summary = TaskSummary {
        task_id: id.clone(),
        ..story.state.summary()
    };
    let chunks = story.journal.chunks(EVENTS).take(each);
    let append = |chunk: &[ccfleet::domain::event::StoredEvent]| Append {
        task_id: id.clone(),
        generation: chunk[0].generation,
        expected_seq: chunk[0].seq - 1,
        at_ms: chunk[0].at_ms,
        events: of_task(&id, chunk).into(),
        blobs: if chunk[0].seq == 1 {
            story.blobs.clone()
        } else {
            Vec::new()
        },
        summary: summary.clone().into(),
        idempotency_key: None,
        tools: Vec::new(),
    };
    chunks.map(append).collect()
}

/// What stands in a journal's file, append by append.
struct Written {
    appends: HashMap<String, Vec<RawAppend>>,
    blobs: Vec<(String, String)>,
}

struct RawAppend {
    task: TaskRow,
    events: Vec<EventRow>,
    pos: i64,
    mark: i64,
    calls: Vec<CallChange>,
}

#[derive(Clone)]
struct TaskRow {
    task_id: String,
    created_at_ms: i64,
    status: String,
    kind: String,
    client_id: Option<String>,
    owner: String,
    profile: Option<String>,
    summary: String,
}

struct EventRow {
    seq: i64,
    at_ms: i64,
    generation: i64,
    kind: String,
    version: i64,
    data: String,
    checksum: i64,
}

enum CallChange {
    Intended(String, String, Option<i64>),
    Finished(String),
}

impl Written {
    fn read(folder: &Path) -> Self {
        let file = Connection::open(folder.join(FILE)).expect("the journal's file");
        let mut commits = file
            .prepare(
                "SELECT last_pos, task_id, last_seq, events, mark FROM commits ORDER BY last_pos",
            )
            .expect("the journal's schema");
        let commits = commits.query_map([], |row| {
            Ok((
                row.get(0)?,
                row.get::<_, String>(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        });
        let commits: Vec<(i64, String, i64, i64, i64)> = commits
            .expect("rows")
            .map(|row| row.expect("a row"))
            .collect();
        let mut appends: HashMap<String, Vec<RawAppend>> = HashMap::new();
        for (pos, task_id, last_seq, count, mark) in commits {
            let events = events_of(&file, &task_id, last_seq - count, last_seq);
            let append = RawAppend {
                task: task_of(&file, &task_id),
                calls: events.iter().filter_map(call_of).collect(),
                events,
                pos,
                mark,
            };
            appends.entry(task_id).or_default().push(append);
        }
        let mut blobs = file
            .prepare("SELECT hash, content FROM blobs")
            .expect("schema");
        let blobs = blobs.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let blobs = blobs
            .expect("rows")
            .map(|row| row.expect("a row"))
            .collect();
        Written { appends, blobs }
    }
}

fn events_of(file: &Connection, task_id: &str, after: i64, upto: i64) -> Vec<EventRow> {
    let mut rows = file
        .prepare_cached(
            "SELECT seq, at_ms, generation, type, version, data, checksum FROM events
             WHERE task_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq",
        )
        .expect("the journal's schema");
    let rows = rows.query_map(params![task_id, after, upto], |row| {
        Ok(EventRow {
            seq: row.get(0)?,
            at_ms: row.get(1)?,
            generation: row.get(2)?,
            kind: row.get(3)?,
            version: row.get(4)?,
            data: row.get(5)?,
            checksum: row.get(6)?,
        })
    });
    rows.expect("rows").map(|row| row.expect("a row")).collect()
}

fn task_of(file: &Connection, task_id: &str) -> TaskRow {
    let row = file.query_row(
        "SELECT created_at_ms, status, kind, client_id, owner, profile, summary FROM tasks WHERE task_id = ?1",
        [task_id],
        |row| {
            Ok(TaskRow {
                task_id: task_id.to_owned(),
                created_at_ms: row.get(0)?,
                status: row.get(1)?,
                kind: row.get(2)?,
                client_id: row.get(3)?,
                owner: row.get(4)?,
                profile: row.get(5)?,
                summary: row.get(6)?,
            })
        },
    );
    row.expect("the task of an event")
}

fn call_of(event: &EventRow) -> Option<CallChange> {
    let data: Value = serde_json::from_str(&event.data).ok()?;
    let text = |name: &str| data[name].as_str().map(str::to_owned);
    match event.kind.as_str() {
        "call_intended" => Some(CallChange::Intended(
            text("call_id")?,
            text("client_id")?,
            data["seq"].as_i64(),
        )),
        "call_finished" => Some(CallChange::Finished(text("call_id")?)),
        _ => None,
    }
}

/// Seconds, and transactions.
fn of_sqlite(written: Written) -> (f64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    drop(sqlite::open(folder.path()).expect("a file of the same schema"));
    let mut file = Connection::open(folder.path().join(FILE)).expect("the file");
    for (name, value) in [
        ("journal_mode", "WAL"),
        ("synchronous", "FULL"),
        ("foreign_keys", "1"),
    ] {
        file.pragma_update(None, name, value).expect("a pragma");
    }
    file.set_prepared_statement_cache_capacity(32);
    for (hash, content) in &written.blobs {
        let blob = "INSERT OR IGNORE INTO blobs (hash, content) VALUES (?1, ?2)";
        file.execute(blob, params![hash, content]).expect("a blob");
    }
    let (ask, asked) = mpsc::channel::<(RawAppend, oneshot::Sender<()>)>();
    let writer = std::thread::spawn(move || {
        let mut made = 0;
        while let Ok(first) = asked.recv() {
            let mut batch = vec![first];
            while batch.len() < BATCH
                && let Ok(more) = asked.try_recv()
            {
                batch.push(more);
            }
            let transaction = file.transaction().expect("a transaction");
            for (append, _) in &batch {
                insert(&transaction, append).expect("rows");
            }
            transaction.commit().expect("the disk takes it");
            made += 1;
            for (_, tell) in batch {
                let _ = tell.send(());
            }
        }
        made
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let began = Instant::now();
    runtime.block_on(async {
        let writing: Vec<_> = written
            .appends
            .into_values()
            .map(|appends| tokio::spawn(append_all(ask.clone(), appends)))
            .collect();
        for writer in writing {
            writer.await.expect("a writer comes to its end");
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    drop(ask);
    (seconds, writer.join().expect("the writing thread"))
}

async fn append_all(ask: mpsc::Sender<(RawAppend, oneshot::Sender<()>)>, appends: Vec<RawAppend>) {
    for append in appends {
        let (tell, told) = oneshot::channel();
        ask.send((append, tell)).expect("the writing thread");
        told.await.expect("the writing thread");
    }
}

fn insert(transaction: &Transaction<'_>, append: &RawAppend) -> rusqlite::Result<()> {
    let (task, events) = (&append.task, &append.events);
    let last = &events[events.len() - 1];
    transaction
        .prepare_cached(
            "INSERT INTO tasks (task_id, created_at_ms, updated_at_ms, status, final, kind, client_id, owner, generation,
                                last_seq, profile, summary, notice, asleep, episode_seq)
             VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, NULL, 0)
             ON CONFLICT (task_id) DO UPDATE SET
                 updated_at_ms = excluded.updated_at_ms, status = excluded.status, final = excluded.final,
                 kind = excluded.kind, client_id = excluded.client_id, owner = excluded.owner,
                 generation = excluded.generation, last_seq = excluded.last_seq, summary = excluded.summary",
        )?
        .execute(params![
            task.task_id, task.created_at_ms, last.at_ms, task.status, task.kind, task.client_id, task.owner,
            last.generation, last.seq, task.profile, task.summary
        ])?;
    for event in events {
        transaction
            .prepare_cached(
                "INSERT INTO events (task_id, seq, at_ms, generation, type, version, data, checksum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                task.task_id, event.seq, event.at_ms, event.generation, event.kind, event.version, event.data,
                event.checksum
            ])?;
    }
    for call in &append.calls {
        match call {
            CallChange::Intended(call_id, client_id, seq) => {
                transaction
                    .prepare_cached(
                        "INSERT INTO calls (call_id, task_id, client_id, seq, open) VALUES (?1, ?2, ?3, ?4, 1)
                         ON CONFLICT (call_id) DO NOTHING",
                    )?
                    .execute(params![call_id, task.task_id, client_id, seq])?;
                transaction
                    .prepare_cached(
                        "INSERT INTO lanes (client_id, high_seq, stored_seq) VALUES (?1, ?2, 0)
                         ON CONFLICT (client_id) DO UPDATE SET high_seq = max(high_seq, excluded.high_seq)",
                    )?
                    .execute(params![client_id, seq.unwrap_or(0)])?;
            }
            CallChange::Finished(call_id) => {
                transaction
                    .prepare_cached("UPDATE calls SET open = 0, result = 1 WHERE call_id = ?1")?
                    .execute([call_id])?;
            }
        }
    }
    transaction
        .prepare_cached("INSERT INTO commits (last_pos, task_id, last_seq, events, mark) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![append.pos, task.task_id, last.seq, events.len() as i64, append.mark])?;
    Ok(())
}
