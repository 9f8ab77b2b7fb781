//! Server → computer.

use crate::domain::decision::WaitReason;
use crate::domain::directive::TaskResult;
use crate::domain::ids::{CallId, ClientId, QuestionId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::tool::ToolState;
use crate::wire::codes::ErrorCode;
use crate::wire::text;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One message to a computer, without its number.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    Error(ErrorMessage),
    Ping(PingNonce),
    Pong(PongNonce),
}

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Welcome {
    pub protocol: u64,
    pub client_id: ClientId,
    pub server_id: String,
    pub journal_epoch: u64,
    pub session_secret: String,
    pub server_version: String,
    pub features: Vec<String>,
    pub heartbeat_ms: u64,
    pub max_frame_bytes: u64,
    pub max_to_computer: u64,
    pub max_from_computer: u64,
    /// 0 = nothing is numbered.
    pub window: u64,
    pub library: Library,
    pub commands: CommandsRegistered,
}

/// The client library that this server ships.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Library {
    pub version: String,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CommandsRegistered {
    /// Tool name → `tool_rev`.
    pub accepted: BTreeMap<String, String>,
    /// The tools that are not active for the server, whatever the computer says of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, ToolState>,
    pub refused: Vec<RefusedTool>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RefusedTool {
    pub name: String,
    pub code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub hint: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCreated {
    pub request_id: String,
    pub task_id: TaskId,
    pub status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskUpdate {
    pub task_id: TaskId,
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_reason: Option<WaitReason>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCompleted {
    pub task_id: TaskId,
    pub result: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskFailed {
    pub task_id: TaskId,
    pub error: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Run a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandCall {
    pub task_id: TaskId,
    pub call_id: CallId,
    pub command: String,
    pub args: Value,
    /// Only on `effect` calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_rev: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<String>,
    /// Milliseconds that are left for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How often it was sent, this time included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallRef {
    pub call_id: CallId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResultStored {
    pub call_id: CallId,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserQuestion {
    pub question_id: QuestionId,
    pub task_id: TaskId,
    pub question: String,
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionClosed {
    pub question_id: QuestionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ErrorMessage {
    pub error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
}

impl ErrorMessage {
    /// An error with its code's hint.
    pub fn new(code: ErrorCode, error: impl Into<String>) -> Self {
        ErrorMessage {
            error: error.into(),
            code: Some(code.as_str()),
            hint: Some(code.hint()),
            ..ErrorMessage::default()
        }
    }

    /// The same, as the answer to one request.
    pub fn to_request(mut self, request_id: Option<String>) -> Self {
        self.request_id = request_id;
        self
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PingNonce {
    pub nonce: u64,
}

/// Whatever the computer sent comes back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PongNonce {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Value>,
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
        // Every shape here has string keys and plain values, so printing cannot fail.
        let json = serde_json::to_string(self).unwrap_or_default();
        if ascii { text::ascii_json(json) } else { json }
    }

    /// The same message with less in it, for one that is too large for its receiver; none if nothing can go.
    pub fn shortened(&self) -> Option<Self> {
        const KEPT_CHARS: usize = 4096;
        let cut = |text: &str| text.chars().take(KEPT_CHARS).collect::<String>();
        match self {
            ServerMessage::TaskCompleted(done) => {
                let message = done.result.get("message").and_then(Value::as_str);
                let result = serde_json::json!({
                    "success": done.result.get("success"),
                    "message": cut(message.unwrap_or_default()),
                    "truncated": true,
                });
                Some(ServerMessage::TaskCompleted(TaskCompleted {
                    task_id: done.task_id.clone(),
                    result,
                }))
            }
            ServerMessage::TaskFailed(failed) => Some(ServerMessage::TaskFailed(TaskFailed {
                task_id: failed.task_id.clone(),
                error: cut(&failed.error),
                details: Value::Null,
            })),
            ServerMessage::TaskUpdate(update) => Some(ServerMessage::TaskUpdate(TaskUpdate {
                message: update.message.as_deref().map(cut),
                ..update.clone()
            })),
            ServerMessage::UserQuestion(question) => {
                Some(ServerMessage::UserQuestion(UserQuestion {
                    question: cut(&question.question),
                    why: cut(&question.why),
                    ..question.clone()
                }))
            }
            ServerMessage::Error(error) => Some(ServerMessage::Error(ErrorMessage {
                error: cut(&error.error),
                ..error.clone()
            })),
            _ => None,
        }
    }
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
            args: json!({"path": "é"}),
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

    #[test]
    fn an_error_carries_the_hint_of_its_code() {
        let error = ServerMessage::Error(
            ErrorMessage::new(ErrorCode::BadJson, "no JSON").to_request(Some("r1".into())),
        );
        let back: Value = serde_json::from_str(&error.encode(true)).unwrap();
        assert_eq!(back["code"], "bad_json");
        assert_eq!(back["request_id"], "r1");
        assert_eq!(back["hint"], ErrorCode::BadJson.hint());
    }
}
