//! Whole tasks under the strategy, with the model as a function.

mod marks;
mod places;
mod programs;
mod properties;
mod refusals;
mod words;

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::{ChatAnswer, Message, Role};
use crate::domain::task::TaskStatus;
use crate::domain::work::{MadeBy, SubtaskState};
use crate::strategy::bench::answer;
use crate::strategy::drive::{Drive, call, calls, carry_out, done, profile_of};
use proptest::prelude::*;

const HELLO: &str = r#"{"objectives": [{"description": "Say hello", "subtasks": [
    {"description": "Write /hello.lua, which prints hello", "tool": "fs_write", "targets": ["/hello.lua"]}]}]}"#;
const TWO: &str = r#"{"objectives": [{"description": "Say hello", "subtasks": [
    {"description": "Write /hello.lua, which prints hello", "tool": "fs_write", "targets": ["/hello.lua"]},
    {"description": "Run /hello.lua", "tool": "run_program", "targets": ["/hello.lua"]}]}]}"#;

fn drive() -> Drive {
    Drive::new(profile_of(NAME), "Write a program that says hello")
}

fn work(drive: &Drive) -> &GoalWork {
    match &drive.state().work {
        Work::Goals(work) => work,
        other => panic!("{other:?}"),
    }
}

fn write(path: &str, content: &str) -> String {
    call("fs_write", json!({"path": path, "content": content}))
}

fn run(path: &str) -> String {
    call("run_program", json!({"path": path}))
}

fn mark(success: bool) -> String {
    call(MARK_TOOL, json!({"success": success, "reason": "so it is"}))
}

fn say(drive: &mut Drive, said: &[String]) -> bool {
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    drive.say(&said)
}

fn last_guard(drive: &Drive) -> Guard {
    let blocked = drive
        .state()
        .steps
        .iter()
        .rev()
        .find_map(|step| step.blocked.as_ref());
    blocked.unwrap().guard
}

fn rounds(drive: &Drive) -> u64 {
    drive.state().result.as_ref().unwrap().details["rounds"]
        .as_u64()
        .unwrap()
}

#[test]
fn hello_world_is_achieved_in_two_rounds() {
    let mut drive = drive();
    let over = !say(
        &mut drive,
        &[
            HELLO.into(),
            write("/hello.lua", "print('hello')"),
            mark(true),
        ],
    );
    assert!(over);
    let result = drive.state().result.clone().unwrap();
    assert_eq!(
        (result.success, result.message.as_str()),
        (true, "goal achieved")
    );
    assert_eq!(rounds(&drive), 2);
    // The computer was looked at before the word was taken.
    assert_eq!(result.details["files_exist"], json!(["/hello.lua"]));
    assert!(drive.state().calls().any(|call| call.tool == "fs_list"));
}

#[test]
fn a_run_that_printed_something_else_than_the_goal_says_completes_nothing() {
    let goal = "Write /hello.lua: `/hello.lua` shall print 9.";
    let mut drive = Drive::new(profile_of(NAME), goal);
    let said = [
        TWO.into(),
        write("/hello.lua", "5"),
        mark(true),
        run("/hello.lua"),
    ];
    assert!(say(&mut drive, &said));
    let shown = drive.shown();
    assert!(
        shown.contains("/hello.lua -> printed something else than the goal says"),
        "{shown}"
    );
    assert!(
        shown.contains("not as it should be") && !shown.contains("Otherwise it is complete"),
        "{shown}"
    );
    assert!(say(&mut drive, &[mark(true), mark(true)]));
    assert_eq!(last_guard(&drive), Guard::Proof);
    assert!(!say(
        &mut drive,
        &[write("/hello.lua", "9"), run("/hello.lua"), mark(true)]
    ));
    assert!(drive.state().result.as_ref().unwrap().success);
}

#[test]
fn who_mends_in_the_last_subtask_is_told_to_run_it_and_not_to_mark_it() {
    let mut drive = Drive::new(profile_of(NAME), "Mend /hello.lua");
    drive.bench.profile.demand_proof = true;
    let said = [
        TWO.into(),
        write("/hello.lua", "error"),
        mark(true),
        run("/hello.lua"),
        write("/hello.lua", "9"),
    ];
    assert!(say(&mut drive, &said));
    let shown = drive.shown();
    let told =
        "The run that shows that the goal is reached was not made since the last change. Make it:";
    assert!(
        shown.contains(told) && !shown.contains("Otherwise it is complete"),
        "{shown}"
    );
    assert!(say(&mut drive, &[run("/hello.lua")]));
    assert!(drive.shown().contains("Otherwise it is complete"));
}

