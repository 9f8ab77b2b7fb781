//! What is found when all is over: the journal, read with the types of the program, and the disks, read as files.

use super::count::{CallSeen, Deed, End, Evidence, TaskSeen};
use super::parts::fork_of;
use super::voice::{self, Mark};
use crate::cli::demo::witness;
use crate::domain::call::CallReport;
use crate::domain::event::{CallIntended, StoredEvent, TaskEvent};
use crate::domain::ids::{BlobHash, CallId};
use crate::domain::task::{TaskState, TaskStatus};
use crate::domain::wakes::{Wake, WakeCause};
use crate::store::{JournalReads, Journalled, StoreError, TaskQuery, sqlite};
use crate::strategy::replay::replay;
use std::path::Path;

/// The tool whose calls need consent, and the word that gives it.
const SEAL: &str = "torture_seal";
pub const CONSENT: &str = "yes";

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
    let created = state.created.as_ref();
    let mut seen = TaskSeen {
        number: created.and_then(|created| voice::task_of(&created.prompt)),
        strategy: created.map(|c| c.strategy.clone()).unwrap_or_default(),
        parent: created.and_then(|c| Some(c.parent.as_ref()?.to_string())),
        end: match state.status {
            TaskStatus::Completed => End::Completed,
            TaskStatus::Failed => End::Failed,
            TaskStatus::Cancelled => End::Cancelled,
            _ => End::Open,
        },
        status: state.status.as_str().to_owned(),
        ..TaskSeen::default()
    };
    let mut cancelled = false;
    for stored in events {
        match &stored.event {
            TaskEvent::Forked(forked) => {
                seen.forked_from = Some(forked.from.to_string());
                seen.number = seen.number.map(fork_of);
            }
            TaskEvent::CallIntended(intended) => {
                seen.seals += usize::from(intended.tool == SEAL);
                if cancelled {
                    seen.begun_after_cancel.push(intended.call_id.to_string());
                }
                seen.calls.extend(call_seen(intended));
            }
            TaskEvent::CallFinished { call_id, report } => finished(&mut seen, call_id, report),
            TaskEvent::TaskCancelled { .. } => {
                cancelled = true;
                for call in &mut seen.calls {
                    call.cut_short |= call.outcomes.is_empty();
                }
            }
            TaskEvent::TaskFailed { code, error, .. } => {
                seen.status = format!("failed: {error} ({code})");
            }
            TaskEvent::QuestionAnswered {
                question_id,
                answer,
                ..
            } => {
                seen.consents += usize::from(answer == CONSENT);
                let question = question_id.to_string();
                seen.answers.insert(question, answer.clone());
            }
            TaskEvent::EpisodeStarted { wakes, .. } => {
                let told = |wake: &&Wake| matches!(wake.cause, WakeCause::Event { .. });
                seen.told += wakes.iter().filter(told).count();
                seen.woken_by.extend(wakes.iter().filter_map(number_of));
                seen.wakes.extend(wakes.iter().filter_map(number_of));
            }
            TaskEvent::WakeKept { wake } => seen.wakes.extend(number_of(wake)),
            TaskEvent::EpisodeEnded(_) => seen.episodes += 1,
            _ => {}
        }
    }
    seen
}

fn call_seen(intended: &CallIntended) -> Option<CallSeen> {
    let deed = match intended.tool.as_str() {
        "torture_mark" | SEAL => Deed::Mark,
        "torture_look" => Deed::Look,
        _ => return None,
    };
    let mark = Mark::find(intended.args.get("mark")?.as_str()?)?;
    Some(CallSeen {
        call_id: intended.call_id.to_string(),
        deed,
        mark,
        outcomes: Vec::new(),
        result: None,
        cut_short: false,
    })
}

fn finished(seen: &mut TaskSeen, call_id: &CallId, report: &CallReport) {
    let id = call_id.as_str();
    if let Some(call) = seen.calls.iter_mut().find(|call| call.call_id == id) {
        call.outcomes.push(report.outcome);
        call.result = report.result.clone();
        return;
    }
    let woken = report.result.as_ref().and_then(|r| r.get("woken_by"));
    if woken.is_some() {
        *seen.naps.entry(id.to_owned()).or_default() += 1;
        return;
    }
    // The end of a child.
    let told = |key: &str| Some(report.result.as_ref()?.get(key)?.as_str()?.to_owned());
    if let (Some(child), Some(status)) = (told("task_id"), told("status")) {
        seen.children_told.push((child, status));
    }
}

/// The number that was given along with a wake.
fn number_of(wake: &Wake) -> Option<u64> {
    wake.cause.data().get("number")?.as_u64()
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
