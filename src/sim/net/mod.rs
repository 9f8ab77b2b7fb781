//! What computers have of the network: WebSockets and plain HTTP requests, with ComputerCraft's manners.

mod accept;
mod frame;
mod handshake;
mod http;
mod socket;
mod url;

use std::sync::OnceLock;

use tokio::runtime::Handle;

#[cfg(test)]
pub(crate) use accept::accept_for;
pub(crate) use http::{Request, Response};
pub(crate) use socket::Socket;
pub(crate) use url::WsUrl;

/// The network side of a fleet: its I/O thread and its HTTP clients.
pub(crate) struct Net {
    handle: Handle,
    clients: OnceLock<http::Clients>,
}

impl Net {
    /// Everything runs on the runtime of `handle`.
    pub(crate) fn new(handle: Handle) -> Net {
        Net {
            handle,
            clients: OnceLock::new(),
        }
    }
}
