//! The commands that people use, against a real server: kinds, tasks, questions, consent, and following all of it.

use crate::recovery::{computer, serve, wait_for_computer};
use crate::support::api::Api;
use crate::support::process::Program;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(60);

const KIND: &str = r#"
kind = "fishing"
description = "Fish"
strategy = "directive"
allowed_tools = ["*"]
demand_proof = false
instructions = ""

[policy]
confirm_destructive = true
"#;

const LOOKS: &str = r#"
[[planner]]
text = """
DIRECTIVE: TOOL
NAME: fs_list
ARGS: {"path": "/"}
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: all is seen
"""
"#;

const ASKS: &str = r#"
[[planner]]
text = """
DIRECTIVE: ASK_USER
QUESTION: Which colour?
WHY: there are two
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: all is painted
"""
"#;

const DELETES: &str = r#"
[[planner]]
text = """
DIRECTIVE: SHELL
COMMAND: rm /old.lua
"""

[[planner]]
text = """
DIRECTIVE: DONE
SUMMARY: all is tidy
"""
"#;

/// A server whose model says this, with the kind above, and the commands that ask it.
struct Scene {
    dir: tempfile::TempDir,
    address: String,
    server: Option<Program>,
}

impl Scene {
    fn open(scenario: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("script.toml"), scenario).unwrap();
        std::fs::write(dir.path().join("kind.toml"), KIND).unwrap();
        let mut scene = Scene {
            dir,
            address: "127.0.0.1:0".into(),
            server: None,
        };
        scene.start();
        let file = scene.dir.path().join("kind.toml");
        let (code, said) = scene.ran(&["kind", "create", file.to_str().unwrap()]);
        assert_eq!(code, 0, "{said}");
        scene
    }

    fn start(&mut self) {
        let script = self.dir.path().join("script.toml");
        let (server, address) = serve(&self.address, &self.data(), script.to_str().unwrap());
        self.server = Some(server);
        self.address = address;
    }

    fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    fn begin(&self, args: &[&str]) -> Program {
        let at = ["--server", self.address.as_str()];
        Program::start(&[args, &at[..]].concat(), &[])
    }

    /// A command's exit code and everything that it said.
    fn ran(&self, args: &[&str]) -> (i32, String) {
        let mut program = self.begin(args);
        let status = program.wait_for_end(WITHIN);
        (status.code().unwrap_or(-1), program.said.join("\n"))
    }

    fn json(&self, args: &[&str]) -> Value {
        let (code, said) = self.ran(args);
        assert_eq!(code, 0, "{args:?}: {said}");
        serde_json::from_str(&said).unwrap()
    }

    fn computer(&self) -> Program {
        let sim = computer(&self.address, &self.dir.path().join("computers"));
        wait_for_computer(&Api::new(&self.address));
        sim
    }
}

