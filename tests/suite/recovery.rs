//! A server that is killed with SIGKILL, with the computer in a process of its own.

use crate::support::api::Api;
use crate::support::process::Program;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

/// A server that answers with a scenario: a built-in one, or a file.
pub(crate) fn serve(bind: &str, data: &Path, script: &str) -> (Program, String) {
    let scripted = [
        ("CCFLEET__MODELS__PLANNER__PROVIDER", "scripted"),
        ("CCFLEET__MODELS__PLANNER__SCRIPT", script),
    ];
    let mut server = Program::start(
        &["serve", "--bind", bind, "--data", data.to_str().unwrap()],
        &scripted,
    );
    let line = server.wait_for_line("listens on http://", WITHIN);
    let address = line.rsplit("http://").next().unwrap().trim().to_owned();
    (server, address)
}

/// The disk of `sim-1`, with the demo's broken program on it.
pub(crate) fn disk_with_broken_todo(disks: &Path) -> PathBuf {
    let disk = disks.join("sim-1");
    std::fs::create_dir_all(&disk).unwrap();
    let broken = include_str!("../../src/cli/demo/broken_todo.lua");
    std::fs::write(disk.join("TODO.lua"), broken).unwrap();
    disk
}

/// One simulated computer, `sim-1`, in a process of its own.
pub(crate) fn computer(address: &str, disks: &Path) -> Program {
    let url = format!("ws://{address}/ws");
    Program::start(
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
    )
}

pub(crate) fn wait_for_computer(api: &Api) {
    wait_until("the computer", WITHIN, || {
        let computers = api.get("/api/v1/computers")?;
        let first = computers["items"].get(0)?;
        (first["online"] == true && !first["tools"].as_array()?.is_empty()).then_some(())
    });
}

/// Every task of a journal, while its server runs on, comes out the same when it is decided anew.
pub(crate) fn replays(data: &Path) {
    let told = task_command(&["replay", "--all"], data);
    let all = format!("{} of {} tasks replay", told.tasks, told.tasks);
    assert!(told.text.contains(&all), "{}", told.text);
}

struct Told {
    text: String,
    tasks: usize,
}

/// `ccfleet task …` on a data folder.
fn task_command(args: &[&str], data: &Path) -> Told {
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ccfleet"));
        let output = command.arg("task").args(args).arg("--data").arg(data);
        let output = output.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let problem = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {text}{problem}");
        text
    };
    let list: Value = serde_json::from_str(&run(&["list", "--json"])).unwrap();
    Told {
        text: run(args),
        tasks: list["items"].as_array().unwrap().len(),
    }
}

pub(crate) fn start_task(api: &Api, prompt: &str) -> String {
    let (status, task) = api.post(
        "/api/v1/tasks",
        &json!({"prompt": prompt, "client_id": "sim-1"}),
    );
    assert_eq!(status, 201, "{task}");
    task["task_id"].as_str().unwrap().to_owned()
}

pub(crate) fn wait_for_end(api: &Api, task: &str) -> Value {
    wait_until("the end of the task", WITHIN, || {
        let task = api.get(&format!("/api/v1/tasks/{task}"))?;
        matches!(task["status"].as_str()?, "completed" | "failed").then_some(task)
    })
}

pub(crate) fn events(api: &Api, task: &str) -> Vec<Value> {
    let page = api.get(&format!("/api/v1/tasks/{task}/events?limit=1000"));
    page.and_then(|p| p["items"].as_array().cloned())
        .unwrap_or_default()
}

