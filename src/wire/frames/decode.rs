//! From a frame's text to a message: what is wrong is named with code and field path.

use super::incoming::{ClientMessage, CommandResult, ReceiptState};
use crate::domain::ids::{CallId, TaskId};
use crate::wire::codes::ErrorCode;
use crate::wire::lenient::{maybe_whole, whole};
use crate::wire::text;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use std::borrow::Cow;

/// The longest `request_id`: it is kept with its task and comes back in answers.
const MAX_REQUEST_ID_CHARS: usize = 128;
/// The longest path of a field that is told.
const MAX_PATH_CHARS: usize = 128;

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
        // A chunk may begin and end inside a character: what is joined is mended, not the pieces.
        if value.get("type").and_then(Value::as_str) != Some("chunk") {
            text::mend(&mut value);
        }
        // Printing it again keeps one way of reading; only old clients with non-ASCII text pay for it.
        return decode_clean(&value.to_string());
    }
    decode_clean(json)
}

/// Reads a message that came in chunks.
pub fn decode_joined(json: &str, mend: bool) -> Result<Decoded, FrameError> {
    let decoded = decode(json, mend)?;
    if let ClientMessage::Chunk(_) = decoded.message {
        return Err(FrameError {
            field: Some("type".into()),
            ..FrameError::new(ErrorCode::BadField, "a chunk cannot hold chunks")
        });
    }
    Ok(decoded)
}

fn not_json(error: serde_json::Error) -> FrameError {
    FrameError::new(ErrorCode::BadJson, format!("this is not JSON: {error}"))
}

fn not_an_object() -> FrameError {
    FrameError::new(ErrorCode::NotAnObject, "a message is a JSON object")
}

fn read_head(json: &str) -> Result<Head<'_>, FrameError> {
    let error = match serde_json::from_str::<Head>(json) {
        // A shape is also read from an array of its fields, which is no message.
        Ok(head) if json.trim_start().starts_with('{') => return Ok(head),
        Ok(_) => return Err(not_an_object()),
        Err(error) => error,
    };
    // The short way failed; the long way tells why.
    let value: Value = serde_json::from_str(json).map_err(not_json)?;
    let Some(object) = value.as_object() else {
        return Err(not_an_object());
    };
    let field = ["type", "ack", "n", "request_id"]
        .into_iter()
        .find(|field| {
            let good = match *field {
                "ack" | "n" => |v: &Value| whole(v).is_ok(),
                _ => Value::is_string,
            };
            object.get(*field).is_some_and(|v| !v.is_null() && !good(v))
        });
    Err(FrameError {
        field: field.map(str::to_owned),
        ..FrameError::new(ErrorCode::BadField, error.to_string())
    })
}

/// The message of which there are most, with what rides on it.
#[derive(Deserialize)]
struct WholeResult<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default, deserialize_with = "maybe_whole")]
    ack: Option<u64>,
    #[serde(default)]
    n: Option<IgnoredAny>,
    #[serde(default)]
    request_id: Option<IgnoredAny>,
    task_id: TaskId,
    call_id: CallId,
    ok: bool,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    receipt: Option<ReceiptState>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default, deserialize_with = "maybe_whole")]
    duration_ms: Option<u64>,
    #[serde(default)]
    truncated: bool,
}

/// Reads an ordinary `command_result` in one go. None: it is something else, or the long way tells what is wrong.
fn decode_result(json: &str) -> Option<Decoded> {
    if !(json.starts_with('{') && json.contains("\"command_result\"")) {
        return None;
    }
    let whole: WholeResult<'_> = serde_json::from_str(json).ok()?;
    let plain = whole.kind == "command_result" && whole.n.is_none() && whole.request_id.is_none();
    plain.then(|| Decoded {
        message: ClientMessage::CommandResult(Box::new(CommandResult {
            task_id: whole.task_id,
            call_id: whole.call_id,
            ok: whole.ok,
            result: whole.result,
            error: whole.error,
            receipt: whole.receipt,
            code: whole.code,
            duration_ms: whole.duration_ms,
            truncated: whole.truncated,
        })),
        ack: whole.ack,
    })
}

fn decode_clean(json: &str) -> Result<Decoded, FrameError> {
    match decode_result(json) {
        Some(decoded) => Ok(decoded),
        None => decode_any(json),
    }
}

fn decode_any(json: &str) -> Result<Decoded, FrameError> {
    let head = read_head(json)?;
    let Some(kind) = head.kind.as_deref() else {
        return Err(FrameError {
            field: Some("type".into()),
            ..FrameError::new(ErrorCode::MissingField, "missing field `type`")
        });
    };
    let named = head.request_id.as_deref();
    if named.is_some_and(|id| id.chars().count() > MAX_REQUEST_ID_CHARS) {
        return Err(FrameError {
            field: Some("request_id".into()),
            ..FrameError::new(
                ErrorCode::BadField,
                format!("a request_id has at most {MAX_REQUEST_ID_CHARS} characters"),
            )
        });
    }
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
        "world_event" => M::WorldEvent(body(json)?),
        "task_query" => M::TaskQuery(body(json)?),
        "stop" => M::Stop(body(json)?),
        "resume" => M::Resume(body(json)?),
        "chunk" => M::Chunk(body(json)?),
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
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        // The first glance reads no further than it must: what is nested too deep, for example, comes to light here.
        match serde_json::from_str::<Value>(json) {
            Ok(_) => field_error(&error),
            Err(error) => not_json(error),
        }
    })
}

/// The path and words of a message that does not fit its shape.
pub(super) fn field_error(error: &serde_path_to_error::Error<serde_json::Error>) -> FrameError {
    let path: String = error
        .path()
        .to_string()
        .chars()
        .take(MAX_PATH_CHARS)
        .collect();
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
#[path = "decode_tests.rs"]
mod tests;