#[test]
fn a_task_of_a_kind_just_made_is_given_and_watched_to_its_end_and_the_kind_outlives_a_restart() {
    let mut scene = Scene::open(LOOKS);
    let sim = scene.computer();
    let new = [
        "task", "new", "Look", "around", "--kind", "fishing", "--on", "sim-1", "--watch",
    ];
    let (code, said) = scene.ran(&new);
    assert_eq!(code, 0, "{said}");
    for told in [
        "Look around on sim-1, kind fishing",
        "sim-1: fs_list path=/",
        "sim-1: fs_list done",
        "done: all is seen",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }

    let list = scene.json(&["task", "list", "--kind", "fishing", "--json"]);
    let id = list["items"][0]["task_id"].as_str().unwrap().to_owned();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        scene.json(&["task", "show", "last", "--json"])["task_id"],
        id.as_str()
    );
    let (code, said) = scene.ran(&["task", "show", &id[10..].to_lowercase()]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("completed") && said.contains("- succeeded"),
        "{said}"
    );

    // Followed after its end: a line for each event, and the task.
    let (code, said) = scene.ran(&["task", "watch", &id, "--json"]);
    assert_eq!(code, 0, "{said}");
    let lines: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (task, events) = lines.split_last().unwrap();
    assert_eq!(task["task"]["status"], "completed");
    for (seq, event) in (1..).zip(events) {
        assert_eq!(event["event"]["seq"], seq);
    }

    let mut wrong = id.clone();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    let (code, said) = scene.ran(&["task", "watch", &wrong]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&format!("did you mean {id}?")), "{said}");
    let (code, said) = scene.ran(&["task", "new", "x", "--kind", "fishin"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("did you mean \"fishing\"?"), "{said}");

    drop(sim);
    scene.server.take().unwrap().kill();
    scene.start();
    let kinds = scene.json(&["kind", "list", "--json"]);
    let fishing = kinds["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|k| k["kind"] == "fishing");
    assert_eq!(fishing.unwrap()["embedded"], false);
    let (code, said) = scene.ran(&["task", "new", "Wait", "--kind", "fishing", "--on", "nobody"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("ccfleet task watch tsk_"), "{said}");
    let (code, said) = scene.ran(&["kind", "delete", "fishing"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = scene.ran(&["kind", "show", "fishing"]);
    assert_eq!(code, 1, "{said}");

    let (code, said) = scene.ran(&["task", "cancel", "last", "--reason", "enough"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = scene.ran(&["task", "watch", "last"]);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("cancelled: enough"), "{said}");
}

#[test]
fn a_question_is_answered_while_it_is_watched_and_from_another_terminal() {
    let scene = Scene::open(ASKS);
    let new = ["task", "new", "Paint", "--kind", "fishing", "--interactive"];
    let mut watch = Command::new(env!("CARGO_BIN_EXE_ccfleet"))
        .args(new)
        .args([
            "--watch",
            "--answers-from-stdin",
            "--server",
            &scene.address,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    watch.stdin.take().unwrap().write_all(b"blue\n").unwrap();
    let output = watch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    for told in [
        "asks: Which colour?",
        "answered: blue",
        "done: all is painted",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }

    let task = scene.json(&[&new[..], &["--json"]].concat());
    let id = task["task_id"].as_str().unwrap();
    let mut watch = scene.begin(&["task", "watch", id]);
    watch.wait_for_line("answer: ccfleet task answer", WITHIN);
    let (code, said) = scene.ran(&["task", "questions"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("Which colour?") && said.contains("there are two"),
        "{said}"
    );
    let (code, said) = scene.ran(&["task", "answer", id, "light", "green"]);
    assert_eq!(code, 0, "{said}");
    assert!(watch.wait_for_end(WITHIN).success());
    assert!(
        watch
            .said
            .iter()
            .any(|line| line.contains("answered: light green"))
    );
    let (code, said) = scene.ran(&["task", "answer", id, "red"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("asks nothing now"), "{said}");
}

#[test]
fn a_watch_goes_on_over_a_killed_server_and_tells_nothing_twice_and_ctrl_c_ends_only_the_watch() {
    let mut scene = Scene::open(ASKS);
    let task = scene.json(&["task", "new", "Paint", "--kind", "fishing", "--json"]);
    let id = task["task_id"].as_str().unwrap();
    let mut watch = scene.begin(&["task", "watch", id]);
    let mut other = scene.begin(&["task", "watch", "last"]);
    watch.wait_for_line("asks: Which colour?", WITHIN);
    other.wait_for_line("asks: Which colour?", WITHIN);
    other.terminate();
    let status = other.wait_for_end(WITHIN);
    let said = other.said.join("\n");
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(
        said.contains("the task goes on") && said.contains(id),
        "{said}"
    );

    scene.server.take().unwrap().kill();
    watch.wait_for_line("trying again", WITHIN);
    scene.start();
    watch.wait_for_line("the server is back", WITHIN);
    let (code, said) = scene.ran(&["task", "answer", id, "blue"]);
    assert_eq!(code, 0, "{said}");
    assert!(watch.wait_for_end(WITHIN).success(), "{:?}", watch.said);
    for told in [
        "asks: Which colour?",
        "taken up again",
        "answered: blue",
        "done: all is painted",
    ] {
        let times = watch.said.iter().filter(|line| line.contains(told)).count();
        assert_eq!(times, 1, "{told}: {:?}", watch.said);
    }
}

#[test]
fn consent_is_given_by_who_can_read_the_data_folder_and_by_nobody_else() {
    let scene = Scene::open(DELETES);
    let _sim = scene.computer();
    let new = [
        "task", "new", "Tidy up", "--kind", "fishing", "--on", "sim-1",
    ];
    let (code, said) = scene.ran(&new);
    assert_eq!(code, 0, "{said}");
    let mut watch = scene.begin(&["task", "watch", "last"]);
    watch.wait_for_line("consent: ccfleet task approve", WITHIN);
    let (code, said) = scene.ran(&["task", "questions", "last"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("shell_exec") && said.contains("rm /old.lua"),
        "{said}"
    );
    let approve =
        |data: &Path| scene.ran(&["task", "approve", "last", "--data", data.to_str().unwrap()]);
    let (code, said) = approve(scene.dir.path());
    assert_eq!(code, 1, "{said}");
    let (code, said) = approve(&scene.data());
    assert_eq!(code, 0, "{said}");
    assert!(watch.wait_for_end(WITHIN).success(), "{:?}", watch.said);
    let said = watch.said.join("\n");
    assert!(
        said.contains("sim-1: shell_exec command=rm /old.lua"),
        "{said}"
    );
}
