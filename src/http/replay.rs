//! `POST /api/v1/tasks/{id}/replay`: every decision of a task made anew from its journal, with no model and no computer.

use super::caller::Caller;
use super::extract::task_id;
use super::{Api, Problem};
use crate::actors::journal::messages::LoadedTask;
use crate::domain::event::TaskEvent;
use crate::domain::fork;
use crate::domain::ids::{BlobHash, TaskId};
use crate::domain::profile::Profile;
use crate::strategy::replay::{ReplayError, carried_differs, replay as decide_anew};
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::Serialize;
use std::collections::HashMap;
use tokio::sync::Semaphore;

/// Replays at once: each is as much work as all decisions of its task were.
static AT_ONCE: Semaphore = Semaphore::const_new(1);

/// How it went.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Replay"))]
pub(super) struct ReplayBody {
    #[cfg_attr(test, schemars(with = "crate::wire::schema::TaskId"))]
    task_id: TaskId,
    events: usize,
    decisions: usize,
    same: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatch: Option<Mismatch>,
}

/// The first thing that comes out otherwise.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Mismatch {
    /// The journal position of the event.
    seq: u64,
    what: String,
}

pub(super) async fn replay(
    api: web::Data<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
) -> Result<web::Json<ReplayBody>, Problem> {
    let task_id = task_id(&id)?;
    let summary = api.journal.task(task_id.clone()).await?;
    if !caller.sees(&summary.owner) {
        let detail = format!("no task {task_id}");
        return Err(Problem::new(ErrorCode::NoSuchTask, detail));
    }
    let stopping = || Problem::new(ErrorCode::Stopping, "the server is stopping");
    let _turn = AT_ONCE.acquire().await.map_err(|_| stopping())?;
    let loaded = api.journal.load_task(task_id.clone()).await?;
    let carried = carried(&api, &loaded).await?;
    let blobs = blobs(&api, &loaded).await?;
    // Deciding is work for a processor; other requests shall not wait for it.
    let work = web::block(move || answer(task_id, &loaded, carried, &blobs));
    work.await.map_err(|_| stopping())?.map(web::Json)
}

/// Where what a fork carried over is not what the other task's journal says.
async fn carried(api: &Api, loaded: &LoadedTask) -> Result<Option<Mismatch>, Problem> {
    let Some(forked) = fork::of(&loaded.events) else {
        return Ok(None);
    };
    let former = api.journal.load_task(forked.from.clone()).await?;
    let differs = carried_differs(forked, &former.events);
    Ok(differs.map(|seq| Mismatch {
        seq,
        what: format!("carried over from {}", forked.from),
    }))
}

/// What the decisions were based on.
async fn blobs(api: &Api, loaded: &LoadedTask) -> Result<HashMap<BlobHash, String>, Problem> {
    let mut blobs = HashMap::new();
    for stored in &loaded.events {
        let TaskEvent::Decided { inputs, .. } = &stored.event else {
            continue;
        };
        if !blobs.contains_key(&inputs.fleet)
            && let Some(content) = api.journal.blob(inputs.fleet.clone()).await?
        {
            blobs.insert(inputs.fleet.clone(), content);
        }
    }
    Ok(blobs)
}

fn answer(
    task_id: TaskId,
    loaded: &LoadedTask,
    carried: Option<Mismatch>,
    blobs: &HashMap<BlobHash, String>,
) -> Result<ReplayBody, Problem> {
    let cannot = |words: String| Problem::new(ErrorCode::CannotReplay, words);
    let profile: Profile = serde_json::from_str(&loaded.profile)
        .map_err(|_| cannot("the kind that it was begun with cannot be read".to_owned()))?;
    let is_decision = |e: &TaskEvent| matches!(e, TaskEvent::Decided { .. });
    let events = loaded.events.iter().map(|stored| &stored.event);
    let body = |mismatch: Option<Mismatch>| ReplayBody {
        task_id: task_id.clone(),
        events: loaded.events.len(),
        decisions: events.clone().filter(|event| is_decision(event)).count(),
        same: mismatch.is_none(),
        mismatch,
    };
    if carried.is_some() {
        return Ok(body(carried));
    }
    match decide_anew(&loaded.events, &profile, |hash| blobs.get(hash).cloned()) {
        Ok(_) => Ok(body(None)),
        Err(ReplayError::Differs { seq, what, at, .. }) => Ok(body(Some(Mismatch {
            seq,
            what: format!("{what} {at}"),
        }))),
        Err(error) => Err(cannot(error.to_string())),
    }
}
