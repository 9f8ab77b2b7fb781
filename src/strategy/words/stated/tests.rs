//! What is read as a statement about a run, and what an end after another output is told.

use super::*;
use crate::strategy::drive::{Drive, profile_of};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn what_does_not_hold_yet_or_shall_be_is_wanted() {
    for (text, wanted) in [
        ("It shall print the sum: `/sum.lua 2 3` prints 5", true),
        ("`/sum.lua 2 3` prints 5. It does not. Mend it", true),
        ("`/sum.lua 2 3` prints 5. Mend it", false),
        (
            "It should be faster. `/sum.lua 2 3` prints 5. Mend it",
            false,
        ),
        ("It is broken: `/sum.lua 2 3` prints 5", false),
        (
            "There must be a bug in what it shall print: `/sum.lua 2 3` prints 5",
            false,
        ),
        ("`/sum.lua 2 3` prints 5. It does not add them", false),
        ("`/sum.lua 2 3` prints 5. It does not yet.", true),
    ] {
        let found = stated(text);
        assert_eq!(
            found.first().map(|one| (one.wanted, one.plain)),
            Some((wanted, true)),
            "{text}"
        );
    }
}

#[test]
fn what_the_only_program_of_a_task_is_said_to_print_is_stated_of_its_bare_run() {
    for (text, found, plain) in [
        (
            "On `mine` /drill.lua fails. Mend it there: it shall print `drill ready`. Run it there.",
            Some(("/drill.lua", "drill ready", true)),
            true,
        ),
        (
            "/pump.lua lacks a file. Put it there and run /pump.lua: it prints `pump runs`.",
            Some(("/pump.lua", "pump runs", false)),
            true,
        ),
        (
            "Write a program, /hello.lua, that prints `Hello!`, and run it.",
            Some(("/hello.lua", "Hello!", false)),
            false,
        ),
        (
            "Mend /a.lua and run it: if all is well it prints `ok`.",
            Some(("/a.lua", "ok", false)),
            false,
        ),
        (
            "Mend /a.lua, and run it with 3: it prints `9`.",
            None,
            false,
        ),
        ("Mend /a.lua: today it prints `9`. Run it.", None, false),
        (
            "Mend /a.lua and /b.lua and run it: it prints `9`.",
            None,
            false,
        ),
        ("/a.lua loads what prints `9`. Run it.", None, false),
    ] {
        let stated = stated(text);
        let one = stated.first();
        assert_eq!(
            one.map(|one| (one.run, one.text, one.wanted)),
            found,
            "{text}"
        );
        assert_eq!(one.is_some_and(|one| one.plain), plain, "{text}");
    }
}

#[test]
fn what_a_run_without_arguments_shall_print_is_stated_of_the_only_program() {
    for (text, stated_text, plain) in [
        (
            "/greet.lua fails when it is run without an argument. It shall then print `Hello, friend!`, and with a name `Hello, NAME!`.",
            Some("Hello, friend!"),
            true,
        ),
        (
            "Write /a.lua. Run with no arguments it prints \"usage\".",
            Some("usage"),
            false,
        ),
        (
            "/a.lua, run without arguments, prints `x`, but should print `y`.",
            None,
            false,
        ),
        (
            "/a.lua and /b.lua fail without an argument. They shall then print `x`.",
            None,
            false,
        ),
        (
            "Mend /a.lua, which fails without arguments. Read the notes. It shall print `x`.",
            None,
            false,
        ),
    ] {
        let found = stated(text);
        let found = found.first().map(|s| (s.run, s.text, s.plain));
        let wanted = stated_text.map(|text| (found.map_or("", |found| found.0), text, plain));
        assert_eq!(found, wanted, "{text}");
        assert!(found.is_none_or(|found| found.0.starts_with('/')), "{text}");
    }
}

#[test]
fn a_statement_names_a_whole_command_and_the_very_output() {
    let of = |text| {
        let found = stated(text);
        found
            .into_iter()
            .map(|s| (s.run.to_owned(), s.text.to_owned()))
            .collect::<Vec<_>>()
    };
    for (text, run, output) in [
        (
            "It shall print the sum: `/sum.lua 2 3 4` prints 9. It does not.",
            "/sum.lua 2 3 4",
            "9",
        ),
        (
            "prints a wrong area: `/area.lua 3 4` shall print 12. The fault",
            "/area.lua 3 4",
            "12",
        ),
        ("`/half.lua` should print 0.5, no more", "/half.lua", "0.5"),
        (
            "`/hello.lua` must print `Hello, World!`.",
            "/hello.lua",
            "Hello, World!",
        ),
        (
            "`/hello.lua` prints \"hello\" at its end",
            "/hello.lua",
            "hello",
        ),
    ] {
        assert_eq!(of(text), [(run.to_owned(), output.to_owned())], "{text}");
    }
    for text in [
        "`/wc.lua FILE` prints the number of lines",
        "`/wc.lua FILE` prints `LINES WORDS`",
        "`/wc.lua a.txt` prints `LINES WORDS`",
        "`/rps.lua rock` (each) prints exactly `win`",
        "`sum 2 3` prints 5",
        "`/sum.lua 2 3` prints 23 instead of 5",
        "`/sum.lua 2 3` prints 23, but should not",
        "Currently `/sum.lua 2 3` prints 23.",
        "`/sum.lua",
        "",
    ] {
        assert_eq!(of(text), [], "{text}");
    }
}

