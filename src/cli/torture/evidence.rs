//! What is found when all is over: the journal, read with the types of the program, and the disks, read as files.

use super::count::{CallSeen, Deed, Evidence, TaskSeen};
use super::voice::Mark;
use crate::cli::demo::witness;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::BlobHash;
use crate::domain::task::{TaskState, TaskStatus};
use crate::store::{JournalReads, Journalled, StoreError, TaskQuery, sqlite};
use crate::strategy::replay::replay;
use std::path::Path;

/// Tasks of one page.
const PAGE: usize = 500;

/// Adds what the journal says.
///
/// # Errors
/// It cannot be read.
pub fn read_journal(folder: &Path, evidence: &mut Evidence) -> Result<(), StoreError> {
    let reads = sqlite::open_to_read(folder)?;
    let mut before = None;
    loop {
        let page = reads.tasks(&TaskQuery {
            before: before.take(),
            limit: PAGE,
            ..TaskQuery::default()
        })?;
        for summary in page.tasks {
            if let Some(journalled) = reads.load_task(&summary.task_id)? {
                let mut state = TaskState::new(summary.task_id.clone());
                state.apply_all(&journalled.events);
                let seen = task_seen(&state, &journalled.events);
                evidence.tasks.insert(summary.task_id.to_string(), seen);
                if let Err(words) = replays(reads.as_ref(), &journalled) {
                    evidence
                        .differing
                        .push(format!("{}: {words}", summary.task_id));
                }
            }
        }
        match page.next {
            Some(next) => before = Some(next),
            None => return Ok(()),
        }
    }
}

/// Adds what `ccfleet journal check` would say.
///
/// # Errors
/// The journal cannot be read.
pub fn check_journal(folder: &Path, evidence: &mut Evidence) -> Result<(), StoreError> {
    let (_, problems) = sqlite::transfer::check(folder)?;
    let lines = problems
        .iter()
        .map(|problem| format!("journal: {problem:?}"));
    evidence.damage.extend(lines);
    Ok(())
}

/// Whether the task's decisions come out the same once more.
fn replays(reads: &dyn JournalReads, journalled: &Journalled) -> Result<(), String> {
    let profile = journalled.profile.as_ref().ok_or("its profile is gone")?;
    let profile = serde_json::from_str(profile).map_err(|error| error.to_string())?;
    let blob = |hash: &BlobHash| reads.blob(hash).ok().flatten();
    let done = replay(&journalled.events, &profile, blob);
    done.map(|_| ()).map_err(|error| error.to_string())
}

fn task_seen(state: &TaskState, events: &[StoredEvent]) -> TaskSeen {
    let mut seen = TaskSeen {
        completed: state.status == TaskStatus::Completed,
        status: state.status.as_str().to_owned(),
        calls: Vec::new(),
    };
    for stored in events {
        match &stored.event {
            TaskEvent::CallIntended(intended) => {
                let deed = match intended.tool.as_str() {
                    "torture_mark" => Deed::Mark,
                    _ => Deed::Look,
                };
                let mark = intended.args.get("mark").and_then(|mark| mark.as_str());
                if let Some(mark) = mark.and_then(Mark::find) {
                    seen.calls.push(CallSeen {
                        call_id: intended.call_id.to_string(),
                        deed,
                        mark,
                        outcomes: Vec::new(),
                        result: None,
                    });
                }
            }
            TaskEvent::CallFinished { call_id, report } => {
                let id = call_id.as_str();
                if let Some(call) = seen.calls.iter_mut().find(|call| call.call_id == id) {
                    call.outcomes.push(report.outcome);
                    call.result = report.result.clone();
                }
            }
            TaskEvent::TaskFailed { code, error, .. } => {
                seen.status = format!("failed: {error} ({code})");
            }
            _ => {}
        }
    }
    seen
}

/// Adds what a computer's disk shows.
pub fn read_disk(disk: &Path, evidence: &mut Evidence) {
    let files = std::fs::read_dir(disk.join("marks"));
    for file in files.into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        for line in text.lines() {
            if let Some((mark, call_id)) = line.split_once(' ')
                && let Some(mark) = Mark::find(mark)
            {
                evidence.marks.push((mark, call_id.to_owned()));
            }
        }
    }
    let entries = std::fs::read_to_string(disk.join(witness::FILE)).unwrap_or_default();
    for line in entries.lines() {
        let mut words = line.split_whitespace();
        let call_id = words.next().unwrap_or_default();
        // Only effects have a number.
        if words.nth(1).is_some_and(|seq| seq.parse::<u64>().is_ok()) {
            *evidence.entries.entry(call_id.to_owned()).or_default() += 1;
        }
    }
}
