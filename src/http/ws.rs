//! `/ws`: the handshake, and the start of a connection's actor.

use super::{Door, Hosts};
use crate::actors::connection::admission::Admission;
use crate::actors::connection::socket::{self, TakenOver};
use crate::actors::connection::{Connection, ConnectionDeps, Handshake};
use crate::actors::tokens::Secret;
use crate::domain::ids::ClientId;
use actix::ArbiterHandle;
use actix_codec::Framed;
use actix_http::body::{BodySize, BoxBody};
use actix_http::ws::handshake;
use actix_http::{Request, RequestHead, Response, StatusCode, h1};
use actix_web::HttpResponse;
use actix_web::http::header;
use actix_web::rt::net::TcpStream;
use actix_web::web::{self, BytesMut};
use futures_util::SinkExt;
use serde::Deserialize;
use std::io;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Where computers connect.
const PATH: &str = "/ws";

/// What the route needs. Cheap to clone; one for all workers.
#[derive(Clone)]
pub struct WsGate {
    deps: Arc<ConnectionDeps>,
    admission: Arc<Admission>,
    /// None where the server has no HTTP beside it.
    door: Option<Arc<Door>>,
}

impl WsGate {
    pub fn new(deps: ConnectionDeps) -> Self {
        WsGate {
            deps: Arc::new(deps),
            admission: Arc::default(),
            door: None,
        }
    }

    /// The same, by whose rules pages and proxies are told from computers.
    pub fn behind(self, door: Arc<Door>) -> Self {
        WsGate {
            door: Some(door),
            ..self
        }
    }

    /// The thread on which a connection lives instead of the one that accepted it: that of its computer, so that a call
    /// changes threads nowhere. Of a computer that is not named yet nobody knows, so any is as good.
    fn home(&self, handshake: &Handshake) -> Option<ArbiterHandle> {
        let shards = &self.deps.shards;
        let home = match &handshake.client_id {
            Some(client_id) => shards.home_of(client_id),
            None => shards.in_turn(),
        };
        home.cloned()
    }

    /// Adds `/ws` to a server, for requests that are none for a WebSocket.
    pub fn configure(&self, config: &mut web::ServiceConfig) {
        config.service(web::resource(PATH).to(no_web_socket));
    }
}

#[derive(Debug, Deserialize)]
struct Query {
    client_id: Option<String>,
}

async fn no_web_socket() -> HttpResponse {
    HttpResponse::UpgradeRequired()
        .insert_header((header::UPGRADE, "websocket"))
        .body("computers connect here, with a WebSocket\n")
}

/// Takes a request for a WebSocket with its stream; ends when the connection does.
///
/// # Errors
/// The client is gone.
pub(super) async fn upgrade(
    gate: Option<WsGate>,
    request: Request,
    mut framed: Framed<TcpStream, h1::Codec>,
) -> Result<(), actix_web::Error> {
    let hosts = gate.as_ref().and_then(|gate| gate.door.clone());
    let hosts = hosts.map(|door| door.settings.hosts.clone());
    let admitted = admit(request.head(), &hosts.unwrap_or_default());
    let (gate, response) = match (gate, admitted) {
        (Some(gate), Ok(response)) => (gate, response),
        (None, Ok(_)) => return Ok(answer(&mut framed, not_here()).await?),
        (gate, Err(response)) => {
            if let Some(gate) = gate {
                gate.deps.counts.refused.one();
            }
            return Ok(answer(&mut framed, response).await?);
        }
    };
    answer(&mut framed, response).await?;
    // The buffers of the request are large and go now: a computer may be silent for days.
    let (io, early) = {
        let parts = framed.into_parts();
        (parts.io, BytesMut::from(&parts.read_buf[..]))
    };
    let handshake = gate.handshake(&request);
    drop(request);
    let (open, ended) = oneshot::channel();
    match gate.home(&handshake) {
        Some(home) => {
            let stream = TakenOver {
                stream: io.into_std()?,
                unread: early,
                open,
            };
            Connection::open_at(&home, stream, handshake, gate.deps, None);
        }
        None => {
            let max_bytes = gate.deps.settings.max_frame_bytes;
            let (socket, incoming) = socket::open(io, early, max_bytes, open);
            Connection::open(socket, incoming, handshake, gate.deps, None);
        }
    }
    // The server counts a connection as open until this returns.
    let _ = ended.await;
    Ok(())
}

/// The response that opens the WebSocket, or refuses it.
fn admit(head: &RequestHead, hosts: &Hosts) -> Result<Response<BoxBody>, Response<BoxBody>> {
    if head.uri.path() != PATH {
        return Err(not_here());
    }
    if is_foreign(head, hosts) {
        let words = "a web page may not open this socket\n";
        return Err(Response::new(StatusCode::FORBIDDEN).set_body(BoxBody::new(words)));
    }
    match handshake(head) {
        Ok(mut response) => Ok(response.finish().map_into_boxed_body()),
        Err(error) => Err(Response::from(error)),
    }
}

fn not_here() -> Response<BoxBody> {
    let words = "no WebSocket here; computers connect to /ws\n";
    Response::new(StatusCode::NOT_FOUND).set_body(BoxBody::new(words))
}

async fn answer(
    framed: &mut Framed<TcpStream, h1::Codec>,
    response: Response<BoxBody>,
) -> io::Result<()> {
    use actix_http::body::{MessageBody, to_bytes};
    let size = response.body().size();
    let (head, body) = response.into_parts();
    let size = if head.status() == StatusCode::SWITCHING_PROTOCOLS {
        BodySize::None
    } else {
        size
    };
    framed.send(h1::Message::Item((head, size))).await?;
    // Refusals have a body that lies in memory: it is there at once.
    if let Ok(body) = to_bytes(body).await
        && !body.is_empty()
    {
        framed.send(h1::Message::Chunk(Some(body))).await?;
    }
    Ok(())
}

impl WsGate {
    /// What the handshake tells of its sender.
    fn handshake(&self, request: &Request) -> Handshake {
        let per_second = self.deps.settings.new_per_second;
        self.deps.counts.connections.one();
        let peer = request.peer_addr().map(|peer| peer.ip());
        let address = match &self.door {
            Some(door) => Some(door.address(peer, request.head().headers())),
            None => peer,
        };
        let over_quota = address
            .is_some_and(|address| self.admission.is_over(address, per_second, Instant::now()));
        let token = request.head().headers().get(header::AUTHORIZATION);
        let token = token.and_then(|token| token.to_str().ok());
        let token = token.and_then(|token| token.strip_prefix("Bearer "));
        // A name that cannot be one is treated as none: the client is told when it says something.
        let query = request.uri().query().unwrap_or_default();
        let query = web::Query::<Query>::from_query(query).ok();
        let client_id = query.and_then(|query| query.into_inner().client_id);
        Handshake {
            client_id: client_id.and_then(|id| ClientId::parse(&id).ok()),
            over_quota,
            token: token.map(|token| Secret::shown(token.trim())),
            address,
        }
    }
}

/// Whether a browser sends this from a page of somebody else. Computers send no `Origin`.
fn is_foreign(head: &RequestHead, hosts: &Hosts) -> bool {
    let Some(origin) = head.headers().get(header::ORIGIN) else {
        return false;
    };
    let host = head.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok();
    !origin.is_some_and(|origin| hosts.is_same(origin, host))
}
