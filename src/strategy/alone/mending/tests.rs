//! Programs that are mended in a prompt of their own.

mod broken;
mod runs;

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::ChatFailure;
use crate::domain::decision::Decision;
use crate::domain::event::TaskEvent;
use crate::domain::profile::Profile;
use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
use std::collections::BTreeMap;

/// The last sentence is one that no rule reads: what is done is planned all the same.
const TASK: &str = "`/sum.lua 2 3` shall print 5. It does not. Mend it. Take care.";
const WRONG: &str = "23";
const RIGHT: &str = "```lua\n5\n```";

/// Programs of the rig print what they hold.
fn drive_of(strategy: &str, task: &str, mends: u32) -> Drive {
    let mut profile: Profile = profile_of(strategy);
    profile.executor_mends = mends;
    profile.memory.named_files = 3;
    let mut drive = Drive::new(profile, task);
    drive.files.insert("/sum.lua".into(), WRONG.into());
    drive
}

fn run() -> String {
    call(
        "run_program",
        json!({"path": "/sum.lua", "args": ["2", "3"]}),
    )
}

/// Who is asked now.
fn asked(drive: &Drive) -> Role {
    match drive.decisions.last() {
        Some(Decision::Consult(consult)) => consult.role,
        other => panic!("nobody is asked: {other:?}"),
    }
}

fn prompt(drive: &Drive) -> String {
    let messages = drive.state().prompt(Role::Executor).iter();
    let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
    texts.join("\n=====\n")
}

#[test]
fn the_run_of_which_a_task_speaks_is_made_and_its_program_mended_before_the_planner_is_asked() {
    for strategy in ["direct", "directive", "plan", "numbered", "goals"] {
        let mut drive = drive_of(strategy, TASK, 6);
        assert!(drive.run_to_consult());
        assert_eq!(asked(&drive), Role::Executor, "{strategy}");
        if strategy == "direct" {
            insta::assert_snapshot!("mending", prompt(&drive));
        }
        drive.say(&[RIGHT]);
        assert_eq!(asked(&drive), Role::Planner, "{strategy}");
        assert_eq!(drive.files["/sum.lua"], "5\n", "{strategy}");
        let shown = drive.shown();
        for told in [
            "It was mended from what its run had shown, and holds now:\n```lua\n5\n```",
            "## run /sum.lua 2 3 on base: done",
        ] {
            assert!(shown.contains(told), "{strategy}: {told}\n{shown}");
        }
        if strategy == "goals" {
            let planned = drive.state().prompt(Role::Planner);
            insta::assert_snapshot!("done_already", planned.last().unwrap().content);
        }
        let labels: Vec<String> = drive
            .state()
            .calls()
            .map(|call| run_on(None, call))
            .collect();
        assert_eq!(
            labels,
            ["/sum.lua", "/sum.lua 2 3", "/sum.lua", "/sum.lua 2 3"],
            "{strategy}"
        );
    }
}

#[test]
fn a_program_that_fails_later_is_mended_alone_too_and_what_was_told_before_stays() {
    let task = "Write /a.lua and run it.";
    let directive =
        "DIRECTIVE: WRITE_FILE\nPATH: /a.lua\nCONTENT:\n```lua\nerror\n```\nTHEN:\n1 RUN /a.lua";
    let write = call("fs_write", json!({"path": "/a.lua", "content": "error"}));
    let ran = call("run_program", json!({"path": "/a.lua"}));
    let goals = r#"{"objectives": [{"description": "it is written", "subtasks": [{"description": "write /a.lua and run it", "tool": "run_program", "targets": ["/a.lua"]}]}]}"#;
    for (strategy, said) in [
        ("direct", vec![write.as_str(), ran.as_str()]),
        ("directive", vec![directive]),
        (
            "numbered",
            vec![
                "1. Write /a.lua\n2. Run /a.lua",
                "Action: fs_write\nAction Input: {\"path\": \"/a.lua\", \"content\": \"error\"}",
                "Action: run_program /a.lua",
            ],
        ),
        ("goals", vec![goals, &write, &ran]),
    ] {
        let mut drive = drive_of(strategy, task, 6);
        // One that is not there is asked for alone first.
        drive.files.insert("/a.lua".into(), "old".into());
        drive.say(&said);
        assert_eq!(
            asked(&drive),
            Role::Executor,
            "{strategy}: {}",
            drive.shown()
        );
        let before = drive.state().prompt(Role::Planner).to_vec();
        drive.say(&["```lua\nprint(1)\n```"]);
        assert_eq!(asked(&drive), Role::Planner, "{strategy}");
        let shown = drive.shown();
        assert!(
            shown.contains("holds now:\n```lua\nprint(1)\n```"),
            "{strategy}\n{shown}"
        );
        assert!(
            shown.contains("## run /a.lua on base: done"),
            "{strategy}\n{shown}"
        );
        let kept = drive.state().prompt(Role::Planner).iter().zip(&before);
        let kept = kept.take_while(|(a, b)| a == b).count();
        assert_eq!(kept, before.len() - 1, "{strategy}: all but the tail");
    }
}

