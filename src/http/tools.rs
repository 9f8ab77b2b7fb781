//! `GET /api/v1/tools`: what the fleet can do. `POST /api/v1/tools/call`: one call now, as a task of kind `call`, and its
//! outcome as the answer.

use super::caller::Caller;
use super::extract::{Json, KeyHeader, object};
use super::follow::Ear;
use super::hosts::refuse;
use super::scope::own_computer;
use super::shapes::List;
use super::{Api, ComputerBody, Problem, Stage, ask, computers, tasks};
use crate::actors::direct_reads::DirectRead;
use crate::actors::supervisor::messages::{CancelTask, StartTask, StartedTask};
use crate::domain::access::Principal;
use crate::domain::call::{Address, CallReport, Outcome, Target};
use crate::domain::event::{DirectCall, StoredEvent, TaskEvent};
use crate::domain::ids::{CallId, ClientId, TaskId};
use crate::domain::toolbox::Tool;
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time of a call that names none, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// The longest time that a request may wait, in milliseconds; longer work is a task.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// A tool, and the computers that have exactly this one. Computers may have different ones under one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Tool"))]
pub(super) struct ToolBody {
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "crate::domain::tool::ToolSpec"))]
    pub(super) tool: Tool,
    tool_rev: String,
    pub(super) owners: Vec<OwnerBody>,
}

/// A computer that has the tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "ToolOwner"))]
pub(super) struct OwnerBody {
    #[cfg_attr(test, schemars(with = "crate::wire::schema::ClientId"))]
    pub(super) client_id: ClientId,
    pub(super) online: bool,
}

pub(super) async fn list(
    api: web::Data<Api>,
    Caller(caller): Caller,
) -> Result<web::Json<List<ToolBody>>, Problem> {
    let computers = computers::own(&api, &caller).await?;
    Ok(web::Json(List::all(by_tool(&computers))))
}

/// Every tool by name, each with its owners by name.
pub(super) fn by_tool(computers: &[ComputerBody]) -> Vec<ToolBody> {
    let mut tools: BTreeMap<&str, Vec<ToolBody>> = BTreeMap::new();
    for computer in computers {
        for tool in computer.tools.iter() {
            let owner = OwnerBody {
                client_id: computer.client_id.clone(),
                online: computer.online,
            };
            let same_name = tools.entry(&tool.name).or_default();
            match same_name.iter_mut().find(|known| known.tool == *tool) {
                Some(known) => known.owners.push(owner),
                None => same_name.push(ToolBody {
                    tool: tool.clone(),
                    tool_rev: tool.rev().to_string(),
                    owners: vec![owner],
                }),
            }
        }
    }
    tools.into_values().flatten().collect()
}

/// One call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Call"))]
pub(super) struct CallBody {
    /// `tool`, `computer/tool` or `group:name/tool`.
    command: String,
    /// What the tool's schema asks for.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::Members>"))]
    args: Value,
    /// The computer that a bare name means.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::ClientId>"))]
    client_id: Option<ClientId>,
    /// How long it may take, in milliseconds; 30000 without it.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 1, max = 600_000)))]
    timeout_ms: Option<u64>,
    /// As for a new task.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    idempotency_key: Option<String>,
    /// Kept with the task and shown, never looked at.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<crate::wire::schema::Members>"))]
    metadata: Value,
}

impl CallBody {
    fn check(self) -> Result<Self, Problem> {
        Address::parse(&self.command)
            .map_err(|error| Problem::invalid("command", error.to_string()))?;
        let args = object("args", self.args)?;
        let metadata = object("metadata", self.metadata)?;
        if self
            .timeout_ms
            .is_some_and(|ms| !(1..=MAX_TIMEOUT_MS).contains(&ms))
        {
            let detail = format!("`timeout_ms` is 1 to {MAX_TIMEOUT_MS}");
            return Err(Problem::invalid("timeout_ms", detail)
                .with_hint("create a task for work that takes longer"));
        }
        Ok(CallBody {
            args,
            metadata,
            ..self
        })
    }
}

