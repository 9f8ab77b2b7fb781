//! What may be sent to a connection.

use crate::actors::backlog::{Backlog, Weigh, Weighed, weight_of};
use crate::actors::near::NearKey;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use actix::{Message, Recipient};

/// One connection of this run of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(NearKey);

impl ConnectionId {
    /// An id that no other connection has.
    pub fn next() -> Self {
        ConnectionId(NearKey::next())
    }

    /// By which its outlet is found on its thread.
    pub fn key(self) -> NearKey {
        self.0
    }

    /// A number below 64, mostly another one for the next connection: to spread what they all do.
    pub(super) fn share(self) -> u32 {
        (self.0.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32
    }
}

/// The most bytes that may wait between threads for a connection, beside what its outbox holds.
pub const MAX_BETWEEN_THREADS: usize = 512 * 1024;

/// Send a message to the computer, from another thread. A fact: a connection never waits. (A lane on the connection's
/// thread delivers it to the [`super::outlet::Outlet`] directly, whose outbox is what bounds it.)
pub type ToClient = Weighed<ServerMessage>;

impl Weigh for ServerMessage {
    fn weight(&self) -> usize {
        weight_of(self)
    }
}

/// Does the computer's program live? True if it says anything within two seconds.
#[derive(Debug, Clone, Message)]
#[rtype(result = "bool")]
pub struct Probe;

/// Tell the computer why, and close.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CloseConnection {
    pub close: CloseWith,
    pub code: ErrorCode,
}

/// The outlet wants something of its connection.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct LookAfter;

/// How to reach a connection.
#[derive(Debug, Clone)]
pub struct ConnectionLink {
    pub id: ConnectionId,
    pub out: Backlog<ServerMessage>,
    pub probe: Recipient<Probe>,
    pub close: Recipient<CloseConnection>,
}
