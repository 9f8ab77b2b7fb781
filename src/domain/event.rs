//! What happened to a task: facts that are journalled, in order, and never changed.

use super::call::{CallReport, NoRoute};
use super::chat::{ChatAnswer, ChatFailure, Role};
use super::decision::{Decision, InputsRef, WaitReason};
use super::directive::{Reading, StrictRequest, TaskResult};
use super::episodes::{EpisodeEnded, Sleep};
use super::fork::Forked;
use super::ids::{BlobHash, CallId, ClientId, Generation, QuestionId, TaskId};
use super::profile::Budgets;
use super::read::Read;
use super::tool::EffectClass;
use super::track::Track;
use super::wakes::{Wake, Wakes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The version that is written with every event; a higher one in a journal stops the start.
pub const EVENT_VERSION: u32 = 1;

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    pub task_id: TaskId,
    /// From 1, without gaps.
    pub seq: u64,
    /// When it was committed, milliseconds since the Unix epoch.
    pub at_ms: i64,
    pub generation: Generation,
    #[serde(flatten)]
    pub event: TaskEvent,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum TaskEvent {
    TaskCreated(Box<TaskCreated>),
    /// A whole task of one call to a `read` tool: it was made and answered before anything of it was journalled. The only event of
    /// its task. Shared: it is handed on whole, to the journal and to whoever listens.
    DirectCallEnded(Arc<DirectCallEnded>),
    /// The task goes on from a step of another one. Comes right behind its creation.
    Forked(Box<Forked>),
    /// The task was started from its journal again.
    GenerationStarted {
        generation: Generation,
        reason: String,
        /// Letters and digits that were never given before; goes into the ids of all later calls. A journal that was
        /// put back from a backup would otherwise give ids that calls of the lost time had. None if only the task's
        /// actor was started again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        salt: Option<String>,
        /// How long servers had run on this journal by then, all runs together, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        up_ms: Option<i64>,
    },
    Decided {
        decision: Box<Decision>,
        inputs: InputsRef,
        #[serde(default, skip_serializing_if = "Track::is_main")]
        track: Track,
    },
    /// `consult` is the journal position of the decision that asked.
    ModelAnswered {
        consult: u64,
        role: Role,
        answer: ChatAnswer,
    },
    ModelFailed {
        consult: u64,
        role: Role,
        failure: ChatFailure,
    },
    /// What was read out of a planner's answer.
    DirectiveRead {
        consult: u64,
        reading: Reading,
    },
    /// What was read out of an executor's answer.
    RequestRead {
        consult: u64,
        request: Option<StrictRequest>,
        problems: Vec<String>,
    },
    /// What was read out of an answer of any other contract.
    AnswerRead {
        consult: u64,
        #[serde(flatten)]
        read: Read,
    },
    /// A lane granted the call its turn; it leaves the process only after this is committed.
    CallIntended(CallIntended),
    /// How a call ended, or how an `unknown` one turned out later.
    CallFinished {
        call_id: CallId,
        report: CallReport,
    },
    /// Nobody could take the call.
    CallNotPlaced {
        call_id: CallId,
        no_route: NoRoute,
    },
    QuestionDelivered {
        question_id: QuestionId,
    },
    QuestionAnswered {
        question_id: QuestionId,
        answer: String,
        by: String,
        authenticated: bool,
    },
    QuestionExpired {
        question_id: QuestionId,
    },
    WaitStarted {
        reason: WaitReason,
    },
    WaitEnded {
        reason: WaitReason,
    },
    /// Which calls of several wait for computers that are away, each since when, in milliseconds since the Unix epoch; it replaces
    /// what was told before.
    CallsAway {
        since: BTreeMap<CallId, i64>,
    },
    /// An episode of a task that lives on is over. All that is needed of what was before is in it.
    EpisodeEnded(Box<EpisodeEnded>),
    /// It sleeps until it is woken; its actor goes.
    FellAsleep(Sleep),
    /// It was woken.
    EpisodeStarted {
        /// From 1.
        episode: u32,
        wakes: Vec<Wake>,
    },
    /// It was to be woken while it was awake: the next episode follows this one.
    WakeKept {
        wake: Wake,
    },
    /// Something people and the planner should know.
    Noted {
        code: String,
        message: String,
    },
    TaskCompleted {
        result: TaskResult,
    },
    TaskFailed {
        code: String,
        error: String,
        details: Value,
    },
    TaskCancelled {
        reason: String,
        by: String,
    },
}

/// How a task began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCreated {
    pub prompt: String,
    /// The kind that is run.
    pub kind: String,
    /// The kind that was asked for (kept although it may be unknown here).
    pub kind_label: String,
    pub strategy: String,
    pub strategy_version: u32,
    /// The pinned [`super::profile::Profile`] as JSON.
    pub profile: BlobHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    pub owner: String,
    /// The one owner whose computers it may use; none = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined_to: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub context: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    #[serde(default)]
    pub interactive: bool,
    pub budgets: Budgets,
    /// A task of kind `call`: the one call it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<DirectCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// How many tasks stand above it: 0 for one that people made.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub depth: u32,
    /// Whether it may start tasks as a tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_start_tasks: bool,
    /// What wakes it; a task that has none ends with its first end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes: Option<Wakes>,
    /// How long servers had run on this journal by then, all runs together, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_ms: Option<i64>,
    /// Whether its model may sleep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_sleep: bool,
}

