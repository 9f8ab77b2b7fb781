//! What connections and the registry tell a computer. (What tasks may ask of it is in `messages.rs`.)

use super::lane::{NotSent, Receipt};
use crate::actors::connection::messages::{ConnectionId, ConnectionLink};
use crate::actors::near::NearKey;
use crate::actors::registry::messages::Registration;
use crate::domain::call::CallReport;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::toolbox::{Tool, Toolbox};
use actix::{Message, Recipient};

/// A connection speaks for this computer from now on.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Attach {
    pub link: ConnectionLink,
    pub boot_id: String,
    pub high_seq: Option<u64>,
    /// It has heard of a later epoch than the journal has.
    pub later_epoch: bool,
    pub registration: Registration,
}

/// A connection ended.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Detach {
    pub connection: ConnectionId,
}

/// What came over a connection, or happened to it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct FromConnection {
    pub connection: ConnectionId,
    pub fact: ConnectionFact,
}

#[derive(Debug, Clone)]
pub enum ConnectionFact {
    /// `command_result`
    Answered {
        task_id: TaskId,
        call_id: CallId,
        report: CallReport,
    },
    /// `call_receipt`
    Receipt { call_id: CallId, receipt: Receipt },
    /// `command_progress`
    Progress {
        call_id: CallId,
        message: Option<String>,
        progress: Option<f64>,
    },
    /// A call did not leave.
    NotSent { call_id: CallId, why: NotSent },
    /// The end of a task was delivered.
    Delivered(TaskId),
    /// Whether the computer's program answers pings.
    Responsive(bool),
}

/// Add or replace tools, and remove others. Answered with all tools, in the states that count, when routing knows.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Toolbox")]
pub struct ChangeTools {
    pub add: Vec<Tool>,
    pub remove: Vec<String>,
}

/// What a connection needs of its computer.
#[derive(Debug, Clone)]
pub struct ComputerPort {
    /// By which its state is found on its thread.
    pub key: NearKey,
    pub facts: Recipient<FromConnection>,
    pub tools: Recipient<ChangeTools>,
}
