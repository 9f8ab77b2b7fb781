//! MCP at `/mcp`: the tools of the fleet, its tasks, questions and files for any MCP client (`docs/mcp.md`).
//!
//! The protocol is the official SDK's (`rmcp`), for all revisions from 2024-11-05 to 2026-07-28. Those up to 2025-11-25
//! begin with `initialize` and have a session; 2026-07-28 has none: each request stands for itself, and notices come
//! over `subscriptions/listen`.

mod answer;
mod bridge;
mod calls;
mod catalog;
mod changes;
mod face;
mod fixed;
mod names;
mod progress;
mod resources;
mod sessions;

pub(super) use bridge::serve;

use super::Api;
use changes::Changes;
use face::Face;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use std::sync::Arc;
use std::time::Duration;

/// How long a session lives in which nothing happens.
const SESSION_IDLE: Duration = Duration::from_secs(3600);

/// Everything behind `/mcp`, once for a server.
pub(super) struct Mcp {
    service: StreamableHttpService<Face, LocalSessionManager>,
    sessions: Sessions,
}

impl Mcp {
    /// Builds it and begins to look out for changes.
    pub(super) fn start(api: Api) -> Arc<Self> {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(SESSION_IDLE);
        let manager = Arc::new(manager);
        // The guard has looked at Host and Origin already.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(super::MAX_BODY);
        let changes = Arc::new(Changes::new(api.clone()));
        let sessions = Sessions::new(manager.clone(), api.mcp.max_sessions);
        let make = {
            let changes = changes.clone();
            move || Ok(Face::new(api.clone(), changes.clone()))
        };
        let service = StreamableHttpService::new(make, manager, config);
        let stop = service.config.cancellation_token.clone();
        actix::spawn(async move {
            tokio::select! {
                () = changes.watch() => {}
                () = stop.cancelled() => {}
            }
        });
        Arc::new(Mcp { service, sessions })
    }

    /// Ends every stream and session: an open one would hold up the end of the server.
    pub(super) fn stop(&self) {
        self.service.config.cancellation_token.cancel();
    }
}
