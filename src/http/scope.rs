//! What a request may name: its owner's things alone, unless an admin asks. What is another's is answered as what is not
//! there, so that nobody learns of it.

use super::caller::Caller;
use super::extract::{question_id, task_id};
use super::{Api, Problem, ask};
use crate::actors::journal::messages::JournalError;
use crate::actors::supervisor::messages::OpenQuestions;
use crate::domain::access::{Principal, Role};
use crate::domain::ids::{ClientId, TaskId};
use crate::wire::codes::ErrorCode;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, ResponseError, web};
use serde::Deserialize;

/// What the `{id}` in an address of the API is.
const OWNED: [(&str, Owned); 4] = [
    ("/tasks/{id}", Owned::Task),
    ("/questions/{id}", Owned::Question),
    ("/approvals/{id}", Owned::Question),
    ("/computers/{id}", Owned::Computer),
];

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Clone, Copy)]
pub(super) enum Owned {
    Task,
    Question,
    Computer,
}

impl Owned {
    /// What an address names, as it is registered; none if it names nothing that has an owner.
    pub(super) fn by(address: &str) -> Option<Self> {
        let below = |place: &str| {
            let rest = address.strip_prefix(place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found = OWNED.iter().find(|(place, _)| below(place));
        found.map(|(_, owned)| *owned)
    }
}

/// Answers requests that name something of another owner, before their handlers see them.
pub(super) async fn own(
    owned: Option<Owned>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let checked = match owned {
        Some(owned) => check(owned, &mut request).await,
        None => Ok(()),
    };
    match checked {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(problem) => Ok(request.into_response(problem.error_response())),
    }
}

async fn check(owned: Owned, request: &mut ServiceRequest) -> Result<(), Problem> {
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return Err(Problem::new(ErrorCode::Internal, "nothing is served here"));
    };
    let api = &api;
    // As the handler reads it, whatever is percent-encoded.
    let named = request.extract::<web::Path<Named>>().await;
    let named = named.map_err(|error| Problem::new(ErrorCode::NotFound, error.to_string()))?;
    let id = named.id.as_str();
    if let (Owned::Task, Ok(task_id)) = (owned, task_id(id)) {
        // A direct read is answered before it is durable.
        api.reads.written(&task_id).await;
    }
    let caller = request.extensions().get::<Principal>().cloned();
    let Some(caller) = caller.filter(|caller| caller.role != Role::Admin) else {
        // An admin sees all, and where the guard found nobody the handler refuses.
        return Ok(());
    };
    match owned {
        Owned::Task => own_task(api, &caller, task_id(id)?).await,
        Owned::Question => own_question(api, &caller, id).await,
        Owned::Computer => {
            let known = ClientId::parse(id).ok();
            let known = known.filter(|id| sees_computer(api, &caller, id));
            known.map(drop).ok_or_else(|| no_computer(id))
        }
    }
}

/// # Errors
/// There is no such task, or it is another owner's: both sound the same.
pub(super) async fn own_task(
    api: &Api,
    caller: &Principal,
    task_id: TaskId,
) -> Result<(), Problem> {
    let task = api.journal.task(task_id.clone()).await?;
    match caller.sees(&task.owner) {
        true => Ok(()),
        false => Err(JournalError::NoTask(task_id).into()),
    }
}

async fn own_question(api: &Api, caller: &Principal, id: &str) -> Result<(), Problem> {
    let wanted = question_id(id)?;
    let open = ask(&api.open_questions, OpenQuestions).await?;
    let question = open.into_iter().find(|open| open.question_id == wanted);
    if let Some(question) = question
        && own_task(api, caller, question.task_id).await.is_ok()
    {
        return Ok(());
    }
    let detail = format!("no open question {wanted}");
    Err(Problem::new(ErrorCode::NoSuchQuestion, detail))
}

/// Whether a computer is there for whoever asks.
pub(super) fn sees_computer(api: &Api, caller: &Principal, client_id: &ClientId) -> bool {
    let lane = api.router.lane(client_id);
    lane.is_some_and(|lane| caller.sees(&lane.view.owner()))
}

/// # Errors
/// The request names a computer that is not there for whoever asks.
pub(super) fn own_computer(
    api: &Api,
    caller: &Principal,
    client_id: Option<&ClientId>,
) -> Result<(), Problem> {
    match client_id {
        Some(id) if caller.role != Role::Admin && !sees_computer(api, caller, id) => {
            Err(no_computer(id.as_str()))
        }
        _ => Ok(()),
    }
}

pub(super) fn no_computer(id: &str) -> Problem {
    let detail = format!("no computer \"{id}\" was ever connected");
    Problem::new(ErrorCode::UnknownComputer, detail)
}

/// Whether whoever asks may do what takes a proof: an admin who showed a secret.
///
/// # Errors
/// It showed none.
pub(super) fn proven(caller: Caller) -> Result<Principal, Problem> {
    match caller.0.authenticated {
        true => Ok(caller.0),
        false => {
            let problem = Problem::new(
                ErrorCode::NotAllowed,
                "that takes a token or the operator's key",
            );
            Err(problem.with_hint(
                "send the content of operator.key in the server's data folder: Authorization: Bearer KEY",
            ))
        }
    }
}
