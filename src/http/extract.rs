//! Reading requests: bodies, queries and ids, with errors that name the field and guess what was meant.

use super::{MAX_BODY, Problem};
use crate::config::nearest::did_you_mean;
use crate::domain::ids::{QuestionId, TaskId};
use crate::wire::codes::ErrorCode;
use actix_web::dev::Payload;
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::future::{Ready, ready};

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 200;

/// How a body names it.
const KEY_FIELD: &str = "idempotency_key";

/// A JSON body; no body is taken as an empty object. The `Content-Type` is not looked at: a forgotten
/// header is no reason to refuse a request that can be read.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(_: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let payload = payload.take();
        Box::pin(async move { read_json(&read_body(payload).await?).map(Json) })
    }
}

pub(super) async fn read_body(mut payload: Payload) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            Problem::new(
                ErrorCode::InvalidRequest,
                format!("reading the body: {error}"),
            )
        })?;
        if body.len() + chunk.len() > MAX_BODY {
            let detail = format!("the body has more than {MAX_BODY} bytes");
            return Err(Problem::new(ErrorCode::TooLarge, detail));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Reads a body as what is wanted; if that fails, in two steps, so that the error names what is wrong: first the text as JSON, then
/// the JSON as what is wanted.
pub(super) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let body = if body.trim_ascii().is_empty() {
        b"{}"
    } else {
        body
    };
    // A list would be taken field by field.
    if body.trim_ascii_start().starts_with(b"{")
        && let Ok(read) = serde_json::from_slice(body)
    {
        return Ok(read);
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        Problem::new(ErrorCode::BadJson, format!("the body is no JSON: {error}"))
            .with_hint("send one JSON object; check quotes, commas and nesting")
    })?;
    read_value(value)
}

/// Reads a JSON object as what is wanted; the error names the field.
pub(super) fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    if !value.is_object() {
        return Err(
            Problem::new(ErrorCode::NotAnObject, "the body is JSON, but no object")
                .with_hint("send one JSON object"),
        );
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let text = error.inner().to_string();
        refused_field(path, text)
    })
}

fn refused_field(path: String, text: String) -> Problem {
    // An unknown or missing field is named in the text, its parent by the path.
    let named = text
        .strip_prefix("unknown field `")
        .or(text.strip_prefix("missing field `"))
        .and_then(|rest| rest.split('`').next());
    let field = match named {
        Some(name) if path == "." => name.to_owned(),
        Some(name) if path != name && !path.ends_with(&format!(".{name}")) => {
            format!("{path}.{name}")
        }
        _ => path,
    };
    let problem = Problem::invalid(field, text.clone());
    match did_you_mean(&text) {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}

/// The `Idempotency-Key` header: the same as the field of that name in a body.
pub struct KeyHeader(Option<String>);

impl FromRequest for KeyHeader {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let shown = request.headers().get("Idempotency-Key");
        let text = shown.map(|value| value.to_str().map(str::to_owned));
        let unreadable = |_| Problem::invalid(KEY_FIELD, "the Idempotency-Key header is no text");
        ready(text.transpose().map(KeyHeader).map_err(unreadable))
    }
}

impl KeyHeader {
    /// As where there are no headers.
    pub(super) fn none() -> Self {
        KeyHeader(None)
    }

    /// The key of a request, whichever way it was given.
    ///
    /// # Errors
    /// Header and body name different ones, or it is no key.
    pub(super) fn or(self, field: Option<String>) -> Result<Option<String>, Problem> {
        if let (Some(header), Some(field)) = (&self.0, &field)
            && header != field
        {
            let detail = "the Idempotency-Key header and the body name different keys";
            return Err(Problem::invalid(KEY_FIELD, detail));
        }
        let key = self.0.or(field);
        if key
            .as_ref()
            .is_none_or(|key| (1..=MAX_KEY).contains(&key.len()))
        {
            return Ok(key);
        }
        let detail = format!("an idempotency key has 1 to {MAX_KEY} bytes");
        Err(Problem::invalid(KEY_FIELD, detail))
    }
}

/// The query of an address.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let query = actix_web::web::Query::<T>::from_query(request.query_string());
        ready(match query {
            Ok(query) => Ok(Query(query.into_inner())),
            Err(error) => {
                let text = error.to_string();
                let text = text
                    .strip_prefix("Query deserialize error: ")
                    .unwrap_or(&text);
                let problem = Problem::new(ErrorCode::InvalidRequest, format!("the query: {text}"));
                Err(match did_you_mean(text) {
                    Some(hint) => problem.with_hint(hint),
                    None => problem,
                })
            }
        })
    }
}

/// A `limit` within 1 and `max`.
pub(super) fn limit(wanted: Option<usize>, default: usize, max: usize) -> Result<usize, Problem> {
    match wanted.unwrap_or(default) {
        limit if (1..=max).contains(&limit) => Ok(limit),
        _ => Err(Problem::invalid("limit", format!("`limit` is 1 to {max}"))),
    }
}

/// A JSON object, where none and `[]` are taken as an empty one: Lua cannot tell them apart.
pub(super) fn object(field: &str, value: Value) -> Result<Value, Problem> {
    match value {
        Value::Null => Ok(json!({})),
        Value::Array(list) if list.is_empty() => Ok(json!({})),
        Value::Object(_) => Ok(value),
        _ => Err(Problem::invalid(
            field,
            format!("`{field}` is a JSON object"),
        )),
    }
}

/// What is no id at all names no task either.
pub(super) fn task_id(text: &str) -> Result<TaskId, Problem> {
    TaskId::parse(text)
        .map_err(|error| Problem::new(ErrorCode::NoSuchTask, format!("no task {text}: {error}")))
}

pub(super) fn question_id(text: &str) -> Result<QuestionId, Problem> {
    QuestionId::parse(text).map_err(|error| {
        Problem::new(
            ErrorCode::NoSuchQuestion,
            format!("no open question {text}: {error}"),
        )
    })
}
