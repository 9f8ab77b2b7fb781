//! What writing journals and reading them back costs: `cargo bench --bench journal -- [commits|read|checkpoint] [--tasks N] [--json]`.
//!
//! `commits`: durable appends a second beside bare SQLite that writes the same rows (`commits.rs`).
//!
//! `read`: A long task of the `code_job` kind is decided and journalled with a model and a computer that are told beforehand; N tasks
//! have that course. Their events are folded from memory, and read from the SQLite journal and folded. Beside them stands what
//! no reader of such a journal can be without: parsing the same lines as JSON.

mod commits;
mod story;

use ccfleet::domain::event::StoredEvent;
use ccfleet::domain::ids::TaskId;
use ccfleet::domain::task::{TaskState, TaskSummary};
use ccfleet::store::checkpoint::Checkpoint;
use ccfleet::store::{Append, OpenStore, Write, sqlite};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use story::Story;

/// What the program itself has (`src/main.rs`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each figure is the median of so many measurements, taken in turn.
const ROUNDS: usize = 5;
/// Events of one task, and how many tasks: 100,000 events.
const EVENTS: usize = 5_000;
const TASKS: usize = 20;
/// Events of one append; a task's own appends are smaller, which does not matter to whoever reads.
const BATCH: usize = 500;
/// Events of the task that is loaded with and without a checkpoint, and how many of them came after it.
const LONG: usize = 10_000;
const AFTER: usize = 250;

const HELP: &str = "\
cargo bench --bench journal -- [PART...] [OPTIONS]

parts, all where none is named:
  commits  durable appends a second, beside bare SQLite that writes the same rows in groups
  read     folding a long task, and reading it from SQLite, beside parsing the same as JSON
  checkpoint  loading one task of 10,000 events with a checkpoint and without

--tasks N    read: so many tasks (20)
--appends N  commits: so many appends in a run (6400)
--json       the last line of the output is JSON
";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let number = |flag: &str, usual: usize| -> usize {
        let at = args.iter().position(|arg| arg == flag);
        let given = at.and_then(|at| args.get(at + 1)?.parse().ok());
        given.unwrap_or(usual)
    };
    if has("--help") {
        return print!("{HELP}");
    }
    let all = !has("commits") && !has("read") && !has("checkpoint");
    let story = Story::of(EVENTS);
    let mut report = Value::Null;
    if all || has("read") {
        report = measure(&story, number("--tasks", TASKS));
        tell_read(&report);
    }
    if all || has("checkpoint") {
        report["checkpoint"] = checkpoint();
        tell_checkpoint(&report["checkpoint"]);
    }
    if all || has("commits") {
        report["commits"] = commits::measure(&story, &[1, 64, 256], number("--appends", 6400));
        tell_commits(&report["commits"]);
    }
    if has("--json") {
        println!("{report}");
    }
}

fn tell_read(report: &Value) {
    println!(
        "{} events of {} tasks, {:.1} MB as JSON lines; medians of {ROUNDS}",
        report["events"],
        report["tasks"],
        report["bytes"].as_f64().unwrap_or_default() / 1e6,
    );
    for (name, what) in [
        ("parse_ms", "parsed as JSON (the baseline)"),
        ("fold_ms", "folded from memory"),
        (
            "load_ms",
            "read from the journal, checksums held, and folded",
        ),
    ] {
        println!(
            "{:>9.0} ms  {what}",
            report[name].as_f64().unwrap_or_default()
        );
    }
}

fn tell_checkpoint(report: &Value) {
    let of = |name: &str| report[name].as_f64().unwrap_or_default();
    println!(
        "one task of {} events: {:.1} ms from its events, {:.1} ms from a checkpoint and the last {} ({:.0} kB packed); {:.1} ms to make it",
        report["events"],
        of("without_ms"),
        of("with_ms"),
        report["after"],
        of("packed_bytes") / 1e3,
        of("make_ms"),
    );
}

