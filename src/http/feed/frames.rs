//! Server-sent events as text. JSON has no line breaks of its own, so each is one line of data.

use super::super::shapes;
use super::samples::Open;
use crate::actors::deltas::AnswerPiece;
use crate::domain::ids::ClientId;
use crate::store::{CommittedEvent, Place};
use serde_json::{Value, json};
use std::sync::Arc;

/// Where a client finds everything as it is now.
const SNAPSHOT: &str = "/api/v1/tasks";

fn frame(name: &str, id: Option<Place>, data: &str) -> String {
    match id {
        Some(id) => format!("event: {name}\nid: {id}\ndata: {data}\n\n"),
        None => format!("event: {name}\ndata: {data}\n\n"),
    }
}

/// A committed event, with the task as it stands after it.
pub(super) fn event(committed: &CommittedEvent) -> String {
    let mut body = shapes::event(&committed.event);
    body["task"] = shapes::task(&committed.task);
    frame("event", Some(committed.place), &body.to_string())
}

/// What was missed cannot be told.
pub(super) fn reset(at: Place) -> String {
    let data = json!({"snapshot": SNAPSHOT}).to_string();
    frame("reset", Some(at), &data)
}

/// A comment, which keeps the connection from looking dead; a browser takes the cursor along all the same.
pub(super) fn beat(at: Option<Place>) -> String {
    match at {
        Some(at) => format!("id: {at}\n: here\n\n"),
        None => ": here\n\n".to_owned(),
    }
}

/// Computers that changed, each as JSON, and those that are gone.
pub(super) fn computers(changed: &[Arc<str>], gone: &[ClientId]) -> String {
    let gone = Value::from(gone.iter().map(ClientId::as_str).collect::<Vec<_>>());
    let data = format!("{{\"changed\":[{}],\"gone\":{gone}}}", changed.join(","));
    frame("computers", None, &data)
}

pub(super) fn questions(open: Open) -> String {
    let data = json!({"questions": open.questions, "approvals": open.approvals});
    frame("questions", None, &data.to_string())
}

pub(super) fn tokens(piece: &AnswerPiece) -> String {
    let mut data = json!({
        "task_id": piece.task_id,
        "consult": piece.consult,
        "role": piece.role,
        "text": piece.text,
    });
    if piece.thinking {
        data["thinking"] = json!(true);
    }
    frame("tokens", None, &data.to_string())
}