#[test]
fn a_vain_answer_is_told_and_asked_for_once_more_and_after_four_it_is_the_planner_s_turn() {
    let mut drive = drive_of("direct", TASK, 5);
    for (said, told) in [
        ("I see nothing wrong.", "the answer held no program"),
        ("```lua\n23\n```", "the answer was the program as it is"),
        ("```lua\n```", "the answer held no program"),
    ] {
        drive.say(&[said]);
        assert_eq!(asked(&drive), Role::Executor, "{}", drive.shown());
        let told = format!("Your last answer was not taken: {told}.");
        assert!(prompt(&drive).contains(&told), "{}", prompt(&drive));
    }
    insta::assert_snapshot!("asked_to_mend_once_more", prompt(&drive));
    drive.say(&["It adds."]);
    assert_eq!(asked(&drive), Role::Planner, "{}", drive.shown());
    let told = "mending /sum.lua alone: the answer was the program as it is";
    assert!(drive.shown().contains(told), "{}", drive.shown());
    // One is left, and then none.
    drive.say(&[&call("fs_list", json!({}))]);
    assert_eq!(asked(&drive), Role::Executor);
    drive.say(&["```lua\n23\n```"]);
    assert_eq!(asked(&drive), Role::Planner);
    drive.say(&[&call("fs_list", json!({}))]);
    assert_eq!(asked(&drive), Role::Planner);
    assert_eq!(drive.state().usage.executor_model_calls, 5);
}

#[test]
fn who_leaves_a_program_as_it_is_twice_in_a_row_is_not_asked_a_third_time() {
    let mut drive = drive_of("direct", TASK, 6);
    drive.say(&["```lua\n23\n```", "```lua\n23\n```"]);
    assert_eq!(asked(&drive), Role::Planner, "{}", drive.shown());
}

#[test]
fn answers_that_were_refused_do_not_count_as_programs_that_were_mended() {
    let mut drive = drive_of("direct", TASK, 3);
    for said in ["It adds.", "```lua\n24\n```", "It adds."] {
        drive.say(&[said]);
        assert_eq!(asked(&drive), Role::Executor, "{said}: {}", drive.shown());
    }
    drive.say(&["```lua\n25\n```"]);
    assert_eq!(asked(&drive), Role::Planner, "two in a row are enough");
    drive.say(&[&call("fs_list", json!({}))]);
    assert_eq!(asked(&drive), Role::Executor, "two of three were made");
    drive.say(&[RIGHT]);
    assert_eq!(drive.files["/sum.lua"], "5\n");
}

#[test]
fn a_model_that_cannot_be_asked_to_mend_is_no_reason_to_end_the_task() {
    for strategy in ["direct", "plan"] {
        let mut drive = drive_of(strategy, TASK, 6);
        drive.run_to_consult();
        let Open::Consult { seq: consult, .. } = *drive.state().open_on(Track::MAIN) else {
            panic!("nobody is asked");
        };
        drive.bench.push(TaskEvent::ModelFailed {
            consult,
            role: Role::Executor,
            failure: ChatFailure {
                code: "model_not_found".into(),
                message: "no such model".into(),
                hint: "pull it".into(),
                retryable: false,
            },
        });
        assert!(
            drive.run_to_consult(),
            "{strategy}: {:?}",
            drive.decisions.last()
        );
        assert_eq!(asked(&drive), Role::Planner, "{strategy}");
    }
}

