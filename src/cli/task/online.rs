//! `ccfleet task list` and `show`, as a running server tells them.

use super::find;
use super::people;
use crate::cli::fleet::table;
use crate::cli::server::{Server, encoded};
use crate::cli::words::{at_ms, harmless, items, length, now_ms, text};
use crate::cli::{Exit, Failure};
use crate::domain::directive::TaskResult;
use crate::strategy::text::one_line;
use serde::Deserialize as _;
use serde_json::{Value, json};

/// Bytes of a text that stands in a line.
const LINE: usize = 160;
/// The longest page of the server's list.
const PAGE: usize = 500;

/// Which tasks are listed.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// How many
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
    /// Only those in this state: queued, running, waiting_for_command, waiting_for_user, sleeping, completed, failed,
    /// cancelled
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Only those of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only those of this computer
    #[arg(long, value_name = "COMPUTER")]
    pub on: Option<String>,
    /// Only those of this owner
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
}

impl ListArgs {
    /// Whether it asks for more than the newest ones.
    pub fn filters(&self) -> bool {
        let filters = [&self.status, &self.kind, &self.on, &self.owner];
        filters.iter().any(|filter| filter.is_some())
    }

    fn query(&self, limit: usize, cursor: Option<&str>) -> String {
        let limit = limit.to_string();
        let pairs = [
            ("limit", Some(limit.as_str())),
            ("status", self.status.as_deref()),
            ("kind", self.kind.as_deref()),
            ("client_id", self.on.as_deref()),
            ("owner", self.owner.as_deref()),
            ("cursor", cursor),
        ];
        let pairs = pairs.into_iter().filter_map(|(key, value)| {
            let value = value?;
            Some(format!("{key}={}", encoded(value)))
        });
        format!("/tasks?{}", pairs.collect::<Vec<_>>().join("&"))
    }
}

