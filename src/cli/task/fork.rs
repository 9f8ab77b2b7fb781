//! `ccfleet task fork`

use super::find;
use crate::cli::server::Server;
use crate::cli::{Exit, Failure};
use serde_json::json;

/// Forks a task, and tells the new one.
///
/// # Errors
/// No server, no such task, or a step that cannot be forked; the text names those that can.
pub(super) async fn run(
    server: &Server,
    task: &str,
    at: u32,
    model: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let id = find::id(server, task).await?;
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
    say!("  watch it   ccfleet task watch {new}");
    Ok(Exit::Done)
}
