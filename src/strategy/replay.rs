//! Replay: a task's journal is folded again and every decision is made anew, with no model and no computer. The same facts
//! have to lead to the same decisions, byte for byte, and the same answers to the same readings.

use super::{decide, read_answer, version_of};
use crate::domain::decision::{Inputs, InputsRef};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::fork::Forked;
use crate::domain::ids::BlobHash;
use crate::domain::profile::Profile;
use crate::domain::task::{Open, TaskState};
use crate::domain::tool::FleetView;
use crate::strategy::episodes::close;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// What was made again, and came out the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replayed {
    pub events: usize,
    pub decisions: usize,
    /// Answers of models that were read again.
    pub readings: usize,
    /// Events that a fork carried over from another task. They are folded; the other task's own replay decides them again.
    pub carried: usize,
}

/// Why a journal does not replay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("the journal is empty or does not begin with the task's creation")]
    NoBeginning,
    #[error(
        "the task runs {strategy} in version {pinned}, this ccfleet has {}; only equal versions can be compared",
        ours.map_or("none".to_owned(), |ours| format!("version {ours}"))
    )]
    OtherVersion {
        strategy: String,
        pinned: u32,
        ours: Option<u32>,
    },
    #[error("event {seq}: what this decision was based on (fleet {}) is not kept, or not as this version can read it", hash.0)]
    InputsGone { seq: u64, hash: BlobHash },
    #[error(
        "event {seq}: what was {what} now comes out otherwise, at {at}: journalled {journalled}, now {again}"
    )]
    Differs {
        seq: u64,
        /// `decided`, `read` or `closed`.
        what: &'static str,
        /// The place in the event, as a JSON pointer.
        at: String,
        journalled: String,
        again: String,
    },
}

impl ReplayError {
    /// The stable code that goes with the text.
    pub fn code(&self) -> &'static str {
        match self {
            ReplayError::NoBeginning => "replay_no_beginning",
            ReplayError::OtherVersion { .. } => "replay_other_version",
            ReplayError::InputsGone { .. } => "replay_inputs_gone",
            ReplayError::Differs { .. } => "replay_differs",
        }
    }
}

/// Replays a journal. `fleet` gives the content of a blob.
///
/// # Errors
/// The first event that comes out otherwise, or why nothing can be compared.
pub fn replay(
    events: &[StoredEvent],
    profile: &Profile,
    fleet: impl Fn(&BlobHash) -> Option<String>,
) -> Result<Replayed, ReplayError> {
    let first = events.first().ok_or(ReplayError::NoBeginning)?;
    let created = first.event.created().ok_or(ReplayError::NoBeginning)?;
    let ours = version_of(&created.strategy);
    if ours != Some(created.strategy_version) {
        return Err(ReplayError::OtherVersion {
            strategy: created.strategy.clone(),
            pinned: created.strategy_version,
            ours,
        });
    }
    let mut state = TaskState::new(first.task_id.clone());
    let mut done = Replayed::default();
    // What the answer that was folded last has to be read as.
    let mut reading: Option<TaskEvent> = None;
    // What closes the episode or the task that was decided to end.
    let mut closing: VecDeque<TaskEvent> = VecDeque::new();
    for stored in events {
        let again = match &stored.event {
            _ if !closing.is_empty() => closing.pop_front().map(|again| ("closed", json!(again))),
            TaskEvent::Decided { inputs, .. } => {
                done.decisions += 1;
                Some((
                    "decided",
                    decided(&state, profile, inputs, stored.seq, &fleet)?,
                ))
            }
            TaskEvent::DirectiveRead { .. }
            | TaskEvent::RequestRead { .. }
            | TaskEvent::AnswerRead { .. } => {
                done.readings += 1;
                reading.take().map(|again| ("read", json!(again)))
            }
            TaskEvent::Forked(forked) => {
                done.carried = forked.carried.len();
                None
            }
            _ => None,
        };
        if let Some((what, again)) = again {
            compare(stored, what, &again)?;
        }
        if let TaskEvent::ModelAnswered {
            consult, answer, ..
        } = &stored.event
        {
            reading = match state.open_consult(*consult) {
                Some((_, Open::Consult { contract, .. })) => {
                    Some(read_answer(*consult, *contract, answer))
                }
                _ => None,
            };
        }
        state.apply(stored);
        if let TaskEvent::Decided {
            decision, inputs, ..
        } = &stored.event
        {
            closing = close(&state, profile, decision, inputs.now_ms).into();
        }
        done.events += 1;
    }
    Ok(done)
}

/// What a fork carried over is not decided again; it has to be what the other task's journal says. Gives the position there of the
/// first event that is not.
pub fn carried_differs(forked: &Forked, former: &[StoredEvent]) -> Option<u64> {
    // Of a task that lives on, its creation and the episode that was forked are carried over.
    let from = forked.carried.get(1).map_or(1, |second| second.seq);
    let is_carried = |e: &&StoredEvent| e.seq == 1 || (from..=forked.at_seq).contains(&e.seq);
    let mut there = former.iter().filter(is_carried);
    let differs = forked
        .carried
        .iter()
        .find(|carried| there.next() != Some(carried));
    differs.or(there.next()).map(|stored| stored.seq)
}