/// The newest tasks that fit.
///
/// # Errors
/// No server, or a filter that it does not know.
pub(super) async fn list(server: &Server, args: &ListArgs, as_json: bool) -> Result<Exit, Failure> {
    let mut tasks: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    let most = args.limit.max(1);
    while tasks.len() < most {
        let page = (most - tasks.len()).min(PAGE);
        let answer = server.get(&args.query(page, cursor.as_deref())).await?;
        tasks.extend(items(&answer).iter().cloned());
        cursor = answer["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    match as_json {
        true => say!("{:#}", json!({"items": tasks})),
        false => lines(&tasks, args.filters(), now_ms())
            .iter()
            .for_each(|line| say!("{line}")),
    }
    Ok(Exit::Done)
}

fn lines(tasks: &[Value], filtered: bool, now_ms: i64) -> Vec<String> {
    match (tasks.is_empty(), filtered) {
        (true, true) => return vec!["no task fits".to_owned()],
        (true, false) => {
            return vec![
                "no task was ever given to this server; give one:".to_owned(),
                "  ccfleet task new \"write /hello.lua that says hello, and run it\" --watch"
                    .to_owned(),
            ];
        }
        (false, _) => {}
    }
    let row = |task: &Value| {
        vec![
            text(task, "task_id").to_owned(),
            text(task, "kind").to_owned(),
            status(task),
            text(task, "client_id").to_owned(),
            task["step"].as_u64().unwrap_or_default().to_string(),
            age(task, "created_at", now_ms),
            one_line(text(task, "prompt"), 60),
        ]
    };
    let head = ["TASK", "KIND", "STATUS", "ON", "STEP", "AGE", "PROMPT"];
    table(&head, tasks.iter().map(row).collect())
}

/// A status with what it waits for.
pub(super) fn status(task: &Value) -> String {
    match text(task, "wait_reason") {
        "-" => text(task, "status").to_owned(),
        reason => format!("{} ({reason})", text(task, "status")),
    }
}

fn age(task: &Value, key: &str, now_ms: i64) -> String {
    let at = at_ms(text(task, key));
    at.map_or("-".to_owned(), |at| length((now_ms - at).max(0) / 1000))
}

/// One task with its steps, and what it asks.
///
/// # Errors
/// No server, no such task.
pub(super) async fn show(server: &Server, name: &str, as_json: bool) -> Result<Exit, Failure> {
    let task = find::task(server, name).await?;
    if as_json {
        say!("{task:#}");
        return Ok(Exit::Done);
    }
    let id = text(&task, "task_id");
    let steps = server.get(&format!("/tasks/{id}/steps")).await?;
    let open = match text(&task, "status") {
        "waiting_for_user" => people::of_task(server, id).await?,
        _ => Vec::new(),
    };
    for line in page(&task, items(&steps), &open, now_ms()) {
        say!("{line}");
    }
    Ok(Exit::Done)
}

fn page(task: &Value, steps: &[Value], open: &[Value], now_ms: i64) -> Vec<String> {
    let id = text(task, "task_id");
    let mut lines = vec![
        format!("{id}  {}", status(task)),
        format!(
            "kind {}, strategy {}, computer {}, of {}",
            text(task, "kind"),
            text(task, "strategy"),
            text(task, "client_id"),
            text(task, "owner")
        ),
        format!("asked: {}", one_line(text(task, "prompt"), 400)),
        format!(
            "created {} ago, changed {} ago",
            age(task, "created_at", now_ms),
            age(task, "updated_at", now_ms)
        ),
    ];
    let usage = |key: &str| task["usage"][key].as_u64().unwrap_or_default();
    lines.push(format!(
        "steps {}, calls {}, model calls {}, tokens in {}, out {}",
        usage("steps"),
        usage("calls"),
        usage("model_calls"),
        usage("tokens_in"),
        usage("tokens_out")
    ));
    match text(task, "wakes_at") {
        "-" => {}
        at => lines.push(format!("runs next at {at}")),
    }
    if !steps.is_empty() {
        lines.push(String::new());
    }
    for step in steps {
        lines.extend(step_lines(step));
    }
    if people::is_over(task) {
        lines.push(String::new());
        lines.extend(ending(task));
    }
    for question in open {
        lines.push(String::new());
        lines.extend(people::asked(question));
    }
    lines
}

fn step_lines(step: &Value) -> Vec<String> {
    let number = step["step"].as_u64().unwrap_or_default();
    let explanation = step.pointer("/executor_output/explanation");
    let sent_back = step.pointer("/sent_back/evidence");
    let asked = step.pointer("/question/question");
    let words = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let what = words(sent_back)
        .map(|evidence| format!("sent back: {evidence}"))
        .or(words(asked).map(|question| format!("asked: {question}")))
        .or(words(explanation))
        .unwrap_or_else(|| match step["planner_output"].is_string() {
            true => "answered".to_owned(),
            false => "under way".to_owned(),
        });
    let mut lines = vec![format!("{number:>4}  {}", one_line(&what, LINE))];
    for call in step["calls"].as_array().into_iter().flatten() {
        let end = match (call["ok"].as_bool(), text(call, "outcome")) {
            (_, "-") => "under way",
            (Some(true), _) => "succeeded",
            (_, "done") => "did not succeed",
            (_, other) => other,
        };
        let what = format!("{} {}", text(call, "tool"), call["args"]);
        let on = text(call, "client_id");
        lines.push(format!("        {on}: {} - {end}", one_line(&what, LINE)));
    }
    lines
}

/// How it ended, for people.
pub(super) fn ending(task: &Value) -> Vec<String> {
    let told = |text: &str| harmless(text).trim_end().to_owned();
    match text(task, "status") {
        "completed" => {
            let result = task.get("result").map(TaskResult::deserialize);
            let result = result.and_then(Result::ok).unwrap_or_default();
            let doubts = result
                .doubts()
                .map(|doubt| format!("not confirmed: {}", told(doubt)));
            std::iter::once(format!("done: {}", told(&result.message)))
                .chain(doubts)
                .collect()
        }
        "failed" => vec![format!("failed: {}", told(text(task, "error")))],
        "cancelled" => vec![format!("cancelled: {}", told(text(task, "error")))],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 seconds after they were made.
    const NOW_MS: i64 = 1_700_000_090_000;

    fn task(id: &str, status: &str, more: Value) -> Value {
        let mut task = json!({"task_id": id, "kind": "code_job", "status": status, "owner": "local",
            "client_id": "sim-1", "prompt": "Fix /TODO.lua and\nrun it", "strategy": "directive", "step": 2,
            "usage": {"steps": 2, "calls": 3, "model_calls": 2, "tokens_in": 900, "tokens_out": 80},
            "created_at": "2023-11-14T22:13:20.000Z", "updated_at": "2023-11-14T22:14:40.000Z"});
        for (key, value) in more.as_object().unwrap() {
            task[key] = value.clone();
        }
        task
    }

    #[test]
    fn the_list_is_a_table_and_an_empty_one_says_what_to_do() {
        let tasks = [
            task(
                "tsk_B",
                "waiting_for_command",
                json!({"wait_reason": "computer_offline"}),
            ),
            task("tsk_A", "completed", json!({"client_id": null})),
        ];
        let mut told = lines(&tasks, false, NOW_MS);
        told.push("---".to_owned());
        told.extend(lines(&[], false, NOW_MS));
        told.extend(lines(&[], true, NOW_MS));
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_task_is_shown_with_its_steps_its_question_and_its_end() {
        let steps = [
            json!({"step": 1, "planner_output": "…", "executor_output": {"explanation": "Read /TODO.lua"}, "calls": [
                {"tool": "fs_read", "args": {"path": "/TODO.lua"}, "client_id": "sim-1", "ok": true, "outcome": "done"}]}),
            json!({"step": 2, "planner_output": "…", "sent_back": {"guard": "proof", "evidence": "nothing ran since"}}),
            json!({"step": 3, "planner_output": "…", "executor_output": {"explanation": "Run it"}, "calls": [
                {"tool": "run_program", "args": {"path": "/TODO.lua"}, "client_id": "sim-1", "ok": false, "outcome": "done"},
                {"tool": "dig", "args": {}, "client_id": null, "ok": null, "outcome": null}]}),
        ];
        let open = [
            json!({"task_id": "tsk_A", "question_id": "qst_1", "question": "May I\u{1b}[2J?", "why": "it deletes",
            "approval": {"calls": [{"tool": "fs_delete", "args": {"path": "/a"}}], "reason": "r"}}),
        ];
        let waits = task(
            "tsk_A",
            "waiting_for_user",
            json!({"wait_reason": "approval"}),
        );
        let mut told = page(&waits, &steps, &open, NOW_MS);
        told.push("=====".to_owned());
        let ended = json!({"result": {"success": true, "message": "all\ngood"}});
        told.extend(page(&task("tsk_A", "completed", ended), &[], &[], NOW_MS));
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn filters_become_the_query() {
        let args = ListArgs {
            limit: 5,
            status: Some("running".into()),
            kind: None,
            on: Some("a b".into()),
            owner: None,
        };
        assert_eq!(
            args.query(5, Some("c=1")),
            "/tasks?limit=5&status=running&client_id=a%20b&cursor=c%3D1"
        );
    }
}
