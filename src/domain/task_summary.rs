//! A task as lists show it: the short form of its state.

use super::decision::WaitReason;
use super::directive::TaskResult;
use super::event::{DirectCallEnded, StoredEvent, TaskCreated, TaskEvent};
use super::ids::{ClientId, TaskId};
use super::task::{TaskState, TaskStatus};
use super::wakes::Asleep;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a task used up (wire contract, `usage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Usage {
    pub steps: u32,
    pub calls: u32,
    pub model_calls: u32,
    pub executor_model_calls: u32,
    /// Directives, their THEN items and steps of plans that rules translated, so that no executor had to be asked.
    #[serde(default)]
    pub executor_calls_avoided: u32,
    pub questions: u32,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
}

impl Usage {
    /// Both together.
    pub fn plus(&self, other: &Usage) -> Usage {
        Usage {
            steps: self.steps.saturating_add(other.steps),
            calls: self.calls.saturating_add(other.calls),
            model_calls: self.model_calls.saturating_add(other.model_calls),
            executor_model_calls: self
                .executor_model_calls
                .saturating_add(other.executor_model_calls),
            executor_calls_avoided: self
                .executor_calls_avoided
                .saturating_add(other.executor_calls_avoided),
            questions: self.questions.saturating_add(other.questions),
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
            tokens_cached: self.tokens_cached.saturating_add(other.tokens_cached),
        }
    }

    /// What was used up since `before`.
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            steps: self.steps.saturating_sub(before.steps),
            calls: self.calls.saturating_sub(before.calls),
            model_calls: self.model_calls.saturating_sub(before.model_calls),
            executor_model_calls: self
                .executor_model_calls
                .saturating_sub(before.executor_model_calls),
            executor_calls_avoided: self
                .executor_calls_avoided
                .saturating_sub(before.executor_calls_avoided),
            questions: self.questions.saturating_sub(before.questions),
            tokens_in: self.tokens_in.saturating_sub(before.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(before.tokens_out),
            tokens_cached: self.tokens_cached.saturating_sub(before.tokens_cached),
        }
    }
}

/// The step of another task that a task goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    pub task_id: TaskId,
    pub step: u32,
}

/// A task as lists show it (wire contract, `task`). Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub task_id: TaskId,
    pub kind: String,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_reason: Option<WaitReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    pub owner: String,
    pub prompt: String,
    pub strategy: String,
    pub step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What the task is doing, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    #[serde(default)]
    pub metadata: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
    pub usage: Usage,
    /// Calls that may have left and have no outcome yet; an ended task may have some for a moment.
    #[serde(default)]
    pub open_calls: usize,
    /// It has ended, and so has every call of it.
    #[serde(default)]
    pub sealed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The episode that runs or ran last; 0 in a task that ends where it ends.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub episode: u32,
    /// It sleeps, and what wakes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep: Option<Asleep>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    /// Why the task is not run: its journal is damaged, or this program cannot go on with it. The store knows it, a state
    /// does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<String>,
}

impl TaskState {
    /// What the task is doing, for people.
    pub fn message(&self) -> Option<String> {
        if let Some(result) = &self.result {
            return Some(result.message.clone());
        }
        if let Some(error) = &self.error {
            return Some(error.error.clone());
        }
        if let (Some(WaitReason::Model), Some(failure)) = (self.wait, &self.last_failure) {
            return Some(format!(
                "waits for the model ({}): {}. {}",
                failure.code, failure.message, failure.hint
            ));
        }
        if let Some(child) = self.open_child() {
            let line = child.prompt.lines().next().unwrap_or_default();
            let line: String = line.chars().take(200).collect();
            return Some(format!("waits for task {}: {line}", child.task_id));
        }
        if let (TaskStatus::Sleeping, Some(nap)) = (self.status, self.naps().next()) {
            let until = nap.until_ms.map(super::nap::shown);
            return Some(format!("sleeps until {}", until.unwrap_or_default()));
        }
        let Some(step) = self.steps.last() else {
            let past = self.episodes.past.last()?;
            return Some(past.result.clone());
        };
        if let Some(blocked) = &step.blocked {
            return Some(format!(
                "sent back ({}): {}",
                blocked.guard.as_str(),
                blocked.evidence
            ));
        }
        let request = step
            .calls
            .last()
            .map(|call| &call.request)
            .or(step.request.as_ref());
        request.map(|request| request.explanation().to_owned())
    }

    /// The short form. Before the task was created it is empty but for its id.
    pub fn summary(&self) -> TaskSummary {
        let created = self.created.as_ref();
        let text = |of: fn(&TaskCreated) -> &String| created.map(of).cloned().unwrap_or_default();
        TaskSummary {
            task_id: self.task_id.clone(),
            kind: text(|c| &c.kind_label),
            status: self.status,
            wait_reason: self.wait,
            client_id: created.and_then(|c| c.client_id.clone()),
            owner: text(|c| &c.owner),
            prompt: text(|c| &c.prompt),
            strategy: text(|c| &c.strategy),
            step: self.usage.steps,
            progress: None,
            message: self.message(),
            result: self.result.clone(),
            error: self.error.as_ref().map(|e| e.error.clone()),
            details: self
                .error
                .as_ref()
                .map(|e| e.details.clone())
                .unwrap_or_default(),
            metadata: created.map(|c| c.metadata.clone()).unwrap_or_default(),
            allowed_commands: created.and_then(|c| c.allowed_commands.clone()),
            usage: self.own_usage(),
            open_calls: self.open_intents(),
            sealed: self.is_sealed(),
            parent: created.and_then(|c| c.parent.clone()),
            forked_from: self.forked.as_ref().map(|point| ForkedFrom {
                task_id: point.from.clone(),
                step: point.at_step,
            }),
            episode: self.episodes.number,
            asleep: self.asleep(),
            created_at_ms: self.created_at_ms,
            updated_at_ms: self.updated_at_ms,
            quarantine: None,
        }
    }
}

impl StoredEvent {
    /// Whether it is a task's first event, and its last one unless something is heard of it later: what there is to know of the task.
    pub fn tells_all(&self) -> bool {
        match &self.event {
            TaskEvent::DirectCallEnded(whole) => whole.is_whole(),
            _ => false,
        }
    }

    /// The short form of the task that this event tells all of, as the fold of it gives it.
    pub fn short_form(&self) -> Option<TaskSummary> {
        match &self.event {
            TaskEvent::DirectCallEnded(whole) if whole.is_whole() => {
                Some(whole.summary(self.task_id.clone(), self.at_ms))
            }
            _ => None,
        }
    }
}

impl DirectCallEnded {
    /// Whether it says of a call, and nothing wakes its task again.
    fn is_whole(&self) -> bool {
        self.created.call.is_some() && self.created.wakes.is_none()
    }

    fn summary(&self, task_id: TaskId, ended_ms: i64) -> TaskSummary {
        let created = &self.created;
        let result = self
            .report
            .task_result(&self.intended.call_id, &self.intended.tool);
        TaskSummary {
            task_id,
            kind: created.kind_label.clone(),
            status: TaskStatus::Completed,
            wait_reason: None,
            client_id: created.client_id.clone(),
            owner: created.owner.clone(),
            prompt: created.prompt.clone(),
            strategy: created.strategy.clone(),
            step: 1,
            progress: None,
            message: Some(result.message.clone()),
            result: Some(result),
            error: None,
            details: Value::Null,
            metadata: created.metadata.clone(),
            allowed_commands: created.allowed_commands.clone(),
            usage: Usage {
                steps: 1,
                calls: 1,
                ..Usage::default()
            },
            open_calls: 0,
            sealed: true,
            parent: created.parent.clone(),
            forked_from: None,
            episode: 0,
            asleep: None,
            created_at_ms: self.began_ms,
            updated_at_ms: ended_ms,
            quarantine: None,
        }
    }
}
