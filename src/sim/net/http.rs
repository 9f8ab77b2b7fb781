//! `http.request`: one request, answered by an event.

use std::sync::Arc;
use std::time::Duration;

use super::{HttpRules, Net, look_up};
use crate::sim::computer::Computer;
use crate::sim::event::{Arg, Event};

/// Largest answer that is kept, in bytes.
const MAX_DOWNLOAD: usize = 16 << 20;

/// Largest body of a request, in bytes.
const MAX_UPLOAD: usize = 4 << 20;

/// What a program asks for.
pub(crate) struct Request {
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) follow: bool,
    /// The body is read as bytes; before 1.109 a text was decoded.
    pub(crate) binary: bool,
    /// For the whole exchange; `None` waits for ever.
    pub(crate) timeout: Option<Duration>,
}

/// What the server answered.
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Arc<[u8]>,
    /// As it was asked for.
    pub(crate) binary: bool,
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
        let base = || reqwest::Client::builder().no_proxy();
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
        let agent = format!("computercraft/{}", computer.config().cc_version);
        let rules = computer.config().http_rules.clone();
        let fails = computer.faults().http_fails(computer.core().clock.now());
        let slots = computer.http_slots();
        self.handle.spawn(async move {
            let url = Arg::from(request.url.as_str());
            // An error is impossible: nobody closes it.
            let _slot = slots.acquire().await;
            let answer = if fails {
                Err("Could not connect".to_owned())
            } else if request.body.as_ref().is_some_and(|b| b.len() > MAX_UPLOAD) {
                Err("Request body is too large".to_owned())
            } else {
                match check_host(&request.url, &rules).await {
                    Ok(()) => exchange(client, request, &agent).await,
                    Err(reason) => Err(reason.to_owned()),
                }
            };
            let event = match answer {
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

    /// Looks whether an address may be asked; `http_check` follows.
    pub(crate) fn check_url(&self, computer: &Arc<Computer>, url: String) {
        let (weak, session) = (Arc::downgrade(computer), computer.session());
        let rules = computer.config().http_rules.clone();
        self.handle.spawn(async move {
            let checked = check_host(&url, &rules).await;
            let mut args = vec![Arg::Bytes(url.into_bytes()), Arg::Bool(checked.is_ok())];
            args.extend(checked.err().map(Arg::from));
            if let Some(computer) = weak.upgrade() {
                computer.push(session, Event::world("http_check", args));
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

async fn check_host(url: &str, rules: &HttpRules) -> Result<(), &'static str> {
    if rules.allows_all() {
        return Ok(());
    }
    let url = reqwest::Url::parse(url).map_err(|_| "URL malformed")?;
    let host = url
        .host_str()
        .ok_or("URL malformed")?
        .trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(80);
    look_up(rules, host, port).await.map(drop)
}

async fn exchange(
    client: Result<reqwest::Client, String>,
    request: Request,
    agent: &str,
) -> Result<Response, String> {
    let method = reqwest::Method::from_bytes(request.method.as_bytes())
        .map_err(|_| "Unsupported HTTP method")?;
    let mut builder = client?.request(method, &request.url);
    let own_agent = |(name, _): &(String, String)| name.eq_ignore_ascii_case("user-agent");
    if !request.headers.iter().any(own_agent) {
        builder = builder.header("user-agent", agent);
    }
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
        binary: request.binary,
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
