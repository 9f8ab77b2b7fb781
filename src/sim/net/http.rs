//! `http.request`: one request, answered by an event.

use std::sync::Arc;
use std::time::Duration;

use super::Net;
use crate::sim::computer::Computer;
use crate::sim::event::{Arg, Event};

/// Largest answer that is kept, in bytes.
const MAX_DOWNLOAD: usize = 16 << 20;

/// What a program asks for.
pub(crate) struct Request {
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) follow: bool,
    /// For the whole exchange; `None` waits for ever.
    pub(crate) timeout: Option<Duration>,
}

/// What the server answered.
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Arc<[u8]>,
}

/// One client that follows redirects and one that does not.
pub(crate) struct Clients {
    following: reqwest::Client,
    plain: reqwest::Client,
}

impl Clients {
    fn new() -> Result<Clients, reqwest::Error> {
        // reqwest is built without a provider of cryptography; a second install changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let agent = format!("computercraft/{}", crate::sim::CC_VERSION);
        let base = || {
            reqwest::Client::builder()
                .user_agent(agent.clone())
                .no_proxy()
        };
        Ok(Clients {
            following: base().build()?,
            plain: base().redirect(reqwest::redirect::Policy::none()).build()?,
        })
    }
}

impl Net {
    /// Sends a request; `http_success` or `http_failure` follows.
    pub(crate) fn request(&self, computer: &Arc<Computer>, request: Request) {
        let (weak, session) = (Arc::downgrade(computer), computer.session());
        let client = self.client(request.follow);
        self.handle.spawn(async move {
            let url = Arg::from(request.url.as_str());
            let event = match exchange(client, request).await {
                Ok(response) if response.code < 400 => {
                    Event::world("http_success", [url, Arg::Response(Arc::new(response))])
                }
                Ok(response) => {
                    let reason = Arg::from(response.reason.as_str());
                    Event::world(
                        "http_failure",
                        [url, reason, Arg::Response(Arc::new(response))],
                    )
                }
                Err(reason) => Event::world("http_failure", [url, Arg::Bytes(reason.into_bytes())]),
            };
            if let Some(computer) = weak.upgrade() {
                computer.push(session, event);
            }
        });
    }

    fn client(&self, follow: bool) -> Result<reqwest::Client, String> {
        if self.clients.get().is_none() {
            let fresh = Clients::new().map_err(|e| e.to_string())?;
            let _ = self.clients.set(fresh);
        }
        let clients = self.clients.get().ok_or("no HTTP client")?;
        Ok(if follow {
            clients.following.clone()
        } else {
            clients.plain.clone()
        })
    }
}

async fn exchange(
    client: Result<reqwest::Client, String>,
    request: Request,
) -> Result<Response, String> {
    let method = reqwest::Method::from_bytes(request.method.as_bytes())
        .map_err(|_| "Unsupported HTTP method")?;
    let mut builder = client?.request(method, &request.url);
    for (name, value) in &request.headers {
        builder = builder.header(name, value);
    }
    if let Some(limit) = request.timeout {
        builder = builder.timeout(limit);
    }
    if let Some(body) = request.body {
        builder = builder.body(body);
    }
    let answer = builder.send().await.map_err(|e| failure(&e))?;
    let status = answer.status();
    let headers = answer
        .headers()
        .iter()
        .map(|(n, v)| (header_name(n.as_str()), v.as_bytes().to_vec()))
        .collect();
    let body = read_body(answer).await?;
    Ok(Response {
        code: status.as_u16(),
        reason: status.canonical_reason().unwrap_or("Unknown").to_owned(),
        headers,
        body: body.into(),
    })
}

async fn read_body(mut answer: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|e| failure(&e))? {
        if body.len() + piece.len() > MAX_DOWNLOAD {
            return Err("Response is too large".into());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn failure(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "Timed out".into()
    } else if error.is_builder() {
        "URL malformed".into()
    } else {
        "Could not connect".into()
    }
}

/// `content-type` as programs of the game are used to it: `Content-Type`.
fn header_name(name: &str) -> String {
    let parts: Vec<String> = name
        .split('-')
        .map(|part| {
            let mut chars = part.chars();
            chars.next().map_or(String::new(), |c| {
                c.to_ascii_uppercase().to_string() + chars.as_str()
            })
        })
        .collect();
    parts.join("-")
}
