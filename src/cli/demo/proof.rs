//! The proof: the five commands and one scenario from beginning to end, run on the computer after the task has
//! ended, through the same API that everybody uses.

use super::super::{Exit, Failure};
use crate::domain::ids::TaskId;
use serde_json::{Map, Value, json};
use std::net::SocketAddr;
use std::time::Duration;

/// How long one proof run may take.
const RUN_WITHIN: Duration = Duration::from_secs(60);
/// How often the server is asked whether the computer is there.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The server's HTTP API as a client sees it.
pub struct Api {
    base: String,
    client: reqwest::Client,
}

impl Api {
    pub fn new(address: SocketAddr) -> Result<Self, Failure> {
        let base = format!("http://{address}/api/v1");
        let client = crate::llm::http_client(&base, RUN_WITHIN).map_err(failed)?;
        Ok(Api { base, client })
    }

    async fn get(&self, path: &str) -> Result<Value, Failure> {
        let answer = self
            .client
            .get(format!("{}{path}", self.base))
            .timeout(RUN_WITHIN)
            .send()
            .await
            .map_err(failed)?;
        answer.json().await.map_err(failed)
    }

    /// The demo's task on this computer that has not ended, if there is one.
    pub async fn unfinished_task(&self, computer: &str) -> Result<Option<TaskId>, Failure> {
        let tasks = self
            .get(&format!("/tasks?client_id={computer}&limit=100"))
            .await?;
        let items = tasks
            .get("items")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let open = items.iter().find(|task| {
            let ended = task.get("status").and_then(Value::as_str);
            task.pointer("/metadata/demo") == Some(&Value::Bool(true))
                && !matches!(ended, Some("completed" | "failed" | "cancelled"))
        });
        let id = open
            .and_then(|task| task.get("task_id"))
            .and_then(Value::as_str);
        Ok(id.and_then(|id| TaskId::parse(id).ok()))
    }

    pub async fn wait_for_computer(&self, computer: &str, within: Duration) -> Result<(), Failure> {
        let online = async {
            loop {
                let computers = self.get("/computers").await?;
                let items = computers
                    .get("items")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default();
                let there = |c: &&Value| {
                    let tools = c
                        .get("tools")
                        .and_then(Value::as_array)
                        .is_some_and(|t| !t.is_empty());
                    c.get("client_id") == Some(&json!(computer))
                        && c.get("online") == Some(&json!(true))
                        && tools
                };
                if items.iter().find(there).is_some() {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(within, online)
            .await
            .unwrap_or_else(|_| {
                let text = format!(
                    "{computer} did not connect within {} s; run again with --log info",
                    within.as_secs()
                );
                Err(Failure::new(Exit::Failed, text))
            })
    }

    /// Runs one tool on the computer.
    async fn call(&self, computer: &str, tool: &str, args: Value) -> Result<Value, Failure> {
        let body =
            json!({"command": format!("{computer}/{tool}"), "args": args, "timeout_ms": 30_000});
        let url = format!("{}/tools/call", self.base);
        let answer = self
            .client
            .post(url)
            .timeout(RUN_WITHIN)
            .json(&body)
            .send()
            .await
            .map_err(failed)?;
        answer.json().await.map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failed, error)
}

/// One command's proof.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    name: &'static str,
    ok: bool,
    output: String,
}

/// All parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Proof {
    parts: Vec<Part>,
}

/// A text with everything in it that is awkward to keep in a file.
const AWKWARD: &str = "buy milk | eggs \\ bread";

/// Runs everything on the computer and compares what it prints.
pub async fn take(api: &Api, computer: &str) -> Result<Proof, Failure> {
    let run = Runner { api, computer };
    let mut proof = Proof::default();
    let mut note = |name: &'static str, ok: bool, output: String| {
        proof.parts.push(Part { name, ok, output });
    };
    run.forget().await?;
    let added = run.todo(&["add", AWKWARD]).await?;
    let listed = run.todo(&["list"]).await?;
    let one = format!("1. [ ] (2) {AWKWARD}");
    note(
        "add",
        added.success && listed.lines() == [one.as_str()],
        added.output.clone(),
    );
    note(
        "list",
        listed.success && listed.lines() == [one.as_str()],
        listed.output.clone(),
    );
    let done = run.todo(&["done", "1"]).await?;
    let after_done = run.todo(&["list"]).await?;
    let crossed = format!("1. [x] (2) {AWKWARD}");
    note(
        "done",
        done.success && after_done.lines() == [crossed.as_str()],
        done.output,
    );
    let stats = run.todo(&["stats"]).await?;
    let counted = stats.success && stats.lines() == ["total: 1, done: 1, open: 0"];
    let removed = run.todo(&["remove", "1"]).await?;
    let after_remove = run.todo(&["list"]).await?;
    let gone = after_remove.success && after_remove.lines().is_empty();
    note("remove", removed.success && gone, removed.output);
    note("stats", counted, stats.output);
    let (ok, output) = scenario(&run).await?;
    note("scenario", ok, output);
    Ok(proof)
}

