//! `/api/v1/kinds`, and what they are made of: `/api/v1/strategies` and `/api/v1/toolsets`.

use super::caller::Caller;
use super::extract::{Json, read_value};
use super::shapes::List;
use super::{Api, Problem};
use crate::config::kinds::{ChangeError, Entry, KindForm, Kinds, Put};
use crate::strategy;
use crate::wire::codes::ErrorCode;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use serde_json::{Map, Value, json};

/// What an answer says of a kind beside its own keys. A request may send it back, and it counts for nothing there.
const TOLD: [&str; 4] = ["embedded", "changed", "default", "effective"];

/// Parts of a profile that a kind's own keys say already, or that are no figures.
const NOT_EFFECTIVE: [&str; 7] = [
    "kind",
    "description",
    "strategy",
    "strategy_version",
    "instructions",
    "templates",
    "prompts",
];

/// A kind as the API shows it: its own keys, where it comes from, and what is in force where it says nothing.
fn body(kinds: &Kinds, entry: &Entry) -> Value {
    let mut body = serde_json::to_value(&entry.form).unwrap_or_default();
    let mut effective = serde_json::to_value(&entry.profile).unwrap_or_default();
    if let Value::Object(fields) = &mut effective {
        fields.retain(|name, _| !NOT_EFFECTIVE.contains(&name.as_str()));
    }
    if let Value::Object(fields) = &mut body {
        let told = [
            json!(entry.is_embedded()),
            json!(entry.is_changed()),
            json!(entry.form.kind == kinds.default_kind()),
            effective,
        ];
        fields.extend(TOLD.into_iter().map(str::to_owned).zip(told));
    }
    body
}

pub(super) async fn list(api: web::Data<Api>) -> web::Json<List<Value>> {
    let kinds = api.kinds.current();
    let items = kinds.entries().map(|entry| body(&kinds, entry)).collect();
    web::Json(List::all(items))
}

pub(super) async fn show(
    api: web::Data<Api>,
    kind: web::Path<String>,
) -> Result<web::Json<Value>, Problem> {
    let kinds = api.kinds.current();
    match kinds.get(&kind) {
        Some(entry) => Ok(web::Json(body(&kinds, entry))),
        None => Err(refused(&ChangeError::NoSuchKind {
            kind: kind.to_string(),
            nearest: kinds.nearest(&kind).map(str::to_owned),
        })),
    }
}

/// 201 with a new kind, 200 with one that was there. Tasks that begin from now on get it.
pub(super) async fn put(
    api: web::Data<Api>,
    Caller(caller): Caller,
    kind: web::Path<String>,
    Json(mut given): Json<Map<String, Value>>,
) -> Result<HttpResponse, Problem> {
    let kind = kind.into_inner();
    given.retain(|name, _| !TOLD.contains(&name.as_str()));
    let named = given.entry("kind").or_insert_with(|| json!(kind));
    if *named != json!(kind) {
        let detail = format!("the address says \"{kind}\", and `kind` {named}");
        return Err(Problem::invalid("kind", detail));
    }
    let form: KindForm = read_value(Value::Object(given))?;
    let kinds = api.kinds.clone();
    let put = blocking(move || kinds.put(form)).await?;
    tracing::info!(%kind, by = %caller.owner, ?put, "kind put");
    let mut answer = match put {
        Put::Created => HttpResponse::Created(),
        Put::Changed | Put::Same => HttpResponse::Ok(),
    };
    let kinds = api.kinds.current();
    let shown = kinds.get(&kind).map(|entry| body(&kinds, entry));
    Ok(answer
        .insert_header((LOCATION, format!("/api/v1/kinds/{kind}")))
        .json(shown))
}

/// Whether it was put back to the form that comes with the program (`restored`), or is gone.
pub(super) async fn delete(
    api: web::Data<Api>,
    Caller(caller): Caller,
    kind: web::Path<String>,
) -> Result<web::Json<Value>, Problem> {
    let (kinds, name) = (api.kinds.clone(), kind.to_string());
    let restored = blocking(move || kinds.delete(&name)).await?;
    tracing::info!(%kind, by = %caller.owner, restored, "kind deleted");
    Ok(web::Json(
        json!({"kind": kind.as_str(), "restored": restored}),
    ))
}

pub(super) async fn strategies() -> web::Json<List<Value>> {
    let line = |(name, version, description)| json!({"name": name, "version": version, "description": description});
    web::Json(List::all(strategy::ALL.into_iter().map(line).collect()))
}

pub(super) async fn toolsets(api: web::Data<Api>) -> web::Json<List<Value>> {
    let kinds = api.kinds.current();
    let sets = kinds.toolsets().map(
        |(name, set)| json!({"name": name, "description": set.description, "tools": set.tools}),
    );
    web::Json(List::all(sets.collect()))
}

/// Files are written off the threads that serve.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ChangeError> + Send + 'static,
) -> Result<T, Problem> {
    let done = web::block(work).await;
    let done = done.map_err(|_| Problem::new(ErrorCode::Stopping, "the server is stopping"))?;
    done.map_err(|error| refused(&error))
}

fn refused(error: &ChangeError) -> Problem {
    let code = match error {
        ChangeError::NoSuchKind { .. } => ErrorCode::NoSuchKind,
        ChangeError::ComesWith(_) | ChangeError::Default(_) => ErrorCode::KindNeeded,
        ChangeError::Unusable(_) => ErrorCode::BadKind,
        ChangeError::InTheWay { .. } => ErrorCode::KindFileInTheWay,
        ChangeError::Write { .. } => ErrorCode::KindUnwritable,
    };
    let problem = Problem::new(code, error.to_string());
    match error {
        ChangeError::Unusable(why) => match why.field() {
            Some(field) => problem.with("field", field),
            None => problem,
        },
        _ => problem,
    }
}
