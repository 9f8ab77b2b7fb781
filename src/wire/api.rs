//! Shapes that the HTTP API and messages to computers share (wire contract, "HTTP").

use crate::domain::decision::WaitReason;
use crate::domain::directive::TaskResult;
use crate::domain::ids::{ClientId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary, Usage};
#[cfg(test)]
use crate::wire::schema;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// The last moment that RFC 3339 can name, 9999-12-31T23:59:59.999Z, in milliseconds.
const LAST_MS: u64 = 253_402_300_799_999;

/// Milliseconds since the Unix epoch as RFC 3339 in UTC; what lies outside the years 1970 to 9999 is moved to
/// their edge.
pub fn time(at_ms: i64) -> String {
    let at_ms = u64::try_from(at_ms).unwrap_or(0).min(LAST_MS);
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at_ms)).to_string()
}

/// A task as people, programs and computers are shown it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Task"))]
pub struct TaskBody {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    /// The named profile it runs with.
    pub kind: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Why it waits, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_reason: Option<WaitReason>,
    /// Its own computer, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<schema::ClientId>"))]
    pub client_id: Option<ClientId>,
    /// Whose it is.
    pub owner: String,
    pub prompt: String,
    pub strategy: String,
    /// Steps that were begun.
    pub step: u32,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What it is doing, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How it ended, if it completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// More about a failure.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// What whoever made it keeps with it.
    pub metadata: Value,
    /// The tools it may use, as names or globs; without it what the kind allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
    /// What it used up.
    pub usage: Usage,
    /// Calls that may have left and have no outcome yet; a task that has ended may have some for a moment.
    pub open_calls: usize,
    /// It has ended, and so has every call of it.
    pub sealed: bool,
    /// The task that made it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<schema::TaskId>"))]
    pub parent: Option<TaskId>,
    /// The task that it goes on from, if it was forked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<schema::TaskId>"))]
    pub forked_from: Option<TaskId>,
    /// The last step of that task that it carries over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_at_step: Option<u32>,
    /// Which episode runs or ran last, in a task that sleeps and is woken again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<u32>,
    /// When it runs next by its schedule: RFC 3339, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes_at: Option<String>,
    /// RFC 3339, in UTC.
    pub created_at: String,
    /// RFC 3339, in UTC.
    pub updated_at: String,
    /// Why the task is not run: its journal is damaged, or the server cannot go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<String>,
}

impl From<&TaskSummary> for TaskBody {
    fn from(task: &TaskSummary) -> Self {
        let metadata = match &task.metadata {
            Value::Null => json!({}),
            metadata => metadata.clone(),
        };
        TaskBody {
            task_id: task.task_id.clone(),
            kind: task.kind.clone(),
            status: task.status,
            wait_reason: task.wait_reason,
            client_id: task.client_id.clone(),
            owner: task.owner.clone(),
            prompt: task.prompt.clone(),
            strategy: task.strategy.clone(),
            step: task.step,
            progress: task.progress,
            message: task.message.clone(),
            result: task.result.clone(),
            error: task.error.clone(),
            details: task.details.clone(),
            metadata,
            allowed_commands: task.allowed_commands.clone(),
            usage: task.usage,
            open_calls: task.open_calls,
            sealed: task.sealed,
            parent: task.parent.clone(),
            forked_from: task.forked_from.as_ref().map(|from| from.task_id.clone()),
            forked_at_step: task.forked_from.as_ref().map(|from| from.step),
            episode: (task.episode > 0).then_some(task.episode),
            wakes_at: task.asleep.as_ref().and_then(|s| s.wake_at_ms).map(time),
            created_at: time(task.created_at_ms),
            updated_at: time(task.updated_at_ms),
            quarantine: task.quarantine.clone(),
        }
    }
}

impl TaskBody {
    /// The same in a few hundred bytes: enough to tell it from others.
    pub fn short(&self) -> Self {
        const KEPT_CHARS: usize = 100;
        let cut = |text: &String| text.chars().take(KEPT_CHARS).collect::<String>();
        TaskBody {
            prompt: cut(&self.prompt),
            message: self.message.as_ref().map(cut),
            result: self.result.as_ref().map(|result| TaskResult {
                success: result.success,
                message: cut(&result.message),
                details: Value::Null,
            }),
            error: self.error.as_ref().map(cut),
            details: Value::Null,
            metadata: json!({}),
            allowed_commands: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_milliseconds_and_never_panic() {
        assert_eq!(time(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(time(i64::MIN), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(i64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
