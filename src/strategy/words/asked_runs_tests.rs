use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::Role;
use crate::strategy::bench::answer;
use crate::strategy::drive::{Drive, call, carry_out, profile_of};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn runs_program(call: &CallRecord) -> bool {
    call.tool == "run_program"
}

#[test]
fn who_writes_the_same_once_more_has_the_run_made_that_the_task_wants() {
    let mut drive = Drive::new(
        profile_of("direct"),
        "Write a program /report.lua that reads /sales.csv and writes /report.txt. Run it.",
    );
    let write = |content: &str| {
        call(
            "fs_write",
            json!({"path": "/report.lua", "content": content}),
        )
    };
    let runs = |drive: &Drive| {
        let calls = drive.state().calls();
        calls.filter(|call| call.tool == "run_program").count()
    };
    drive.say(&[&write("print(1)")]);
    assert_eq!(runs(&drive), 0);
    drive.say(&[&write("print(1)")]);
    assert_eq!(runs(&drive), 1, "{}", drive.shown());
    drive.say(&[&write("print(2)")]);
    assert_eq!(runs(&drive), 1);
}

#[test]
fn the_runs_of_a_task_are_those_that_its_words_speak_of() {
    for (prompt, runs) in [
        (
            "Mend /sum.lua: `/sum.lua 2 3 4` prints 9. Run it with 2 3 4.",
            vec!["/sum.lua 2 3 4"],
        ),
        (
            "/greet.lua fails when it is run without an argument. Mend it.",
            vec!["/greet.lua"],
        ),
        (
            "Make /a.txt. /check.lua says whether it is right: run it.",
            vec!["/check.lua"],
        ),
        ("Mend /a.lua and run it.", vec![]),
        ("Write /a.lua, then run /b.lua with 3 4.", vec![]),
        (
            "Write /a.lua and run it with 30. Then run /check.lua.",
            vec!["/a.lua 30", "/check.lua"],
        ),
    ] {
        assert_eq!(asked(prompt), runs, "{prompt}");
    }
}

#[test]
fn a_run_without_arguments_is_made_first_where_the_task_wants_it() {
    for (prompt, run) in [
        (
            "/count.lua does not start. Mend it and run it.",
            Some("/count.lua"),
        ),
        (
            "On mine /a.lua fails. Mend it, and run it there.",
            Some("/a.lua"),
        ),
        ("Mend /a.lua, and run it with 2 3.", None),
        (
            "/a.lua fails. Mend it and run /a.lua: it prints `ok`.",
            Some("/a.lua"),
        ),
        ("Mend /a.lua, then run /a.lua 3.", None),
        ("Mend /a.lua and /b.lua and run it.", None),
        (
            "Mend /a.lua. /check.lua says whether it is right: run it.",
            None,
        ),
        ("Mend /a.lua and run it both ways.", None),
    ] {
        assert_eq!(stated::bare_run(prompt), run, "{prompt}");
    }
}

const TASK: &str = "Mend /greet.lua, which fails when it is run without an argument.";

fn drive_of(strategy: &str, task: &str) -> Drive {
    let mut drive = Drive::new(profile_of(strategy), task);
    drive.bench.profile.demand_proof = true;
    drive
}

fn drive() -> Drive {
    drive_of("direct", TASK)
}

/// No rule runs anything in it.
fn careful() -> Drive {
    drive_of("direct", &format!("{TASK} Do not run it with an argument."))
}

fn write() -> String {
    call(
        "fs_write",
        json!({"path": "/greet.lua", "content": "print(1)"}),
    )
}

const END: &str = "FINAL ANSWER: mended";

