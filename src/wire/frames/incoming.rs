//! Computer → server.

use crate::domain::ids::{CallId, ClientId, QuestionId, TaskId};
use crate::wire::codes::ErrorCode;
use crate::wire::lenient::{list, maybe_list, maybe_object, maybe_whole, whole};
use crate::wire::text;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// One message of a computer, without what rides on it.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientMessage {
    Hello(Box<Hello>),
    RegisterCommands(RegisterCommands),
    UnregisterCommands(UnregisterCommands),
    CreateTask(Box<CreateTask>),
    CancelTask(CancelTask),
    CommandResult(Box<CommandResult>),
    CommandProgress(CommandProgress),
    CallReceipt(Box<CallReceipt>),
    UserAnswer(UserAnswer),
    /// Only its number matters, which any other message may carry as `ack`.
    Ack,
    Ping(Nonce),
    Pong(Nonce),
    Error(ReportedError),
    /// A message of the contract that this version does not serve yet.
    NotYet(&'static str),
}

/// First message of a client of protocol 1.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Hello {
    #[serde(deserialize_with = "whole")]
    pub protocol: u64,
    pub client_id: ClientId,
    /// New at every start of the computer's program.
    pub boot_id: String,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub token: Option<String>,
    #[serde(default)]
    pub library_version: Option<String>,
    #[serde(default, deserialize_with = "maybe_empty")]
    pub computer: Option<ComputerInfo>,
    #[serde(default, deserialize_with = "list")]
    pub groups: Vec<String>,
    /// Read one by one later, so that one bad tool refuses only itself.
    #[serde(default, deserialize_with = "list")]
    pub commands: Vec<Value>,
    #[serde(default, deserialize_with = "list")]
    pub features: Vec<String>,
    #[serde(default, deserialize_with = "maybe_whole")]
    pub max_frame_bytes: Option<u64>,
    #[serde(default)]
    pub frames: FrameKind,
    /// How many un-acked messages the computer takes; without it nothing is numbered.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub window: Option<u64>,
    /// The highest lane number that the computer has seen from server `server_id`.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub high_seq: Option<u64>,
    #[serde(default)]
    pub server_id: Option<String>,
    #[serde(default, deserialize_with = "maybe_whole")]
    pub journal_epoch: Option<u64>,
    #[serde(default)]
    pub session_secret: Option<String>,
}

/// What kind of machine it is. `id` is CC's number.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct ComputerInfo {
    #[serde(default, deserialize_with = "maybe_whole")]
    pub id: Option<u64>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub version: Option<String>,
}

/// Lua writes a table without fields as `[]`.
fn maybe_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ComputerInfo>, D::Error> {
    let value = maybe_object(deserializer)?;
    value
        .map(serde_json::from_value)
        .transpose()
        .map_err(serde::de::Error::custom)
}

/// How the server frames its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// ASCII-only JSON in text frames.
    #[default]
    Text,
    /// Raw UTF-8 in binary frames.
    Binary,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RegisterCommands {
    #[serde(deserialize_with = "list")]
    pub commands: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UnregisterCommands {
    #[serde(deserialize_with = "list")]
    pub names: Vec<String>,
}

/// Source document 001 §4.2.1, with `metadata` and `interactive` added.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CreateTask {
    pub request_id: String,
    pub task_kind: String,
    pub client_id: ClientId,
    pub prompt: String,
    #[serde(default, deserialize_with = "maybe_object")]
    pub context: Option<Value>,
    #[serde(default, deserialize_with = "maybe_list")]
    pub allowed_commands: Option<Vec<String>>,
    #[serde(default, deserialize_with = "maybe_object")]
    pub metadata: Option<Value>,
    #[serde(default)]
    pub interactive: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CancelTask {
    pub task_id: TaskId,
}

/// Source document 001 §4.2.2, with what the computer knows about the run added.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CommandResult {
    pub task_id: TaskId,
    pub call_id: CallId,
    pub ok: bool,
    #[serde(default)]
    pub result: Option<Value>,
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub receipt: Option<ReceiptState>,
    #[serde(default)]
    pub code: Option<String>,
    #[serde(default, deserialize_with = "maybe_whole")]
    pub duration_ms: Option<u64>,
    #[serde(default)]
    pub truncated: bool,
}

/// What a computer knows of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptState {
    NotStarted,
    Started,
    Done,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CommandProgress {
    pub call_id: CallId,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub progress: Option<f64>,
}

/// The answer to `call_status`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CallReceipt {
    pub call_id: CallId,
    #[serde(default, deserialize_with = "maybe_whole")]
    pub seq: Option<u64>,
    pub state: ReceiptState,
    #[serde(default)]
    pub args_hash: Option<String>,
    #[serde(default)]
    pub ok: Option<bool>,
    #[serde(default)]
    pub result: Option<Value>,
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub code: Option<String>,
    #[serde(default)]
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserAnswer {
    pub question_id: QuestionId,
    pub answer: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Nonce {
    #[serde(default)]
    pub nonce: Option<Value>,
}

/// An `error` of the computer: logged, never answered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReportedError {
    #[serde(default)]
    pub error: String,
    #[serde(default)]
    pub code: Option<String>,
    #[serde(default)]
    pub call_id: Option<String>,
}

/// A message and what rode on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    pub message: ClientMessage,
    /// The highest contiguous numbered message that the computer has.
    pub ack: Option<u64>,
}