/// The decision of a state, as it would be journalled; null if nothing is to be decided.
fn decided(
    state: &TaskState,
    profile: &Profile,
    inputs: &InputsRef,
    seq: u64,
    fleet: impl Fn(&BlobHash) -> Option<String>,
) -> Result<Value, ReplayError> {
    let gone = || ReplayError::InputsGone {
        seq,
        hash: inputs.fleet.clone(),
    };
    let text = fleet(&inputs.fleet).ok_or_else(gone)?;
    let fleet: FleetView = serde_json::from_str(&text).map_err(|_| gone())?;
    let known = Inputs {
        now_ms: inputs.now_ms,
        fleet,
        roles: inputs.roles.clone(),
        offline_timeout_ms: inputs.offline_timeout_ms.ok_or_else(gone)?,
    };
    let next = decide(state, profile, &known);
    Ok(next.map_or(Value::Null, |next| {
        json!(TaskEvent::Decided {
            decision: Box::new(next.decision),
            inputs: inputs.clone(),
            track: next.track,
        })
    }))
}

fn compare(stored: &StoredEvent, what: &'static str, again: &Value) -> Result<(), ReplayError> {
    let journalled = json!(stored.event);
    // The same value written in the same order is the same bytes: objects are sorted by name in both.
    match first_difference(&journalled, again, String::new()) {
        None => Ok(()),
        Some((at, journalled, again)) => Err(ReplayError::Differs {
            seq: stored.seq,
            what,
            at,
            journalled,
            again,
        }),
    }
}

/// The first place, as a JSON pointer, where two values differ, with what stands there.
fn first_difference(a: &Value, b: &Value, at: String) -> Option<(String, String, String)> {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let names: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            names.into_iter().find_map(|name| {
                let (a, b) = (x.get(name), y.get(name));
                first_difference(
                    a.unwrap_or(&Value::Null),
                    b.unwrap_or(&Value::Null),
                    format!("{at}/{name}"),
                )
            })
        }
        (Value::Array(x), Value::Array(y)) => (0..x.len().max(y.len())).find_map(|index| {
            let (a, b) = (x.get(index), y.get(index));
            first_difference(
                a.unwrap_or(&Value::Null),
                b.unwrap_or(&Value::Null),
                format!("{at}/{index}"),
            )
        }),
        _ if a == b => None,
        _ => Some((at, brief(a), brief(b))),
    }
}

/// A value in at most so many bytes that an error stays readable.
fn brief(value: &Value) -> String {
    crate::strategy::text::head_and_tail(&value.to_string(), 300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Decision;
    use crate::strategy::bench::Bench;

    #[test]
    fn a_journal_replays_to_the_same_decisions_and_readings() {
        let bench = Bench::chatted_then_runs();
        let done = replay(&bench.journal, &bench.profile, |hash| bench.blob(hash)).unwrap();
        assert_eq!((done.decisions, done.readings), (4, 2));
        assert_eq!(done.events, bench.journal.len());
    }

    #[test]
    fn a_decision_that_comes_out_otherwise_is_named_with_its_event_and_place() {
        let mut bench = Bench::chatted_then_runs();
        let (at, refused) = bench
            .journal
            .iter_mut()
            .enumerate()
            .find_map(|(at, stored)| match &mut stored.event {
                TaskEvent::Decided { decision, .. } => match &mut **decision {
                    Decision::Block { evidence, .. } => Some((at, evidence)),
                    _ => None,
                },
                _ => None,
            })
            .unwrap();
        *refused = "something else".to_owned();
        let seq = bench.journal[at].seq;
        let error = replay(&bench.journal, &bench.profile, |hash| bench.blob(hash)).unwrap_err();
        let ReplayError::Differs { seq: named, at, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((*named, at.as_str()), (seq, "/data/decision/evidence"));
        assert!(error.to_string().contains("something else"), "{error}");
    }

    #[test]
    fn another_version_of_the_strategy_or_a_lost_fleet_is_said_and_not_compared() {
        let mut bench = Bench::chatted_then_runs();
        let lost = replay(&bench.journal, &bench.profile, |_| None).unwrap_err();
        assert_eq!(lost.code(), "replay_inputs_gone");
        let TaskEvent::TaskCreated(created) = &mut bench.journal[0].event else {
            unreachable!("a journal begins so")
        };
        created.strategy_version = 99;
        let other = replay(&bench.journal, &bench.profile, |hash| bench.blob(hash)).unwrap_err();
        assert_eq!(other.code(), "replay_other_version");
        assert_eq!(
            replay(&[], &bench.profile, |_| None).unwrap_err(),
            ReplayError::NoBeginning
        );
    }
}
