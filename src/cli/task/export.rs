//! `ccfleet task export`: a recorded task as a scenario of the scripted model.

use super::journal::Task;
use crate::cli::{Exit, Failure};
use crate::llm::scripted::export::export;
use crate::strategy::text::one_line;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Writes the scenario to a new file.
///
/// # Errors
/// No model has answered yet, or the file is there already or cannot be written.
pub(super) fn run(task: &Task, file: &Path, as_json: bool) -> Result<Exit, Failure> {
    let text = scenario(task)?;
    let place = file.display();
    // Somebody may have written on in the one that is there.
    let made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file);
    made.and_then(|mut made| made.write_all(text.as_bytes()))
        .map_err(|error| Failure::new(Exit::Failed, format!("{place}: {error}")))?;
    let id = &task.state.task_id;
    match as_json {
        true => say!("{:#}", json!({"task_id": id, "scenario": file})),
        false => {
            say!("{place}: what the models of {id} said");
            say!(
                "  play it: CCFLEET__MODELS__PLANNER__PROVIDER=scripted CCFLEET__MODELS__PLANNER__SCRIPT={place} ccfleet serve"
            );
            say!("  and give a task of the same kind the same prompt");
        }
    }
    Ok(Exit::Done)
}

fn scenario(task: &Task) -> Result<String, Failure> {
    let state = &task.state;
    let created = state.created.as_ref();
    let description = created.map_or(String::new(), |created| {
        format!(
            "{}, a task of kind {} (strategy {} version {}): {}",
            state.task_id,
            created.kind,
            created.strategy,
            created.strategy_version,
            one_line(&created.prompt, 2000)
        )
    });
    export(&task.events, &description).map_err(|error| Failure::new(Exit::Failed, error))
}
