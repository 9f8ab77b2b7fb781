//! `/api/v1/tasks`

use super::caller::Caller;
use super::extract::{Json, KeyHeader, Query, limit, object, task_id};
use super::scope::{own_computer, own_task};
use super::shapes::{self, List};
use super::wakes::{self, ScheduleBody, WakesBody};
use super::{Api, Problem, ask};
use crate::actors::supervisor::messages::{
    BudgetOverrides, CancelTask, StartError, StartTask, StartedTask,
};
use crate::domain::access::Principal;
use crate::domain::ids::{ClientId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::wakes::Wakes;
use crate::store::{Cursor, TaskQuery};
use crate::strategy::step_log::{StepLog, step_log};
use crate::wire::codes::ErrorCode;
use crate::wire::members;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::Value;

/// A task to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "NewTask"))]
pub(super) struct CreateBody {
    /// What shall be done.
    #[cfg_attr(test, schemars(regex(pattern = r"\S")))]
    prompt: String,
    /// The named profile to run with; an unknown one runs as the default.
    #[serde(default)]
    kind: Option<String>,
    /// The computer that bare tool names mean.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::ClientId>"))]
    client_id: Option<ClientId>,
    /// Shown to the planner.
    #[serde(default)]
    context: Value,
    /// Tools that it may use, as names or globs; without it what the kind allows.
    #[serde(default)]
    allowed_commands: Option<Vec<String>>,
    /// Kept and shown, never looked at.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::Members>"))]
    metadata: Value,
    /// Lifts the limit on questions.
    #[serde(default)]
    interactive: bool,
    /// In place of the kind's.
    #[serde(default, deserialize_with = "members::maybe")]
    budgets: Option<BudgetOverrides>,
    /// It runs again and again.
    #[serde(default, deserialize_with = "members::maybe")]
    schedule: Option<ScheduleBody>,
    /// What else wakes it again.
    #[serde(default, deserialize_with = "members::maybe")]
    wakes: Option<WakesBody>,
    /// The task that it belongs to, and ends with.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::TaskId>"))]
    parent: Option<TaskId>,
    /// Within 24 hours a second request of the same owner with this key answers with the first one's task.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    idempotency_key: Option<String>,
}

/// 201 with the new task, or 200 with the one that the idempotency key names.
pub(super) async fn create(
    api: web::Data<Api>,
    Caller(caller): Caller,
    key: KeyHeader,
    Json(mut body): Json<CreateBody>,
) -> Result<HttpResponse, Problem> {
    body.idempotency_key = key.or(body.idempotency_key.take())?;
    Ok(is_there(&created(&api, caller, body).await?))
}

/// Makes a task in the caller's name.
///
/// # Errors
/// What is asked for cannot be, or the task was not made.
pub(super) async fn created(
    api: &Api,
    caller: Principal,
    body: CreateBody,
) -> Result<StartedTask, Problem> {
    let wakes = wakes::wakes(body.schedule, body.wakes)?;
    let wakes = of_no_child(wakes, body.parent.is_some())?;
    own_computer(api, &caller, body.client_id.as_ref())?;
    if let Some(parent) = &body.parent {
        own_task(api, &caller, parent.clone()).await?;
    }
    let request = StartTask {
        prompt: body.prompt,
        kind: body.kind,
        client_id: body.client_id,
        context: body.context,
        metadata: object("metadata", body.metadata)?,
        interactive: body.interactive,
        budgets: body.budgets.unwrap_or_default(),
        parent: body.parent,
        wakes,
        idempotency_key: body.idempotency_key,
        ..StartTask::by(&caller, body.allowed_commands)
    };
    start(api, request).await
}

/// A child ends with its parent, which may wait for it: it cannot live on.
fn of_no_child(wakes: Wakes, has_parent: bool) -> Result<Wakes, Problem> {
    if has_parent && wakes != Wakes::default() {
        let detail = "a task with a `parent` ends with its first end; leave `schedule` and `wakes` out, or `parent`";
        return Err(Problem::new(ErrorCode::BadSchedule, detail).with("field", "parent"));
    }
    Ok(wakes)
}

/// 201 with a new task, 200 with one that was there already.
pub(super) fn is_there(started: &StartedTask) -> HttpResponse {
    let mut response = if started.created {
        HttpResponse::Created()
    } else {
        HttpResponse::Ok()
    };
    let place = format!("/api/v1/tasks/{}", started.summary.task_id);
    response
        .insert_header((LOCATION, place))
        .json(shapes::task(&started.summary))
}

/// Asks the supervisor, and maps its refusals.
pub(super) async fn start(api: &Api, mut message: StartTask) -> Result<StartedTask, Problem> {
    // Not every caller has a header that was looked at together with it.
    message.idempotency_key = KeyHeader::none().or(message.idempotency_key)?;
    ask(&api.start_task, message)
        .await?
        .map_err(|error| refused(&error))
}

/// Why a task was not started, as people get it.
pub(super) fn refused(error: &StartError) -> Problem {
    let problem = Problem::new(error.into(), error.to_string());
    match error {
        StartError::NoParent(_) | StartError::ParentEnded(_) | StartError::TooDeep { .. } => {
            problem.with("field", "parent")
        }
        _ => problem,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ListQuery {
    /// Only those that stand so.
    status: Option<TaskStatus>,
    /// Only those of this kind.
    kind: Option<String>,
    /// Only those of this computer.
    client_id: Option<String>,
    /// Only those of this owner.
    owner: Option<String>,
    /// How many; 50 without it.
    #[cfg_attr(test, schemars(range(min = 1, max = 500)))]
    limit: Option<usize>,
    /// `next_cursor` of the former page.
    cursor: Option<String>,
}

pub(super) async fn list(
    api: web::Data<Api>,
    Caller(caller): Caller,
    Query(query): Query<ListQuery>,
) -> Result<web::Json<List<Value>>, Problem> {
    listed(&api, &caller, query).await.map(web::Json)
}

/// A page of tasks, newest first.
///
/// # Errors
/// The query cannot be read, or the journal cannot.
pub(super) async fn listed(
    api: &Api,
    caller: &Principal,
    query: ListQuery,
) -> Result<List<Value>, Problem> {
    let client_id = query.client_id.map(|id| ClientId::parse(&id)).transpose();
    let cursor = query.cursor.map(|text| text.parse::<Cursor>()).transpose();
    let own = caller.confined_to();
    if own.is_some() && query.owner.is_some() && query.owner != own {
        // Of other owners nothing is there.
        return Ok(List::all(Vec::new()));
    }
    let page = api
        .journal
        .tasks(TaskQuery {
            status: query.status,
            kind: query.kind,
            client_id: client_id.map_err(|e| Problem::invalid("client_id", e.to_string()))?,
            owner: own.or(query.owner),
            before: cursor.map_err(|e| Problem::invalid("cursor", e.to_string()))?,
            limit: limit(query.limit, 50, 500)?,
        })
        .await?;
    Ok(List {
        items: page.tasks.iter().map(shapes::task).collect(),
        next_cursor: page.next.map(|cursor| cursor.to_string()),
    })
}

pub(super) async fn show(
    api: web::Data<Api>,
    id: web::Path<String>,
) -> Result<web::Json<Value>, Problem> {
    let summary = api.journal.task(task_id(&id)?).await?;
    Ok(web::Json(shapes::task(&summary)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EventsQuery {
    /// The position behind which the page begins.
    after: Option<u64>,
    /// How many; 100 without it.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    limit: Option<usize>,
}

/// A page of the journal; `next_cursor` is the `after` of the next one.
pub(super) async fn events(
    api: web::Data<Api>,
    id: web::Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<web::Json<List<Value>>, Problem> {
    let limit = limit(query.limit, 100, 1000)?;
    let after = query.after.unwrap_or(0);
    let page = api.journal.events(task_id(&id)?, after, limit).await?;
    let last = page.events.last().map(|event| event.seq.to_string());
    Ok(web::Json(List {
        items: page.events.iter().map(shapes::event).collect(),
        next_cursor: last.filter(|_| page.more),
    }))
}

/// The task step by step: what each model saw and said, what was called and what came back.
pub(super) async fn steps(
    api: web::Data<Api>,
    id: web::Path<String>,
) -> Result<web::Json<List<StepLog>>, Problem> {
    let loaded = api.journal.load_task(task_id(&id)?).await?;
    Ok(web::Json(List::all(step_log(&loaded.events))))
}

/// A cancel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Cancel"))]
pub(super) struct CancelBody {
    /// Told with the end of the task.
    #[serde(default)]
    reason: Option<String>,
}

/// The task as it is after the cancel; one that had ended stays as it was.
pub(super) async fn cancel(
    api: web::Data<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    Json(body): Json<CancelBody>,
) -> Result<web::Json<Value>, Problem> {
    let summary = cancelled(&api, caller, task_id(&id)?, body.reason).await?;
    Ok(web::Json(shapes::task(&summary)))
}

/// Cancels a task; it is answered as it is then.
///
/// # Errors
/// There is no such task, or the journal cannot be read.
pub(super) async fn cancelled(
    api: &Api,
    caller: Principal,
    task_id: TaskId,
    reason: Option<String>,
) -> Result<TaskSummary, Problem> {
    let message = CancelTask {
        task_id: task_id.clone(),
        reason: reason.unwrap_or_else(|| "cancelled by a person".into()),
        by: caller.owner,
    };
    ask(&api.cancel_task, message)
        .await?
        .map_err(|error| Problem::new(ErrorCode::NoSuchTask, error.to_string()))?;
    Ok(api.journal.task(task_id).await?)
}
