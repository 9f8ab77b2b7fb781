//! Listening: the socket, the workers and their end.

use super::listen::{self, Listening};
use super::mcp::Mcp;
use super::ws::WsGate;
use super::{Api, guard, problem, routes};
use actix_web::dev::ServerHandle;
use actix_web::{App, middleware, web};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Threads that serve requests; the work is in the actors.
const WORKERS: usize = 2;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// A server that listens.
pub struct HttpServer {
    /// The real address, also if a free port was asked for.
    pub address: SocketAddr,
    handle: ServerHandle,
    mcp: Arc<Mcp>,
    running: JoinHandle<std::io::Result<()>>,
}

/// Takes the address. Requests are served once [`HttpServer::start`] was called; until then they wait.
///
/// # Errors
/// The address is taken, not ours, or needs more rights.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl HttpServer {
    /// Serves the API on a listening socket. `more` adds routes of others; `gate` takes computers.
    ///
    /// # Errors
    /// The socket cannot be used.
    pub fn start(
        listener: TcpListener,
        api: Api,
        more: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
        gate: Option<WsGate>,
        close_within: Duration,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let mcp = Mcp::start(api.clone());
        let for_workers = mcp.clone();
        let api_connections = api.door.settings.max_connections.max(1);
        let api = web::Data::new(api);
        let app = move || {
            App::new()
                .app_data(api.clone())
                .app_data(web::ThinData(for_workers.clone()))
                .wrap(middleware::from_fn(guard::guard))
                .configure(more.clone())
                .configure(routes)
                .default_service(web::to(problem::not_found))
        };
        let how = Listening {
            workers: WORKERS,
            backlog: BACKLOG,
            // Workers take connections in turn.
            connections: api_connections.div_ceil(WORKERS),
            close_within,
        };
        let server = listen::serve(listener, app, gate, how)?;
        let handle = server.handle();
        let running = actix::spawn(server);
        Ok(HttpServer {
            address,
            handle,
            mcp,
            running,
        })
    }

    /// Stops accepting, and gives open requests until `close_within` to end.
    pub async fn stop(self) {
        self.mcp.stop();
        self.handle.stop(true).await;
        // What it ended with was logged where it happened.
        let _ = self.running.await;
    }
}
