//! The connection that speaks for a computer, as its lane sends to it.

use crate::actors::connection::messages::{CloseConnection, ConnectionId, ConnectionLink};
use crate::actors::connection::outlet::Outlet;
use crate::actors::counts::FleetCounts;
use crate::actors::near::Near;
use crate::wire::codes::{CloseWith, ErrorCode};
use crate::wire::frames::ServerMessage;
use std::cell::Cell;

pub(super) struct Attached {
    link: ConnectionLink,
    /// If it is on this thread.
    near: Option<Near<Outlet>>,
    /// Too much waited for it: it is about to be closed, and is sent nothing more.
    given_up: Cell<bool>,
}

impl Attached {
    pub fn new(link: ConnectionLink) -> Self {
        Attached {
            near: Near::find(link.id.key()),
            link,
            given_up: Cell::new(false),
        }
    }

    pub fn is(&self, connection: ConnectionId) -> bool {
        self.link.id == connection
    }

    /// Sends a fact. On the connection's thread its outbox bounds what waits; to another thread little may be on the way:
    /// beyond it an update of a task is dropped, and anything else ends the connection, as a full outbox does.
    pub fn send(&self, message: ServerMessage, counts: &FleetCounts) {
        if let Some(near) = &self.near {
            // One that has ended is told of by the registry.
            drop(near.deliver(message));
            return;
        }
        if self.given_up.get() {
            return;
        }
        if let ServerMessage::CommandCall(_) = message {
            // The lane has at most three out.
            return self.link.out.send_anyway(message);
        }
        match self.link.out.send(message) {
            Ok(()) => {}
            Err(refused) if refused.is_only_news() => counts.updates_dropped.one(),
            Err(_) => {
                self.given_up.set(true);
                self.link.close.do_send(CloseConnection {
                    close: CloseWith::TryLater,
                    code: ErrorCode::SlowReader,
                });
            }
        }
    }
}
