//! What reading a journal back costs: `cargo bench --bench journal -- [--events N] [--json]`.
//!
//! One long task of the `code_job` kind is decided and journalled with a model and a computer that are told beforehand. Its
//! events are then folded from memory, and read from the SQLite journal and folded. Beside them stands what no reader
//! of such a journal can be without: parsing the same lines as JSON.

mod story;

use ccfleet::domain::event::StoredEvent;
use ccfleet::domain::task::TaskState;
use ccfleet::store::{Append, OpenStore, Write, sqlite};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use story::Story;

/// What the program itself has (`src/main.rs`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each figure is the median of so many measurements, taken in turn.
const ROUNDS: usize = 5;
const EVENTS: usize = 100_000;
/// Events of one append; a task's own appends are smaller, which does not matter to whoever reads.
const BATCH: usize = 500;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let events = args.iter().position(|arg| arg == "--events");
    let events = events.and_then(|at| args.get(at + 1)?.parse().ok());
    let story = Story::of(events.unwrap_or(EVENTS));
    let report = measure(&story);
    println!(
        "{} events, {:.1} MB as JSON lines, {} steps; medians of {ROUNDS}",
        report["events"],
        report["bytes"].as_f64().unwrap_or_default() / 1e6,
        report["steps"]
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
    if args.iter().any(|arg| arg == "--json") {
        println!("{report}");
    }
}

fn measure(story: &Story) -> Value {
    let lines: Vec<String> = story.journal.iter().map(line).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let store = stored(folder.path(), story);
    let task_id = &story.state.task_id;
    let (mut parse, mut fold, mut load) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        parse.push(timed(|| {
            let parsed = lines.iter().map(|line| serde_json::from_str::<Value>(line));
            assert_eq!(parsed.filter(Result::is_ok).count(), lines.len());
        }));
        fold.push(timed(|| {
            assert_eq!(folded(&story.journal).usage, story.state.usage);
        }));
        load.push(timed(|| {
            let read = store.reads.load_task(task_id).expect("readable");
            let read = read.expect("the task is there");
            assert_eq!(folded(&read.events).usage, story.state.usage);
        }));
    }
    json!({
        "events": lines.len(),
        "bytes": lines.iter().map(String::len).sum::<usize>(),
        "steps": story.state.usage.steps,
        "parse_ms": median(parse),
        "fold_ms": median(fold),
        "load_ms": median(load),
    })
}

fn line(stored: &StoredEvent) -> String {
    serde_json::to_string(stored).expect("an event can be written")
}

fn folded(events: &[StoredEvent]) -> TaskState {
    let mut state = TaskState::new(events[0].task_id.clone());
    state.apply_all(events);
    state
}

/// The story in a journal of its own.
fn stored(folder: &std::path::Path, story: &Story) -> OpenStore {
    let mut store = sqlite::open(folder).expect("a journal");
    for batch in story.journal.chunks(BATCH) {
        let append = Append {
            task_id: story.state.task_id.clone(),
            generation: batch[0].generation,
            expected_seq: batch[0].seq - 1,
            at_ms: batch[0].at_ms,
            events: batch.iter().map(|stored| stored.event.clone()).collect(),
            blobs: story.blobs.clone(),
            summary: story.state.summary(),
            idempotency_key: None,
            tools: Vec::new(),
        };
        let written = store.writer.write(&[Write::Append(Box::new(append))]);
        written
            .expect("the disk takes it")
            .remove(0)
            .expect("the next events");
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
