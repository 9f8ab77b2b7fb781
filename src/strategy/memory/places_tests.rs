//! Files and tests of the same name on two computers are two.

use super::pins::Pins;
use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::event::{CallIntended, TaskEvent};
use crate::domain::fixtures::intended;
use crate::domain::ids::ClientId;
use crate::domain::profile::ExecutorMode;
use crate::domain::tool::EffectClass;
use crate::strategy::bench::{Bench, profile};
use serde_json::{Value, json};

/// A call on a computer, and how it ended.
fn ran(bench: &mut Bench, on: &str, tool: &str, args: Value, success: bool, result: Value) {
    let at = Target::Computer(ClientId::parse(on).unwrap());
    let call_id = bench.decide_by_hand(at, tool, args);
    let call = bench.state.calls().find(|call| call.call_id == call_id);
    bench.push(TaskEvent::CallIntended(CallIntended {
        effect: EffectClass::Idempotent,
        ..intended(call.unwrap(), on)
    }));
    let error = (!success).then(|| "out of paper".to_owned());
    bench.push(TaskEvent::CallFinished {
        call_id,
        report: CallReport {
            outcome: if success {
                Outcome::Done
            } else {
                Outcome::Failed
            },
            result: Some(result),
            error,
            code: None,
            duration_ms: Some(3),
            truncated: false,
        },
    });
}

fn run(bench: &mut Bench, on: &str, success: bool) {
    let result = json!({"success": success, "output": ""});
    ran(
        bench,
        on,
        "run_program",
        json!({"path": "/a.lua"}),
        success,
        result,
    );
}

fn write(bench: &mut Bench, on: &str, content: &str) {
    let args = json!({"path": "/a.lua", "content": content});
    let result = json!({"path": "/a.lua", "bytes": content.len()});
    ran(bench, on, "fs_write", args, true, result);
}

fn bench() -> Bench {
    Bench::new(profile(ExecutorMode::Auto))
}

#[test]
fn a_test_that_failed_on_one_computer_is_not_mended_by_the_same_program_on_another() {
    let mut bench = bench();
    run(&mut bench, "farm", false);
    run(&mut bench, "base", true);
    let pins = Pins::of(&bench.state, &bench.profile);
    assert_eq!(pins.planned_tests, ["RUN /a.lua on farm"]);
    assert!(pins.failure.is_some());
    let tests: Vec<&str> = pins.tests.iter().map(|test| test.what.as_str()).collect();
    assert_eq!(tests, ["/a.lua on farm", "/a.lua"]);
    run(&mut bench, "farm", true);
    let pins = Pins::of(&bench.state, &bench.profile);
    assert!(pins.planned_tests.is_empty() && pins.failure.is_none());
}

#[test]
fn a_file_of_the_same_path_on_two_computers_is_two_files() {
    let mut bench = bench();
    write(&mut bench, "base", "print(1)");
    write(&mut bench, "farm", "print('farm')");
    let pins = Pins::of(&bench.state, &bench.profile);
    let files: Vec<(&str, usize)> = pins
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes))
        .collect();
    assert_eq!(files, [("/a.lua", 8), ("farm:/a.lua", 13)]);
    // What another computer shows under that path is no change of this one's.
    let seen =
        json!({"path": "/a.lua", "content": "print('farm')", "bytes": 13, "truncated": false});
    ran(
        &mut bench,
        "farm",
        "fs_read",
        json!({"path": "/a.lua"}),
        true,
        seen.clone(),
    );
    assert!(bench.state.notes.is_empty() && bench.state.drift.is_none());
    ran(
        &mut bench,
        "base",
        "fs_read",
        json!({"path": "/a.lua"}),
        true,
        seen,
    );
    assert!(
        bench
            .state
            .drift
            .as_ref()
            .unwrap()
            .starts_with("/a.lua has changed")
    );
}

#[test]
fn a_file_that_was_seen_on_another_computer_is_not_looked_up_there_again() {
    use crate::strategy::plan::place::bench::{Setting, plan_of};
    let mut setting = Setting::begin();
    let mut seen = bench();
    write(&mut seen, "farm", "print('farm')");
    setting.state = seen.state;
    let step = |on: Value| {
        let mut step = json!({"id": 1, "action": "read_file", "target": "/a.lua", "reason": "r"});
        step["on"] = on;
        plan_of(json!([step]))
    };
    let lookups =
        |on: Value| crate::strategy::plan::targets::lookups(&step(on), &setting.place()).len();
    assert_eq!((lookups(json!("farm")), lookups(Value::Null)), (0, 1));
}