#[test]
fn what_was_looked_at_in_one_subtask_may_be_looked_at_in_the_next() {
    let look_and_read = r#"{"objectives": [{"description": "Look", "subtasks": [
        {"description": "Write /b.lua", "tool": "fs_write", "targets": ["/b.lua"]},
        {"description": "Read /a.lua", "tool": "fs_read", "targets": ["/a.lua"]}]}]}"#;
    let mut drive = drive();
    drive.bench.profile.guards.duplicate_calls = 3;
    drive.files.insert("/a.lua".into(), "print(1)".into());
    let read = call("fs_read", json!({"path": "/a.lua"}));
    let wrote = write("/b.lua", "print(2)");
    let said = [
        look_and_read.into(),
        read.clone(),
        read.clone(),
        read.clone(),
        read.clone(),
    ];
    assert!(say(&mut drive, &said));
    assert_eq!(last_guard(&drive), Guard::Duplicate);
    assert!(!say(&mut drive, &[wrote, mark(true), read, mark(true)]));
    assert!(drive.state().result.as_ref().unwrap().success);
}

#[test]
fn rock_paper_scissors_and_a_module_with_tests_stay_within_their_rounds() {
    let game = r#"[{"description": "Create the game", "subtasks": ["fs_write /rps.lua with the game", "run_program /rps.lua rock"]},
                   {"description": "Make it tell the score", "subtasks": ["fs_write /rps.lua with the score"]}]"#;
    let mut drive = drive();
    let said = [
        game.into(),
        write("/rps.lua", "print('rock beats scissors')"),
        mark(true),
        run("/rps.lua"),
        mark(true),
        write("/rps.lua", "print('1:0')"),
        mark(true),
    ];
    assert!(!say(&mut drive, &said));
    assert!(rounds(&drive) <= 8);

    let module = r#"{"objectives": [
        {"description": "The module", "subtasks": [{"description": "Write /mathx.lua", "tool": "fs_write", "targets": ["/mathx.lua"]}]},
        {"description": "Its tests", "subtasks": [
            {"description": "Write /mathx_test.lua", "tool": "fs_write", "targets": ["/mathx_test.lua"]},
            {"description": "Run /mathx_test.lua", "tool": "run_program", "targets": ["/mathx_test.lua"]}]}]}"#;
    let mut drive = self::drive();
    drive.bench.profile.demand_proof = true;
    let said = [
        module.into(),
        write("/mathx.lua", "return {}"),
        mark(true),
        write("/mathx_test.lua", "error('add')"),
        mark(true),
        run("/mathx_test.lua"),
        write("/mathx.lua", "return {add = 1}"),
        write("/mathx_test.lua", "print('ok')"),
        run("/mathx_test.lua"),
        mark(true),
    ];
    assert!(!say(&mut drive, &said), "{:?}", drive.decisions.last());
    assert!(drive.state().result.is_some(), "{:?}", drive.state().error);
    assert!(rounds(&drive) <= 12);
}

#[test]
fn a_failed_subtask_that_is_planned_around_still_achieves_the_goal() {
    let mut drive = drive();
    let said = [
        TWO.into(),
        mark(false),
        HELLO.into(),
        write("/hello.lua", "print('hello')"),
        mark(true),
    ];
    assert!(!say(&mut drive, &said));
    assert_eq!(drive.state().result.as_ref().unwrap().message, ACHIEVED);
    let states: Vec<SubtaskState> = work(&drive).subtasks().map(|(_, s)| s.state).collect();
    assert_eq!(
        states,
        [
            SubtaskState::Replaced,
            SubtaskState::Replaced,
            SubtaskState::Done
        ]
    );
}

#[test]
fn used_up_rounds_end_with_what_is_done_and_what_is_open() {
    let mut drive = drive();
    drive.bench.profile.goals.rounds = 4;
    let said = [
        TWO.into(),
        write("/hello.lua", "error()"),
        mark(true),
        run("/hello.lua"),
        call("fs_read", json!({"path": "/hello.lua"})),
    ];
    assert!(!say(&mut drive, &said));
    let error = drive.state().error.clone().unwrap();
    assert_eq!(error.code, "budget_exceeded");
    assert!(
        error
            .error
            .contains("1 of 2 subtasks are done; open: 1.2 Run /hello.lua"),
        "{}",
        error.error
    );
    assert_eq!(
        error.details["goal"]["objectives"][0]["subtasks"][0]["state"],
        "done"
    );
}

