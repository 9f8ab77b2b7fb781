//! `/ws`: the handshake, and the start of a connection's actor.

use crate::actors::connection::admission::{Admission, Socket};
use crate::actors::connection::{Connection, ConnectionDeps, Handshake};
use crate::domain::ids::ClientId;
use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde::Deserialize;
use std::any::Any;
use std::sync::Arc;
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
    if is_foreign(&request) {
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
    let limit = settings.max_frame_bytes;
    let (response, session, stream) = actix_ws::handle(&request, body)?;
    let stream = stream
        .max_frame_size(limit)
        .aggregate_continuations()
        .max_continuation_size(limit);
    Connection::open(session, stream, handshake, gate.deps.clone());
    Ok(response)
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
