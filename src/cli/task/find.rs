//! Which task is meant: an id, a part of one, or `last`.

use crate::cli::server::Server;
use crate::cli::words::items;
use crate::cli::{Exit, Failure};
use crate::domain::ids::TaskId;
use serde_json::Value;

/// How many of the newest tasks a part of an id is looked for in: one page of the server's list.
const LOOKED_THROUGH: usize = 500;
/// Letters that may differ in a guess.
const NEAR: usize = 4;

/// The task that is meant, as the server has it now.
///
/// # Errors
/// No server; no such task, or several; the text guesses.
pub(super) async fn task(server: &Server, name: &str) -> Result<Value, Failure> {
    if TaskId::parse(name).is_ok() {
        let answer = server.look(&format!("/tasks/{name}")).await;
        let answer = answer.map_err(crate::cli::server::no_answer)?;
        let missing = answer.status == 404;
        return match answer.ok() {
            Err(failure) if missing => {
                let ids = newest(server).await.unwrap_or_default();
                Err(with_guess(failure, name, &ids))
            }
            other => other,
        };
    }
    let list = list(server).await?;
    let found = one_of(items(&list), name);
    let found = found.map_err(|problem| Failure::new(Exit::Failed, problem))?;
    Ok(found.clone())
}

/// The id alone.
///
/// # Errors
/// As for [`task`].
pub(super) async fn id(server: &Server, name: &str) -> Result<String, Failure> {
    Ok(task(server, name).await?["task_id"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

async fn list(server: &Server) -> Result<Value, Failure> {
    server.get(&format!("/tasks?limit={LOOKED_THROUGH}")).await
}

async fn newest(server: &Server) -> Option<Vec<String>> {
    let list = list(server).await.ok()?;
    let ids = items(&list)
        .iter()
        .filter_map(|task| task["task_id"].as_str());
    Some(ids.map(str::to_owned).collect())
}

/// Whether the newest task is meant. `L` stands in no id, so this can be no part of one.
pub(super) fn is_last(name: &str) -> bool {
    name.eq_ignore_ascii_case("last")
}

fn with_guess(failure: Failure, name: &str, ids: &[String]) -> Failure {
    let near = ids.iter().map(|id| (strsim::levenshtein(id, name), id));
    let best = near
        .min_by_key(|(far, _)| *far)
        .filter(|(far, _)| *far <= NEAR);
    let guess = best.map_or("all: ccfleet task list".to_owned(), |(_, id)| {
        format!("did you mean {id}? All: ccfleet task list")
    });
    Failure {
        text: format!("{}\n  {guess}", failure.text),
        ..failure
    }
}

/// The one of the newest tasks, of which the first is the newest, that has this in its id.
fn one_of<'a>(tasks: &'a [Value], name: &str) -> Result<&'a Value, String> {
    let id = |task: &'a Value| task["task_id"].as_str().unwrap_or_default();
    if is_last(name) {
        let first = tasks.first();
        return first.ok_or_else(|| "no task was ever given to this server".to_owned());
    }
    let wanted = name.to_ascii_uppercase();
    let has =
        |task: &&'a Value| !wanted.is_empty() && id(task).to_ascii_uppercase().contains(&wanted);
    let found: Vec<&Value> = tasks.iter().filter(has).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(format!(
            "none of the newest {LOOKED_THROUGH} tasks has \"{name}\" in its id; all: ccfleet task list"
        )),
        many => {
            let ids: Vec<&str> = many.iter().take(5).map(|task| id(task)).collect();
            let more = if many.len() > 5 { ", …" } else { "" };
            Err(format!(
                "{} tasks have \"{name}\" in their id, say more of it: {}{more}",
                many.len(),
                ids.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_of_an_id_names_the_one_task_that_has_it_and_last_the_newest() {
        let tasks = [
            json!({"task_id": "tsk_01AC"}),
            json!({"task_id": "tsk_01AB"}),
        ];
        let one = |name: &str| one_of(&tasks, name).map(|task| task["task_id"].as_str().unwrap());
        assert_eq!(one("1ab"), Ok("tsk_01AB"));
        assert_eq!(one("last"), Ok("tsk_01AC"));
        let several = one("01").unwrap_err();
        assert!(
            several.contains("2 tasks") && several.contains("tsk_01AB"),
            "{several}"
        );
        assert!(one("").is_err() && one("zz").is_err());
        assert!(one_of(&[], "last").is_err());
    }

    #[test]
    fn a_wrong_id_is_told_with_the_nearest_one() {
        let failure = || Failure::new(Exit::Failed, "no task");
        let ids = ["tsk_01J000000000000000000000AB".to_owned()];
        let told = with_guess(failure(), "tsk_01J000000000000000000000AC", &ids).text;
        assert!(
            told.contains("did you mean tsk_01J000000000000000000000AB?"),
            "{told}"
        );
        let told = with_guess(failure(), "tsk_ZZZZZZZZZZZZZZZZZZZZZZZZZZ", &ids).text;
        assert!(told.ends_with("all: ccfleet task list"), "{told}");
    }
}
