//! The journal as these commands read it.

use super::find;
use crate::cli::{Exit, Failure};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{BlobHash, TaskId};
use crate::domain::profile::Profile;
use crate::domain::task::{TaskState, TaskSummary};
use crate::store::{JournalReads, StoreError, TaskQuery, sqlite};
use crate::strategy::episodes::with_all_steps;
use std::path::Path;

/// How many of the newest tasks a part of an id is looked for in.
const LOOKED_THROUGH: usize = 10_000;

/// Tasks of one page of a list.
const PAGE: usize = 500;

pub(super) struct Journal {
    reads: Box<dyn JournalReads>,
}

/// A task as read back and folded.
pub(super) struct Task {
    pub events: Vec<StoredEvent>,
    pub state: TaskState,
    /// The same with the steps of all its episodes.
    pub whole: TaskState,
    /// None if it is not kept any more or cannot be read.
    pub profile: Option<Profile>,
}

fn unreadable(error: StoreError) -> Failure {
    Failure::new(Exit::Data, format!("{error} ({})", error.code()))
}

impl Journal {
    /// # Errors
    /// There is none, or this program cannot read it.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let reads = sqlite::open_to_read(folder).map_err(unreadable)?;
        Ok(Journal { reads })
    }

    /// The newest tasks first.
    pub fn newest(&self, limit: usize) -> Result<Vec<TaskSummary>, Failure> {
        let mut tasks: Vec<TaskSummary> = Vec::new();
        let mut before = None;
        while tasks.len() < limit {
            let query = TaskQuery {
                before: before.take(),
                limit: PAGE.min(limit - tasks.len()),
                ..TaskQuery::default()
            };
            let page = self.reads.tasks(&query).map_err(unreadable)?;
            tasks.extend(page.tasks);
            match page.next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
        Ok(tasks)
    }

    /// The task that `name` means: its id, a part that only one task has, or `last`.
    pub fn task(&self, name: &str) -> Result<Task, Failure> {
        if let Ok(id) = TaskId::parse(name)
            && let Some(task) = self.load(&id)?
        {
            return Ok(task);
        }
        let wanted = name.to_ascii_uppercase();
        let is_last = find::is_last(name);
        let tasks = self.newest(if is_last { 1 } else { LOOKED_THROUGH })?;
        let fits = |task: &&TaskSummary| {
            let id = task.task_id.as_str().to_ascii_uppercase();
            is_last || (!wanted.is_empty() && id.contains(&wanted))
        };
        let found: Vec<&TaskSummary> = tasks.iter().filter(fits).collect();
        let problem = match found.as_slice() {
            [one] => match self.load(&one.task_id)? {
                Some(task) => return Ok(task),
                None => "it is gone".to_owned(),
            },
            [] => "none has it; all: ccfleet task list".to_owned(),
            [first, .., last] => format!(
                "{} tasks have that in their id, for example {} and {}: say more of it",
                found.len(),
                first.task_id,
                last.task_id
            ),
        };
        Err(Failure::new(
            Exit::Failed,
            format!("no task \"{name}\": {problem}"),
        ))
    }

    pub fn load(&self, id: &TaskId) -> Result<Option<Task>, Failure> {
        let Some(journalled) = self.reads.load_task(id).map_err(unreadable)? else {
            return Ok(None);
        };
        let mut state = TaskState::new(id.clone());
        state.apply_all(&journalled.events);
        let profile = journalled.profile.as_deref();
        Ok(Some(Task {
            whole: with_all_steps(id, &journalled.events),
            events: journalled.events,
            state,
            profile: profile.and_then(|text| serde_json::from_str(text).ok()),
        }))
    }

    /// The content of a blob.
    pub fn blob(&self, hash: &BlobHash) -> Option<String> {
        self.reads.blob(hash).ok().flatten()
    }
}
