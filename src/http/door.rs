//! Who a request speaks for: what it shows, and what this server demands to be shown.

use super::hosts::{Hosts, header, refuse};
use super::{OperatorKey, Problem};
use crate::actors::failures::Rates;
use crate::actors::tokens::TokenBook;
use crate::domain::access::Principal;
use crate::domain::credential::PREFIX;
use crate::wire::codes::ErrorCode;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use std::net::IpAddr;
use std::time::Instant;

/// The cookie of a page's session.
pub(super) const SESSION_COOKIE: &str = "ccfleet_session";

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What is chosen of the door.
#[derive(Debug, Clone)]
pub struct DoorSettings {
    pub hosts: Hosts,
    /// Everybody has to show a token, also before the first one is made.
    pub always_locked: bool,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Requests of one asker in a second, where tokens are shown; 0 = no limit.
    pub requests_per_second: u32,
    /// How many of them may come at once.
    pub requests_burst: u32,
    /// Connections that are open at a time.
    pub max_connections: usize,
}

impl Default for DoorSettings {
    /// A server on loopback whose askers have no limit.
    fn default() -> Self {
        DoorSettings {
            hosts: Hosts {
                loopback: true,
                allowed: Vec::new(),
            },
            always_locked: false,
            trusted_proxies: Vec::new(),
            requests_per_second: 0,
            requests_burst: 1,
            max_connections: 8192,
        }
    }
}

/// Who may come in.
pub struct Door {
    pub(super) settings: DoorSettings,
    pub(super) tokens: TokenBook,
    operator: OperatorKey,
    rates: Rates,
}

/// What a request showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    /// The operator's key, by its word.
    Key(String),
    /// A person's token, by its id.
    Token(String),
    /// A session, by its id.
    Session(String),
}

impl Door {
    pub fn new(settings: DoorSettings, tokens: TokenBook, operator: OperatorKey) -> Self {
        Door {
            rates: Rates::new(settings.requests_per_second, settings.requests_burst),
            settings,
            tokens,
            operator,
        }
    }

    /// Whether people have to show something.
    /// Whether what a request showed when it began still counts: for answers that take long.
    pub(super) fn stands(&self, shown: &Shown) -> bool {
        match shown {
            Shown::Nothing => !self.is_locked(),
            Shown::Key(_) => true,
            Shown::Token(id) | Shown::Session(id) => self.tokens.stands(id),
        }
    }

    fn is_locked(&self) -> bool {
        self.settings.always_locked || self.tokens.people_need()
    }