#[test]
fn what_is_said_under_a_condition_is_not_plain() {
    let plain = |text| stated(text).iter().map(|s| s.plain).collect::<Vec<_>>();
    for text in [
        "Mend it: `/sum.lua 2 3` prints 5.",
        "`/sum.lua 2 3` shall print 5",
        "Write it (`/sum.lua 2 3` shall print 5). It may fail if there is no file.",
        "`/a.lua` must print `Hello, World!`.\nUse print.",
    ] {
        assert_eq!(plain(text), [true], "{text}");
    }
    for text in [
        "`/visits.lua` shall print 1 on the first run.",
        "`/visits.lua` shall print 1. The next run prints more.",
        "If there is no file `/a.txt`, `/a.lua` shall print 0.",
        "`/a.lua` shall print 0 when nothing is there.",
        "`/a.lua` shall print 3, 4 and 5.",
        "`/a.lua` shall print 3 blocks.",
        "`/a.lua` then prints 3.",
    ] {
        assert_eq!(plain(text), [false], "{text}");
    }
    let two = "`/a.lua` shall print 1. Behind the wall `/a.lua` shall print 2. `/b.lua` prints 3. `/b.lua` shall print 4.";
    assert_eq!(
        stated(two).iter().map(|s| s.run).collect::<Vec<_>>(),
        ["/b.lua"]
    );
}

#[test]
fn a_run_since_the_last_change_that_printed_it_is_enough() {
    let prompt = "Write /n.lua: `/n.lua` shall print 1.";
    let mut drive = Drive::new(profile_of("direct"), prompt);
    let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
    let write = |content: &str| call("fs_write", json!({"path": "/n.lua", "content": content}));
    let run = call("run_program", json!({"path": "/n.lua"}));
    drive.say(&[&write("print(1)"), &run]);
    // It prints something else now, and nothing that this task did is why.
    drive.files.insert("/n.lua".into(), "print(2)".into());
    drive.say(&[&run, "FINAL ANSWER: done"]);
    assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
}

#[test]
fn an_end_after_another_output_is_told_once_of_each() {
    let mut drive = Drive::new(
        profile_of("direct"),
        "Mend /sum.lua: `/sum.lua 2 3` prints 5.",
    );
    let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
    let write = |content: &str| call("fs_write", json!({"path": "/sum.lua", "content": content}));
    let run = call(
        "run_program",
        json!({"path": "/sum.lua", "args": ["2", "3"]}),
    );
    drive.say(&[&write("print(23)"), &run, "FINAL ANSWER: mended"]);
    let told = drive.shown();
    assert!(
        told.contains("the task says that `/sum.lua 2 3` prints 5, and its last run printed"),
        "{told}"
    );
    assert!(drive.bench.state.result.is_none());
    // It stands at the end of each prompt from the run on.
    assert!(told.contains("/sum.lua 2 3 FAILED"), "{told}");
    drive.say(&["FINAL ANSWER: mended"]);
    assert!(drive.bench.state.result.is_some());
}

#[test]
fn a_plan_that_says_the_same_again_is_believed_where_the_words_may_be_meant_otherwise() {
    let prompt = "Look at /sum.lua: `/sum.lua 2 3` prints 5.";
    let mut drive = Drive::new(profile_of("plan"), prompt);
    let write = json!({"id": 1, "action": "write_file", "target": "/sum.lua", "params": {"content": "print(23)"}});
    let run = json!({"id": 2, "action": "run_program", "target": "/sum.lua", "params": {"args": ["2", "3"]}, "depends_on": [1]});
    let plan = |steps: Value| json!({"goal": "it runs", "steps": steps}).to_string();
    drive.say(&[&plan(json!([write, run]))]);
    let told = drive.shown();
    assert!(
        told.contains("prints 5, and its last run printed"),
        "{told}"
    );
    let mut again = run.clone();
    again["id"] = json!(1);
    again["depends_on"] = json!([]);
    drive.say(&[&plan(json!([again]))]);
    assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
}

#[test]
fn an_end_after_an_output_that_is_certainly_wrong_is_never_taken() {
    let run = json!({"tool": "run_program", "args": {"path": "/sum.lua", "args": ["2", "3"]}});
    let (run, end) = (run.to_string(), "FINAL ANSWER: mended");
    for prompt in [
        "Mend /sum.lua: `/sum.lua 2 3` prints 5.",
        "Mend /sum.lua: `/sum.lua 2 3` shall print 5.",
    ] {
        let mut drive = Drive::new(profile_of("direct"), prompt);
        drive.files.insert("/sum.lua".into(), "print(23)".into());
        drive.say(&[&run, end, end, end]);
        assert!(drive.bench.state.result.is_none(), "{prompt}");
        assert!(drive.shown().contains("/sum.lua 2 3 FAILED"), "{prompt}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "(`|\"|prints|shall print|/a.lua| |[0-9.]{1,3}|\\PC){0,40}") {
        let _ = stated(&text);
    }
}

#[test]
fn a_file_that_was_read_did_not_run() {
    let mut drive = Drive::new(
        profile_of("direct"),
        "/greet.lua fails without an argument. It shall then print `Hello, friend!`. Mend it.",
    );
    drive.files.insert("/greet.lua".into(), "error".into());
    drive.say(&[&json!({"tool": "fs_read", "args": {"path": "/greet.lua"}}).to_string()]);
    assert!(!drive.shown().contains("its last run"), "{}", drive.shown());
}

#[test]
fn a_text_stands_in_an_output_as_a_whole() {
    for (output, text, stands) in [
        ("9", "9", true),
        ("sum: 9.", "9", true),
        ("19", "9", false),
        ("9.5", "9", false),
        ("Hello, friend!!", "Hello, friend!", false),
        ("Hello, friend!\nHello, friend!!", "Hello, friend!", true),
        ("drill ready", "drill ready", true),
        ("drill readyish", "drill ready", false),
        ("(all)", "all", true),
    ] {
        assert_eq!(stands_in(output, text), stands, "{output} / {text}");
    }
}
