//! One run: a task given to a strategy on a prepared slot, followed to its end, judged by the computers.

use super::checks::{self, Ledger};
use super::course;
use super::model::BASELINE;
use super::model::slip::Slip;
use super::naive;
use super::slot::Slot;
use super::suite::{Suite, Task};
use super::transcript;
use crate::actors::feed::messages::{Committed, Subscribe};
use crate::actors::supervisor::messages::{AnswerQuestion, CancelTask, StartTask};
use crate::cli::demo::witness;
use crate::domain::decision::Decision;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{BlobHash, ClientId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Receiver;

/// Batches of the feed that may wait.
const CAPACITY: usize = 4096;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Job {
    pub task: Arc<Task>,
    /// A strategy, or the baseline.
    pub contender: &'static str,
    pub seed: u64,
    /// Share of wrong answers; 0 in the run that all others are measured by.
    pub rate: f64,
    /// The run is given up after this.
    pub within: Duration,
    /// Where runs are written down.
    pub transcripts: Option<Arc<PathBuf>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It said that it is done.
    Done,
    /// It said that it failed; the code.
    Failed(String),
    /// Nobody can tell: it never ended, or ended without a word.
    Unclear,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Record {
    pub job: Job,
    pub ending: Ending,
    /// What does not hold on the computers.
    pub problem: Option<String>,
    pub steps: u32,
    pub model_calls: u32,
    pub executor_calls: u32,
    /// Requests that rules translated, so that no executor had to be asked.
    pub executor_avoided: u32,
    pub calls: u32,
    pub tokens: u64,
    /// Refused moves by guard.
    pub guard_trips: BTreeMap<String, u32>,
    pub duplicate_effects: u32,
    pub repeated_effects: u32,
    pub slips: BTreeMap<Slip, u32>,
    /// What its journal holds; the baseline has none.
    #[cfg(test)]
    pub course: course::Course,
    /// One hash of it.
    pub journal: BlobHash,
    /// Why its journal does not replay.
    pub replay: Option<String>,
    pub took: Duration,
    /// It was read from a file, and its strategy has changed since.
    pub by_earlier_version: bool,
}

impl Record {
    /// It says it is done, and the computers agree.
    pub fn success(&self) -> bool {
        self.ending == Ending::Done && self.problem.is_none()
    }

    /// It says it is done, and the computers do not agree.
    pub fn false_claim(&self) -> bool {
        self.ending == Ending::Done && self.problem.is_some()
    }
}

/// What a contender reports of its own run.
pub struct Played {
    pub ending: Ending,
    pub steps: u32,
    pub model_calls: u32,
    pub executor_calls: u32,
    pub executor_avoided: u32,
    pub calls: u32,
    pub tokens: u64,
    pub guard_trips: BTreeMap<String, u32>,
    /// The task's journal; the baseline has none.
    pub events: Vec<StoredEvent>,
    /// Why it does not replay.
    pub replay: Option<String>,
}

/// Makes one run on a slot.
///
/// # Errors
/// Something other than the contender went wrong: a disk, the server.
pub async fn run(suite: &Suite, job: &Job, slot: &mut Slot) -> Result<Record, String> {
    let io = |e: std::io::Error| format!("cannot prepare the disks: {e}");
    slot.prepare(suite, &job.task).map_err(io)?;
    let before = slot.entries(suite).len();
    if let Some(model) = &slot.model
        && !model.begin(&job.task, job.contender, job.rate, job.seed)
    {
        return Err(format!("the model does not speak {}", job.contender));
    }
    let started = Instant::now();
    let played = match job.contender {
        BASELINE => naive::play(suite, job, slot).await?,
        _ => by_strategy(suite, job, slot).await?,
    };
    let took = started.elapsed();
    let slips = slot.model.as_ref().map(|m| m.end()).unwrap_or_default();
    let entries = slot.entries(suite);
    let entered = witness::count(entries.get(before..).unwrap_or(&entries));
    let Ledger {
        same_call,
        asked_again,
    } = checks::ledger(slot);
    let problem = checks::hold(suite, &job.task, slot).await.err();
    let course = course::of(&played.events);
    let record = Record {
        job: job.clone(),
        ending: played.ending,
        problem,
        steps: played.steps,
        model_calls: played.model_calls,
        executor_calls: played.executor_calls,
        executor_avoided: played.executor_avoided,
        calls: played.calls,
        tokens: played.tokens,
        guard_trips: played.guard_trips,
        duplicate_effects: entered.duplicate_effects as u32 + same_call,
        repeated_effects: asked_again,
        slips,
        journal: course::hash(&course),
        #[cfg(test)]
        course,
        replay: played.replay,
        took,
        by_earlier_version: false,
    };
    if let Some(dir) = &job.transcripts {
        let problem = record.problem.as_deref();
        let written = transcript::write(dir, job, problem, &played.events);
        written.map_err(|e| format!("cannot write to {}: {e}", dir.display()))?;
    }
    Ok(record)
}

async fn by_strategy(suite: &Suite, job: &Job, slot: &Slot) -> Result<Played, String> {
    let mut feed = subscribe(slot).await?;
    let task = &job.task;
    let request = StartTask {
        prompt: task.prompt.clone(),
        kind: Some(format!("eval_{}", job.contender)),
        client_id: ClientId::parse(suite.home(task)).ok(),
        owner: "local".to_owned(),
        allowed_commands: task.only_tools.clone(),
        metadata: json!({"eval": task.name, "seed": job.seed}),
        ..StartTask::default()
    };
    let started = slot.app.start_task().send(request).await;
    let started = started
        .map_err(|e| e.to_string())?
        .map_err(|e| e.to_string())?;
    let task_id = started.summary.task_id;
    let ended = follow(job, slot, &task_id, &mut feed);
    let summary = match tokio::time::timeout(job.within, ended).await {
        Ok(ended) => Some(ended?),
        Err(_) => {
            give_up(slot, &task_id).await;
            None
        }
    };
    let journal = slot.app.journal();
    let loaded = journal.load_task(task_id.clone()).await;
    let loaded = loaded.map_err(|e| e.to_string())?;
    let replay = course::differs(journal, &loaded.events, &loaded.profile).await?;
    let journalled = (loaded.events, replay);
    let summary = match summary {
        Some(summary) => summary,
        None => {
            let now = journal.task(task_id).await.map_err(|e| e.to_string())?;
            return Ok(told(&now, Ending::Unclear, journalled));
        }
    };
    let ending = match summary.status {
        TaskStatus::Completed => Ending::Done,
        TaskStatus::Failed => Ending::Failed(code_of(&journalled.0)),
        _ => Ending::Unclear,
    };
    Ok(told(&summary, ending, journalled))
}

/// What is reported of a run, given its journal and why that does not replay.
fn told(
    summary: &TaskSummary,
    ending: Ending,
    (events, replay): (Vec<StoredEvent>, Option<String>),
) -> Played {
    let usage = &summary.usage;
    let mut guard_trips = BTreeMap::new();
    for stored in &events {
        let TaskEvent::Decided { decision, .. } = &stored.event else {
            continue;
        };
        if let Decision::Block { guard, .. } = &**decision {
            *guard_trips.entry(guard.as_str().to_owned()).or_default() += 1;
        }
    }
    Played {
        ending,
        steps: usage.steps,
        model_calls: usage.model_calls,
        executor_calls: usage.executor_model_calls,
        executor_avoided: usage.executor_calls_avoided,
        calls: usage.calls,
        tokens: usage.tokens_in + usage.tokens_out,
        guard_trips,
        events,
        replay,
    }
}

fn code_of(events: &[StoredEvent]) -> String {
    let code = events.iter().rev().find_map(|stored| match &stored.event {
        TaskEvent::TaskFailed { code, .. } => Some(code.clone()),
        _ => None,
    });
    code.unwrap_or_default()
}

async fn subscribe(slot: &Slot) -> Result<Receiver<Committed>, String> {
    let subscribed = slot.app.feed().send(Subscribe::to_all(CAPACITY)).await;
    subscribed.map_err(|error| error.to_string())
}

/// Waits for the task's end; a question is answered as by a person.
async fn follow(
    job: &Job,
    slot: &Slot,
    task_id: &TaskId,
    feed: &mut Receiver<Committed>,
) -> Result<TaskSummary, String> {
    loop {
        let Some(news) = feed.recv().await else {
            return Err("the feed ended".to_owned());
        };
        if news.summary.task_id != *task_id {
            continue;
        }
        for stored in news.events.iter() {
            answer(job, slot, &stored.event);
        }
        if news.summary.status.is_final() {
            return Ok(TaskSummary::clone(&news.summary));
        }
    }
}

fn answer(job: &Job, slot: &Slot, event: &TaskEvent) {
    // Not before: an answer that overtakes its question makes two runs of a seed differ.
    if let TaskEvent::QuestionDelivered { question_id } = event {
        let answer = job.task.answer.as_deref();
        let answer = AnswerQuestion {
            question_id: question_id.clone(),
            answer: answer
                .unwrap_or("Nobody knows. Decide it yourself.")
                .to_owned(),
            by: "the evaluation".to_owned(),
            authenticated: true,
        };
        // An answer that comes too late is refused, and the task says how it ended.
        slot.app.answer_question().do_send(answer);
    }
}

async fn give_up(slot: &Slot, task_id: &TaskId) {
    let cancel = CancelTask {
        task_id: task_id.clone(),
        reason: "the evaluation's time for one run is over".to_owned(),
        by: "the evaluation".to_owned(),
    };
    // The run counts as one without an outcome either way.
    let _ = slot.app.cancel_task().send(cancel).await;
}