#[test]
fn what_ran_since_the_last_change_runs_again_after_a_program_of_the_task_s_own_was_mended() {
    let task = "Write /a.lua, which prints one. Run it. /check.lua says whether it is right.";
    let mut drive = drive_of("direct", task, 6);
    drive.files.insert("/check.lua".into(), "error".into());
    drive.files.insert("/a.lua".into(), "old".into());
    let write = call("fs_write", json!({"path": "/a.lua", "content": "two"}));
    let ran = call("run_program", json!({"path": "/a.lua"}));
    let check = call("run_program", json!({"path": "/check.lua"}));
    // A program that is not there is not run again.
    let none = call("run_program", json!({"path": "/none.lua"}));
    drive.say(&[&write, &none, &ran, &check]);
    assert_eq!(asked(&drive), Role::Executor, "{}", drive.shown());
    assert!(
        prompt(&drive).contains("# /a.lua as it is now"),
        "{}",
        prompt(&drive)
    );
    drive.say(&["```lua\none\n```"]);
    let calls: Vec<String> = drive
        .state()
        .calls()
        .map(|call| run_on(None, call))
        .collect();
    let last = &calls[calls.len() - 3..];
    assert_eq!(
        last,
        ["/a.lua", "/a.lua", "/check.lua"],
        "written, run and checked"
    );
    // The check fails still.
    assert_eq!(asked(&drive), Role::Executor);
}

#[test]
fn nothing_is_mended_that_the_task_does_not_want_mended() {
    for (task, mends) in [
        ("Run /sum.lua with 2 3; `/sum.lua 2 3` shall print 5.", 6),
        (TASK, 0),
    ] {
        let mut drive = drive_of("direct", task, mends);
        drive.say(&[&run()]);
        assert_eq!(asked(&drive), Role::Planner, "{task}");
    }
    let task = "Mend /a.cfg. /check.lua says whether it is right.";
    let mut drive = drive_of("direct", task, 6);
    drive.files.insert("/check.lua".into(), "error".into());
    let read = call("fs_read", json!({"path": "/check.lua"}));
    drive.say(&[&read, &call("run_program", json!({"path": "/check.lua"}))]);
    assert_eq!(asked(&drive), Role::Planner, "a check is right");
}

#[test]
fn of_a_program_and_its_module_the_one_is_mended_in_which_the_task_sees_the_fault() {
    for (fault, first, then) in [
        ("Mend the module.", "/shapes.lua", "/shapes.lua"),
        ("Mend it.", "/area.lua", "/shapes.lua"),
    ] {
        let task = format!("/area.lua uses /shapes.lua: `/area.lua 3 4` shall print 12. {fault}");
        let mut drive = drive_of("direct", &task, 6);
        let area = "dofile('/shapes.lua')";
        drive.files.insert("/area.lua".into(), area.into());
        drive.files.insert("/shapes.lua".into(), "w + h".into());
        assert!(drive.run_to_consult());
        let shown =
            |drive: &Drive, path: &str| prompt(drive).contains(&format!("# {path} as it is now"));
        assert!(shown(&drive, first), "{fault}: {}", prompt(&drive));
        drive.say(&["no idea"]);
        assert!(shown(&drive, then), "{fault}: {}", prompt(&drive));
    }
}

#[test]
fn a_run_in_a_wrong_way_is_no_reason_to_mend_what_was_shown_to_be_right() {
    let mut drive = drive_of("directive", TASK, 6);
    drive.say(&[RIGHT]);
    // The planner expects something else than the task says.
    drive.say(&["DIRECTIVE: RUN\nPATH: /sum.lua\nARGS: [\"2\", \"3\"]\nEXPECT: \"five\""]);
    assert_eq!(asked(&drive), Role::Planner, "{}", drive.shown());
    drive.say(&["DIRECTIVE: RUN\nPATH: /sum.lua\nARGS: [\"error\"]"]);
    assert_eq!(asked(&drive), Role::Planner, "{}", drive.shown());
}