pub(super) async fn call(
    api: web::Data<Api>,
    Caller(caller): Caller,
    key: KeyHeader,
    Json(body): Json<CallBody>,
) -> Result<web::Json<CallEnded>, Problem> {
    let body = body.check()?;
    let idempotency_key = key.or(body.idempotency_key)?;
    let timeout_ms = body.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let deadline = Instant::now() + Duration::from_millis(timeout_ms) + api.call_grace;
    let wanted = WantedCall {
        command: body.command,
        args: body.args,
        client_id: body.client_id,
        timeout_ms: Some(timeout_ms),
        idempotency_key,
        metadata: body.metadata,
    };
    let request = request_of(&api, &caller, wanted)?;
    if let Some(answer) = read_at_once(&api, &request, deadline).await {
        return answer.map(web::Json);
    }
    let (started, mut ear) = begin(&api, request).await?;
    let task_id = started.summary.task_id;
    let waited = match started.summary.status.is_final() {
        true => Ok(Ok(None)),
        false => timeout_at(deadline, ear.events_to_the_end(&api, &task_id)).await,
    };
    let heard = match waited {
        Ok(ended) => ended?,
        Err(_) if started.created => {
            give_up(&api, &task_id, caller.owner).await;
            None
        }
        // Somebody else's request made the call; it is theirs to give up.
        Err(_) => None,
    };
    let told = match heard {
        Some(events) => ending(&task_id, &events),
        None => outcome(&api, &task_id).await,
    };
    told.map(web::Json)
}

/// One call, however it was asked for.
#[derive(Debug, Default)]
pub(super) struct WantedCall {
    /// `tool`, `computer/tool` or `group:name/tool`.
    pub(super) command: String,
    /// A JSON object.
    pub(super) args: Value,
    pub(super) client_id: Option<ClientId>,
    /// None = what the tool says, or the settings.
    pub(super) timeout_ms: Option<u64>,
    pub(super) idempotency_key: Option<String>,
    /// A JSON object.
    pub(super) metadata: Value,
}

/// Whether whoever asks may call this tool, and on that computer. In a group only its own computers are there.
fn check_rights(api: &Api, caller: &Principal, wanted: &WantedCall) -> Result<(), Problem> {
    own_computer(api, caller, wanted.client_id.as_ref())?;
    let Ok(address) = Address::parse(&wanted.command) else {
        return Ok(());
    };
    if let Target::Computer(client_id) = &address.target {
        own_computer(api, caller, Some(client_id))?;
    }
    match caller.may_call(&address.tool) {
        true => Ok(()),
        false => Err(refuse(format!(
            "the token of {} does not allow the tool \"{}\"",
            caller.owner, address.tool
        ))),
    }
}

/// How a call ended, as its caller is told.
#[derive(Debug)]
pub(super) struct CallEnded {
    task_id: TaskId,
    call_id: CallId,
    report: Arc<CallReport>,
}

impl CallEnded {
    /// # Errors
    /// Its time was over, and nobody knows what became of it.
    fn of(task_id: TaskId, call_id: CallId, report: Arc<CallReport>) -> Result<Self, Problem> {
        if report.outcome == Outcome::Unknown && report.code.as_deref() == Some("timeout") {
            return Err(late(Some(&task_id), Some(&call_id), Outcome::Unknown));
        }
        Ok(CallEnded {
            task_id,
            call_id,
            report,
        })
    }
}

impl Serialize for CallEnded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            ok: bool,
            outcome: Outcome,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'a Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            code: Option<&'a str>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            truncated: bool,
            duration_ms: u64,
            task_id: &'a TaskId,
            call_id: &'a CallId,
        }
        let CallReport {
            outcome,
            result,
            error,
            code,
            duration_ms,
            truncated,
        } = &*self.report;
        Body {
            ok: *outcome == Outcome::Done,
            outcome: *outcome,
            result: result.as_ref(),
            error: error.as_deref(),
            code: code.as_deref(),
            truncated: *truncated,
            duration_ms: duration_ms.unwrap_or(0),
            task_id: &self.task_id,
            call_id: &self.call_id,
        }
        .serialize(serializer)
    }
}

/// The answer to a call of a `read` tool that can leave at once; what is journalled of it comes after that. None for every other.
pub(super) async fn read_at_once(
    api: &Api,
    request: &StartTask,
    deadline: Instant,
) -> Option<Result<CallEnded, Problem>> {
    // A second request under the same key has to find the first one's task.
    if request.idempotency_key.is_some() || api.stage.get() != Stage::Ready {
        return None;
    }
    let made = match api.reads.read(request, deadline).await {
        DirectRead::Made(made) => made,
        DirectRead::TooLate => return Some(Err(late(None, None, Outcome::NotStarted))),
        DirectRead::NotHere => return None,
    };
    Some(match made.report {
        Some(report) => CallEnded::of(made.task_id, made.call_id, report),
        None => Err(late(
            Some(&made.task_id),
            Some(&made.call_id),
            Outcome::Unknown,
        )),
    })
}

