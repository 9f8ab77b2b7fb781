//! What is read and asked for when a check is not content with a file.

use super::*;
use crate::domain::call::CallReport;
use crate::domain::chat::Role;
use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
use std::collections::BTreeMap;

const TASK: &str = "Make /new.cfg a copy of /old.cfg in which `side=south` is `side=north`. /check.lua says whether it is \
                    right: run it at the end.";

fn run() -> String {
    call("run_program", json!({"path": "/check.lua"}))
}

/// A computer that copies, and whose check wants the new line.
fn computer(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
    match call.tool.as_str() {
        "fs_copy" => {
            let old = files["/old.cfg"].clone();
            let mut result = json!({"from": "/old.cfg", "to": "/new.cfg"});
            if files.insert("/new.cfg".into(), old).is_some() {
                result["there_already"] = json!(true);
            }
            done(result)
        }
        "run_program" if !files["/new.cfg"].contains("north") => {
            let error = "/check.lua:8: /new.cfg is not as it should be";
            done(json!({"success": false, "output": "", "error": error}))
        }
        "run_program" => done(json!({"success": true, "output": "well done"})),
        _ => carry_out(files, call),
    }
}

fn drive(mends: u32) -> Drive {
    let mut profile = profile_of("direct");
    profile.executor_mends = mends;
    let mut drive = Drive::new(profile, TASK);
    let text = json!({"type": "string"});
    let copy = json!({"name": "fs_copy", "effect": "idempotent", "description": "Copy a file.", "args_schema":
        {"type": "object", "required": ["from", "to"], "properties": {"from": text, "to": text}}});
    drive.add_tools(vec![serde_json::from_value(copy).unwrap()]);
    drive
        .files
        .insert("/old.cfg".into(), "side=south\ndepth=12\n".into());
    drive.files.insert("/check.lua".into(), "check".into());
    drive
}

fn copy() -> String {
    call("fs_copy", json!({"from": "/old.cfg", "to": "/new.cfg"}))
}

#[test]
fn a_file_of_which_nobody_knows_what_it_holds_is_read_once_its_check_has_failed() {
    let mut drive = drive(0);
    drive.say_with(&[&copy(), &run()], computer);
    let shown = drive.shown();
    assert!(
        shown.contains("## fs_read /new.cfg on base: done"),
        "{shown}"
    );
    // What was done already is not said to be due.
    assert!(!shown.contains("\"fs_copy\", \"args\""), "{shown}");
    let due = "{\"tool\": \"fs_write\", \"args\": {\"content\":\"…\",\"path\":\"/new.cfg\"}}";
    assert!(shown.contains(due), "{shown}");
    let reads = drive.state().calls().filter(|call| call.tool == "fs_read");
    assert_eq!(reads.count(), 1);
    // It is known now.
    drive.say_with(&[&run()], computer);
    let reads = drive.state().calls().filter(|call| call.tool == "fs_read");
    assert_eq!(reads.count(), 1);
}

#[test]
fn a_file_that_was_not_there_before_it_was_copied_is_read_too() {
    let mut drive = drive(0);
    let read = call("fs_read", json!({"path": "/new.cfg"}));
    drive.say_with(&[&read, &copy(), &run()], computer);
    let shown = drive.shown();
    assert!(
        shown.contains("## fs_read /new.cfg on base: done"),
        "{shown}"
    );
    let due = "{\"tool\": \"fs_write\", \"args\": {\"content\":\"…\",\"path\":\"/new.cfg\"}}";
    assert!(shown.contains(due), "{shown}");
}

#[test]
fn a_copy_that_was_there_already_is_no_change_after_which_runs_are_made_anew() {
    let mut drive = drive(0);
    drive.say_with(&[&copy(), &run(), &copy()], computer);
    let shown = drive.shown();
    let ran = "runs since the last change: /check.lua FAILED";
    assert!(shown.contains(ran), "{shown}");
}

#[test]
fn what_a_file_of_data_has_to_hold_instead_is_asked_for_once() {
    let mut drive = drive(6);
    drive.say_with(&[&copy(), &run()], computer);
    let Some(Decision::Consult(_)) = drive.decisions.last() else {
        panic!("{:?}", drive.decisions.last())
    };
    let messages = drive.state().prompt(Role::Executor).iter();
    let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
    insta::assert_snapshot!("filling_what_a_check_found", texts.join("\n=====\n"));
    // The check runs again by rule.
    drive.say_with(&["```\nside=west\n```"], computer);
    assert_eq!(drive.files["/new.cfg"], "side=west\n");
    let newest = drive.state().calls().next_back().unwrap();
    assert!(newest.tool == "run_program" && !newest.succeeded());
    // It was asked for once, and the planner goes on.
    assert!(
        drive.shown().contains("is not as it should be"),
        "{}",
        drive.shown()
    );
    let right = call(
        "fs_write",
        json!({"path": "/new.cfg", "content": "side=north"}),
    );
    drive.say_with(&[&right, &run()], computer);
    assert_eq!(drive.files["/new.cfg"], "side=north");
}

