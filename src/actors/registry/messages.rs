//! What connections and computers tell the registry, and what it tells others.

use crate::actors::computer::link::ComputerPort;
use crate::actors::connection::messages::{ConnectionId, ConnectionLink};
use crate::actors::near::NearKey;
use crate::domain::ids::ClientId;
use crate::domain::toolbox::Toolbox;
use crate::wire::codes::ErrorCode;
use actix::{Message, Recipient};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A computer came, went, or changed its tools. A fact for the supervisor, which wakes tasks that wait for it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct FleetChanged {
    pub client_id: ClientId,
    pub online: bool,
}

/// Who is told of [`FleetChanged`]. The supervisor starts after the registry, so it is named later.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct SetListener(pub Recipient<FleetChanged>);

/// What a computer says of itself; kept by the journal as JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Registration {
    pub label: Option<String>,
    /// `computer`, `turtle`, `pocket` or `command`.
    pub kind: Option<String>,
    /// CC's number of the computer.
    pub computer_id: Option<u64>,
    /// The version of CC, as it reports it.
    pub cc_version: Option<String>,
    pub groups: Vec<String>,
    pub library_version: Option<String>,
    pub features: Vec<String>,
    /// As the computer registered them; what counts is in [`crate::actors::computer::view::ComputerCell::tools`].
    pub tools: Toolbox,
    /// Tools that it had and has no more: a bare name that it once owned stays on it.
    pub once_owned: BTreeSet<String>,
    /// It speaks only source document 001.
    pub legacy: bool,
}

/// A connection says which computer it speaks for.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Registered, Refusal>")]
pub struct RegisterComputer {
    pub client_id: ClientId,
    pub link: ConnectionLink,
    /// New at every start of the computer's program.
    pub boot_id: String,
    /// What an earlier `welcome` gave it.
    pub session_secret: Option<String>,
    /// The highest lane number it has seen from this server.
    pub high_seq: Option<u64>,
    /// The last epoch of this server's journal that it has heard of.
    pub journal_epoch: Option<u64>,
    pub registration: Registration,
    /// Its address opened too many connections; only a known secret gets it in.
    pub over_quota: bool,
    /// Whose it is, by the token that it showed; none: as it was.
    pub owner: Option<String>,
}

/// The connection speaks for its computer from now on.
#[derive(Debug, Clone)]
pub struct Registered {
    pub session_secret: String,
    pub port: ComputerPort,
    /// Its tools, in the states that count.
    pub tools: Toolbox,
}

/// Why a connection may not speak for a computer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
}

/// A connection ended. A fact.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ClientGone {
    pub client_id: ClientId,
    pub connection: ConnectionId,
}

/// A computer's tools changed. A fact of its computer actor.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ToolsChanged {
    pub client_id: ClientId,
}

/// Ends of tasks were not told for want of room: the journal knows which. A fact of its computer actor.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct NoticesMissed {
    pub client_id: ClientId,
}

/// A computer's lane failed: its actor has ended. A fact of that actor.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct LaneFailed {
    pub client_id: ClientId,
    /// Which lane of the computer it was.
    pub key: NearKey,
}

/// Close every connection with 1001: the server stops. Answered when all were told.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CloseConnections;

/// No new call is dispatched, and running ones are cancelled. Acts first, is written down second, and holds over
/// restarts until [`ResumeCalls`]. Needs no model and waits behind no call.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<StopReport, StopError>")]
pub struct StopCalls {
    /// None = the whole fleet, also computers that are not known yet.
    pub client_id: Option<ClientId>,
    /// Who asked for it: a person's name, or the computer at which it was typed.
    pub by: String,
}

/// Calls are dispatched again. A computer that had done more than the journal knows stays without effects: only
/// [`OperatorResumes`] ends that.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<StopReport, StopError>")]
pub struct ResumeCalls {
    /// None = the whole fleet, with every computer that was stopped alone.
    pub client_id: Option<ClientId>,
    pub by: String,
}

/// As [`ResumeCalls`], from a person who may: effects flow again also where the journal is older than the computer
/// (design section 8, "Backups and clones"), and then the journal's epoch is raised.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<StopReport, StopError>")]
pub struct OperatorResumes {
    /// None = the whole fleet.
    pub client_id: Option<ClientId>,
    pub by: String,
}

/// What a stop or a resume did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StopReport {
    /// Computers that are stopped now, or go on now, and were not before.
    pub computers: usize,
    /// Calls that were running or had their turn, and were told to stop.
    pub cancelled_calls: usize,
}

/// Why a stop or a resume is not complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    #[error("no computer \"{0}\" was ever connected")]
    UnknownComputer(ClientId),
    /// It is done, and would not outlive a restart.
    #[error("it is done, but could not be written down: {0}")]
    NotStored(String),
}
