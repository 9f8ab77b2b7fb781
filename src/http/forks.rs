//! `POST /api/v1/tasks/{id}/fork`

use super::caller::Caller;
use super::extract::{Json, KeyHeader, task_id};
use super::hosts::refuse;
use super::tasks::{is_there, refused};
use super::{Api, Problem, ask};
use crate::actors::supervisor::messages::{ForkError, ForkTask};
use crate::domain::access::Principal;
use crate::domain::ids::TaskId;
use crate::wire::codes::ErrorCode;
use actix_web::{HttpResponse, web};
use serde::Deserialize;

/// Where to go on from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Fork"))]
pub(super) struct ForkBody {
    /// The last step that is carried over.
    at: u32,
    /// Another model for the planner, on the same server.
    #[serde(default)]
    model: Option<String>,
    /// As for a new task.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    idempotency_key: Option<String>,
}

/// 201 with the new task, or 200 with the one that the idempotency key names.
pub(super) async fn fork(
    api: web::Data<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    key: KeyHeader,
    Json(body): Json<ForkBody>,
) -> Result<HttpResponse, Problem> {
    let of = task_id(&id)?;
    check_rights(&api, &caller, of.clone()).await?;
    let message = ForkTask {
        task_id: of,
        at: body.at,
        model: body.model,
        confined_to: caller.confined_to(),
        owner: caller.owner,
        idempotency_key: key.or(body.idempotency_key)?,
    };
    let started = ask(&api.fork_task, message)
        .await?
        .map_err(|error| problem(&error))?;
    Ok(is_there(&started))
}

/// A fork may call what the other task might: whoever may call less does not fork it.
async fn check_rights(api: &Api, caller: &Principal, of: TaskId) -> Result<(), Problem> {
    if caller.tools.is_none() {
        return Ok(());
    }
    let asked = api.journal.task(of).await?.allowed_commands;
    match asked.is_some() && caller.allowed(asked.clone()) == asked {
        true => Ok(()),
        false => Err(refuse(
            "that task may call tools that this token does not allow".to_owned(),
        )),
    }
}

fn problem(error: &ForkError) -> Problem {
    let words = error.to_string();
    match error {
        ForkError::Start(error) => refused(error),
        ForkError::NoSuchTask(_) => Problem::new(ErrorCode::NoSuchTask, words),
        ForkError::NoPlace { places, .. } => {
            Problem::new(ErrorCode::NoForkPlace, words).with("steps", places.clone())
        }
        ForkError::BadModel => Problem::invalid("model", words),
        ForkError::DirectCall(_)
        | ForkError::OtherVersion { .. }
        | ForkError::TooDeep
        | ForkError::TooLarge { .. }
        | ForkError::Profile(_) => Problem::new(ErrorCode::CannotFork, words),
    }
}
