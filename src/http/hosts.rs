//! By which names this server may be called, and from which pages. A page that a browser shows may send requests to this
//! machine; there is no CORS here, so it cannot read answers, and these two checks keep it from changing anything.

use super::Problem;
use crate::wire::codes::ErrorCode;
use actix_web::http::Method;
use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use std::net::IpAddr;

/// The names.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// Whether the server listens on loopback only; then a `Host` that is no loopback name is refused (DNS rebinding makes
    /// a page's own name point here).
    pub loopback: bool,
    /// Names by which a proxy calls it, or its pages were loaded; with or without a port.
    pub allowed: Vec<String>,
}

impl Hosts {
    /// # Errors
    /// The `Host` is none of ours, or a page of another origin wants to change something.
    pub(super) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let host = header(headers, HOST)?;
        if !host.is_none_or(|host| self.is_ours(host)) {
            let host = host.unwrap_or_default();
            let words = format!("this server is not called {host}");
            return Err(refuse(words).with_hint(
                "use http://127.0.0.1 or http://localhost with the server's port, or add the name to server.allowed_hosts",
            ));
        }
        if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return Ok(());
        }
        match header(headers, ORIGIN)? {
            Some(origin) if !self.is_same(origin, host) => {
                let words = format!("a page of {origin} may not change anything here");
                Err(refuse(words).with_hint(
                    "send the request from a program, or from a page of this server; behind a proxy add the page's name to \
                     server.allowed_hosts",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Whether the server may be called so.
    fn is_ours(&self, host: &str) -> bool {
        let restricted = self.loopback || !self.allowed.is_empty();
        !restricted || is_loopback(name_of(host)) || self.names(host)
    }

    /// Whether a page from `origin` came from the server that it calls `host`. Behind a proxy that ends TLS both
    /// keep the public name, so the scheme is not compared; one that changes the `Host` is what the list is for.
    pub(super) fn is_same(&self, origin: &str, host: Option<&str>) -> bool {
        let place = origin.split_once("://").map(|(_, place)| place);
        place.is_some_and(|place| Some(place) == host || self.names(place))
    }

    fn names(&self, host: &str) -> bool {
        let is = |known: &String| {
            known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(name_of(host))
        };
        self.allowed.iter().any(is)
    }
}

pub(super) fn refuse(detail: String) -> Problem {
    Problem::new(ErrorCode::NotAllowed, detail)
}

pub(super) fn header(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Problem> {
    let value = headers.get(&name).map(|value| value.to_str());
    value
        .transpose()
        .map_err(|_| refuse(format!("the {name} header cannot be read")))
}

/// A `Host` without its port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((ipv6, _)) => ipv6,
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    fn allowed(hosts: &Hosts, method: Method, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        hosts.check(&method, &headers).is_ok()
    }

    fn hosts(loopback: bool, allowed: &[&str]) -> Hosts {
        Hosts {
            loopback,
            allowed: allowed.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_rebound_name_is_refused_on_loopback_whatever_it_asks_for() {
        let (loopback, public) = (hosts(true, &[]), hosts(false, &[]));
        for host in [
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "LOCALHOST",
            "127.9.9.9",
        ] {
            assert!(allowed(&loopback, Method::GET, host, None), "{host}");
        }
        for host in [
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "192.168.0.7:8080",
            "",
        ] {
            assert!(!allowed(&loopback, Method::GET, host, None), "{host}");
            assert!(allowed(&public, Method::GET, host, None), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_origin_may_read_nothing_into_being() {
        let hosts = hosts(true, &[]);
        let host = "127.0.0.1:8080";
        for origin in [
            "http://evil.example",
            "http://127.0.0.1:3000",
            "null",
            "127.0.0.1:8080",
        ] {
            assert!(
                !allowed(&hosts, Method::POST, host, Some(origin)),
                "{origin}"
            );
            assert!(allowed(&hosts, Method::GET, host, Some(origin)), "{origin}");
        }
        let own = Some("http://127.0.0.1:8080");
        assert!(allowed(&hosts, Method::POST, host, own));
        assert!(allowed(&hosts, Method::POST, host, None));
    }

    #[test]
    fn a_server_behind_a_proxy_is_called_by_the_names_on_its_list_and_no_other() {
        for loopback in [true, false] {
            let hosts = hosts(loopback, &["fleet.example.org", "10.0.0.2:81"]);
            let page = Some("https://fleet.example.org");
            // With the name kept, and with the name that the proxy itself uses.
            for host in [
                "Fleet.Example.org",
                "fleet.example.org:443",
                "127.0.0.1:8080",
            ] {
                assert!(allowed(&hosts, Method::POST, host, page), "{host}");
            }
            assert!(allowed(&hosts, Method::GET, "10.0.0.2:81", None));
            for host in ["10.0.0.2", "evil.example", "fleet.example.org.evil.example"] {
                assert!(!allowed(&hosts, Method::GET, host, None), "{host}");
            }
            let evil = Some("https://evil.example");
            assert!(!allowed(&hosts, Method::POST, "fleet.example.org", evil));
        }
    }
}
