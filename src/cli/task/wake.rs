//! `ccfleet task wake`: asks a running server to wake a task that sleeps.

use super::find;
use crate::cli::server::Server;
use crate::cli::{Exit, Failure};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct WakeArgs {
    /// The task's id, a part of it, or `last`
    task: String,
    /// What it is told, as JSON (`--data` is the data folder)
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
}

/// Wakes the task.
///
/// # Errors
/// No server, no such task, or one that cannot be woken.
pub(super) async fn run(args: &WakeArgs, server: &Server, as_json: bool) -> Result<Exit, Failure> {
    let data = args.with.as_deref().map(serde_json::from_str::<Value>);
    let data = data.transpose().map_err(|error| {
        let words =
            format!("--with is no JSON: {error}; a text needs its quotes: --with '\"now\"'");
        Failure::new(Exit::Usage, words)
    })?;
    let id = find::id(server, &args.task).await?;
    let body = data.map_or(json!({}), |data| json!({"data": data}));
    let task = server.post(&format!("/tasks/{id}/wake"), &body).await?;
    match as_json {
        true => say!("{task:#}"),
        false => say!("{}", told(&task)),
    }
    Ok(Exit::Done)
}

fn told(task: &Value) -> String {
    let text = |key: &str| task[key].as_str().unwrap_or_default();
    let episode = task["episode"].as_u64().unwrap_or_default();
    format!("{}: {}, episode {episode}", text("task_id"), text("status"))
}