/// Makes the task of a call, with an ear that hears its end.
///
/// # Errors
/// The task was not made.
pub(super) async fn begin(api: &Api, request: StartTask) -> Result<(StartedTask, Ear), Problem> {
    // Before the task exists, so that its end cannot be missed.
    let ear = Ear::listen(api).await?;
    Ok((tasks::start(api, request).await?, ear))
}

/// The task of a call in the caller's name.
///
/// # Errors
/// The caller may not make this call.
pub(super) fn request_of(
    api: &Api,
    caller: &Principal,
    wanted: WantedCall,
) -> Result<StartTask, Problem> {
    check_rights(api, caller, &wanted)?;
    Ok(StartTask {
        prompt: format!("Call {}", wanted.command),
        kind: Some("call".to_owned()),
        client_id: wanted.client_id,
        call: Some(DirectCall {
            command: wanted.command,
            args: wanted.args,
            timeout_ms: wanted.timeout_ms,
        }),
        idempotency_key: wanted.idempotency_key,
        metadata: wanted.metadata,
        ..StartTask::by(caller, None)
    })
}

/// How the call of a one-call task ended, or how it stands.
///
/// # Errors
/// There is no result: why, as the API tells it.
pub(super) async fn outcome(api: &Api, task_id: &TaskId) -> Result<CallEnded, Problem> {
    let events = api.journal.load_task(task_id.clone()).await?.events;
    ending(task_id, &events)
}

/// Nobody waits any longer, so the call must not happen later behind the caller's back.
async fn give_up(api: &Api, task_id: &TaskId, by: String) {
    let message = CancelTask {
        task_id: task_id.clone(),
        reason: "the deadline of the request has passed".to_owned(),
        by,
    };
    if let Err(problem) = ask(&api.cancel_task, message).await {
        tracing::warn!(%task_id, %problem, "a late call was not cancelled");
    }
}

/// What the journal says of a one-call task, as the caller's answer.
fn ending(task_id: &TaskId, events: &[StoredEvent]) -> Result<CallEnded, Problem> {
    let facts = || events.iter().rev().map(|stored| &stored.event);
    let finished = facts().find_map(|event| match event {
        TaskEvent::CallFinished { call_id, report } => Some((call_id, report)),
        _ => None,
    });
    if let Some((call_id, report)) = finished {
        return CallEnded::of(task_id.clone(), call_id.clone(), report.clone().into());
    }
    let not_placed = facts().find_map(|event| match event {
        TaskEvent::CallNotPlaced { no_route, .. } => Some(no_route),
        _ => None,
    });
    if let Some(no_route) = not_placed {
        let problem = Problem::new(no_route.reason.into(), no_route.message.clone());
        return Err(problem.with("task_id", task_id.as_str()));
    }
    let failed = facts().find_map(|event| match event {
        TaskEvent::TaskFailed { code, error, .. } => Some((code, error)),
        _ => None,
    });
    if let Some((code, error)) = failed {
        let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
        let code = known.copied().unwrap_or(ErrorCode::Internal);
        return Err(Problem::new(code, error.clone()).with("task_id", task_id.as_str()));
    }
    let intended = facts().find_map(|event| match event {
        TaskEvent::CallIntended(intended) => Some(&intended.call_id),
        _ => None,
    });
    let outcome = match intended {
        Some(_) => Outcome::Unknown,
        None => Outcome::NotStarted,
    };
    Err(late(Some(task_id), intended, outcome))
}

fn late(task_id: Option<&TaskId>, call_id: Option<&CallId>, outcome: Outcome) -> Problem {
    let detail = match outcome {
        Outcome::NotStarted => "the call did not start before its deadline and will not",
        _ => "the deadline passed while the call ran; nobody can tell yet whether it happened",
    };
    let problem = Problem::new(ErrorCode::Timeout, detail).with("outcome", outcome.as_str());
    let ids = [
        ("task_id", task_id.map(TaskId::as_str)),
        ("call_id", call_id.map(CallId::as_str)),
    ];
    let known = ids.into_iter().filter_map(|(name, id)| Some((name, id?)));
    known.fold(problem, |problem, (name, id)| problem.with(name, id))
}