/// The call of a one-call task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectCall {
    /// `tool`, `computer/tool` or `group:name/tool`.
    pub command: String,
    pub args: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl DirectCall {
    /// The same as a strict request.
    pub fn request(&self) -> StrictRequest {
        StrictRequest::Tool {
            explanation: format!("Calling {}", self.command),
            tool: self.command.clone(),
            parameters: self.args.clone(),
            on: None,
        }
    }
}

/// A one-call task from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectCallEnded {
    pub created: TaskCreated,
    /// When it began, milliseconds since the Unix epoch.
    pub began_ms: i64,
    pub intended: CallIntended,
    pub report: CallReport,
}

/// A call that may leave the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallIntended {
    pub call_id: CallId,
    pub client_id: ClientId,
    /// The lane's number; only `effect` calls have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    pub tool: String,
    pub tool_rev: String,
    pub effect: EffectClass,
    pub args: Value,
    pub args_hash: String,
    /// Longest time from dispatch, in milliseconds.
    pub timeout_ms: u64,
    /// The start of the computer's program that the turn was granted for. An `effect` call is sent to no other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

impl TaskEvent {
    /// How its task began, if this is a task's first event.
    pub fn created(&self) -> Option<&TaskCreated> {
        match self {
            TaskEvent::TaskCreated(created) => Some(created),
            TaskEvent::DirectCallEnded(whole) => Some(&whole.created),
            _ => None,
        }
    }

    /// Every name that [`TaskEvent::name`] gives; a journal with another one is from a newer version.
    pub const NAMES: &[&str] = &[
        "task_created",
        "direct_call_ended",
        "forked",
        "generation_started",
        "decided",
        "model_answered",
        "model_failed",
        "directive_read",
        "request_read",
        "answer_read",
        "call_intended",
        "call_finished",
        "call_not_placed",
        "question_delivered",
        "question_answered",
        "question_expired",
        "wait_started",
        "wait_ended",
        "calls_away",
        "episode_ended",
        "fell_asleep",
        "episode_started",
        "wake_kept",
        "noted",
        "task_completed",
        "task_failed",
        "task_cancelled",
    ];

    /// What is journalled beside the name.
    ///
    /// # Errors
    /// None for events of this version; the types allow it (a map whose keys are no texts).
    pub fn data(&self) -> serde_json::Result<Value> {
        match serde_json::to_value(self)? {
            Value::Object(mut fields) => Ok(fields.remove("data").unwrap_or_default()),
            other => Ok(other),
        }
    }

    /// The same as JSON text, without a tree of values in between: every append pays for it.
    ///
    /// # Errors
    /// As [`TaskEvent::data`].
    pub fn data_text(&self) -> serde_json::Result<String> {
        let whole = serde_json::to_string(self)?;
        let head = format!("{{\"type\":\"{}\",\"data\":", self.name());
        let data = whole.strip_prefix(&head).and_then(|d| d.strip_suffix('}'));
        match data {
            Some(data) => Ok(data.to_owned()),
            None => self.data().map(|data| data.to_string()),
        }
    }

    /// The event's name as it is journalled.
    pub fn name(&self) -> &'static str {
        match self {
            TaskEvent::TaskCreated(_) => "task_created",
            TaskEvent::DirectCallEnded(_) => "direct_call_ended",
            TaskEvent::Forked(_) => "forked",
            TaskEvent::GenerationStarted { .. } => "generation_started",
            TaskEvent::Decided { .. } => "decided",
            TaskEvent::ModelAnswered { .. } => "model_answered",
            TaskEvent::ModelFailed { .. } => "model_failed",
            TaskEvent::DirectiveRead { .. } => "directive_read",
            TaskEvent::RequestRead { .. } => "request_read",
            TaskEvent::AnswerRead { .. } => "answer_read",
            TaskEvent::CallIntended(_) => "call_intended",
            TaskEvent::CallFinished { .. } => "call_finished",
            TaskEvent::CallNotPlaced { .. } => "call_not_placed",
            TaskEvent::QuestionDelivered { .. } => "question_delivered",
            TaskEvent::QuestionAnswered { .. } => "question_answered",
            TaskEvent::QuestionExpired { .. } => "question_expired",
            TaskEvent::WaitStarted { .. } => "wait_started",
            TaskEvent::WaitEnded { .. } => "wait_ended",
            TaskEvent::CallsAway { .. } => "calls_away",
            TaskEvent::EpisodeEnded(_) => "episode_ended",
            TaskEvent::FellAsleep(_) => "fell_asleep",
            TaskEvent::EpisodeStarted { .. } => "episode_started",
            TaskEvent::WakeKept { .. } => "wake_kept",
            TaskEvent::Noted { .. } => "noted",
            TaskEvent::TaskCompleted { .. } => "task_completed",
            TaskEvent::TaskFailed { .. } => "task_failed",
            TaskEvent::TaskCancelled { .. } => "task_cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_names_is_exactly_what_can_be_read() {
        let error = serde_json::from_str::<TaskEvent>(r#"{"type":"?","data":{}}"#).unwrap_err();
        let readable = error.to_string();
        for name in TaskEvent::NAMES {
            assert!(readable.contains(&format!("`{name}`")), "{name}");
        }
        assert_eq!(
            readable.matches('`').count() / 2,
            TaskEvent::NAMES.len() + 1
        );
    }
}
