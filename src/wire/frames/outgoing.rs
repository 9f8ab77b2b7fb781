//! Server → computer. The doc comments here are the descriptions in `docs/schema/`.

pub use super::error::ErrorMessage;
use crate::domain::decision::WaitReason;
use crate::domain::directive::TaskResult;
use crate::domain::ids::{CallId, ClientId, QuestionId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::text::Text;
use crate::domain::tool::ToolState;
use crate::wire::api::TaskBody;
#[cfg(test)]
use crate::wire::schema;
use crate::wire::text;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One message to a computer, without its number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    Welcome(Box<Welcome>),
    CommandsRegistered(CommandsRegistered),
    TaskCreated(TaskCreated),
    TaskUpdate(TaskUpdate),
    TaskCompleted(TaskCompleted),
    TaskFailed(TaskFailed),
    CommandCall(Box<CommandCall>),
    CommandCancel(CallRef),
    CallStatus(CallRef),
    ResultStored(ResultStored),
    UserQuestion(UserQuestion),
    QuestionClosed(QuestionClosed),
    TaskList(TaskList),
    Error(ErrorMessage),
    Ping(PingNonce),
    Pong(PongNonce),
    Chunk(Chunk),
}

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Welcome {
    /// The version of the contract: 1.
    pub protocol: u64,
    #[cfg_attr(test, schemars(with = "schema::ClientId"))]
    pub client_id: ClientId,
    /// This server; `high_seq` in `hello` counts only with it.
    pub server_id: String,
    /// The epoch of its journal; it grows when an operator says that the computer's numbers may go on.
    pub journal_epoch: u64,
    /// With it the same start of the program takes over from an earlier connection.
    pub session_secret: String,
    /// The server's version, for people.
    pub server_version: String,
    /// What the server can do.
    pub features: Vec<String>,
    /// How often it sends WebSocket pings.
    pub heartbeat_ms: u64,
    /// The largest frame the server takes.
    pub max_frame_bytes: u64,
    /// The largest message to the computer, joined from chunks.
    pub max_to_computer: u64,
    /// The largest message from the computer, joined from chunks.
    pub max_from_computer: u64,
    /// How many un-acked messages the server sends; 0 = nothing is numbered.
    pub window: u64,
    /// The client library that this server ships.
    pub library: Library,
    /// What became of the tools in `hello`.
    pub commands: CommandsRegistered,
}

/// The client library that this server ships.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Library {
    /// Compared with `library_version`.
    pub version: String,
    /// Relative to the address that the computer used.
    pub url: String,
}

/// The answer to `register_commands`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandsRegistered {
    /// Tool name → `tool_rev`.
    pub accepted: BTreeMap<String, String>,
    /// The tools that are not active for the server, whatever the computer says of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub states: BTreeMap<String, ToolState>,
    /// Each refused tool with its reason; after 64 of them one entry tells how many more there are.
    pub refused: Vec<RefusedTool>,
}

/// A tool that was not taken.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RefusedTool {
    /// As it was given, or `?`.
    pub name: String,
    /// A code of docs/protocol.md.
    pub code: &'static str,
    /// The path of the field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What mends it.
    pub hint: String,
}

/// The answer to `create_task`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskCreated {
    /// As in the request.
    pub request_id: String,
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    #[cfg_attr(test, schemars(with = "crate::domain::task::TaskStatus"))]
    pub status: &'static str,
}

/// A task's status changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskUpdate {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    #[cfg_attr(test, schemars(with = "crate::domain::task::TaskStatus"))]
    pub status: &'static str,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What the task is doing, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why it waits, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_reason: Option<WaitReason>,
}

/// A task ended; told again after a reconnect until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskCompleted {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    /// How it ended.
    #[cfg_attr(test, schemars(with = "TaskResult"))]
    pub result: Value,
}

/// A task failed; told again after a reconnect until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskFailed {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    /// Why, in words.
    pub error: String,
    /// More about the failure: the last directive, the last error, what was used up.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Run a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandCall {
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    #[cfg_attr(test, schemars(with = "schema::CallId"))]
    pub call_id: CallId,
    /// The name of the tool.
    #[cfg_attr(test, schemars(with = "String"))]
    pub command: Text,
    /// What the tool is called with.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
    #[serde(serialize_with = "shared")]
    pub args: Arc<Value>,
    /// The number of the call in its lane; only on `effect` calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The revision of the tool that is meant; opaque, to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub tool_rev: Option<Text>,
    /// A hash of the arguments; opaque, to be stored and compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<String>,
    /// Milliseconds that are left for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How often it was sent, this time included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<u32>,
}

/// One call, for `command_cancel` and `call_status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallRef {
    #[cfg_attr(test, schemars(with = "schema::CallId"))]
    pub call_id: CallId,
    /// Its number, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// The result of an `effect` call is durable: the receipt may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultStored {
    #[cfg_attr(test, schemars(with = "schema::CallId"))]
    pub call_id: CallId,
}

