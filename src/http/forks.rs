//! `POST /api/v1/tasks/{id}/fork`

use super::caller::Caller;
use super::extract::{Json, KeyHeader, task_id};
use super::tasks::{is_there, refused};
use super::{Api, Problem, ask};
use crate::actors::supervisor::messages::{ForkError, ForkTask};
use crate::wire::codes::ErrorCode;
use actix_web::{HttpResponse, web};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkBody {
    at: u32,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    idempotency_key: Option<String>,
}

/// 201 with the new task, or 200 with the one that the idempotency key names.
pub(super) async fn fork(
    api: web::ThinData<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    key: KeyHeader,
    Json(body): Json<ForkBody>,
) -> Result<HttpResponse, Problem> {
    let message = ForkTask {
        task_id: task_id(&id)?,
        at: body.at,
        model: body.model,
        owner: caller.owner,
        idempotency_key: key.or(body.idempotency_key)?,
    };
    let started = ask(&api.fork_task, message)
        .await?
        .map_err(|error| problem(&error))?;
    Ok(is_there(&started))
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