#[test]
fn a_check_that_names_no_file_is_about_the_only_file_of_data_of_the_task() {
    let task = "Write the name of the sensor to /broken.txt, then run /check.lua, which says whether it is right.";
    let failing = |files: &mut BTreeMap<String, String>, call: &CallRecord| match &call.tool[..] {
        "run_program" => done(
            json!({"success": false, "output": "", "error": "/check.lua:4: that is not the sensor"}),
        ),
        _ => carry_out(files, call),
    };
    let mut profile = profile_of("direct");
    profile.executor_mends = 6;
    let mut drive = Drive::new(profile, task);
    drive.say_with(&[&run(), "k6"], failing);
    assert_eq!(drive.files["/broken.txt"], "k6\n");
    // It is asked for once.
    let due = "{\"tool\": \"fs_write\", \"args\": {\"content\":\"…\",\"path\":\"/broken.txt\"}}";
    assert!(drive.shown().contains(due), "{}", drive.shown());

    let two = task.replace("the sensor to", "the sensor in /sensors.txt to");
    let mut several = Drive::new(profile_of("direct"), &two);
    several.say_with(&[&run()], failing);
    assert!(
        !several.shown().contains("\"path\":\"/broken.txt\""),
        "{}",
        several.shown()
    );
}

#[test]
fn a_check_that_names_no_file_is_not_about_one_that_holds_what_the_task_says() {
    let task = "Open the door with door_set. Then write `open` to /door.txt. /check.lua says whether it is right: run it.";
    let mut profile = profile_of("direct");
    profile.executor_mends = 6;
    let mut drive = Drive::new(profile, task);
    let write = |content: &str| call("fs_write", json!({"path": "/door.txt", "content": content}));
    let failing = |files: &mut BTreeMap<String, String>, call: &CallRecord| match &call.tool[..] {
        "run_program" => {
            done(json!({"success": false, "output": "", "error": "/check.lua:4: the door is shut"}))
        }
        _ => carry_out(files, call),
    };
    drive.say_with(&[&write("open"), &run()], failing);
    assert!(drive.state().prompt(Role::Executor).is_empty());
    assert!(
        !drive.shown().contains("\"path\":\"/door.txt\"}}\n"),
        "{}",
        drive.shown()
    );
    let mut wrong = Drive::new(drive.bench.profile.clone(), task);
    wrong.say_with(&[&write("shut"), &run()], failing);
    assert_eq!(wrong.files["/door.txt"], "open");
}

#[test]
fn what_is_found_in_another_place_than_where_it_was_to_be_read_is_read_there() {
    let find = |files: &mut BTreeMap<String, String>, call: &CallRecord| match call.tool.as_str() {
        "fs_find" => done(json!({"path": "/", "truncated": false,
            "found": [{"path": "/papers/word.txt", "is_dir": false, "size": 10}]})),
        _ => carry_out(files, call),
    };
    let task = "Read the word in /docs/Word.txt and write it to /word.txt.";
    let mut drive = Drive::new(profile_of("direct"), task);
    let text = json!({"type": ["string", "integer"]});
    let tool = json!({"name": "fs_find", "effect": "read", "description": "Find files.", "args_schema":
        {"type": "object", "required": ["pattern"], "properties": {"pattern": text, "limit": text}}});
    drive.add_tools(vec![serde_json::from_value(tool).unwrap()]);
    drive
        .files
        .insert("/papers/word.txt".into(), "heliotrope".into());
    let read = call("fs_read", json!({"path": "/docs/Word.txt"}));
    drive.say_with(&[&read], find);
    assert!(drive.shown().contains("heliotrope"), "{}", drive.shown());
    let calls = || drive.state().calls().map(|call| call.tool.as_str());
    assert_eq!(
        calls().collect::<Vec<_>>(),
        ["fs_read", "fs_find", "fs_read"]
    );
}

#[test]
fn a_check_that_repeats_the_name_of_what_is_not_there_is_not_about_that() {
    let mut drive = Drive::new(
        profile_of("direct"),
        "Write the word to /word.txt. /check.lua checks it: run it.",
    );
    let failing = |files: &mut BTreeMap<String, String>, call: &CallRecord| match call.tool.as_str()
    {
        "run_program" => done(json!({"success": false, "output": "",
            "error": "/check.lua:4: that is not the word: what is in /docs/Word.txt"})),
        _ => carry_out(files, call),
    };
    drive.say_with(&[&run()], failing);
    let reads = |drive: &Drive| {
        drive
            .state()
            .calls()
            .filter(|call| call.tool == "fs_read")
            .count()
    };
    assert_eq!(reads(&drive), 1);
    drive.say_with(&[&run(), &run()], failing);
    assert_eq!(reads(&drive), 1);
    assert!(
        !drive.shown().contains("\"path\":\"/docs/Word.txt\"}}"),
        "{}",
        drive.shown()
    );
}

#[test]
fn the_call_that_is_due_names_the_file_of_which_the_check_speaks() {
    let task = "Delete every file below /work that ends in .tmp. /check.lua says whether it is right: run it.";
    let mut drive = Drive::new(profile_of("direct"), task);
    let check = "error('/check.lua:2: /work/deep/b.tmp is still there')";
    drive.files.insert("/check.lua".into(), check.into());
    drive.files.insert("/work/deep/b.tmp".into(), "old".into());
    let failing = |files: &mut BTreeMap<String, String>, call: &CallRecord| match call.tool.as_str()
    {
        "run_program" => done(json!({"success": false, "output": "",
                "error": "/check.lua:2: /work/deep/b.tmp is still there"})),
        _ => carry_out(files, call),
    };
    drive.say_with(&[&run()], failing);
    // What is to go is not read before.
    assert!(!drive.state().calls().any(|call| call.tool == "fs_read"));
    let due = "{\"tool\": \"fs_delete\", \"args\": {\"path\":\"/work/deep/b.tmp\"}}";
    assert!(drive.shown().contains(due), "{}", drive.shown());
    // Who copies a form as it stands is not shown the same once more.
    drive.say_with(&[&call("fs_delete", json!({"path": "…"}))], failing);
    let shown = drive.shown();
    assert!(!shown.contains("Without what is wrong"), "{shown}");
}
