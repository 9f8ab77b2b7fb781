//! Where an episode of a task that lives on ends, how long it sleeps then, and what a wake means to it. Other tasks end
//! where their episode ends.

use crate::domain::call::Outcome;
use crate::domain::decision::Decision;
use crate::domain::episodes::{
    Carried, EpisodeEnd, EpisodeEnded, MAX_RESULT, MOST_FILES, PastEpisode, Sleep,
};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::fold::{DRIFT, run_label};
use crate::domain::fork::ForkPoint;
use crate::domain::ids::TaskId;
use crate::domain::profile::Profile;
use crate::domain::step::CallRecord;
use crate::domain::task::TaskState;
use crate::domain::wakes::{MOST_KEPT, Wake, WakeCause, Wakes};
use crate::strategy::text::one_line;

/// Why a task cannot be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotWoken {
    #[error("the task has ended")]
    Ended,
    #[error(
        "the task was made without `schedule` or `wakes`, and its model does not sleep: nothing is to be woken"
    )]
    NeverSleeps,
    #[error("{MOST_KEPT} wakes wait for the end of this episode already; it will run once more")]
    TooMany,
}

/// What closes an episode, or the task, together with the decision to finish or to fail. `state` is the state after that
/// decision, `now_ms` the time of its inputs. Empty for other decisions.
pub fn close(
    state: &TaskState,
    profile: &Profile,
    decision: &Decision,
    now_ms: i64,
) -> Vec<TaskEvent> {
    let Some(end) = end_of(decision) else {
        return Vec::new();
    };
    let failures = match &end {
        EpisodeEnd::Completed { .. } => 0,
        EpisodeEnd::Failed { .. } => state.episodes.failures.saturating_add(1),
    };
    let next = state
        .wakes()
        .and_then(|wakes| next_of(state, wakes, now_ms));
    let limit = profile.wakes.failures;
    match next {
        Some(next) if !ends_the_task(&end) && (limit == 0 || failures < limit) => {
            let ended = ended(state, profile, end, failures, now_ms);
            vec![TaskEvent::EpisodeEnded(Box::new(ended)), next]
        }
        _ => vec![closing(end)],
    }
}

/// What follows the creation of a task that does not begin at once: cron expressions and events name their moments.
pub fn first_sleep(wakes: &Wakes, created_ms: i64) -> Option<TaskEvent> {
    let begins = match &wakes.schedule {
        Some(schedule) => schedule.begins_at_once(),
        None => wakes.events.is_empty(),
    };
    let schedule = wakes.schedule.as_ref();
    (!begins).then(|| {
        TaskEvent::FellAsleep(Sleep {
            episodes: 0,
            wake_at_ms: schedule.and_then(|s| s.next_after(created_ms, created_ms)),
        })
    })
}

/// What wakes mean to a task as it stands: the next episode, or one after this. A time of its schedule that passes while
/// it is awake is this episode's.
///
/// # Errors
/// It has ended, never sleeps, or as many wakes are kept already as ever are.
pub fn woken(state: &TaskState, wakes: &[Wake]) -> Result<Vec<TaskEvent>, NotWoken> {
    if state.status.is_final() {
        return Err(NotWoken::Ended);
    }
    let ended = state.naps_ended_by(wakes).into_iter();
    let ended = ended.map(|(call_id, report)| TaskEvent::CallFinished { call_id, report });
    let ended: Vec<TaskEvent> = ended.collect();
    if !ended.is_empty() {
        return Ok(ended);
    }
    if state.wakes().is_none() {
        return Err(NotWoken::NeverSleeps);
    }
    if state.is_asleep() {
        return Ok(vec![TaskEvent::EpisodeStarted {
            episode: state.episodes.number.saturating_add(1),
            wakes: wakes.iter().take(MOST_KEPT).cloned().collect(),
        }]);
    }
    let scheduled = |wake: &&Wake| matches!(wake.cause, WakeCause::Schedule { .. });
    let asked = wakes.iter().filter(|wake| !scheduled(wake));
    let room = MOST_KEPT.saturating_sub(state.episodes.kept.len());
    if room == 0 && asked.clone().next().is_some() {
        return Err(NotWoken::TooMany);
    }
    let kept = asked.take(room).cloned();
    Ok(kept.map(|wake| TaskEvent::WakeKept { wake }).collect())
}

/// A task's state with the steps of all its episodes, for looking at: deciding needs those of the last one alone.
pub fn with_all_steps(task_id: &TaskId, events: &[StoredEvent]) -> TaskState {
    let mut state = TaskState::new(task_id.clone());
    let mut former = Vec::new();
    for stored in events {
        if matches!(stored.event, TaskEvent::EpisodeEnded(_)) {
            former.append(&mut state.steps);
        }
        state.apply(stored);
    }
    former.append(&mut state.steps);
    state.steps = former;
    state
}

