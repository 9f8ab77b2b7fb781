//! `ccfleet task replay`

use super::journal::{Journal, Task};
use crate::cli::{Exit, Failure};
use crate::domain::fork;
use crate::strategy::replay::{Replayed, carried_differs, replay};
use serde_json::{Value, json};

/// More tasks than any journal is replayed whole with.
const ALL: usize = 1_000_000;

/// Replays one task.
///
/// # Errors
/// It differs, or cannot be compared.
pub(super) fn one(journal: &Journal, task: &Task, as_json: bool) -> Result<Exit, Failure> {
    let id = &task.state.task_id;
    match (again(journal, task), as_json) {
        (outcome, true) => {
            say!("{:#}", told(task, &outcome));
            Ok(exit(outcome.is_ok()))
        }
        (Ok(done), false) => {
            say!(
                "{id}: the same. {} decisions and {} readings of answers were made again, over {} events{}",
                done.decisions,
                done.readings,
                done.events,
                match done.carried {
                    0 => String::new(),
                    many => format!(
                        "; {many} events were carried over and are as the other task's journal has them"
                    ),
                }
            );
            Ok(Exit::Done)
        }
        (Err((_, words)), false) => Err(Failure::new(Exit::Failed, format!("{id}: {words}"))),
    }
}

/// Replays every task of the journal, and tells those that differ.
///
/// # Errors
/// The journal cannot be read.
pub(super) fn all(journal: &Journal, as_json: bool) -> Result<Exit, Failure> {
    let mut outcomes = Vec::new();
    let (mut same, mut decisions) = (0usize, 0usize);
    for summary in journal.newest(ALL)? {
        let Some(task) = journal.load(&summary.task_id)? else {
            continue;
        };
        let outcome = again(journal, &task);
        match &outcome {
            Ok(done) => {
                same += 1;
                decisions += done.decisions;
            }
            Err((_, words)) if !as_json => say!("{}: {words}", summary.task_id),
            Err(_) => {}
        }
        outcomes.push(told(&task, &outcome));
    }
    let tasks = outcomes.len();
    match as_json {
        true => say!(
            "{:#}",
            json!({"tasks": tasks, "same": same, "decisions": decisions, "items": outcomes})
        ),
        false => say!("{same} of {tasks} tasks replay to the same {decisions} decisions"),
    }
    Ok(exit(same == tasks))
}

fn exit(is_same: bool) -> Exit {
    match is_same {
        true => Exit::Done,
        false => Exit::Failed,
    }
}

/// What came of it; a failure with its code.
type Outcome = Result<Replayed, (&'static str, String)>;

fn again(journal: &Journal, task: &Task) -> Outcome {
    let Some(profile) = &task.profile else {
        let words = "the kind that it was begun with is not kept or cannot be read";
        return Err(("replay_no_profile", words.to_owned()));
    };
    carried_is_the_same(journal, task)?;
    replay(&task.events, profile, |hash| journal.blob(hash))
        .map_err(|error| (error.code(), format!("{error} ({})", error.code())))
}

/// What a fork carried over is not decided again; it has to be what the other task's journal says.
fn carried_is_the_same(journal: &Journal, task: &Task) -> Result<(), (&'static str, String)> {
    let code = "replay_carried";
    let Some(forked) = fork::of(&task.events) else {
        return Ok(());
    };
    let former = journal.load(&forked.from).map_err(|e| (code, e.text))?;
    let Some(former) = former else {
        let words = format!(
            "what was carried over cannot be compared: there is no task {} in this journal ({code})",
            forked.from
        );
        return Err((code, words));
    };
    match carried_differs(forked, &former.events) {
        None => Ok(()),
        Some(seq) => {
            let words = format!(
                "event {seq} of {}: what was carried over is not what its journal says ({code})",
                forked.from
            );
            Err((code, words))
        }
    }
}

fn told(task: &Task, outcome: &Outcome) -> Value {
    let id = &task.state.task_id;
    match outcome {
        Ok(done) => {
            json!({"task_id": id, "same": true, "events": done.events, "decisions": done.decisions,
            "readings": done.readings, "carried": done.carried})
        }
        Err((code, words)) => json!({"task_id": id, "same": false, "code": code, "error": words}),
    }
}