#[test]
fn an_end_before_such_a_run_makes_it_and_shows_what_came_of_it() {
    let list = "1. Mend it.";
    let act = "Action: fs_write\nAction Input: {\"path\": \"/greet.lua\", \"content\": \"print(1)\"}\nItem done: 1";
    let block = "DIRECTIVE: WRITE_FILE\nPATH: /greet.lua\nCONTENT:\n```lua\nprint(1)\n```";
    let plan = json!({"goal": "mended", "steps": [
            {"id": 1, "action": "write_file", "target": "/greet.lua", "reason": "", "params": {"content": "print(1)"}},
            {"id": 2, "action": "run_test", "target": "/greet.lua you", "reason": "", "depends_on": [1]}]});
    let plan = plan.to_string();
    let subtask = json!({"description": "mend it", "tool": "fs_write", "targets": ["/greet.lua"]});
    let goals =
        json!({"objectives": [{"description": "mended", "subtasks": [subtask]}]}).to_string();
    for (strategy, said, end) in [
        ("direct", vec![write()], Some("FINAL ANSWER: mended")),
        (
            "directive",
            vec![block.to_owned()],
            Some("DIRECTIVE: DONE\nSUMMARY: mended"),
        ),
        (
            "numbered",
            vec![list.to_owned(), act.to_owned()],
            Some("Final Answer: mended"),
        ),
        (
            "goals",
            vec![goals, write()],
            Some(
                r#"{"tool": "mark_subtask_complete", "args": {"success": true, "reason": "mended"}}"#,
            ),
        ),
        ("plan", vec![plan], None),
    ] {
        let mut drive = drive_of(strategy, TASK);
        drive.bench.profile.executor_mends = 0;
        let said: Vec<&str> = said.iter().map(String::as_str).chain(end).collect();
        drive.say(&said);
        let last = drive.state().calls().next_back();
        let last = last.map(|call| (call.tool.as_str(), call.args.clone(), call.succeeded()));
        let run = ("run_program", json!({"path": "/greet.lua"}), true);
        assert_eq!(last, Some(run), "{strategy}: {}", drive.shown());
        if let Some(end) = end {
            assert!(drive.state().result.is_none(), "{strategy}");
            let shown = drive.shown();
            assert!(
                shown.contains("/greet.lua on base: "),
                "{strategy}: {shown}"
            );
            drive.say(&[end]);
        }
        assert!(
            drive.state().result.is_some(),
            "{strategy}: {}",
            drive.shown()
        );
    }
}

#[test]
fn no_run_is_made_so_before_a_change_nor_after_one_that_failed() {
    let mut drive = drive();
    drive.say(&[END]);
    assert_eq!(drive.state().calls().count(), 0);
    drive
        .files
        .insert("/greet.lua".into(), "error('no')".into());
    let fails = call(
        "fs_write",
        json!({"path": "/greet.lua", "content": "error('no')"}),
    );
    let other = json!({"path": "/greet.lua", "args": ["you"]});
    drive.bench.profile.executor_mends = 0;
    drive.say(&[&fails, &call("run_program", other)]);
    let made = drive.state().calls().count();
    drive.say(&[END]);
    assert_eq!(drive.state().calls().count(), made, "{}", drive.shown());
}

/// A computer that is lost while a program runs.
fn lost(files: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
    match call.tool.as_str() {
        "run_program" => CallReport::without_answer(Outcome::Unknown, "lost", "gone"),
        _ => carry_out(files, call),
    }
}

#[test]
fn an_end_is_no_reason_to_make_a_run_again_by_rule_whose_fate_nobody_knows() {
    let other = json!({"path": "/greet.lua", "args": ["you"]});
    for said in [
        vec![write()],
        vec![write(), call("run_program", json!({"path": "/greet.lua"}))],
        vec![write(), call("run_program", other)],
    ] {
        let runs = said.len() - 1;
        let mut drive = drive();
        drive.bench.profile.executor_mends = 0;
        let ends = [END; 4].map(str::to_owned);
        for text in said.iter().chain(&ends) {
            if !drive.run_to_consult_with(lost) {
                break;
            }
            drive.answer(answer(text));
        }
        let made = drive.state().calls().filter(|call| runs_program(call));
        assert!(made.count() <= runs.max(1), "{}", drive.shown());
    }
}

#[test]
fn only_a_check_is_run_more_than_once_by_rule_before_the_end() {
    for (task, program, by_rule) in [
        (
            "Write /log.txt. `/pay.lua 5` prints `paid`.",
            "pay 5",
            false,
        ),
        (
            "Write /log.txt. `/pay.lua 5` prints `paid`.",
            "/pay.lua 5",
            false,
        ),
        (
            "Write /log.txt. /check.lua says whether it is right: run it.",
            "/check.lua",
            true,
        ),
    ] {
        let mut drive = drive_of("direct", task);
        drive.bench.profile.executor_mends = 0;
        let path = program.split(' ').next().unwrap();
        drive.files.insert(path.into(), "print('paid')".into());
        let ran = match program.starts_with('/') {
            true => call("run_program", args_of(program)),
            false => call("shell_exec", json!({"command": program})),
        };
        let log = |text: &str| call("fs_write", json!({"path": "/log.txt", "content": text}));
        drive.say(&[&ran, &log("paid"), END]);
        let is_run = |call: &&CallRecord| runs_program(call) || call.tool == "shell_exec";
        let made = drive.state().calls().filter(is_run);
        assert_eq!(made.count(), 1 + usize::from(by_rule), "{}", drive.shown());
    }
}