/// A day with the list, each command a new run of the program.
async fn scenario(run: &Runner<'_>) -> Result<(bool, String), Failure> {
    run.forget().await?;
    let lines: [&[&str]; 7] = [
        &["add", "1", "feed the cat"],
        &["add", "a|b\\c"],
        &["add", "3", "sleep", "long"],
        &["done", "2"],
        &["remove", "1"],
        &["list"],
        &["stats"],
    ];
    let mut output = String::new();
    let mut ok = true;
    let mut last_two = Vec::new();
    for words in lines {
        let ran = run.todo(words).await?;
        ok &= ran.success;
        output.push_str(&format!("> TODO {}\n{}\n", words.join(" "), ran.output));
        last_two.push(ran.lines().join("\n"));
    }
    ok &= last_two.ends_with(&[
        "1. [x] (2) a|b\\c\n2. [ ] (3) sleep long".to_owned(),
        "total: 2, done: 1, open: 1".to_owned(),
    ]);
    Ok((ok, output))
}

struct Runner<'a> {
    api: &'a Api,
    computer: &'a str,
}

/// What one run of the program printed.
struct Ran {
    success: bool,
    output: String,
}

impl Ran {
    fn lines(&self) -> Vec<&str> {
        self.output
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect()
    }
}

impl Runner<'_> {
    /// The list begins empty, as on a fresh computer.
    async fn forget(&self) -> Result<(), Failure> {
        self.api
            .call(self.computer, "fs_delete", json!({"path": "/todo.txt"}))
            .await
            .map(drop)
    }

    async fn todo(&self, words: &[&str]) -> Result<Ran, Failure> {
        let args = json!({"path": "/TODO.lua", "args": words});
        let answer = self.api.call(self.computer, "run_program", args).await?;
        let text = |at: &str| {
            answer
                .pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let success = answer.get("ok") == Some(&json!(true))
            && answer.pointer("/result/success") == Some(&json!(true));
        let mut output = text("/result/output").trim_end().to_owned();
        for problem in [text("/result/error"), text("/error"), text("/detail")] {
            if !problem.is_empty() && !output.contains(problem) {
                output.push_str(if output.is_empty() { "" } else { "\n" });
                output.push_str(problem);
            }
        }
        Ok(Ran { success, output })
    }
}

impl Proof {
    pub fn holds(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.ok)
    }

    pub fn print(&self) {
        say!("\nProof, run on the computer after the task had ended:");
        for part in &self.parts {
            say!("  {} {}", if part.ok { "ok  " } else { "FAIL" }, part.name);
            for line in part.output.lines() {
                say!("       {line}");
            }
        }
    }

    pub fn to_json(&self) -> Value {
        let of = |part: &Part| {
            (
                part.name.to_owned(),
                json!({"ok": part.ok, "output": part.output}),
            )
        };
        Value::Object(self.parts.iter().map(of).collect::<Map<_, _>>())
    }
}