/// A question for whoever sits at the computer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserQuestion {
    #[cfg_attr(test, schemars(with = "schema::QuestionId"))]
    pub question_id: QuestionId,
    #[cfg_attr(test, schemars(with = "schema::TaskId"))]
    pub task_id: TaskId,
    /// What is asked.
    pub question: String,
    /// Why the task cannot go on without an answer.
    pub why: String,
    /// Answers to choose from, if only these make sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// How long the task waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A question needs no answer any more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionClosed {
    #[cfg_attr(test, schemars(with = "schema::QuestionId"))]
    pub question_id: QuestionId,
    /// The answer that counts, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Does the computer's program live?
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PingNonce {
    /// To be sent back.
    pub nonce: u64,
}

/// Whatever the computer sent comes back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PongNonce {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Value>,
}

/// The answer to `task_query`, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskList {
    /// As in the request.
    pub request_id: String,
    /// The tasks; long texts in them are cut if the list is too large for the computer.
    pub tasks: Vec<TaskBody>,
}

/// A piece of one larger message. The pieces' `data`, joined by `index`, are the text of that message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Chunk {
    /// Another one for each message of a connection.
    pub chunk_id: String,
    /// From 0.
    pub index: u64,
    /// How many pieces there are.
    pub count: u64,
    /// Text, cut between characters.
    pub data: String,
}

impl ServerMessage {
    /// What a computer is told of its task as it stands now. A client that speaks only document 001 knows
    /// fewer statuses and fields.
    pub fn of_task(summary: &TaskSummary, legacy: bool) -> Self {
        let task_id = summary.task_id.clone();
        match summary.status {
            TaskStatus::Completed => ServerMessage::TaskCompleted(TaskCompleted {
                task_id,
                result: result_of(summary.result.as_ref()),
            }),
            TaskStatus::Failed => ServerMessage::TaskFailed(TaskFailed {
                task_id,
                error: summary.error.clone().unwrap_or_default(),
                details: if legacy {
                    Value::Null
                } else {
                    summary.details.clone()
                },
            }),
            status => ServerMessage::TaskUpdate(TaskUpdate {
                task_id,
                status: match status {
                    TaskStatus::WaitingForUser | TaskStatus::Sleeping if legacy => {
                        TaskStatus::Running.as_str()
                    }
                    status => status.as_str(),
                },
                progress: summary.progress,
                message: summary.message.clone(),
                wait_reason: summary.wait_reason.filter(|_| !legacy),
            }),
        }
    }

    /// Whether it goes without a number, ahead of everything that has one (wire contract, "Flow").
    pub fn is_control(&self) -> bool {
        matches!(
            self,
            ServerMessage::Welcome(_)
                | ServerMessage::Ping(_)
                | ServerMessage::Pong(_)
                | ServerMessage::CommandCancel(_)
                | ServerMessage::CallStatus(_)
                | ServerMessage::Error(_)
        )
    }

    /// Whether a later message makes up for the loss of it: how a task stands that has not ended.
    pub fn is_only_news(&self) -> bool {
        let cancelled = TaskStatus::Cancelled.as_str();
        matches!(self, ServerMessage::TaskUpdate(update) if update.status != cancelled)
    }

    /// Whether it is one of the messages of source document 001.
    pub fn is_starred(&self) -> bool {
        matches!(
            self,
            ServerMessage::TaskCreated(_)
                | ServerMessage::TaskUpdate(_)
                | ServerMessage::TaskCompleted(_)
                | ServerMessage::TaskFailed(_)
                | ServerMessage::CommandCall(_)
                | ServerMessage::Error(_)
        )
    }

    /// The message as a JSON text; only ASCII characters where the receiver garbles others.
    pub fn encode(&self, ascii: bool) -> String {
        let mut json = Vec::with_capacity(MOSTLY);
        // Every shape here has string keys and plain values, so printing cannot fail, and what is printed is UTF-8.
        let printed = serde_json::to_writer(&mut json, self);
        let json = printed.ok().and_then(|()| String::from_utf8(json).ok());
        let json = json.unwrap_or_default();
        if ascii { text::ascii_json(json) } else { json }
    }
}

/// What one message seldom exceeds, in bytes.
const MOSTLY: usize = 384;

fn shared<S: serde::Serializer>(value: &Arc<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize(serializer)
}

pub(super) fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

fn result_of(result: Option<&TaskResult>) -> Value {
    result
        .and_then(|result| serde_json::to_value(result).ok())
        .unwrap_or_else(|| serde_json::json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_call_has_the_fields_of_document_001_and_leaves_out_what_is_not_known() {
        let task_id = TaskId::from_unique("01").unwrap();
        let call = ServerMessage::CommandCall(Box::new(CommandCall {
            call_id: CallId::derive(&task_id, Default::default(), 3, 0),
            task_id,
            command: "fs_read".into(),
            args: json!({"path": "é"}).into(),
            seq: None,
            tool_rev: None,
            args_hash: None,
            deadline_ms: None,
            delivery: None,
        }));
        let back: Value = serde_json::from_str(&call.encode(true)).unwrap();
        assert!(call.encode(true).is_ascii());
        assert_eq!(
            back,
            json!({"type": "command_call", "task_id": "tsk_01", "call_id": "cal_01_0_3_0",
                   "command": "fs_read", "args": {"path": "é"}})
        );
    }
}