fn end_of(decision: &Decision) -> Option<EpisodeEnd> {
    match decision {
        Decision::Finish { result, .. } => Some(EpisodeEnd::Completed {
            result: result.clone(),
        }),
        Decision::Fail {
            code,
            error,
            details,
        } => Some(EpisodeEnd::Failed {
            code: code.clone(),
            error: error.clone(),
            details: details.clone(),
        }),
        _ => None,
    }
}

fn closing(end: EpisodeEnd) -> TaskEvent {
    match end {
        EpisodeEnd::Completed { result } => TaskEvent::TaskCompleted { result },
        EpisodeEnd::Failed {
            code,
            error,
            details,
        } => TaskEvent::TaskFailed {
            code,
            error,
            details,
        },
    }
}

/// What is over for good whatever comes: a budget of the whole task, and what a kind marks as fatal.
fn ends_the_task(end: &EpisodeEnd) -> bool {
    let EpisodeEnd::Failed { code, details, .. } = end else {
        return false;
    };
    match code.as_str() {
        "policy_violation" | DRIFT => true,
        "budget_exceeded" => {
            let budget = details["budget"].as_str();
            !budget.is_some_and(|budget| budget.starts_with("per_wake."))
        }
        _ => false,
    }
}

/// What comes after the episode that ends now; none if nothing ever will.
fn next_of(state: &TaskState, wakes: &Wakes, now_ms: i64) -> Option<TaskEvent> {
    let episodes = state.episodes.number;
    if !state.episodes.kept.is_empty() {
        return Some(TaskEvent::EpisodeStarted {
            episode: episodes.saturating_add(1),
            wakes: state.episodes.kept.clone(),
        });
    }
    let schedule = wakes.schedule.as_ref();
    let wake_at_ms = schedule.and_then(|s| s.next_after(now_ms, state.created_at_ms));
    let waits = wake_at_ms.is_some() || !wakes.events.is_empty() || wakes.on_demand;
    waits.then_some(TaskEvent::FellAsleep(Sleep {
        episodes,
        wake_at_ms,
    }))
}

fn ended(
    state: &TaskState,
    profile: &Profile,
    end: EpisodeEnd,
    failures: u32,
    now_ms: i64,
) -> EpisodeEnded {
    let episodes = &state.episodes;
    let uncertain: Vec<&CallRecord> = state
        .all_calls()
        .filter(|call| is_uncertain(call))
        .collect();
    let mut past = episodes.past.clone();
    past.push(told(state, &end, &uncertain, now_ms));
    let forgotten = past.len().saturating_sub(profile.wakes.remember as usize);
    past.drain(..forgotten);
    let awake_ms = state.started_at_ms.map_or(episodes.awake_ms, |start| {
        now_ms.saturating_sub(start).max(episodes.awake_ms)
    });
    let ratios = state.conversations.iter();
    EpisodeEnded {
        episode: episodes.number,
        end,
        carried: Carried {
            usage: state.usage,
            children_usage: state.children_usage,
            // No answer of before is in the next episode's conversation.
            forked: state.forked.clone().map(|point| ForkPoint {
                foreign_answers: 0,
                ..point
            }),
            awake_ms,
            failures,
            past,
            calls: uncertain.into_iter().cloned().collect(),
            salt: state.salt.clone(),
            sticky: state.sticky.clone(),
            ratios: ratios.map(|(role, c)| (*role, c.ratio)).collect(),
            no_native_tools: state.no_native_tools,
            prompt_ceiling: state.prompt_ceiling,
            seen: state.seen,
        },
    }
}

/// It left, and nobody knows yet whether it was done.
fn is_uncertain(call: &CallRecord) -> bool {
    call.intended.is_some() && matches!(call.outcome(), None | Some(Outcome::Unknown))
}

fn told(
    state: &TaskState,
    end: &EpisodeEnd,
    uncertain: &[&CallRecord],
    now_ms: i64,
) -> PastEpisode {
    let (success, words) = match end {
        EpisodeEnd::Completed { result } => (result.success, result.message.clone()),
        EpisodeEnd::Failed { code, error, .. } => (false, format!("{code}: {error}")),
    };
    let unknown: Vec<String> = uncertain.iter().map(|call| run_label(call)).collect();
    let words = match unknown.is_empty() {
        true => words,
        false => format!(
            "{words} (nobody knows whether this was done: {})",
            unknown.join(", ")
        ),
    };
    let why = state.episodes.why.iter();
    let woken_by: Vec<String> = why.map(|wake| wake.cause.words()).collect();
    let files = state.files.iter().filter(|(_, file)| file.written);
    PastEpisode {
        episode: state.episodes.number,
        ended_at_ms: now_ms,
        woken_by: match woken_by.is_empty() {
            true => "its creation".to_owned(),
            false => one_line(&woken_by.join(", "), MAX_RESULT / 4),
        },
        success,
        result: one_line(&words, MAX_RESULT),
        files: files
            .take(MOST_FILES)
            .map(|(path, _)| path.clone())
            .collect(),
    }
}

#[cfg(test)]
#[path = "episodes_tests.rs"]
mod tests;