/// Why a frame is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FrameError {
    pub code: ErrorCode,
    /// What is wrong, in words.
    pub message: String,
    /// The path of the field at fault.
    pub field: Option<String>,
    /// `request_id` of the message, if it could be read, so that the sender can tell which one it was.
    pub request_id: Option<String>,
}

impl FrameError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        FrameError {
            code,
            message: message.into(),
            field: None,
            request_id: None,
        }
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "maybe_whole")]
    ack: Option<u64>,
    /// The number of an `ack` message.
    #[serde(default, deserialize_with = "maybe_whole")]
    n: Option<u64>,
    #[serde(default, borrow)]
    request_id: Option<Cow<'a, str>>,
}

/// Reads one message. `mend` puts together UTF-8 that a client without `library_version` sent byte by byte.
pub fn decode(json: &str, mend: bool) -> Result<Decoded, FrameError> {
    if mend && text::may_be_garbled(json) {
        let mut value: Value = serde_json::from_str(json).map_err(not_json)?;
        text::mend(&mut value);
        // Printing it again keeps one way of reading; only old clients with non-ASCII text pay for it.
        return decode_clean(&value.to_string());
    }
    decode_clean(json)
}

fn not_json(error: serde_json::Error) -> FrameError {
    FrameError::new(ErrorCode::BadJson, format!("this is not JSON: {error}"))
}

fn read_head(json: &str) -> Result<Head<'_>, FrameError> {
    let error = match serde_json::from_str::<Head>(json) {
        Ok(head) => return Ok(head),
        Err(error) => error,
    };
    // The short way failed; the long way tells why.
    let value: Value = serde_json::from_str(json).map_err(not_json)?;
    let Some(object) = value.as_object() else {
        return Err(FrameError::new(
            ErrorCode::NotAnObject,
            "a message is a JSON object",
        ));
    };
    let field = ["type", "ack", "n", "request_id"]
        .into_iter()
        .find(|field| {
            let good = match *field {
                "ack" | "n" => |v: &Value| v.is_u64(),
                _ => Value::is_string,
            };
            object.get(*field).is_some_and(|v| !v.is_null() && !good(v))
        });
    Err(FrameError {
        field: field.map(str::to_owned),
        ..FrameError::new(ErrorCode::BadField, error.to_string())
    })
}

fn decode_clean(json: &str) -> Result<Decoded, FrameError> {
    let head = read_head(json)?;
    let Some(kind) = head.kind.as_deref() else {
        return Err(FrameError {
            field: Some("type".into()),
            ..FrameError::new(ErrorCode::MissingField, "missing field `type`")
        });
    };
    let message = decode_kind(kind, json).map_err(|error| FrameError {
        request_id: head.request_id.as_deref().map(str::to_owned),
        ..error
    })?;
    let ack = match message {
        ClientMessage::Ack => Some(head.n.or(head.ack).ok_or_else(|| FrameError {
            field: Some("n".into()),
            ..FrameError::new(ErrorCode::MissingField, "missing field `n`")
        })?),
        _ => head.ack,
    };
    Ok(Decoded { message, ack })
}

fn decode_kind(kind: &str, json: &str) -> Result<ClientMessage, FrameError> {
    use ClientMessage as M;
    Ok(match kind {
        "command_result" => M::CommandResult(body(json)?),
        "ack" => M::Ack,
        "hello" => M::Hello(body(json)?),
        "register_commands" => M::RegisterCommands(body(json)?),
        "unregister_commands" => M::UnregisterCommands(body(json)?),
        "create_task" => M::CreateTask(body(json)?),
        "cancel_task" => M::CancelTask(body(json)?),
        "command_progress" => M::CommandProgress(body(json)?),
        "call_receipt" => M::CallReceipt(body(json)?),
        "user_answer" => M::UserAnswer(body(json)?),
        "ping" => M::Ping(body(json)?),
        "pong" => M::Pong(body(json)?),
        "error" => M::Error(body(json)?),
        "world_event" => M::NotYet("world_event"),
        "task_query" => M::NotYet("task_query"),
        "stop" => M::NotYet("stop"),
        "resume" => M::NotYet("resume"),
        "chunk" => M::NotYet("chunk"),
        other => {
            let shown: String = other.chars().take(64).collect();
            return Err(FrameError {
                field: Some("type".into()),
                ..FrameError::new(
                    ErrorCode::UnknownType,
                    format!("unknown message type \"{shown}\""),
                )
            });
        }
    })
}

fn body<T: DeserializeOwned>(json: &str) -> Result<T, FrameError> {
    // Good messages are read the short way; only a bad one is read again to find the field at fault.
    if let Ok(message) = serde_json::from_str(json) {
        return Ok(message);
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| field_error(&error))
}

/// The path and words of a message that does not fit its shape.
pub(super) fn field_error(error: &serde_path_to_error::Error<serde_json::Error>) -> FrameError {
    let path = error.path().to_string();
    let words = error.inner().to_string();
    // The place in the text says nothing to somebody who has the field's path.
    let words = words.split(" at line ").next().unwrap_or(&words).to_owned();
    let missing = words
        .strip_prefix("missing field `")
        .and_then(|rest| rest.strip_suffix('`'));
    let (code, field) = match missing {
        Some(name) if path == "." => (ErrorCode::MissingField, name.to_owned()),
        Some(name) => (ErrorCode::MissingField, format!("{path}.{name}")),
        None => (ErrorCode::BadField, path),
    };
    FrameError {
        field: Some(field),
        ..FrameError::new(code, words)
    }
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
