//! Listening for HTTP and, on the same port, for computers.
//!
//! What `actix_web::HttpServer` does, with one thing more: a request for a WebSocket leaves HTTP behind together
//! with its TCP stream, so that no frame passes through the machinery of requests and responses.

use super::ws::{self, WsGate};
use actix_codec::Framed;
use actix_http::body::MessageBody;
use actix_http::{HttpService, Request, Response, h1};
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, map_config};
use actix_web::dev::{AppConfig, Server, fn_service};
use actix_web::rt::net::TcpStream;
use std::fmt::Debug;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

/// How long a client that is hung up on may take to hang up too (as in `actix_web::HttpServer`).
const DISCONNECT_WITHIN: Duration = Duration::from_secs(1);

/// How long a connection without a request is kept. A client that keeps connections for later may use one in the moment in
/// which it is closed, and cannot know whether its request was read; with the framework's 5 s that is no rare moment.
const IDLE_WITHIN: Duration = Duration::from_secs(30);

/// How long the head of a request may take, on a machine that has much else to do.
const HEAD_WITHIN: Duration = Duration::from_secs(15);

/// How much may be served at a time, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Listening {
    /// Threads.
    pub workers: usize,
    /// Connections that wait to be accepted.
    pub backlog: u32,
    /// Connections that each thread has open at a time; more wait.
    pub connections: usize,
    /// What open requests get to end when the server stops.
    pub close_within: Duration,
}

/// A server on a listening socket: `app` serves requests, `gate` takes computers; without it there are none.
///
/// # Errors
/// The socket cannot be used.
pub fn serve<F, I, S, B>(
    listener: TcpListener,
    app: F,
    gate: Option<WsGate>,
    how: Listening,
) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: Debug,
    S::Response: Into<Response<B>> + 'static,
    B: MessageBody + 'static,
{
    listener.set_nonblocking(true)?;
    // It listens already, with the short queue of the standard library: a fleet that comes back at once would wait a second
    // for its second try.
    let backlog = i32::try_from(how.backlog).unwrap_or(i32::MAX);
    socket2::SockRef::from(&listener).listen(backlog)?;
    let server = Server::build()
        .workers(how.workers)
        .backlog(how.backlog)
        .max_concurrent_connections(how.connections)
        .disable_signals()
        .shutdown_timeout(how.close_within.as_secs())
        .listen("http", listener, move || {
            let gate = gate.clone();
            let upgrade = move |(request, framed): (Request, Framed<TcpStream, h1::Codec>)| {
                ws::upgrade(gate.clone(), request, framed)
            };
            let app = app()
                .into_factory()
                .map_err(|error| error.into().error_response());
            HttpService::build()
                .keep_alive(IDLE_WITHIN)
                .client_request_timeout(HEAD_WITHIN)
                .client_disconnect_timeout(DISCONNECT_WITHIN)
                .tcp_nodelay(true)
                .upgrade(fn_service(upgrade))
                .finish(map_config(app, |()| AppConfig::default()))
                .tcp()
        })?;
    Ok(server.run())
}