/// How often each call entered a handler, as the computer itself wrote down.
pub(crate) fn entries(disk: &Path) -> HashMap<String, usize> {
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
    let (mut server, address) = serve("127.0.0.1:0", &data, "todo");
    let disk = disk_with_broken_todo(&disks);
    let _sim = computer(&address, &disks);
    let api = Api::new(&address);
    wait_for_computer(&api);
    let task = start_task(&api, "Fix /TODO.lua");

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
        (server, _) = serve(&address, &data, "todo");
    }
    let ended = wait_for_end(&api, &task);
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
    replays(&data);
    let shown = task_command(&["show", &task, "--step", "4", "--full"], &data).text;
    for part in [
        "=== planner is asked",
        "--- SYSTEM",
        "=== read as",
        "=== call fs_read",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let ledger = task_command(&["ledger", &task[10..]], &data).text;
    assert!(ledger.lines().count() > 8, "{ledger}");

    // The first step is the server's own look at the file that the task names.
    assert_eq!(steps["items"][0]["calls"][0]["tool"], "fs_read");
    assert!(steps["items"][0]["planner_output"].is_null());
    let full = &steps["items"][3];
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

/// A program that takes its time, and writes down that it came to its end.
const SLOW: &str = "sleep(1.5)\nlocal file = fs.open('/ran.txt', 'a')\nfile.writeLine('ran')\nfile.close()\nprint('ran')\n";

const RUN_SLOW: &str = r#"
[[interlude]]
when = { outcome = "unknown" }
repeat = true

[[planner]]
text = """
DIRECTIVE: RUN
PATH: /slow.lua
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: it ran
"""
"#;

/// A server, a computer with the slow program, and a task that runs it; returned while the program runs.
struct SlowRun {
    dir: tempfile::TempDir,
    server: Option<Program>,
    sim: Option<Program>,
    api: Api,
    address: String,
    task: String,
}

impl SlowRun {
    fn begin() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("computers/sim-1");
        std::fs::create_dir_all(&disk).unwrap();
        std::fs::write(disk.join("slow.lua"), SLOW).unwrap();
        std::fs::write(dir.path().join("slow.toml"), RUN_SLOW).unwrap();
        let script = dir.path().join("slow.toml");
        let (server, address) = serve(
            "127.0.0.1:0",
            &dir.path().join("data"),
            script.to_str().unwrap(),
        );
        let sim = computer(&address, &dir.path().join("computers"));
        let api = Api::new(&address);
        wait_for_computer(&api);
        let task = start_task(&api, "Run the slow program");
        wait_until("the handler", WITHIN, || {
            // The file is there before its first line is.
            let entries = std::fs::read_to_string(disk.join("entries.log")).ok()?;
            entries.ends_with('\n').then_some(())
        });
        assert!(
            !disk.join("ran.txt").exists(),
            "the program must still be running"
        );
        SlowRun {
            dir,
            server: Some(server),
            sim: Some(sim),
            api,
            address,
            task,
        }
    }

    fn disk(&self) -> std::path::PathBuf {
        self.dir.path().join("computers/sim-1")
    }

    fn serve_again(&self) -> Program {
        let script = self.dir.path().join("slow.toml");
        serve(
            &self.address,
            &self.dir.path().join("data"),
            script.to_str().unwrap(),
        )
        .0
    }

    fn outcomes(&self) -> Vec<String> {
        let finished = |e: &Value| e["type"] == "call_finished";
        let outcome = |e: &Value| e["data"]["report"]["outcome"].as_str().unwrap().to_owned();
        events(&self.api, &self.task)
            .iter()
            .filter(|e| finished(e))
            .map(outcome)
            .collect()
    }
}

#[test]
fn a_program_that_runs_on_while_the_server_is_dead_is_not_run_again() {
    let mut run = SlowRun::begin();
    run.server.take().unwrap().kill();
    run.server = Some(run.serve_again());
    assert_eq!(wait_for_end(&run.api, &run.task)["status"], "completed");
    assert_eq!(run.outcomes(), ["done"]);
    assert_eq!(
        std::fs::read_to_string(run.disk().join("ran.txt")).unwrap(),
        "ran\n"
    );
    assert_eq!(entries(&run.disk()).into_values().collect::<Vec<_>>(), [1]);
}

#[test]
fn a_program_that_died_with_its_computer_is_unknown_and_never_repeated_by_the_server() {
    let mut run = SlowRun::begin();
    run.sim.take().unwrap().kill();
    assert!(!run.disk().join("ran.txt").exists());
    run.sim = Some(computer(&run.address, &run.dir.path().join("computers")));
    assert_eq!(wait_for_end(&run.api, &run.task)["status"], "completed");
    // The planner was told, and decided to do it again: that is another call.
    assert_eq!(run.outcomes(), ["unknown", "done"]);
    let entries = entries(&run.disk());
    assert_eq!(entries.len(), 2);
    assert!(entries.values().all(|count| *count == 1), "{entries:?}");
    assert_eq!(
        std::fs::read_to_string(run.disk().join("ran.txt")).unwrap(),
        "ran\n"
    );
}
