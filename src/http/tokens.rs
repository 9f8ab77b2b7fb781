//! `/api/v1/tokens`: for admins who proved who they are.

use super::caller::Caller;
use super::extract::Json;
use super::scope::proven;
use super::shapes::List;
use super::{Api, Problem, time};
use crate::actors::tokens::TokenError;
use crate::domain::access::Role;
use crate::domain::credential::{Bearer, NewToken, TokenRecord};
use crate::wire::codes::ErrorCode;
use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

/// A token as the API shows it.
pub fn token_body(record: &TokenRecord, now_ms: i64) -> Value {
    let mut body = serde_json::to_value(record).unwrap_or_default();
    if let Some(fields) = body.as_object_mut() {
        for (kept, shown) in [
            ("created_at_ms", "created_at"),
            ("last_used_ms", "last_used_at"),
            ("expires_at_ms", "expires_at"),
            ("revoked_at_ms", "revoked_at"),
        ] {
            if let Some(at_ms) = fields.remove(kept).and_then(|at| at.as_i64()) {
                fields.insert(shown.to_owned(), json!(time(at_ms)));
            }
        }
        let state = match (record.revoked_at_ms, record.is_live(now_ms)) {
            (Some(_), _) => "revoked",
            (None, true) => "live",
            (None, false) => "expired",
        };
        fields.insert("state".to_owned(), json!(state));
    }
    body
}

pub(super) async fn list(
    api: web::Data<Api>,
    caller: Caller,
) -> Result<web::Json<List<Value>>, Problem> {
    proven(caller)?;
    let now = crate::clock::now_ms();
    let tokens = api.door.tokens.list();
    let tokens = tokens.iter().map(|token| token_body(token, now));
    Ok(web::Json(List::all(tokens.collect())))
}

/// A token to be made: with `role` for a person, with `client_id` for computers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "NewToken"))]
pub(super) struct CreateBody {
    /// What people call it.
    name: String,
    /// Whose things are its bearer's.
    #[serde(default)]
    owner: Option<String>,
    /// Of a person's token.
    #[serde(default)]
    role: Option<Role>,
    /// Of a computer's token: a name or a glob.
    #[serde(default)]
    client_id: Option<String>,
    /// What its bearer may call, as names or globs; without it everything.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// RFC 3339.
    #[serde(default)]
    expires_at: Option<String>,
}

/// 201 with the token and, this once, its text as `secret`.
pub(super) async fn create(
    api: web::Data<Api>,
    caller: Caller,
    Json(body): Json<CreateBody>,
) -> Result<HttpResponse, Problem> {
    let by = proven(caller)?;
    let bearer = match (body.role, body.client_id) {
        (Some(role), None) => Bearer::Person { role },
        (None, Some(client_id)) => Bearer::Computer { client_id },
        _ => {
            let words =
                "a token has either a `role` (for a person) or a `client_id` (for computers)";
            return Err(Problem::invalid("role", words));
        }
    };
    let new = NewToken {
        name: body.name,
        owner: body.owner,
        bearer,
        tools: body.tools,
        expires_at_ms: body.expires_at.as_deref().map(moment).transpose()?,
    };
    let (record, secret) = api.door.tokens.make(new).await.map_err(refused)?;
    tracing::info!(token = %record.token_id, owner = %record.owner, by = %by.owner, "a token was made");
    let mut answer = token_body(&record, crate::clock::now_ms());
    answer["secret"] = json!(secret.reveal());
    Ok(HttpResponse::Created().json(answer))
}

/// The token as it is now: revoked, also if it was before.
pub(super) async fn revoke(
    api: web::Data<Api>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<web::Json<Value>, Problem> {
    let by = proven(caller)?;
    let record = api.door.tokens.revoke(&id).await.map_err(refused)?;
    tracing::info!(token = %record.token_id, by = %by.owner, "a token was revoked");
    Ok(web::Json(token_body(&record, crate::clock::now_ms())))
}

fn moment(text: &str) -> Result<i64, Problem> {
    let moment = humantime::parse_rfc3339_weak(text);
    let since = moment
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let ms = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    ms.ok_or_else(|| Problem::invalid("expires_at", "a moment is written as 2027-01-31T12:00:00Z"))
}

/// Why a token was not made or revoked, as people get it.
pub(super) fn refused(error: TokenError) -> Problem {
    let words = error.to_string();
    match error {
        TokenError::Bad { field, .. } => Problem::invalid(field, words),
        TokenError::NoSuchToken(_) => Problem::new(ErrorCode::NoSuchToken, words),
        TokenError::TooMany => Problem::new(ErrorCode::TooManyTokens, words),
        TokenError::NoRandomness(_) => Problem::new(ErrorCode::Internal, words),
        TokenError::NotKept(error) => error.into(),
    }
}
