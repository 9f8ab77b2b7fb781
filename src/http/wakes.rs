//! What wakes tasks again: as a request says it at a task's creation, and `POST /api/v1/tasks/{id}/wake`.

use super::caller::Caller;
use super::extract::{Json, task_id};
use super::shapes;
use super::{Api, Problem, ask};
use crate::actors::supervisor::messages::{WakeError, WakeTask};
use crate::domain::schedule::Schedule;
use crate::domain::wakes::{MAX_EVENT, MOST_DATA, MOST_EVENTS, WakeCause, Wakes};
use crate::strategy::episodes::NotWoken;
use crate::wire::codes::ErrorCode;
use actix_web::web;
use serde::Deserialize;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// When a task runs again: one of `every_s` and `cron`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Schedule"))]
pub(super) struct ScheduleBody {
    /// Seconds between two runs.
    every_s: Option<u64>,
    /// Minute, hour, day, month, weekday, in UTC.
    cron: Option<String>,
    /// RFC 3339.
    until: Option<String>,
}

/// What else wakes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Wakes"))]
pub(super) struct WakesBody {
    /// Names of events of the world, as names or globs.
    events: Vec<String>,
    /// People and programs may wake it.
    on_demand: bool,
}

/// What a request says of wakes, checked.
pub(super) fn wakes(
    schedule: Option<ScheduleBody>,
    others: Option<WakesBody>,
) -> Result<Wakes, Problem> {
    let others = others.unwrap_or_default();
    let sane = |event: &String| (1..=MAX_EVENT).contains(&event.len());
    if others.events.len() > MOST_EVENTS || !others.events.iter().all(sane) {
        let words = format!("at most {MOST_EVENTS} patterns of 1 to {MAX_EVENT} bytes");
        return Err(Problem::invalid("wakes.events", words));
    }
    Ok(Wakes {
        schedule: schedule.map(checked).transpose()?,
        events: others.events,
        on_demand: others.on_demand,
    })
}

fn checked(body: ScheduleBody) -> Result<Schedule, Problem> {
    let bad = |field: &str, words: String| {
        Problem::new(ErrorCode::BadSchedule, words).with("field", field)
    };
    let until = body.until.as_deref().map(|text| {
        let moment = humantime::parse_rfc3339_weak(text);
        moment.map_err(|error| bad("schedule.until", format!("`until` is no time: {error}")))
    });
    let until_ms = until.transpose()?.map(in_ms);
    Schedule::of(body.every_s, body.cron, until_ms, in_ms(SystemTime::now()))
        .map_err(|error| bad(error.field(), error.to_string()))
}

fn in_ms(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A wake.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Wake"))]
pub(super) struct WakeBody {
    /// Told to the planner; at most 8 KiB.
    #[serde(default)]
    data: Value,
}

/// The task as it is once the wake is durable: it runs, or will once more after this episode.
pub(super) async fn wake(
    api: web::Data<Api>,
    Caller(caller): Caller,
    id: web::Path<String>,
    Json(body): Json<WakeBody>,
) -> Result<web::Json<Value>, Problem> {
    let task_id = task_id(&id)?;
    if body.data.to_string().len() > MOST_DATA {
        let words = format!("`data` has at most {MOST_DATA} bytes as JSON");
        return Err(Problem::invalid("data", words));
    }
    let message = WakeTask {
        task_id: task_id.clone(),
        cause: WakeCause::Asked {
            by: caller.owner,
            data: body.data,
        },
    };
    ask(&api.wake_task, message).await?.map_err(refused)?;
    let summary = api.journal.task(task_id).await?;
    Ok(web::Json(shapes::task(&summary)))
}

fn refused(error: WakeError) -> Problem {
    let code = match &error {
        WakeError::NoSuchTask(_) => ErrorCode::NoSuchTask,
        WakeError::NotWoken(NotWoken::Ended) => ErrorCode::TaskEnded,
        WakeError::NotWoken(NotWoken::NeverSleeps) => ErrorCode::NotWakeable,
        WakeError::NotWoken(NotWoken::TooMany) => ErrorCode::TooManyWakes,
        WakeError::NoRoom { .. } => ErrorCode::TooManyTasks,
        WakeError::Resting => ErrorCode::TaskResting,
        WakeError::Stopping => ErrorCode::Stopping,
        WakeError::Journal(_) => ErrorCode::JournalUnavailable,
    };
    Problem::new(code, error.to_string())
}
