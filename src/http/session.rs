//! `/api/v1/session`: a page shows a token once and gets a cookie, which no script can read.

use super::caller::Caller;
use super::door::{SESSION_COOKIE, Shown};
use super::hosts::header;
use super::tokens::refused;
use super::{Api, Problem, time};
use crate::domain::access::Principal;
use crate::domain::credential::SESSION_MS;
use crate::wire::codes::ErrorCode;
use actix_web::http::header::{ORIGIN, SET_COOKIE};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// Who asks, as this server sees them.
pub(super) async fn show(Caller(caller): Caller, request: HttpRequest) -> web::Json<Value> {
    let is_session = matches!(shown(&request), Shown::Session(_));
    web::Json(body(&caller, is_session))
}

/// 201 with a cookie for whoever showed a token or the operator's key in `Authorization`.
pub(super) async fn begin(
    api: web::Data<Api>,
    Caller(caller): Caller,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let shown = match shown(&request) {
        Shown::Key(id) | Shown::Token(id) => id,
        Shown::Session(_) => return Ok(HttpResponse::Ok().json(body(&caller, true))),
        Shown::Nothing => {
            let words = "a session begins with a token";
            return Err(Problem::new(ErrorCode::TokenInvalid, words)
                .with_hint("send Authorization: Bearer TOKEN with this request"));
        }
    };
    let begun = api.door.tokens.begin_session(&shown, &caller).await;
    let (record, secret) = begun.map_err(refused)?;
    let mut answer = body(&caller, true);
    answer["expires_at"] = json!(record.expires_at_ms.map(time));
    let cookie = cookie(&request, secret.reveal(), SESSION_MS / 1000);
    Ok(HttpResponse::Created()
        .insert_header((SET_COOKIE, cookie))
        .json(answer))
}

/// The cookie opens nothing any more, wherever it was copied to.
pub(super) async fn end(
    api: web::Data<Api>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    if let Shown::Session(id) = shown(&request) {
        api.door.tokens.end_session(&id).await.map_err(refused)?;
    }
    Ok(HttpResponse::NoContent()
        .insert_header((SET_COOKIE, cookie(&request, "", 0)))
        .finish())
}

/// What the guard saw.
pub(super) fn shown(request: &HttpRequest) -> Shown {
    let shown = request.extensions().get::<Shown>().cloned();
    shown.unwrap_or(Shown::Nothing)
}

fn body(caller: &Principal, is_session: bool) -> Value {
    json!({
        "owner": caller.owner,
        "role": caller.role,
        "authenticated": caller.authenticated,
        "tools": caller.tools,
        "session": is_session,
    })
}

fn cookie(request: &HttpRequest, value: &str, seconds: i64) -> String {
    // Behind a proxy that ends TLS the page says how it was loaded.
    let origin = header(request.headers(), ORIGIN).ok().flatten();
    let encrypted = origin.is_some_and(|origin| origin.starts_with("https://"));
    let secure = if encrypted { "; Secure" } else { "" };
    format!(
        "{SESSION_COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    )
}