#[test]
fn who_plans_in_a_list_gets_none_for_what_was_mended_already() {
    let mut drive = drive_of("numbered", TASK, 6);
    drive.say(&[RIGHT]);
    let Work::List(list) = &drive.state().work else {
        panic!("no list: {:?}", drive.state().work);
    };
    assert_eq!(list.items.len(), 1);
    let over = !drive.say(&["Thought: it adds\nFinal Answer: /sum.lua adds its arguments"]);
    assert!(over && drive.state().result.is_some(), "{}", drive.shown());
}

const GOALS: &str = r#"{"objectives": [{"description": "it adds", "subtasks": [
    {"description": "write /sum.lua anew", "tool": "fs_write", "targets": ["/sum.lua"]},
    {"description": "run /sum.lua with 2 3", "tool": "run_program", "targets": ["/sum.lua"]}]}]}"#;

#[test]
fn a_subtask_that_writes_what_was_mended_is_complete_and_one_that_runs_it_has_to_run_it() {
    let mut drive = drive_of("goals", TASK, 6);
    let done = call(
        "mark_subtask_complete",
        json!({"success": true, "reason": "it prints 5"}),
    );
    assert!(drive.say(&[RIGHT, GOALS, &done, &done]));
    assert!(
        drive
            .shown()
            .contains("no action has succeeded in this subtask"),
        "{}",
        drive.shown()
    );
    assert!(!drive.say(&[&run(), &done]) && drive.state().result.is_some());
}

#[test]
fn a_subtask_whose_run_is_refused_because_it_was_made_often_enough_is_no_dead_end() {
    let mut drive = drive_of("goals", TASK, 6);
    let done = call(
        "mark_subtask_complete",
        json!({"success": true, "reason": "it prints 5"}),
    );
    assert!(drive.say(&[RIGHT, GOALS, &run(), &run(), &done, &run()]));
    assert!(
        drive.shown().contains("with the same outcome"),
        "{}",
        drive.shown()
    );
    assert!(
        !drive.say(&[&done]) && drive.state().result.is_some(),
        "{}",
        drive.shown()
    );
}

#[test]
fn the_line_in_which_a_program_failed_is_shown() {
    let mut drive = drive_of("direct", "/sum.lua fails. Mend it and run it.", 6);
    drive
        .files
        .insert("/sum.lua".into(), "  error('x')\n".into());
    assert!(drive.run_to_consult());
    let told = "It failed in line 1: `error('x')`";
    assert!(prompt(&drive).contains(told), "{}", prompt(&drive));
}

#[test]
fn a_kind_that_may_not_write_has_nothing_mended() {
    let mut drive = drive_of("direct", TASK, 6);
    drive.bench.profile.allowed_tools = vec!["fs_read".into(), "run_program".into()];
    assert!(drive.run_to_consult());
    assert_eq!(asked(&drive), Role::Planner);
}

/// What is read in an answer that ended so.
fn said(content: &str, stop: StopReason) -> Option<String> {
    read(&ChatAnswer {
        stop,
        ..crate::strategy::bench::answer(content)
    })
}

#[test]
fn a_cut_off_program_is_none() {
    let open = "It adds.\n```lua\nprint(5)";
    assert_eq!(said(open, StopReason::Length), None);
    assert_eq!(said(open, StopReason::Stop).as_deref(), Some("print(5)\n"));
    let whole = "```lua\nprint(5)\n```\nand ```more";
    assert_eq!(
        said(whole, StopReason::Length).as_deref(),
        Some("print(5)\n")
    );
    assert_eq!(said("print(5)", StopReason::Stop), None);
}

#[test]
fn a_program_below_its_language_is_one_without_a_fence_too_and_other_lines_are_not() {
    let left_out = "lua\nlocal n = 5\nprint(n)\n";
    assert_eq!(
        said(left_out, StopReason::Stop).as_deref(),
        Some("local n = 5\nprint(n)\n")
    );
    assert_eq!(said(left_out, StopReason::Length), None);
    for other in [
        "lua\n5 torches",
        "lua",
        "It is in lua\nprint(5)",
        "lua\nprint('",
    ] {
        assert_eq!(said(other, StopReason::Stop), None, "{other}");
    }
}

proptest::proptest! {
    #[test]
    fn any_answer_is_read_without_a_panic(text in "(```|lua|\n|print\\(1\\)|\\PC){0,30}") {
        let _ = read(&crate::strategy::bench::answer(&text));
    }
}
