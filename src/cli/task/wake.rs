//! `ccfleet task wake`: asks a running server to wake a task that sleeps.

use crate::cli::server::{Server, ServerArg};
use crate::cli::{Exit, Failure};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct WakeArgs {
    /// The task's id, or a part of it that only one sleeping task has
    task: String,
    /// What it is told, as JSON (`--data` is the data folder)
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    #[command(flatten)]
    server: ServerArg,
}

/// Wakes the task.
///
/// # Errors
/// No server, no such task, or one that cannot be woken.
pub(super) async fn run(args: &WakeArgs, as_json: bool) -> Result<Exit, Failure> {
    let data = args.with.as_deref().map(serde_json::from_str::<Value>);
    let data = data.transpose().map_err(|error| {
        let words =
            format!("--with is no JSON: {error}; a text needs its quotes: --with '\"now\"'");
        Failure::new(Exit::Usage, words)
    })?;
    let server = Server::new(&args.server)?;
    let id = meant(&server, &args.task).await?;
    let body = data.map_or(json!({}), |data| json!({"data": data}));
    let task = server.post(&format!("/tasks/{id}/wake"), &body).await?;
    match as_json {
        true => say!("{task:#}"),
        false => say!("{}", told(&task)),
    }
    Ok(Exit::Done)
}

/// A whole id is taken as it is; a part is looked for among those that sleep.
async fn meant(server: &Server, name: &str) -> Result<String, Failure> {
    let list = server.get("/tasks?status=sleeping&limit=500").await?;
    let ids = list["items"].as_array().into_iter().flatten();
    let ids = ids.filter_map(|task| task["task_id"].as_str());
    one_of(ids, name).map_err(|problem| Failure::new(Exit::Failed, problem))
}

fn one_of<'a>(ids: impl Iterator<Item = &'a str>, name: &str) -> Result<String, String> {
    let wanted = name.to_ascii_uppercase();
    let found: Vec<&str> = ids
        .filter(|id| !wanted.is_empty() && id.to_ascii_uppercase().contains(&wanted))
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        _ if name.starts_with("tsk_") => Ok(name.to_owned()),
        [] => Err(format!(
            "no task that sleeps has \"{name}\" in its id; all: ccfleet task list"
        )),
        many => Err(format!(
            "{} tasks that sleep have that in their id: say more of it",
            many.len()
        )),
    }
}

fn told(task: &Value) -> String {
    let text = |key: &str| task[key].as_str().unwrap_or_default();
    let episode = task["episode"].as_u64().unwrap_or_default();
    format!("{}: {}, episode {episode}", text("task_id"), text("status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_id_names_the_one_task_that_has_it() {
        let ids = ["tsk_01AB", "tsk_01AC"];
        let one = |name: &str| one_of(ids.into_iter(), name);
        assert_eq!(one("1ab").as_deref(), Ok("tsk_01AB"));
        assert_eq!(one("tsk_01AC").as_deref(), Ok("tsk_01AC"));
        // It may be awake: the server knows.
        assert_eq!(one("tsk_09").as_deref(), Ok("tsk_09"));
        assert!(one("01").unwrap_err().starts_with("2 tasks"));
        assert!(one("").is_err() && one("zz").is_err());
    }
}