#[test]
fn an_error_is_told_until_the_same_was_done_after_all() {
    let mut drive = drive();
    drive.files.insert("/hello.lua".into(), "old".into());
    let read = |path: &str| call("fs_read", json!({ "path": path }));
    assert!(say(
        &mut drive,
        &[HELLO.into(), write("/hello.lua", "x"), read("/none.lua")]
    ));
    let errors = |drive: &Drive| drive.shown().matches("- recent error: ").count();
    assert_eq!(errors(&drive), 2, "{}", drive.shown());
    assert!(say(&mut drive, &[write("/hello.lua", "y")]));
    let shown = drive.shown();
    assert_eq!(errors(&drive), 1, "{shown}");
    assert!(
        shown.contains("- recent error: fs_read: /none.lua"),
        "{shown}"
    );
}

#[test]
fn only_the_last_exchanges_are_shown_but_facts_stay() {
    let mut drive = drive();
    drive.say(&[TWO]);
    let mut oldest = Vec::new();
    let mut before: Vec<Message> = Vec::new();
    for n in 0..12 {
        say(&mut drive, &[write(&format!("/f{n}.lua"), "x")]);
        let prompt = drive.state().prompt(Role::Planner).to_vec();
        let (tail, shown) = prompt.split_last().unwrap();
        let is_shown = |at: &i32| {
            let path = format!("\"path\":\"/f{at}.lua\"");
            shown.iter().any(|told| told.content.contains(&path))
        };
        let first = (0..=n).find(is_shown).unwrap();
        assert!((first..=n).all(|at| is_shown(&at)), "round {n}");
        // Where nothing left the window, the prompt begins as the one before it.
        assert_eq!(
            shown.starts_with(&before),
            oldest.last().is_none_or(|last| *last == first)
        );
        assert!(tail.content.contains("files written: /f0.lua"));
        before = shown.to_vec();
        oldest.push(first);
    }
    assert_eq!(oldest, [0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 6, 6]);
}

#[test]
fn a_model_without_native_tools_reads_them_in_its_prompt() {
    let mut drive = drive();
    drive.bench.state.no_native_tools = true;
    drive.say(&[HELLO]);
    let Some(Decision::Consult(consult)) = drive.decisions.last() else {
        panic!()
    };
    assert_eq!(consult.tools, crate::domain::decision::ToolsDelta::Same);
    assert!(
        drive.shown().contains("- fs_write (idempotent)"),
        "{}",
        drive.shown()
    );
    assert!(drive.shown().contains("- mark_subtask_complete:"));
}

#[test]
fn the_prompts_with_a_realistic_state() {
    let mut drive = drive();
    drive.bench.profile.demand_proof = true;
    drive.bench.profile.instructions = "Programs run on CraftOS.".into();
    if let Some(created) = &mut drive.bench.state.created {
        created.context = json!({"greeting": "hello"});
    }
    drive.say(&[r#"[{"description": "Choose", "subtasks": ["Decide on the language"]}]"#]);
    insta::assert_snapshot!("goals_decompose_prompt", drive.shown());
    let said = [
        TWO.into(),
        write("/hello.lua", "error('no')"),
        mark(true),
        run("/hello.lua"),
        "It does not work.".into(),
        call("fs_raed", json!({"path": "/hello.lua"})),
    ];
    say(&mut drive, &said);
    insta::assert_snapshot!("goals_focused_prompt", drive.shown());
    drive.answer(calls(&[(
        "run_program",
        json!({"path": "/hello.lua", "args": ["x"]}),
    )]));
    drive.run_to_consult();
    drive.bench.state.no_native_tools = true;
    say(&mut drive, &[mark(false)]);
    insta::assert_snapshot!("goals_replan_prompt", drive.shown());
}

#[test]
fn before_the_last_mark_stands_what_the_goal_says_and_what_the_last_run_printed() {
    let mut drive = drive();
    drive.bench.profile.demand_proof = true;
    let said = [
        TWO.into(),
        write("/hello.lua", "bye"),
        mark(true),
        run("/hello.lua"),
    ];
    say(&mut drive, &said);
    let prompt = drive.state().prompt(Role::Planner);
    insta::assert_snapshot!("goals_last_run", prompt.last().unwrap().content);
}
