//! What computers have of the network: WebSockets and plain HTTP requests, with ComputerCraft's manners.

mod accept;
mod frame;
mod handshake;
mod http;
mod rules;
mod socket;
mod url;

use std::sync::OnceLock;

use tokio::runtime::Handle;

#[cfg(test)]
pub(crate) use accept::accept_for;
pub(crate) use http::{Request, Response};
pub use rules::{HttpRules, RuleError};
pub(crate) use socket::{Opening, Socket};
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

/// The addresses of a host, of which the first may be reached by these rules; the error is ComputerCraft's text.
async fn look_up(
    rules: &HttpRules,
    host: &str,
    port: u16,
) -> Result<Vec<std::net::SocketAddr>, &'static str> {
    let found: Vec<_> = tokio::net::lookup_host((host, port))
        .await
        .map_err(|_| "Unknown host")?
        .collect();
    match found.first() {
        None => Err("Unknown host"),
        Some(first) if !rules.permit(host, first.ip()) => Err(rules::NOT_PERMITTED),
        Some(_) => Ok(found),
    }
}