    /// Where a request comes from: the peer, or whom a trusted proxy names.
    pub(super) fn address(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> IpAddr {
        let trusted = |ip: &IpAddr| self.settings.trusted_proxies.contains(ip);
        let unknown = IpAddr::from([0, 0, 0, 0]);
        let peer = peer.unwrap_or(unknown);
        if !trusted(&peer) {
            return peer;
        }
        let lines = headers.get_all(&FORWARDED_FOR);
        let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
        // Each proxy appends whom it saw: what stands before the last one that is not ours was written by anybody.
        let names = lines.iter().rev().flat_map(|line| line.rsplit(','));
        let mut addresses = names.map_while(|name| name.trim().parse::<IpAddr>().ok());
        addresses.find(|ip| !trusted(ip)).unwrap_or(peer)
    }

    /// Who asks.
    ///
    /// # Errors
    /// It shows something that does not count, or nothing where something is needed, or it asks too often.
    pub(super) fn admit(
        &self,
        method: &Method,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Result<(Principal, Shown), Problem> {
        let address = self.address(peer, headers);
        let found = match (header(headers, AUTHORIZATION)?, session_of(headers)) {
            (Some(line), _) => self.by_header(line, address)?,
            (None, Some(session)) => {
                self.check_page(method, headers)?;
                self.by_session(session, address)?
            }
            (None, None) if self.is_locked() => {
                let words = "this server wants a token";
                let hint = "send Authorization: Bearer TOKEN; `ccfleet token create` on the server makes one";
                return Err(Problem::new(ErrorCode::TokenInvalid, words).with_hint(hint));
            }
            (None, None) => return Ok((Principal::local(), Shown::Nothing)),
        };
        if self.is_locked()
            && let Some(wait) = self.rates.over(&found.0.owner, Instant::now())
        {
            let words = format!("{} asks too often", found.0.owner);
            return Err(Problem::new(ErrorCode::TooManyRequests, words).retry_after(wait));
        }
        Ok(found)
    }

    fn by_header(&self, line: &str, address: IpAddr) -> Result<(Principal, Shown), Problem> {
        let scheme = line.split_once(' ');
        let text = scheme.filter(|(word, _)| word.eq_ignore_ascii_case("bearer"));
        let text = text.map(|(_, text)| text.trim()).unwrap_or_default();
        let key = self.operator.id();
        let is_token = text.starts_with(PREFIX);
        let id = if is_token { id_in(text) } else { key.clone() };
        self.wait(address, &id)?;
        if !is_token && self.operator.is(text) {
            self.tokens
                .failures()
                .succeeded(address, &id, Instant::now());
            return Ok((Principal::holder_of_the_folder(), Shown::Key(key)));
        }
        self.by_text(text, address, &id, Shown::Token)
    }

    fn by_session(&self, text: &str, address: IpAddr) -> Result<(Principal, Shown), Problem> {
        let id = id_in(text);
        self.wait(address, &id)?;
        self.by_text(text, address, &id, Shown::Session)
    }

    fn by_text(
        &self,
        text: &str,
        address: IpAddr,
        id: &str,
        shown: fn(String) -> Shown,
    ) -> Result<(Principal, Shown), Problem> {
        match self.tokens.person(text) {
            Ok((token_id, principal)) => {
                self.tokens
                    .failures()
                    .succeeded(address, id, Instant::now());
                Ok((principal, shown(token_id)))
            }
            Err(refused) if refused.is_a_guess() => {
                self.tokens.failures().failed(address, Instant::now());
                tracing::warn!(%address, %refused, "a token was refused");
                Err(Problem::new(ErrorCode::TokenInvalid, refused.to_string()))
            }
            Err(refused) => Err(refuse(refused.to_string())),
        }
    }

    /// After wrong tokens none is looked at for a while.
    fn wait(&self, address: IpAddr, id: &str) -> Result<(), Problem> {
        match self.tokens.failures().wait(address, id, Instant::now()) {
            None => Ok(()),
            Some(wait) => {
                let words = "too many wrong tokens came from this address";
                let problem = Problem::new(ErrorCode::TooManyRequests, words);
                Err(problem
                    .with_hint("wait as long as Retry-After says, then send the right token")
                    .retry_after(wait))
            }
        }
    }

    /// A cookie goes along with whatever a browser sends: to change something the request has to come from a page of ours.
    fn check_page(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return Ok(());
        }
        let host = header(headers, HOST)?;
        let ours = match header(headers, ORIGIN)? {
            Some(origin) => self.settings.hosts.is_same(origin, host),
            None => header(headers, FETCH_SITE)? == Some("same-origin"),
        };
        match ours {
            true => Ok(()),
            false => Err(refuse(
                "a session changes things from this server's own page alone".into(),
            )
            .with_hint("programs send Authorization: Bearer TOKEN instead of the cookie")),
        }
    }
}

/// The id in a token's text, which is no secret; empty if there is none.
fn id_in(text: &str) -> String {
    let id = text
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once('_'));
    id.map(|(id, _)| id.chars().take(16).collect())
        .unwrap_or_default()
}

/// The session's text in the cookies of a request.
fn session_of(headers: &HeaderMap) -> Option<&str> {
    let lines = headers
        .get_all(COOKIE)
        .filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';'));
    cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == SESSION_COOKIE && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
