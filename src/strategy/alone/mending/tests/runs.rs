//! Runs that rules make around a mend, and those that they do not make.

use super::*;
use crate::strategy::drive::profile_with_asides;

const ON_MINE: &str = "On the computer `mine` the program /sum.lua fails. Mend it there: `/sum.lua 2 3` shall print 5. Take care.";

#[test]
fn a_program_on_another_computer_is_run_and_mended_there() {
    for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
        let mut drive = drive_of(strategy, ON_MINE, 6);
        drive.add_computer("mine");
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Role::Executor, "{strategy}");
        drive.say(&[RIGHT]);
        assert_eq!(drive.files["/sum.lua"], "5\n", "{strategy}");
        let told = "## run /sum.lua 2 3 on mine: done";
        assert!(
            drive.shown().contains(told),
            "{strategy}: {}",
            drive.shown()
        );
        let mut calls = drive.state().calls();
        let on = |call: &CallRecord| call.intended.as_ref().unwrap().client_id.to_string();
        assert!(calls.all(|call| on(call) == "mine"), "{strategy}");
        if let Work::List(list) = &drive.state().work {
            assert_eq!(list.items.len(), 1, "who plans in a list gets none");
        }
    }
}

#[test]
fn a_subtask_that_writes_what_was_mended_on_another_computer_is_complete_there_and_nowhere_else() {
    let done = call(
        "mark_subtask_complete",
        json!({"success": true, "reason": "it prints 5"}),
    );
    for (on, is_complete) in [("mine", true), ("base", false)] {
        let mut drive = drive_of("goals", ON_MINE, 6);
        drive.add_computer("mine");
        let write = json!({"description": "write it", "tool": "fs_write", "targets": ["/sum.lua"], "on": on});
        let run = json!({"description": "run it", "tool": "run_program", "targets": ["/sum.lua"], "on": "mine"});
        let goals = json!({"objectives": [{"description": "it adds", "subtasks": [write, run]}]})
            .to_string();
        drive.say(&[RIGHT, &goals, &done]);
        let refused = drive
            .shown()
            .contains("no action has succeeded in this subtask");
        assert_eq!(refused, !is_complete, "{on}: {}", drive.shown());
    }
}

#[test]
fn a_program_that_fails_is_run_first_and_not_mended_where_the_task_does_not_ask_for_that() {
    let task = "/sum.lua fails because a file is missing. Find it, and run /sum.lua.";
    let mut drive = drive_of("direct", task, 6);
    drive.files.insert("/sum.lua".into(), "error".into());
    assert!(drive.run_to_consult());
    assert_eq!(asked(&drive), Role::Planner);
    let made = |drive: &Drive| drive.state().calls().filter(|call| runs(call)).count();
    assert_eq!(made(&drive), 1, "{}", drive.shown());
    for task in [
        "/sum.lua fails. Mend it, but do not run it.",
        "Mend /sum.lua and never run it.",
    ] {
        let mut drive = drive_of("direct", task, 6);
        assert!(drive.run_to_consult());
        assert_eq!(made(&drive), 0, "{task}");
    }
}

#[test]
fn a_run_of_another_program_is_not_made_anew() {
    let mut drive = drive_of("direct", "Write /a.lua; run /pay.lua, then /a.lua.", 6);
    drive.files.insert("/pay.lua".into(), "paid".into());
    drive.files.insert("/a.lua".into(), "old".into());
    let write = call("fs_write", json!({"path": "/a.lua", "content": "error"}));
    let ran = |path: &str| call("run_program", json!({"path": path}));
    drive.say(&[&write, &ran("/pay.lua"), &ran("/a.lua"), "```lua\none\n```"]);
    assert_eq!(asked(&drive), Role::Planner, "{}", drive.shown());
    assert_eq!(
        (runs_of(&drive, "/pay.lua"), runs_of(&drive, "/a.lua")),
        (1, 2)
    );
}

/// The rig's computer, on which nobody knows what became of the runs of one program.
fn lost(
    program: &'static str,
) -> impl FnMut(&mut BTreeMap<String, String>, &CallRecord) -> CallReport {
    move |files, call| match call.args["path"] == program && call.tool == "run_program" {
        true => {
            CallReport::without_answer(Outcome::Unknown, "unknown", "the computer started again")
        }
        false => carry_out(files, call),
    }
}

fn runs_of(drive: &Drive, path: &str) -> usize {
    let mut calls = drive.state().calls().filter(|call| runs(call));
    calls
        .by_ref()
        .filter(|call| call.args["path"] == path)
        .count()
}

#[test]
fn a_first_run_whose_fate_nobody_knows_is_not_made_again_by_rule() {
    let mut drive = drive_of("direct", TASK, 6);
    assert!(drive.run_to_consult_with(lost("/sum.lua")));
    assert_eq!(asked(&drive), Role::Planner, "{}", drive.shown());
    assert_eq!(runs_of(&drive, "/sum.lua"), 1);
}

#[test]
fn no_run_is_made_anew_after_one_whose_fate_nobody_knows() {
    let task = "Write /a.lua and run it. /check.lua says whether it is right.";
    let mut drive = drive_of("direct", task, 6);
    drive.files.insert("/check.lua".into(), "error".into());
    drive.files.insert("/a.lua".into(), "old".into());
    let said = [
        call("fs_write", json!({"path": "/a.lua", "content": "two"})),
        call("run_program", json!({"path": "/a.lua"})),
        call("run_program", json!({"path": "/check.lua"})),
        "```lua\none\n```".to_owned(),
    ];
    for text in said {
        assert!(drive.run_to_consult_with(lost("/a.lua")));
        drive.answer(crate::strategy::bench::answer(&text));
    }
    assert!(drive.run_to_consult_with(lost("/a.lua")));
    assert_eq!(drive.files["/a.lua"], "one\n", "it was mended");
    assert_eq!(
        (runs_of(&drive, "/a.lua"), asked(&drive)),
        (1, Role::Planner)
    );
}

#[test]
fn a_new_program_that_comes_back_as_it_is_is_asked_for_afresh_without_a_look_at_it() {
    let task = "write me sum.lua, it adds what it is given. sum 2 3 -> 5";
    let mut drive = Drive::new(profile_with_asides("direct"), task);
    drive.say(&["```lua\n23\n```"]);
    assert!(
        prompt(&drive).contains("as it is now"),
        "{}",
        prompt(&drive)
    );
    drive.say(&["```lua\n23\n```"]);
    insta::assert_snapshot!("written_afresh", prompt(&drive));
    drive.say(&[RIGHT]);
    assert_eq!(drive.files["/sum.lua"], "5\n");
}
