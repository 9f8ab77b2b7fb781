//! Keeps web pages away. A page that a browser shows may send requests to this machine; there is no CORS
//! here, so it cannot read answers, and these two checks keep it from changing anything.

use super::{Api, Problem, routes};
use crate::domain::access::Principal;
use crate::wire::codes::ErrorCode;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use std::net::IpAddr;

/// Refuses a foreign `Origin` on routes that change something, and, on a server that listens on loopback
/// only, a `Host` that is no loopback name (DNS rebinding makes a page's own name point here).
pub(super) async fn guard(
    api: web::ThinData<Api>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // Health and the files for computers are nobody's secret, and `/ws` has a rule of its own: computers come
    // through tunnels.
    if !request.path().starts_with("/api/") && request.path() != "/mcp" {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let checked = check(request.method(), request.headers(), api.loopback);
    let may = checked.and_then(|()| admit(&api, &request));
    match may {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(problem) => Err(problem.into()),
    }
}

/// Who asks, if they may: the route's row in [`routes::NEEDS`] decides, and a route without a row is for admins alone.
fn admit(api: &Api, request: &ServiceRequest) -> Result<Principal, Problem> {
    let principal = api.operator.principal(request.headers())?;
    let pattern = request.match_pattern().unwrap_or_default();
    let needed = routes::needed(request.method(), &pattern);
    match principal.has(needed) {
        true => Ok(principal),
        false => Err(refuse(format!(
            "{} {pattern} needs the role {}, and {} has {}",
            request.method(),
            needed.as_str(),
            principal.owner,
            principal.role.as_str()
        ))),
    }
}

pub(super) fn check(method: &Method, headers: &HeaderMap, loopback: bool) -> Result<(), Problem> {
    let host = header(headers, HOST)?;
    if loopback && !host.is_none_or(|host| is_loopback(name_of(host))) {
        return Err(refuse(format!(
            "this server listens on loopback only and is not called {}",
            host.unwrap_or_default()
        ))
        .with_hint("use http://127.0.0.1 or http://localhost with the server's port"));
    }
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    match header(headers, ORIGIN)? {
        Some(origin) if !is_same(origin, host) => Err(refuse(format!(
            "a page of {origin} may not change anything here"
        ))
        .with_hint("send the request from a program, or from a page of this server")),
        _ => Ok(()),
    }
}

fn refuse(detail: String) -> Problem {
    Problem::new(ErrorCode::NotAllowed, detail)
}

fn header(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Problem> {
    let value = headers.get(&name).map(|value| value.to_str());
    value
        .transpose()
        .map_err(|_| refuse(format!("the {name} header cannot be read")))
}

/// Whether a page from `origin` came from the server that it calls `host`. Behind a proxy that ends TLS both
/// keep the public name, so the scheme is not compared.
fn is_same(origin: &str, host: Option<&str>) -> bool {
    let place = origin.split_once("://").map(|(_, place)| place);
    place.is_some() && place == host
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

    fn allowed(method: Method, host: &str, origin: Option<&str>, loopback: bool) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        check(&method, &headers, loopback).is_ok()
    }

    #[test]
    fn a_rebound_name_is_refused_on_loopback_whatever_it_asks_for() {
        for host in [
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "LOCALHOST",
            "127.9.9.9",
        ] {
            assert!(allowed(Method::GET, host, None, true), "{host}");
        }
        for host in [
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "192.168.0.7:8080",
            "",
        ] {
            assert!(!allowed(Method::GET, host, None, true), "{host}");
            assert!(allowed(Method::GET, host, None, false), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_origin_may_read_nothing_into_being() {
        let host = "127.0.0.1:8080";
        for origin in [
            "http://evil.example",
            "http://127.0.0.1:3000",
            "null",
            "127.0.0.1:8080",
        ] {
            assert!(!allowed(Method::POST, host, Some(origin), true), "{origin}");
            assert!(allowed(Method::GET, host, Some(origin), true), "{origin}");
        }
        assert!(allowed(
            Method::POST,
            host,
            Some("http://127.0.0.1:8080"),
            true
        ));
        assert!(allowed(Method::POST, host, None, true));
    }
}
