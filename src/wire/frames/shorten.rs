//! What is left out of a message that is too large for its receiver.

use super::outgoing::{
    ServerMessage, TaskCompleted, TaskFailed, TaskList, TaskUpdate, UserQuestion, cut,
};
use crate::wire::api::TaskBody;
use serde_json::Value;

impl ServerMessage {
    /// The same message with less in it, for one that is too large for its receiver; none if nothing can go.
    pub fn shortened(&self) -> Option<Self> {
        let cut = |text: &str| cut(text, 4096);
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
            ServerMessage::TaskList(list) => Some(ServerMessage::TaskList(TaskList {
                request_id: list.request_id.clone(),
                tasks: list.tasks.iter().map(TaskBody::short).collect(),
            })),
            _ => None,
        }
    }
}
