//! `GET /api/v1/events`: the feed, as server-sent events.
//!
//! Every committed event exactly once and in the order of the commits, from the cursor on that the client shows; beside it, without
//! cursors, what has no history: computers, the numbers of open questions, and models' answers while they are made. The body is made
//! as the client reads it, so a slow client holds up nobody and takes no more room than the feed's bound.

mod follower;
mod frames;
mod samples;
mod seats;
mod stream;
#[cfg(test)]
mod tests;

pub use samples::Samples;
pub use seats::Followers;

use super::caller::Caller;
use super::extract::{Query, task_id};
use super::{Api, Problem, session};
use crate::domain::access::Principal;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskSummary;
use crate::store::Place;
use crate::wire::codes::ErrorCode;
use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpRequest, HttpResponse, web};
use follower::{Follower, Start};
use serde::Deserialize;
use stream::Feeding;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FeedQuery {
    /// Only this task; its model answers are told too while they are made.
    task_id: Option<String>,
    /// Only tasks of this kind.
    kind: Option<String>,
    /// The cursor to go on from.
    after: Option<String>,
    /// Models' answers while they are made.
    tokens: Option<bool>,
}

/// Which tasks a follower is told of.
#[derive(Debug, Clone)]
struct Filter {
    caller: Principal,
    task_id: Option<TaskId>,
    kind: Option<String>,
}

impl Filter {
    fn wants(&self, task: &TaskSummary) -> bool {
        self.caller.sees(&task.owner)
            && self.task_id.as_ref().is_none_or(|id| *id == task.task_id)
            && self.kind.as_ref().is_none_or(|kind| *kind == task.kind)
    }
}

pub(super) async fn follow(
    api: web::Data<Api>,
    Caller(caller): Caller,
    request: HttpRequest,
    Query(query): Query<FeedQuery>,
) -> Result<HttpResponse, Problem> {
    let seat = api.followers.take(&caller.owner).ok_or_else(|| {
        let detail = "too many follow the feed at once";
        Problem::new(ErrorCode::TooManyFollowers, detail)
    })?;
    let filter = Filter {
        task_id: query.task_id.as_deref().map(task_id).transpose()?,
        caller,
        kind: query.kind,
    };
    if let Some(task_id) = &filter.task_id {
        let task = api.journal.task(task_id.clone()).await?;
        if !filter.caller.sees(&task.owner) {
            let detail = format!("no task {task_id}");
            return Err(Problem::new(ErrorCode::NoSuchTask, detail));
        }
    }
    // A browser keeps the address when it comes back, so what it saw last counts for more.
    let shown = request.headers().get("Last-Event-ID");
    let shown = shown.map(|value| value.to_str().unwrap_or_default().to_owned());
    let start = match shown.or(query.after).map(|text| text.parse::<Place>()) {
        Some(Ok(place)) => Start::Behind(place),
        Some(Err(_)) => Start::Unknown,
        None => Start::Now,
    };
    let tokens = query.tokens.unwrap_or(filter.task_id.is_some());
    let follower = Follower::new(&api, filter.clone(), start).await?;
    let feeding = Feeding::new(
        Api::clone(&api),
        filter,
        follower,
        tokens,
        session::shown(&request),
        seat,
    );
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-store"))
        // Some proxies keep an answer back until it is whole, unless they are told.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(feeding.into_stream()))
}
