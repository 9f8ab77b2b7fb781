//! What may be sent to a connection.

use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use actix::{Message, Recipient};
use std::sync::atomic::{AtomicU64, Ordering};

/// One connection of this run of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(u64);

impl ConnectionId {
    /// A number that no other connection has.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        ConnectionId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// A number below 64, another one for the next connection: to spread what they all do.
    pub(super) fn share(self) -> u32 {
        (self.0 % 64) as u32
    }
}

/// Send a message to the computer. A fact: a connection never waits, and its outbox is what bounds it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ToClient(pub ServerMessage);

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

/// How to reach a connection.
#[derive(Debug, Clone)]
pub struct ConnectionLink {
    pub id: ConnectionId,
    pub out: Recipient<ToClient>,
    pub probe: Recipient<Probe>,
    pub close: Recipient<CloseConnection>,
}
