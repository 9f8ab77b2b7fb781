//! `ccfleet task fork`: the only one of these commands that asks the server, for it begins a task.

use crate::cli::server::{Server, ServerArg};
use crate::cli::{Exit, Failure};
use crate::domain::ids::TaskId;
use serde_json::{Value, json};

/// How many of the newest tasks a part of an id is looked for in: one page of the server's list.
const LOOKED_THROUGH: usize = 500;

/// Forks a task, and tells the new one.
///
/// # Errors
/// No server, no such task, or a step that cannot be forked; the text names those that can.
pub(super) async fn run(
    server: &ServerArg,
    task: &str,
    at: u32,
    model: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let server = Server::new(server)?;
    let id = find(&server, task).await?;
    let mut body = json!({"at": at});
    if let Some(model) = model {
        body["model"] = json!(model);
    }
    let forked = server.post(&format!("/tasks/{id}/fork"), &body).await?;
    if as_json {
        say!("{forked:#}");
        return Ok(Exit::Done);
    }
    let new = forked["task_id"].as_str().unwrap_or_default();
    say!("{new} goes on from {id} behind step {at}");
    say!("  how it stands: ccfleet task state {new}");
    Ok(Exit::Done)
}

/// The id of the task that is meant: an id, or a part that only one of the newest has.
async fn find(server: &Server, name: &str) -> Result<String, Failure> {
    if TaskId::parse(name).is_ok() {
        return Ok(name.to_owned());
    }
    let wanted = name.to_ascii_uppercase();
    let list = server
        .get(&format!("/tasks?limit={LOOKED_THROUGH}"))
        .await?;
    let ids = list["items"].as_array().into_iter().flatten();
    let ids = ids.filter_map(|task: &Value| task["task_id"].as_str());
    let found: Vec<&str> = ids
        .filter(|id| !wanted.is_empty() && id.to_ascii_uppercase().contains(&wanted))
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Failure::new(
            Exit::Failed,
            format!("none of the newest {LOOKED_THROUGH} tasks has \"{name}\" in its id"),
        )),
        many => Err(Failure::new(
            Exit::Failed,
            format!(
                "{} tasks have \"{name}\" in their id: say more of it",
                many.len()
            ),
        )),
    }
}
