//! The SDK's service under actix: a request is carried over whole, its answer as it streams.
//!
//! The crate `rmcp-actix-web` does the same, and would switch on `preserve_order` of serde_json for the whole program,
//! whose hashes rest on sorted keys.

use super::Mcp;
use crate::http::caller::Caller;
use crate::http::extract::read_body;
use crate::http::{Api, Problem};
use crate::wire::codes::ErrorCode;
use actix_web::http::Method;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyDataStream, Full};
use std::convert::Infallible;
use std::sync::Arc;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// GET, POST and DELETE of `/mcp`.
pub(in crate::http) async fn serve(
    request: HttpRequest,
    Caller(caller): Caller,
    api: web::Data<Api>,
    mcp: web::ThinData<Arc<Mcp>>,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    // MCP wants the origin looked at for every method; the guard does so where something changes.
    api.door
        .settings
        .hosts
        .check(&Method::POST, request.headers())?;
    let session = request
        .headers()
        .get(SESSION)
        .map(|id| id.to_str().unwrap_or_default().to_owned());
    if let Some(session) = &session
        && !mcp.sessions.is_of(session, &caller.owner)
    {
        return Err(
            Problem::new(ErrorCode::NotFound, "there is no such session")
                .with_hint("begin a new one with initialize, without Mcp-Session-Id"),
        );
    }
    let owner = caller.owner.clone();
    let mut carried = carried(&request, read_body(payload.into_inner()).await?)?;
    carried.extensions_mut().insert(caller);
    let answer = mcp.service.handle(carried).await;
    if let Some(begun) = answer.headers().get(SESSION)
        && session.is_none()
    {
        let begun = begun.to_str().unwrap_or_default().to_owned();
        mcp.sessions.begin(begun, owner).await;
    }
    Ok(answered(answer))
}

/// actix has its own `http` types of an older version, so everything goes over as text.
fn carried(request: &HttpRequest, body: Bytes) -> Result<http::Request<Full<Bytes>>, Problem> {
    let mut carried = http::Request::builder()
        .method(request.method().as_str())
        .uri(request.uri().to_string());
    for (name, value) in request.headers() {
        carried = carried.header(name.as_str(), value.as_bytes());
    }
    carried
        .body(Full::new(body))
        .map_err(|error| Problem::new(ErrorCode::InvalidRequest, error.to_string()))
}

fn answered(answer: http::Response<BoxBody<Bytes, Infallible>>) -> HttpResponse {
    let (parts, body) = answer.into_parts();
    let status = actix_web::http::StatusCode::from_u16(parts.status.as_u16())
        .unwrap_or(actix_web::http::StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for (name, value) in &parts.headers {
        response.append_header((name.as_str(), value.as_bytes()));
    }
    response.streaming(BodyDataStream::new(body))
}
