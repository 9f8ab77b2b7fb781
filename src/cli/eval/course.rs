//! A run's journal, looked at twice: whether it replays, and what stands in it apart from times and ids, so that two runs of
//! one seed can be held against each other.

use crate::actors::journal::JournalReader;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::BlobHash;
use crate::domain::profile::Profile;
use crate::strategy::replay::replay;
use serde_json::Value;
use std::collections::HashMap;

/// What differs between two runs that did the same: the time, what is drawn for each start, and how many effects their
/// computer saw before (`seq` of a call; that of an event is its place in the course).
const OF_THE_MOMENT: [&str; 7] = [
    "at_ms",
    "now_ms",
    "until_ms",
    "up_ms",
    "duration_ms",
    "boot_id",
    "seq",
];

/// The end of a call.
const FINISHED: &str = "call_finished";

/// A journal without what is of the moment: each event's name and the hash of the rest.
pub type Course = Vec<(&'static str, BlobHash)>;

/// The course of a run.
pub fn of(events: &[StoredEvent]) -> Course {
    let hashed = |stored: &StoredEvent| {
        let mut told = serde_json::to_value(stored).unwrap_or_default();
        forget(&mut told);
        // The ids of its calls and questions begin with the task's.
        let text = told.to_string().replace(stored.task_id.unique(), "TASK");
        (stored.event.name(), BlobHash::of(&without_times(&text)))
    };
    let mut course: Course = events.iter().map(hashed).collect();
    // Which of several computers answers first is of the moment, too.
    let neighbours = course.chunk_by_mut(|one, next| one.0 == FINISHED && next.0 == FINISHED);
    neighbours.for_each(|calls| calls.sort_by(|one, other| one.1.0.cmp(&other.1.0)));
    course
}

/// One hash of a whole course.
pub fn hash(course: &Course) -> BlobHash {
    let all: String = course.iter().map(|(_, hash)| hash.0.as_str()).collect();
    BlobHash::of(&all)
}

/// A text without the numbers of its "12 ms".
fn without_times(text: &str) -> String {
    let mut parts: Vec<&str> = text.split(" ms").collect();
    let last = parts.pop().unwrap_or_default();
    let bare = parts
        .iter()
        .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()));
    bare.chain([last]).collect::<Vec<_>>().join(" ms")
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OF_THE_MOMENT.contains(&name.as_str()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

/// Where two courses part, in words; none if they are the same.
#[cfg(test)]
pub fn parting(one: &Course, other: &Course) -> Option<String> {
    let at = one.iter().zip(other).position(|(a, b)| a != b);
    match at {
        Some(at) => Some(format!(
            "event {}: {} and {}",
            at + 1,
            one[at].0,
            other[at].0
        )),
        None if one.len() == other.len() => None,
        None => Some(format!("{} events and {}", one.len(), other.len())),
    }
}

/// Why a journal does not replay; none if it does.
///
/// # Errors
/// The journal cannot be read.
pub async fn differs(
    journal: &JournalReader,
    events: &[StoredEvent],
    profile: &str,
) -> Result<Option<String>, String> {
    let profile: Profile = serde_json::from_str(profile).map_err(|e| e.to_string())?;
    let mut fleets = HashMap::new();
    for stored in events {
        if let TaskEvent::Decided { inputs, .. } = &stored.event
            && !fleets.contains_key(&inputs.fleet)
        {
            let fleet = journal.blob(inputs.fleet.clone()).await;
            fleets.insert(inputs.fleet.clone(), fleet.map_err(|e| e.to_string())?);
        }
    }
    let again = replay(events, &profile, |hash| fleets.get(hash).cloned().flatten());
    Ok(again.err().map(|error| error.to_string()))
}