fn tell_commits(rows: &Value) {
    for row in rows.as_array().into_iter().flatten() {
        let of = |name: &str| row[name].as_f64().unwrap_or_default();
        println!(
            "{:>4} writers: {:>6.0} durable appends/s in {:.0} transactions; bare SQLite, same rows: {:>6.0} in {:.0} ({:.2})",
            of("writers"),
            of("appends_per_s"),
            of("transactions"),
            of("raw_appends_per_s"),
            of("raw_transactions"),
            of("ratio"),
        );
    }
}

/// The value in the middle.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(story: &Story, tasks: usize) -> Value {
    let lines: Vec<String> = story.journal.iter().map(line).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let ids: Vec<TaskId> = (0..tasks).map(task_id).collect();
    let store = stored(folder.path(), story, &ids);
    let (mut parse, mut fold, mut load) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parse.push(timed(|| {
            for _ in &ids {
                let parsed = lines.iter().map(|line| serde_json::from_str::<Value>(line));
                assert_eq!(parsed.filter(Result::is_ok).count(), lines.len());
            }
        }));
        fold.push(timed(|| {
            for _ in &ids {
                assert_eq!(folded(&story.journal).usage, story.state.usage);
            }
        }));
        load.push(timed(|| {
            for id in &ids {
                let read = store.reads.load_task(id).expect("readable");
                let read = read.expect("the task is there");
                assert_eq!(folded(&read.events).usage, story.state.usage);
            }
        }));
    }
    json!({
        "tasks": tasks,
        "events": lines.len() * tasks,
        "bytes": lines.iter().map(String::len).sum::<usize>() * tasks,
        "steps_of_a_task": story.state.usage.steps,
        "parse_ms": median(parse),
        "fold_ms": median(fold),
        "load_ms": median(load),
    })
}

fn checkpoint() -> Value {
    let story = Story::of(LONG);
    let (early, _) = story.journal.split_at(story.journal.len() - AFTER);
    let id = early[0].task_id.clone();
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = stored(folder.path(), &story, std::slice::from_ref(&id));
    let load = |store: &OpenStore| {
        let standing = store.reads.standing(&id).expect("readable");
        let standing = standing.expect("the task is there");
        assert_eq!(standing.state.usage, story.state.usage);
    };
    let (mut without, mut with, mut make) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(timed(|| load(&store)));
    }
    let state = folded(early);
    let mut packed = None;
    for _ in 0..ROUNDS {
        make.push(timed(|| packed = Checkpoint::of(&state).ok()));
    }
    let packed = packed.expect("a state can be written");
    let bytes = packed.data.len();
    let entry = Write::Checkpoint(Box::new(packed));
    store.writer.write(&[entry]).expect("the disk takes it");
    for _ in 0..ROUNDS {
        with.push(timed(|| load(&store)));
    }
    json!({
        "events": story.journal.len(),
        "after": AFTER,
        "packed_bytes": bytes,
        "without_ms": median(without),
        "with_ms": median(with),
        "make_ms": median(make),
    })
}

fn task_id(number: usize) -> TaskId {
    TaskId::from_unique(&format!("{number:026}")).expect("an id")
}

fn line(stored: &StoredEvent) -> String {
    serde_json::to_string(stored).expect("an event can be written")
}

fn folded(events: &[StoredEvent]) -> TaskState {
    let mut state = TaskState::new(events[0].task_id.clone());
    state.apply_all(events);
    state
}

/// A journal in which each of the tasks has the story's course.
fn stored(folder: &std::path::Path, story: &Story, ids: &[TaskId]) -> OpenStore {
    let mut store = sqlite::open(folder).expect("a journal");
    for id in ids {
        for batch in story.journal.chunks(BATCH) {
            let append = Append {
                task_id: id.clone(),
                generation: batch[0].generation,
                expected_seq: batch[0].seq - 1,
                at_ms: batch[0].at_ms,
                events: story::of_task(id, batch).into(),
                blobs: story.blobs.clone(),
                summary: TaskSummary {
                    task_id: id.clone(),
                    ..story.state.summary()
                }
                .into(),
                idempotency_key: None,
                tools: Vec::new(),
            };
            let written = store.writer.write(&[Write::Append(Arc::new(append))]);
            let mut written = written.expect("the disk takes it");
            written.remove(0).expect("the next events");
        }
    }
    store
}

fn timed(what: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    what();
    begun.elapsed()
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}
