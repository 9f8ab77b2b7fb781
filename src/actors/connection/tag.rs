//! By what a message is known when it is delivered, overtaken or taken back.

use crate::domain::ids::{CallId, TaskId};
use crate::wire::frames::ServerMessage;

/// What somebody wants to know a message by once it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    Plain,
    Call(CallId),
    Update(TaskId),
    Final(TaskId),
    /// The answer to a request.
    Answer(String),
}

impl Tag {
    /// What it is known by.
    pub fn of(message: &ServerMessage) -> Tag {
        match message {
            ServerMessage::CommandCall(call) => Tag::Call(call.call_id.clone()),
            ServerMessage::TaskUpdate(update) if update.status == "cancelled" => {
                Tag::Final(update.task_id.clone())
            }
            ServerMessage::TaskUpdate(update) => Tag::Update(update.task_id.clone()),
            ServerMessage::TaskCompleted(done) => Tag::Final(done.task_id.clone()),
            ServerMessage::TaskFailed(failed) => Tag::Final(failed.task_id.clone()),
            ServerMessage::TaskList(list) => Tag::Answer(list.request_id.clone()),
            _ => Tag::Plain,
        }
    }
}
