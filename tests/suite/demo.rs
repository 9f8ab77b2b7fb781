//! The main job, as a new user runs it.

use crate::support::process::Program;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(120);

fn demo(dir: &Path) -> Program {
    Program::start(
        &[
            "demo",
            "--json",
            "--model",
            "scripted",
            "--dir",
            dir.to_str().unwrap(),
        ],
        &[],
    )
}

/// The object in the last line.
fn last_object(program: &Program) -> Value {
    let line = program.said.iter().rev().find(|line| line.starts_with('{'));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no object:\n{}", program.said.join("\n"))))
        .unwrap()
}

fn assert_proof(object: &Value) {
    assert_eq!(object["success"], true, "{object:#}");
    assert_eq!(object["duplicate_effects"], 0, "{object:#}");
    for part in ["add", "list", "done", "remove", "stats", "scenario"] {
        assert_eq!(object["proof"][part]["ok"], true, "{part}: {object:#}");
        assert!(object["proof"][part]["output"].is_string());
    }
}

#[test]
fn the_scripted_demo_errs_is_sent_back_and_ends_with_a_proof() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = demo(dir.path());
    let status = program.wait_for_end(WITHIN);
    let object = last_object(&program);
    assert!(status.success(), "{}", program.said.join("\n"));
    assert_proof(&object);
    assert_eq!(object["strategy"], "directive");
    assert_eq!(object["model"], "scripted");
    assert_eq!(object["questions"], 0);
    assert_eq!(
        object["executor_model_calls"], 2,
        "one answer of the executor, and its repair"
    );
    let entries = object["handler_entries"].as_u64().unwrap();
    assert!(
        entries > object["tool_calls"].as_u64().unwrap(),
        "the proof is run by handlers too"
    );
    let said = program.said.join("\n");
    for seen in ["(unreadable)", "(arguments)", "invalid answer", "(proof)"] {
        assert!(
            said.contains(seen),
            "the mistake {seen} is not shown:\n{said}"
        );
    }
}

#[test]
fn a_demo_that_was_killed_goes_on_with_the_same_command() {
    let dir = tempfile::tempdir().unwrap();
    // While it thinks, while a program runs, after the change: wherever it stands then.
    for until in ["[ 2]", "[ 5] planner", "[ 9]", "[12] planner"] {
        let mut program = demo(dir.path());
        program.wait_for_line(until, WITHIN);
        program.kill();
    }
    let mut program = demo(dir.path());
    let status = program.wait_for_end(WITHIN);
    assert!(
        program
            .said
            .iter()
            .any(|line| line.contains("goes on where it stood"))
    );
    assert_proof(&last_object(&program));
    assert!(status.success());
}

#[test]
fn a_demo_without_a_usable_model_server_says_so_and_what_mends_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    let args = [
        "demo",
        "--dir",
        dir,
        "--model-server",
        "http://127.0.0.1:9",
        "--dialect",
        "openai",
    ];
    let mut program = Program::start(&args, &[]);
    let status = program.wait_for_end(WITHIN);
    let said = program.said.join("\n");
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.contains("127.0.0.1:9") && said.contains("llama-server"),
        "{said}"
    );
}

#[test]
fn the_last_line_is_an_object_also_when_nothing_could_be_begun() {
    let args = [
        "demo",
        "--json",
        "--model",
        "scripted",
        "--model-server",
        "http://127.0.0.1:1",
    ];
    let mut program = Program::start(&args, &[]);
    let status = program.wait_for_end(WITHIN);
    assert_eq!(status.code(), Some(2));
    let object = last_object(&program);
    assert_eq!(object["success"], false, "{object:#}");
    assert!(object["error"].as_str().unwrap().contains("--model-server"));
}

#[test]
fn a_demo_whose_reader_leaves_goes_on_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut demo = std::process::Command::new(env!("CARGO_BIN_EXE_ccfleet"))
        .args(["demo", "--model", "scripted", "--dir"])
        .arg(dir.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(demo.stdout.take());
    assert!(demo.wait().unwrap().success());
}
