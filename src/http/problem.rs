//! Errors as people and programs get them: `application/problem+json` (RFC 9457).

use super::routes;
use crate::wire::codes::ErrorCode;
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use serde_json::{Map, Value, json};
use std::fmt;
use std::time::Duration;

/// An error answer.
#[derive(Debug, Clone)]
pub struct Problem {
    code: ErrorCode,
    detail: String,
    /// Instead of the code's own.
    hint: Option<String>,
    extra: Map<String, Value>,
    /// Seconds after which it makes sense to try again.
    retry_after: Option<u64>,
}

impl Problem {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Problem {
            code,
            detail: detail.into(),
            hint: None,
            extra: Map::new(),
            retry_after: None,
        }
    }

    /// Says when it makes sense to try again; whole seconds, at least one.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.retry_after = Some(seconds.max(1));
        self
    }

    /// A request that cannot be read; `field` is the path to what is wrong, for example `budgets.steps`.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let field = field.into();
        let hint = format!("mend `{field}`; docs/http.md lists what each request takes");
        Problem::new(ErrorCode::InvalidRequest, detail)
            .with("field", field)
            .with_hint(hint)
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a member beside the usual ones.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    pub fn code(&self) -> ErrorCode {
        self.code
    }

    pub(super) fn body(&self) -> Value {
        let code = self.code.as_str();
        let usual = json!({
            "type": format!("urn:ccfleet:error:{code}"),
            "title": code.replace('_', " "),
            "status": self.status_code().as_u16(),
            "detail": self.detail,
            "code": code,
            "hint": self.hint.as_deref().unwrap_or(self.code.hint()),
        });
        let mut body = self.extra.clone();
        if let Value::Object(usual) = usual {
            body.extend(usual);
        }
        Value::Object(body)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        if self.status_code().is_server_error() {
            tracing::warn!(code = %self.code, detail = %self.detail, "request not served");
        }
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after {
            response.insert_header((RETRY_AFTER, seconds));
        }
        if self.status_code() == StatusCode::UNAUTHORIZED {
            response.insert_header((WWW_AUTHENTICATE, "Bearer realm=\"ccfleet\""));
        }
        response
            .content_type("application/problem+json")
            .body(self.body().to_string())
    }
}

/// Answers every address that is not ours.
pub(super) async fn not_found(request: HttpRequest) -> Problem {
    Problem::new(
        ErrorCode::NotFound,
        format!("there is nothing at {}", request.path()),
    )
}

pub(super) async fn method_not_allowed(request: HttpRequest) -> HttpResponse {
    let detail = format!("{} does not take {}", request.path(), request.method());
    let mut response = Problem::new(ErrorCode::MethodNotAllowed, detail).error_response();
    let pattern = request.match_pattern().unwrap_or_default();
    if let Ok(allow) = HeaderValue::from_str(&routes::taken(&pattern).join(", ")) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

impl actix_web::Responder for Problem {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        self.error_response()
    }
}
