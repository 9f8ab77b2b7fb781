//! A parent and its child over a kill, a fork by the command, and a recorded task that is played again.

use crate::recovery::{replays, serve};
use crate::support::api::Api;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

const PROMPT: &str = "Have the files counted";

/// Parent and child ask the same model. The child's kind starts no tasks, so its first wish comes back.
const SCENARIO: &str = r#"
[[planner]]
text = """
DIRECTIVE: TOOL
NAME: start_task
ARGS: {"prompt": "Count the files", "kind": "inspect"}
"""

[[planner]]
delay_ms = 1500
text = """
DIRECTIVE: DONE
SUMMARY: there are 7 files
"""
"#;

/// Runs a command to its end, and gives what it printed.
fn ccfleet(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccfleet"));
    let output = command.args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {text}{problem}");
    text
}

fn start(api: &Api) -> String {
    let body = json!({"prompt": PROMPT, "kind": "general_agent"});
    let (status, task) = api.post("/api/v1/tasks", &body);
    assert_eq!(status, 201, "{task}");
    task["task_id"].as_str().unwrap().to_owned()
}

fn tasks(api: &Api) -> Vec<Value> {
    let page = api.get("/api/v1/tasks");
    page.and_then(|page| page["items"].as_array().cloned())
        .unwrap_or_default()
}

fn wait_for_end(api: &Api, task: &str) -> Value {
    wait_until("the end of the task", WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
    })
}

/// What a task decided, with the names of tasks and the time taken out.
fn decisions(api: &Api, task: &str) -> Vec<String> {
    let page = api.get(&format!("/api/v1/tasks/{task}/events?limit=1000"));
    let events = page.unwrap()["items"].as_array().cloned().unwrap();
    let children = tasks(api).into_iter().filter(|t| t["parent"] == task);
    let children: Vec<String> = children
        .map(|t| t["task_id"].as_str().unwrap()["tsk_".len()..].to_owned())
        .collect();
    let decided = events.iter().filter(|e| e["type"] == "decided");
    decided
        .map(|event| {
            let mut decision = event["data"]["decision"].clone();
            for call in decision["calls"].as_array_mut().into_iter().flatten() {
                call["child"]["allowance"]["wall_time_s"] = Value::Null;
            }
            let mut text = decision.to_string().replace(&task["tsk_".len()..], "TASK");
            for child in &children {
                text = text.replace(child, "CHILD");
            }
            text
        })
        .collect()
}

#[test]
fn a_parent_its_child_a_fork_and_an_exported_scenario_outlive_a_killed_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("script.toml"), SCENARIO).unwrap();
    let data = dir.path().join("data");
    let (server, address) = serve("127.0.0.1:0", &data, &path("script.toml"));
    let api = Api::new(&address);
    let parent = start(&api);
    let child = wait_until("the child at its second answer", WITHIN, || {
        let child = tasks(&api).into_iter().find(|t| t["parent"] == parent)?;
        (child["step"].as_u64()? >= 2).then_some(child)
    });
    let waits = api.get(&format!("/api/v1/tasks/{parent}")).unwrap();
    assert_eq!(waits["status"], "waiting_for_command", "{waits:#}");
    let message = waits["message"].as_str().unwrap();
    assert!(
        message.contains(child["task_id"].as_str().unwrap()),
        "{message}"
    );
    server.kill();
    let (_server, _) = serve(&address, &data, &path("script.toml"));
    let ended = wait_for_end(&api, &parent);
    assert_eq!(ended["result"]["message"], "there are 7 files", "{ended:#}");
    assert_eq!(tasks(&api).len(), 2, "one child");

    // Behind its only step with a result the parent is asked again, as another task.
    let url = format!("http://{address}");
    let told = ccfleet(&[
        "task", "fork", &parent, "--at", "1", "--server", &url, "--json",
    ]);
    let fork: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(fork["forked_from"], json!(parent));
    let fork = wait_for_end(&api, fork["task_id"].as_str().unwrap());
    assert_eq!(fork["status"], "completed", "{fork:#}");
    let refused = Command::new(env!("CARGO_BIN_EXE_ccfleet"))
        .args(["task", "fork", &parent, "--at", "9", "--server", &url])
        .output()
        .unwrap();
    let problem = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(problem.contains("those that can are 1"), "{problem}");
    replays(&data);

    let file = path("recorded.toml");
    let data = data.to_str().unwrap();
    ccfleet(&[
        "task",
        "export",
        &parent,
        "--scenario",
        &file,
        "--data",
        data,
    ]);
    plays_again(&api, &parent, &file, &dir.path().join("again"));
}

/// The same task on another server, whose model says what was recorded.
fn plays_again(recorded: &Api, task: &str, scenario: &str, data: &Path) {
    let (_server, address) = serve("127.0.0.1:0", data, scenario);
    let api = Api::new(&address);
    let again = start(&api);
    let ended = wait_for_end(&api, &again);
    assert_eq!(ended["result"]["message"], "there are 7 files", "{ended:#}");
    assert_eq!(decisions(&api, &again), decisions(recorded, task));
}
