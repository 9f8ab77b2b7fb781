//! `/api/v1/stop` and `/api/v1/resume`

use super::caller::Caller;
use super::extract::Json;
use super::hosts::refuse;
use super::scope::own_computer;
use super::{Api, Problem, ask};
use crate::actors::registry::messages::{OperatorResumes, StopCalls, StopError, StopReport};
use crate::domain::access::Role;
use crate::domain::ids::ClientId;
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::Deserialize;
use serde_json::{Value, json};

/// Which computers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Scope"))]
pub(super) struct Scope {
    /// None = the whole fleet.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::ClientId>"))]
    client_id: Option<ClientId>,
}

pub(super) async fn stop(
    api: web::Data<Api>,
    Caller(caller): Caller,
    Json(scope): Json<Scope>,
) -> Result<web::Json<Value>, Problem> {
    if scope.client_id.is_none() && !caller.has(Role::Admin) {
        let words = "only an admin stops the whole fleet";
        return Err(refuse(words.to_owned()).with_hint("name one computer in `client_id`"));
    }
    own_computer(&api, &caller, scope.client_id.as_ref())?;
    let message = StopCalls {
        client_id: scope.client_id,
        by: caller.owner,
    };
    answer(ask(&api.stop_calls, message).await?)
}

pub(super) async fn resume(
    api: web::Data<Api>,
    Caller(caller): Caller,
    Json(scope): Json<Scope>,
) -> Result<web::Json<Value>, Problem> {
    let message = OperatorResumes {
        client_id: scope.client_id,
        by: caller.owner,
    };
    answer(ask(&api.operator_resumes, message).await?)
}

fn answer(done: Result<StopReport, StopError>) -> Result<web::Json<Value>, Problem> {
    match done {
        Ok(report) => Ok(web::Json(json!({
            "computers": report.computers,
            "cancelled_calls": report.cancelled_calls,
        }))),
        Err(error @ StopError::UnknownComputer(_)) => {
            Err(Problem::new(ErrorCode::UnknownComputer, error.to_string()))
        }
        Err(error @ StopError::NotStored(_)) => Err(Problem::new(
            ErrorCode::JournalUnavailable,
            error.to_string(),
        )),
    }
}
