//! What people say to a task that runs: cancel, answer, approve; and what it asks them.

use super::find;
use crate::app::DataFolder;
use crate::cli::data::DataArg;
use crate::cli::server::{Server, encoded};
use crate::cli::words::{harmless, items, text};
use crate::cli::{Exit, Failure};
use serde_json::{Value, json};

/// Cancels a task.
///
/// # Errors
/// No server, no such task.
pub(super) async fn cancel(
    server: &Server,
    name: &str,
    reason: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let before = find::task(server, name).await?;
    let id = text(&before, "task_id");
    let body = reason.map_or(json!({}), |reason| json!({"reason": reason}));
    let after = server.post(&format!("/tasks/{id}/cancel"), &body).await?;
    if as_json {
        say!("{after:#}");
        return Ok(Exit::Done);
    }
    match is_over(&before) {
        true => say!("{id} had ended before: {}", text(&after, "status")),
        false => say!("{id} is {}", text(&after, "status")),
    }
    if let Some(calls @ 1..) = after["open_calls"].as_u64() {
        say!("  calls that still run and are being cancelled: {calls}");
    }
    Ok(Exit::Done)
}

/// Whether a task has ended.
pub(super) fn is_over(task: &Value) -> bool {
    matches!(text(task, "status"), "completed" | "failed" | "cancelled")
}

/// The questions that wait for people, of one task or of all.
///
/// # Errors
/// No server, no such task.
pub(super) async fn questions(
    server: &Server,
    task: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let open = match task {
        Some(name) => of_task(server, &find::id(server, name).await?).await?,
        None => items(&server.get("/questions").await?).to_vec(),
    };
    if as_json {
        say!("{:#}", json!({"items": open}));
    } else if open.is_empty() {
        say!("nobody is asked anything");
    }
    for question in open.iter().filter(|_| !as_json) {
        for line in asked(question) {
            say!("{line}");
        }
        let (task, id) = (text(question, "task_id"), text(question, "question_id"));
        match is_approval(question) {
            true => say!(
                "  consent: ccfleet task approve {task}, or: ccfleet task approve {task} --deny"
            ),
            false => say!("  answer: ccfleet task answer {id} \"…\""),
        }
    }
    Ok(Exit::Done)
}

/// The open questions of one task.
///
/// # Errors
/// No server.
pub(super) async fn of_task(server: &Server, id: &str) -> Result<Vec<Value>, Failure> {
    let list = server.get("/questions").await?;
    let of_it = |question: &&Value| text(question, "task_id") == id;
    Ok(items(&list).iter().filter(of_it).cloned().collect())
}

/// Whether it asks for consent to calls.
pub(super) fn is_approval(question: &Value) -> bool {
    question.get("approval").is_some_and(Value::is_object)
}

/// A question for people.
pub(super) fn asked(question: &Value) -> Vec<String> {
    let words = harmless(text(question, "question"));
    let mut lines = vec![format!("{} asks: {words}", text(question, "task_id"))];
    match text(question, "why") {
        "-" | "" => {}
        why => lines.push(format!("  why: {}", harmless(why))),
    }
    let calls = question
        .pointer("/approval/calls")
        .and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let args = call.get("args").cloned().unwrap_or_default();
        let line = format!("  call: {} {args}", text(call, "tool"));
        lines.push(harmless(&line));
    }
    lines
}

/// Answers a question; `name` is a question or a task.
///
/// # Errors
/// Nothing is asked, or it was answered already.
pub(super) async fn answer(
    server: &Server,
    name: &str,
    words: &[String],
    as_json: bool,
) -> Result<Exit, Failure> {
    let question = match name.starts_with("qst_") {
        true => json!({"question_id": name}),
        false => one_open(server, name, false).await?,
    };
    let answer = words.join(" ");
    let id = text(&question, "question_id");
    let done = reply(server, id, &answer).await?;
    match as_json {
        true => say!("{done:#}"),
        false => say!("answered"),
    }
    Ok(Exit::Done)
}

/// Gives an answer to the server.
///
/// # Errors
/// It was answered already, or needs somebody else.
pub(super) async fn reply(server: &Server, question: &str, answer: &str) -> Result<Value, Failure> {
    let path = format!("/questions/{}/answer", encoded(question));
    server.post(&path, &json!({"answer": answer})).await
}

/// Consents to the calls that a task asks for with the word `yes`, and refuses them with any other.
///
/// # Errors
/// Nothing is asked; nobody proved who they are.
pub(super) async fn approve(
    server: Server,
    name: &str,
    word: &str,
    data: &DataArg,
    as_json: bool,
) -> Result<Exit, Failure> {
    let question = match name.starts_with("qst_") {
        true => json!({"question_id": name}),
        false => one_open(&server, name, true).await?,
    };
    let server = with_key(server, data)?;
    let done = reply(&server, text(&question, "question_id"), word).await?;
    if as_json {
        say!("{done:#}");
        return Ok(Exit::Done);
    }
    for line in asked(&question).iter().skip(1) {
        say!("{line}");
    }
    match word == "yes" {
        true => say!("allowed, this once"),
        false => say!("denied"),
    }
    Ok(Exit::Done)
}

/// Consent needs proof: the token, or, for a server of this machine, the operator's key that it keeps in its data
/// folder for those who can read it. The key leaves this machine for nobody.
pub(super) fn with_key(server: Server, data: &DataArg) -> Result<Server, Failure> {
    if server.shows_a_token() || !server.is_local() {
        return Ok(server);
    }
    match DataFolder::key_beside(&data.folder()?) {
        Some(key) => Ok(server.showing(key)),
        // The server says what is missing.
        None => Ok(server),
    }
}

async fn one_open(server: &Server, name: &str, approval: bool) -> Result<Value, Failure> {
    let id = find::id(server, name).await?;
    let mut open = of_task(server, &id).await?;
    open.retain(|question| is_approval(question) == approval);
    match (open.len(), approval) {
        (1, _) => Ok(open.remove(0)),
        (0, true) => Err(Failure::new(
            Exit::Failed,
            format!("{id} asks for no consent now; all that is asked: ccfleet task questions"),
        )),
        (0, false) => Err(Failure::new(
            Exit::Failed,
            format!("{id} asks nothing now; all that is asked: ccfleet task questions"),
        )),
        (many, _) => {
            let ids = open.iter().map(|question| text(question, "question_id"));
            let ids = ids.collect::<Vec<_>>().join(", ");
            let words = format!("{id} asks {many} things; name one of them: {ids}");
            Err(Failure::new(Exit::Failed, words))
        }
    }
}
