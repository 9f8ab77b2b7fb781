//! `/openapi.json` and `/docs`: the API as a document for programs, and the same as a page for people.
//!
//! The document lies in `docs/`. A test makes it anew from the types that the handlers read and write and from the table of
//! operations, and fails if it differs: so the program carries a text and no generator.

#[cfg(test)]
mod document;
#[cfg(test)]
mod operation;
#[cfg(test)]
mod operations;
mod page;

use actix_web::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use actix_web::{HttpResponse, web};

/// Where the document lies.
const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

const STYLE: &str = include_str!("page.css");

/// The page loads its own style and nothing else, and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What everybody may read, like the files for computers: it tells nothing of this server.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(super::at("/openapi.json").route(web::get().to(document)))
        .service(super::at("/docs").route(web::get().to(page)))
        .service(super::at("/docs/style.css").route(web::get().to(style)));
}

async fn document() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .body(DOCUMENT)
}

async fn page() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .body(page::PAGE.as_str())
}

async fn style() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/css; charset=utf-8"))
        .body(STYLE)
}
