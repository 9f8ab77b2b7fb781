//! What may be asked of the gateway.

use actix::Message;
use serde::Serialize;

use crate::domain::chat::{ChatAnswer, ChatFailure, Role};
use crate::domain::ids::{Generation, TaskId};
use crate::llm::{ChatRequest, DeltaSink};

/// Make one model call. Queued until its server has a slot; answered when it ended, whatever way.
///
/// Dropping the request's future cancels the call, queued or running. A call of a newer generation of
/// a task cancels what an older one left behind. Full queue: `gateway_full` at once.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<ChatAnswer, ChatFailure>")]
pub struct Complete {
    pub task_id: TaskId,
    pub generation: Generation,
    pub request: ChatRequest,
    /// Sees the answer while it is made. After a further try it starts again from the beginning.
    pub on_delta: DeltaSink,
    /// What the call's work is done in; none unless it was given.
    pub span: tracing::Span,
}

impl Complete {
    /// A call that nobody watches.
    pub fn new(task_id: TaskId, generation: Generation, request: ChatRequest) -> Self {
        Complete {
            task_id,
            generation,
            request,
            on_delta: DeltaSink::ignore(),
            span: tracing::Span::none(),
        }
    }

    /// The same call, whose work belongs to a span.
    pub fn within(self, span: tracing::Span) -> Self {
        Complete { span, ..self }
    }
}

/// Drop all calls of a task, queued and running; a running one's connection is closed. Their senders
/// get `model_cancelled`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CancelTask {
    pub task_id: TaskId,
}

/// What is going on.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "GatewayReport")]
pub struct Observe;

/// The gateway as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatewayReport {
    /// One entry per model server.
    pub servers: Vec<ServerReport>,
}

/// One model server's queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerReport {
    pub name: String,
    /// In the order of arrival within a task; tasks take turns.
    pub waiting: Vec<CallReport>,
    pub running: Vec<CallReport>,
    /// The model of the last granted call, most likely the one in the server's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_model: Option<String>,
    pub breaker: BreakerReport,
    /// Unset until the first failure; kept after a later success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorReport>,
    pub answered: u64,
    pub failed: u64,
}

/// One call in the queue or running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallReport {
    pub task_id: TaskId,
    pub generation: Generation,
    pub role: Role,
    pub model: String,
    /// Milliseconds since it was queued, or since it got its slot.
    pub for_ms: u64,
}

/// The state of a server's circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum BreakerReport {
    /// Calls go through.
    Closed {
        /// Failures to reach the server in a row.
        failures: u32,
    },
    /// Calls fail at once.
    Open {
        /// Milliseconds until one call goes through as a probe.
        probe_in_ms: u64,
    },
    /// One call is trying whether the server is back; the others wait for it.
    HalfOpen,
}

/// The last thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorReport {
    pub code: String,
    pub message: String,
    pub ago_ms: u64,
}