#[test]
fn an_end_before_such_a_run_is_told_its_call_where_no_rule_may_make_it() {
    let mut drive = careful();
    let other = json!({"path": "/greet.lua", "args": ["you"]});
    drive.say(&[&write(), &call("run_program", other), END]);
    let told = "the task speaks of `/greet.lua`, which did not run since the last change: make this run first\n\
                    {\"tool\": \"run_program\", \"args\": {\"path\":\"/greet.lua\"}}";
    assert!(drive.shown().contains(told), "{}", drive.shown());
    assert!(drive.bench.state.result.is_none());
    let run = call("run_program", json!({"path": "greet.lua"}));
    drive.say(&[&run, END]);
    assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
}

#[test]
fn who_runs_its_program_again_with_other_arguments_has_the_run_made_that_the_task_speaks_of() {
    let mut drive = drive();
    let other = call(
        "run_program",
        json!({"path": "/greet.lua", "args": ["you"]}),
    );
    let made = |drive: &Drive| {
        drive
            .state()
            .calls()
            .filter(|call| runs_program(call))
            .count()
    };
    drive.say(&[&write(), &other]);
    assert_eq!(made(&drive), 1);
    drive.say(&[&other]);
    let newest = drive.state().calls().next_back().unwrap();
    assert!(newest.args.get("args").is_none(), "{newest:?}");
    assert_eq!(made(&drive), 3);
}

#[test]
fn the_end_of_the_prompt_shows_such_a_run_once_something_was_changed() {
    let told = "The task speaks of this run, and it was not made since the last change:\n{\"tool\": \"run_program\", \"args\": {\"path\":\"/greet.lua\"}}";
    let mut drive = drive();
    drive.say(&[&call("fs_list", json!({}))]);
    assert!(!drive.shown().contains(told), "{}", drive.shown());
    drive.say(&[&write()]);
    let prompt = drive.state().prompt(Role::Planner);
    insta::assert_snapshot!("run_to_make", prompt.last().unwrap().content);
    assert!(drive.shown().contains(told), "{}", drive.shown());
    drive.say(&[&call("run_program", json!({"path": "/greet.lua"}))]);
    assert!(!drive.shown().contains(told), "{}", drive.shown());
}

#[test]
fn who_ends_it_three_times_is_believed() {
    let mut drive = careful();
    let other = json!({"path": "/greet.lua", "args": ["you"]});
    drive.say(&[&write(), &call("run_program", other), END, END]);
    assert!(drive.bench.state.result.is_none());
    drive.say(&[END]);
    assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
}

#[test]
fn an_end_before_any_run_is_told_the_call_of_the_run_that_the_task_speaks_of() {
    let mut drive = careful();
    drive.say(&[&write(), END]);
    let told = "run your tests first, for example\n{\"tool\": \"run_program\", \"args\": {\"path\":\"/greet.lua\"}}";
    assert!(drive.shown().contains(told), "{}", drive.shown());
}

proptest! {
    #[test]
    fn any_words_are_read_without_a_panic(text in "(`|/a.lua|/check.lua| run | without an argument| it shall print |\\PC){0,30}") {
        let _ = asked(&text);
    }
}

#[test]
fn a_program_that_is_not_there_is_to_be_written_before_its_run_is() {
    let task = "Create /m.lua with a function, and a test program /test.lua that checks it and prints `all passed` at its end. Run \
                the tests.";
    let mut drive = drive_of("direct", task);
    let run = call("run_program", json!({"path": "/test.lua"}));
    let write =
        |path: &str, content: &str| call("fs_write", json!({"path": path, "content": content}));
    let missing = |files: &mut BTreeMap<String, String>, call: &CallRecord| {
        let is_missing = runs_program(call) && !files.contains_key("/test.lua");
        match is_missing {
            true => crate::strategy::drive::done(
                json!({"success": false, "output": "", "error": "/test.lua: no such program"}),
            ),
            false => carry_out(files, call),
        }
    };
    drive.say_with(&[&run, &write("/m.lua", "return {}")], missing);
    let told = "The task speaks of /test.lua, and there is no such program yet";
    assert!(drive.shown().contains(told), "{}", drive.shown());
    drive.say_with(
        &[&write("/test.lua", "local m = dofile('/m.lua')")],
        missing,
    );
    assert!(!drive.shown().contains(told), "{}", drive.shown());
}
