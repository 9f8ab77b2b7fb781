//! What each route needs: one row for every method and address that is not open to everybody.
//!
//! Who adds a route adds its row: without one it is for admins alone, and a test names it.

use crate::domain::access::Role;
use actix_web::http::Method;

/// Method, address as it is registered, and the role that it takes at least.
pub(crate) const NEEDS: &[(Method, &str, Role)] = &[
    (Method::GET, "/api/v1/tasks", Role::Viewer),
    (Method::POST, "/api/v1/tasks", Role::Operator),
    (Method::GET, "/api/v1/tasks/{id}", Role::Viewer),
    (Method::GET, "/api/v1/tasks/{id}/events", Role::Viewer),
    (Method::GET, "/api/v1/tasks/{id}/steps", Role::Viewer),
    (Method::POST, "/api/v1/tasks/{id}/cancel", Role::Operator),
    (Method::POST, "/api/v1/tasks/{id}/fork", Role::Operator),
    (Method::POST, "/api/v1/tasks/{id}/wake", Role::Operator),
    (Method::POST, "/api/v1/tasks/{id}/replay", Role::Operator),
    (Method::GET, "/api/v1/events", Role::Viewer),
    (Method::GET, "/api/v1/models", Role::Viewer),
    (Method::GET, "/api/v1/approvals", Role::Viewer),
    (Method::POST, "/api/v1/approvals/{id}", Role::Operator),
    (Method::POST, "/api/v1/stop", Role::Operator),
    (Method::POST, "/api/v1/resume", Role::Admin),
    (Method::GET, "/api/v1/computers", Role::Viewer),
    (Method::GET, "/api/v1/computers/{id}/queue", Role::Viewer),
    (Method::GET, "/api/v1/questions", Role::Viewer),
    (
        Method::POST,
        "/api/v1/questions/{id}/answer",
        Role::Operator,
    ),
    (Method::GET, "/api/v1/kinds", Role::Viewer),
    (Method::GET, "/api/v1/kinds/{kind}", Role::Viewer),
    (Method::PUT, "/api/v1/kinds/{kind}", Role::Admin),
    (Method::DELETE, "/api/v1/kinds/{kind}", Role::Admin),
    (Method::GET, "/api/v1/strategies", Role::Viewer),
    (Method::GET, "/api/v1/toolsets", Role::Viewer),
    (Method::GET, "/api/v1/tools", Role::Viewer),
    (Method::POST, "/api/v1/tools/call", Role::Operator),
    (Method::GET, "/api/v1/status", Role::Viewer),
    (Method::GET, "/metrics", Role::Viewer),
    (Method::GET, "/api/v1/session", Role::Viewer),
    (Method::POST, "/api/v1/session", Role::Viewer),
    (Method::DELETE, "/api/v1/session", Role::Viewer),
    (Method::GET, "/api/v1/tokens", Role::Admin),
    (Method::POST, "/api/v1/tokens", Role::Admin),
    (Method::DELETE, "/api/v1/tokens/{id}", Role::Admin),
    // Each tool and resource asks for the role of the route above that does the same.
    (Method::GET, "/mcp", Role::Viewer),
    (Method::POST, "/mcp", Role::Viewer),
    (Method::DELETE, "/mcp", Role::Viewer),
];

/// Served to everybody, whatever is asked for: nobody's secret is in it, and nothing is changed.
pub(super) const OPEN: &[&str] = &[
    "/healthz",
    "/readyz",
    "/install.lua",
    "/lua/manifest.json",
    "/lua/{path:.*}",
    // The page, which is the same for everybody; what it shows it asks for like any other client.
    "/",
    "/dashboard/{path:.*}",
    // The API as a document: the same for everybody.
    "/openapi.json",
    "/docs",
    "/docs/style.css",
    // Has a rule of its own.
    "/ws",
];

/// Whether an address is served to everybody.
pub(super) fn is_open(pattern: &str) -> bool {
    OPEN.contains(&pattern)
}

/// The role that a route takes. HEAD is as GET.
pub(super) fn needed(method: &Method, pattern: &str) -> Role {
    let method = if *method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let row = NEEDS
        .iter()
        .find(|(known, place, _)| known == method && *place == pattern);
    row.map_or(Role::Admin, |(_, _, role)| *role)
}

/// The methods that an address takes.
pub(super) fn taken(pattern: &str) -> Vec<&'static str> {
    let rows = NEEDS.iter().filter(|(_, place, _)| *place == pattern);
    let mut methods: Vec<&str> = rows.map(|(method, _, _)| method.as_str()).collect();
    if methods.contains(&"GET") && pattern != FEED {
        methods.push("HEAD");
    }
    // Health is there for everybody, so it has no row.
    match methods.is_empty() {
        true => vec!["GET", "HEAD"],
        false => methods,
    }
}

/// Answered for ever, so there is nothing to tell of it without its body.
pub(super) const FEED: &str = "/api/v1/events";
