//! `/ws`: the handshake, and the start of a connection's actor.

use crate::actors::connection::admission::{Admission, Socket};
use crate::actors::connection::flow::Flow;
use crate::actors::connection::{Connection, ConnectionDeps, Handshake};
use crate::domain::ids::ClientId;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde::Deserialize;
use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// What the route needs. Cheap to clone; one for all workers.
#[derive(Clone)]
pub struct WsGate {
    deps: ConnectionDeps,
    admission: Arc<Admission>,
}

impl WsGate {
    pub fn new(deps: ConnectionDeps) -> Self {
        WsGate {
            deps,
            admission: Arc::default(),
        }
    }

    /// Adds `/ws` to a server.
    pub fn configure(&self, config: &mut web::ServiceConfig) {
        let gate = self.clone();
        config.service(
            web::resource("/ws")
                .app_data(web::Data::new(gate))
                .route(web::get().to(open)),
        );
    }
}

/// For `HttpServer::on_connect`: keeps a handle by which a connection that does not read can be ended.
pub fn on_connect(io: &dyn Any, extensions: &mut Extensions) {
    if let Some(socket) = io.downcast_ref::<TcpStream>().and_then(Socket::of) {
        extensions.insert(socket);
    }
}

#[derive(Debug, Deserialize)]
struct Query {
    client_id: Option<String>,
}

async fn open(
    request: HttpRequest,
    body: web::Payload,
    gate: web::Data<WsGate>,
) -> Result<HttpResponse, actix_web::Error> {
    let counts = &gate.deps.counts;
    if is_foreign(&request) {
        counts.refused.one();
        return Ok(HttpResponse::Forbidden().body("a web page may not open this socket\n"));
    }
    let settings = &gate.deps.settings;
    let address = request.peer_addr().map(|peer| peer.ip());
    let over_quota = address.is_some_and(|address| {
        let per_second = settings.new_per_second;
        gate.admission.is_over(address, per_second, Instant::now())
    });
    // A name that cannot be one is treated as none: the client is told when it says something.
    let query = web::Query::<Query>::from_query(request.query_string()).ok();
    let client_id = query.and_then(|query| query.into_inner().client_id);
    let handshake = Handshake {
        client_id: client_id.and_then(|id| ClientId::parse(&id).ok()),
        over_quota,
        socket: request.conn_data::<Socket>().cloned(),
    };
    if let Some(socket) = &handshake.socket {
        socket.bound_send_buffer();
    }
    counts.connections.one();
    let limit = settings.max_frame_bytes;
    let (response, session, stream) = actix_ws::handle(&request, body)?;
    let stream = stream
        .max_frame_size(limit)
        .aggregate_continuations()
        .max_continuation_size(limit);
    let flow = Flow::default();
    let response = response.map_body(|_, frames| {
        BoxBody::new(Metered {
            frames,
            flow: flow.clone(),
        })
    });
    Connection::open(session, stream, flow, handshake, gate.deps.clone());
    Ok(response)
}

/// The frames on their way to the socket, with a word to the connection's actor whenever its channel was emptied.
struct Metered {
    frames: BoxBody,
    flow: Flow,
}

impl MessageBody for Metered {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.frames.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<web::Bytes, Self::Error>>> {
        let polled = Pin::new(&mut self.frames).poll_next(cx);
        self.flow.emptied();
        polled
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        // Whoever waits for room learns from the channel that the connection is gone.
        self.flow.emptied();
    }
}

/// Whether a browser sends this from a page of somebody else. Computers send no `Origin`.
fn is_foreign(request: &HttpRequest) -> bool {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return false;
    };
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|h| h.to_str().ok());
    let own = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .map(|(_, rest)| rest);
    own.is_none() || own != host
}
