//! What tasks may ask of a computer's lane, and what they are told.
//!
//! A call goes through: [`PlaceCall`] → [`CallNews::TurnGranted`] → the task journals `CallIntended` →
//! [`Dispatch`] → [`CallNews::Settled`] → the task journals `CallFinished` → [`OutcomeStored`].

pub use super::lane::Resumed;
use crate::actors::backlog::{Weigh, weight_of};
use crate::domain::call::{CallReport, NoRoute};
use crate::domain::event::CallIntended;
use crate::domain::ids::{CallId, Generation, QuestionId, TaskId};
use crate::domain::lifecycle::ToolRecord;
use crate::domain::task::TaskSummary;
use crate::domain::text::Text;
use crate::domain::tool::EffectClass;
use actix::{Message, Recipient};
use serde_json::Value;
use std::sync::Arc;

/// Reserve a turn for a call. Nothing leaves the process yet; a reservation is only memory.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct PlaceCall {
    pub task_id: TaskId,
    pub generation: Generation,
    pub call_id: CallId,
    pub tool: String,
    pub args: Arc<Value>,
    /// Longest time from dispatch; none = the tool's own or the configured one.
    pub timeout_ms: Option<u64>,
    pub reply_to: Recipient<CallFact>,
}

/// Take over a call that an earlier generation (or run of the server) had intended and whose outcome is open:
/// ask the computer what it knows (`effect`), or send it again (`read`, `idempotent`).
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct AdoptCall {
    pub task_id: TaskId,
    pub generation: Generation,
    pub intended: CallIntended,
    /// Its outcome is journalled as `unknown`: it has no turn to take, but an answer may still come.
    pub is_unknown: bool,
    pub reply_to: Recipient<CallFact>,
}

/// `CallIntended` is durable: send it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Dispatch {
    pub call_id: CallId,
}

/// The call's outcome is durable: tell the computer that its receipt may go, and free the lane.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct OutcomeStored {
    pub call_id: CallId,
}

/// What became of a [`crate::actors::supervisor::messages::LateResult`].
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct LateSettled {
    pub call_id: CallId,
    /// The result is durable, or the journal does not know the call: the computer may forget it.
    pub stored: bool,
}

/// What waits for its turn, in order.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Vec<WaitingCall>")]
pub struct ShowQueue;

/// A call that waits.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitingCall {
    #[cfg_attr(test, schemars(with = "crate::wire::schema::CallId"))]
    pub call_id: CallId,
    #[cfg_attr(test, schemars(with = "crate::wire::schema::TaskId"))]
    pub task_id: TaskId,
    pub tool: String,
    /// How long it has waited.
    pub age_ms: u64,
}

/// Stop everything here, or go on; see [`crate::actors::registry::messages::StopCalls`].
#[derive(Debug, Clone, Message)]
#[rtype(result = "usize")]
pub struct StopLane;

/// Go on. The answer tells what the journal has to keep.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Resumed")]
pub struct ResumeLane {
    /// Also where the journal is older than the computer.
    pub by_operator: bool,
}

/// Drop a reservation, or stop a running call: `command_cancel`, a grace time, then `unknown`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CancelCall {
    pub call_id: CallId,
}

/// Calls told of tools of this computer, and what they told is durable. A fact of a task, answered when it can be seen.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ToolsTold {
    pub records: Vec<ToolRecord>,
}

/// A task changed; shown to the computer that owns it (`task_update`, `task_completed`, `task_failed`).
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct TaskNotice {
    /// Shared: among what is delivered, nothing else is as large.
    pub summary: Arc<TaskSummary>,
}

/// The most bytes of them that may wait between threads for one computer.
pub const MAX_NOTICES_BETWEEN_THREADS: usize = 256 * 1024;

impl Weigh for TaskNotice {
    fn weight(&self) -> usize {
        weight_of(&*self.summary)
    }
}

/// A question for whoever sits at the computer, or its end.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub enum QuestionNotice {
    Ask {
        task_id: TaskId,
        question_id: QuestionId,
        question: String,
        why: String,
        /// Told once the question was sent to a live connection.
        delivered: Recipient<QuestionDelivered>,
    },
    Closed {
        question_id: QuestionId,
        answer: Option<String>,
        by: Option<String>,
    },
}

/// A question reached a computer's screen.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct QuestionDelivered {
    pub question_id: QuestionId,
}

/// What a lane tells a task about one of its calls. `generation` is the one that placed or adopted it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CallFact {
    pub call_id: CallId,
    pub generation: Generation,
    pub what: CallNews,
}

/// The news of a [`CallFact`].
#[derive(Debug, Clone)]
pub enum CallNews {
    /// It waits: the computer is offline, stopped by people, or busy with others.
    Queued {
        offline: bool,
        stopped: bool,
        ahead: usize,
    },
    /// It was sent, and its computer went away (true) or is back (false).
    Away(bool),
    /// Its turn has come; journal it, then [`Dispatch`].
    TurnGranted {
        client_id: crate::domain::ids::ClientId,
        /// Only for `effect` calls.
        seq: Option<u64>,
        tool_rev: Text,
        effect: EffectClass,
        timeout_ms: u64,
        /// The start of the computer's program that it is granted for.
        boot_id: Option<Text>,
    },
    /// It cannot be placed; it never left the process.
    NotPlaced(NoRoute),
    /// The handler reports progress.
    Progress {
        message: Option<String>,
        progress: Option<f64>,
    },
    /// It ended. After `unknown` a second one may follow.
    Settled(Arc<CallReport>),
}
