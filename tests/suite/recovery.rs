//! A server that is killed with SIGKILL, with the computer in a process of its own.

use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// Scripted answers instead of a model.
const SCRIPTED: [(&str, &str); 2] = [
    ("CCFLEET__MODELS__PLANNER__PROVIDER", "scripted"),
    ("CCFLEET__MODELS__PLANNER__SCRIPT", "todo"),
];

fn serve(bind: &str, data: &Path) -> (Program, String) {
    let mut server = Program::start(
        &["serve", "--bind", bind, "--data", data.to_str().unwrap()],
        &SCRIPTED,
    );
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    (server, address)
}

fn events(api: &Api, task: &str) -> Vec<Value> {
    let page = api.get(&format!("/api/v1/tasks/{task}/events?limit=1000"));
    page.and_then(|p| p["items"].as_array().cloned())
        .unwrap_or_default()
}

/// How often each call entered a handler, as the computer itself wrote down.
fn entries(disk: &Path) -> HashMap<String, usize> {
    let list = std::fs::read_to_string(disk.join("entries.log")).unwrap();
    let mut entries = HashMap::new();
    for line in list.lines() {
        let mut words = line.split_whitespace();
        let call_id = words.next().unwrap().to_owned();
        let is_effect = words.nth(1).is_some_and(|seq| seq.parse::<u64>().is_ok());
        if is_effect {
            *entries.entry(call_id).or_default() += 1;
        }
    }
    entries
}

#[test]
fn a_server_killed_in_the_middle_finishes_the_task_and_no_effect_is_entered_twice() {
    let dir = tempfile::tempdir().unwrap();
    let (data, disks) = (dir.path().join("data"), dir.path().join("computers"));
    let (mut server, address) = serve("127.0.0.1:0", &data);
    let disk = disks.join("sim-1");
    std::fs::create_dir_all(&disk).unwrap();
    let broken = include_str!("../../src/cli/demo/broken_todo.lua");
    std::fs::write(disk.join("TODO.lua"), broken).unwrap();
    let url = format!("ws://{address}/ws");
    let _sim = Program::start(
        &[
            "sim",
            "--server",
            &url,
            "--count",
            "1",
            "--dir",
            disks.to_str().unwrap(),
        ],
        &[],
    );

    let api = Api::new(&address);
    wait_until("the computer", WITHIN, || {
        let computers = api.get("/api/v1/computers")?;
        let first = computers["items"].get(0)?;
        (first["online"] == true && !first["tools"].as_array()?.is_empty()).then_some(())
    });
    let (status, task) = api.post(
        "/api/v1/tasks",
        &json!({"prompt": "Fix /TODO.lua", "client_id": "sim-1"}),
    );
    assert_eq!(status, 201, "{task}");
    let task = task["task_id"].as_str().unwrap().to_owned();

    // Each time another call has just been committed, so it is on its way, running, or answered.
    for calls in [1, 3, 5, 8] {
        wait_until("the next calls", WITHIN, || {
            let intended = events(&api, &task)
                .iter()
                .filter(|e| e["type"] == "call_intended")
                .count();
            (intended >= calls).then_some(())
        });
        server.kill();
        (server, _) = serve(&address, &data);
    }
    let ended = wait_until("the end of the task", WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
    });
    assert_eq!(ended["status"], "completed", "{ended:#}");
    let restarts = events(&api, &task)
        .iter()
        .filter(|e| e["type"] == "generation_started")
        .count();
    assert_eq!(restarts, 4);
    let entries = entries(&disk);
    assert!(entries.len() >= 8, "{entries:?}");
    assert!(entries.values().all(|count| *count == 1), "{entries:?}");

    let steps = api.get(&format!("/api/v1/tasks/{task}/steps")).unwrap();
    let full = &steps["items"][2];
    for artifact in ["planner_input", "planner_output", "executor_input"] {
        assert!(full[artifact].is_string(), "{artifact}: {full:#}");
    }
    assert_eq!(full["executor_output"]["kind"], "tool");
    assert_eq!(full["calls"][0]["tool"], "fs_read");
    assert_eq!(full["calls"][0]["ok"], true);
    let ran = steps["items"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|s| s["calls"].as_array().unwrap());
    assert!(
        ran.clone().any(|call| call["stdout"].is_string())
            && ran.clone().any(|call| call["stderr"].is_string())
    );
}
