//! When the content of a file is asked for alone, and when it is written by rule.

use super::*;
use crate::domain::chat::Role;
use crate::domain::event::TaskEvent;
use crate::strategy::bench::answer;
use crate::strategy::drive::{Drive, carry_out, done, profile_of, profile_with_asides};
use crate::strategy::guards::misplaced_program::told_of;
use proptest::prelude::*;
use serde_json::Value;

/// It is not asked about before any planner: it tells of a condition.
const TASK: &str = "Write the sum of the numbers in /a.txt to /sum.txt, when you know it.";

fn drive() -> Drive {
    let mut drive = Drive::new(profile_with_asides("direct"), TASK);
    drive.files.insert("/a.txt".into(), "2\n3\n".into());
    drive
}

fn write(content: &str) -> String {
    let args: Value = json!({"path": "/sum.txt", "content": content});
    json!({"tool": "fs_write", "args": args}).to_string()
}

const PROGRAM: &str = "local a = fs.open(\"/a.txt\", \"r\")\nprint(a.readLine() + 1)";

fn asked(drive: &Drive) -> Role {
    match drive.decisions.last() {
        Some(Decision::Consult(consult)) => consult.role,
        other => panic!("nobody is asked: {other:?}"),
    }
}

#[test]
fn a_program_in_the_place_of_a_result_has_that_asked_for_in_a_prompt_of_its_own() {
    let mut drive = drive();
    drive.say(&[&write(PROGRAM)]);
    assert_eq!(asked(&drive), Role::Executor);
    let messages = drive.state().prompt(Role::Executor).iter();
    let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
    insta::assert_snapshot!("filling", texts.join("\n=====\n"));
    drive.say(&["```\n5\n```"]);
    assert_eq!(asked(&drive), Role::Planner);
    assert_eq!(drive.files["/sum.txt"], "5\n");
    let told = "It was written from what is known, and holds now:\n```\n5\n```";
    assert!(drive.shown().contains(told), "{}", drive.shown());
}

#[test]
fn a_file_for_want_of_which_a_check_fails_is_asked_for_if_it_is_to_be_written() {
    let run = json!({"tool": "run_program", "args": {"path": "/check.lua"}}).to_string();
    let moves = json!({"name": "fs_move", "effect": "effect", "description": "Move a file.", "args_schema": {"type": "object"}});
    let failing = |task: &str| {
        let mut drive = drive();
        drive.add_tools(vec![serde_json::from_value(moves.clone()).unwrap()]);
        if let Some(created) = &mut drive.bench.state.created {
            created.prompt = format!("{task} /check.lua says whether it is right: run it.");
        }
        let error = "/check.lua:1: there is no /sum.txt";
        drive.say_with(&[&run], |files, call| match call.tool.as_str() {
            "run_program" => done(json!({"success": false, "output": "", "error": error})),
            _ => carry_out(files, call),
        });
        drive
    };
    let mut written = failing(TASK);
    assert_eq!(asked(&written), Role::Executor);
    written.say(&["```\n5\n```"]);
    assert_eq!(written.files["/sum.txt"], "5\n");
    let moved = failing("Move /a.txt to /sum.txt, and write nothing.");
    assert_eq!(asked(&moved), Role::Planner);
}

#[test]
fn a_file_that_is_to_be_made_of_what_is_known_is_asked_for_once_its_model_is_lost() {
    let mut lost = drive();
    if let Some(created) = &mut lost.bench.state.created {
        created.prompt = "Make /sum.txt a copy of /a.txt in which 3 is 4, when you can.".into();
    }
    let none = json!({"tool": "tool_test", "args": {}}).to_string();
    lost.say(&[&none]);
    assert_eq!(asked(&lost), Role::Executor);
    lost.say(&["```\n2\n4\n```"]);
    assert_eq!(lost.files["/sum.txt"], "2\n4\n");
}

#[test]
fn who_reads_again_what_was_shown_is_lost_too_and_it_is_shown_once() {
    let mut lost = drive();
    let read = json!({"tool": "fs_read", "args": {"path": "/a.txt"}}).to_string();
    lost.say(&[&read]);
    assert_eq!(asked(&lost), Role::Executor);
    let messages = lost.state().prompt(Role::Executor).iter();
    let known: String = messages.map(|message| message.content.as_str()).collect();
    assert_eq!(known.matches("2\n3").count(), 1, "{known}");
    // A check that names no file is about the one that was written, and that is asked for once more.
    if let Some(created) = &mut lost.bench.state.created {
        created.prompt = format!("{TASK} /check.lua says whether it is right: run it.");
    }
    lost.say_with(&["```\n6\n```"], |files, call| match call.tool.as_str() {
        "run_program" => {
            let error = "/check.lua:4: that is not the sum: 6";
            done(json!({"success": false, "output": "", "error": error}))
        }
        _ => carry_out(files, call),
    });
    assert_eq!(asked(&lost), Role::Executor);
    let messages = lost.state().prompt(Role::Executor).iter();
    let known: String = messages.map(|message| message.content.as_str()).collect();
    assert!(known.contains("that is not the sum: 6"), "{known}");
}

#[test]
fn the_file_of_a_result_is_asked_for_once_the_named_tools_have_answered_and_the_model_is_lost() {
    let task = "Ask stock_count how many torches there are, and write the number to /torches.txt.";
    let mut lost = drive();
    let count = json!({"name": "stock_count", "effect": "effect", "description": "Counts.", "args_schema": {"type": "object"}});
    lost.add_tools(vec![serde_json::from_value(count).unwrap()]);
    if let Some(created) = &mut lost.bench.state.created {
        created.prompt = task.into();
    }
    let ask = json!({"tool": "stock_count", "args": {}}).to_string();
    let none = json!({"tool": "tool_test", "args": {}}).to_string();
    let counts = |files: &mut _, call: &CallRecord| match &call.tool[..] {
        "stock_count" => done(json!({"count": 64})),
        _ => carry_out(files, call),
    };
    lost.say_with(&[&none, &ask], counts);
    assert_eq!(asked(&lost), Role::Planner, "it may know what comes next");
    lost.say_with(&[&none], counts);
    assert_eq!(asked(&lost), Role::Executor);
    let messages = lost.state().prompt(Role::Executor).iter();
    let known: String = messages.map(|message| message.content.as_str()).collect();
    assert!(known.contains("{\"count\":64}"), "{known}");
    lost.say_with(&["```\n64\n```", &none], counts);
    assert_eq!(lost.files["/torches.txt"], "64\n");
    assert_eq!(asked(&lost), Role::Planner);
}

#[test]
fn what_somebody_answered_is_known_and_its_file_asked_for_before_anything_else() {
    let task = "Ask the person which colour the door shall have. Write the answer (one word, nothing else) to /colour.txt. /check.lua says whether it is right: run it at the end.";
    let mut profile = profile_of("direct");
    profile.executor_mends = 6;
    let mut drive = Drive::new(profile, task);
    let check = "print('all is right')";
    drive.files.insert("/check.lua".into(), check.into());
    let Some(Decision::Ask { question, .. }) = drive.decide() else {
        panic!("nobody is asked")
    };
    drive.bench.push(TaskEvent::QuestionAnswered {
        question_id: question.question_id,
        answer: "a dark green".into(),
        by: "Ada".into(),
        authenticated: true,
    });
    assert!(drive.run_to_consult());
    assert_eq!(asked(&drive), Role::Executor);
    let prompt = drive.state().prompt(Role::Executor).last().unwrap();
    insta::assert_snapshot!("filling_of_an_answer", prompt.content);
    // Nothing else is to be done, so an answer that is refused is asked for once more, three times.
    for _ in 0..3 {
        drive.say(&["MISSING: the colour"]);
        assert_eq!(asked(&drive), Role::Executor);
    }
    drive.say(&["MISSING: the colour"]);
    assert_eq!(asked(&drive), Role::Planner);
}

#[test]
fn what_the_task_says_word_for_word_is_written_without_a_model_once_its_tool_has_answered() {
    let task = "Open the door with door_set. Then write the one line `is open` to /door.txt.";
    let run = json!({"tool": "run_program", "args": {"path": "/check.lua"}}).to_string();
    let set = json!({"tool": "door_set", "args": {}}).to_string();
    let checked = |before: &[&str]| {
        let mut drive = drive();
        let tool = json!({"name": "door_set", "effect": "effect", "description": "Opens.", "args_schema": {"type": "object"}});
        drive.add_tools(vec![serde_json::from_value(tool).unwrap()]);
        if let Some(created) = &mut drive.bench.state.created {
            created.prompt = format!("{task} /check.lua says whether it is right: run it.");
        }
        drive.say_with(
            &[before, &[run.as_str()]].concat(),
            |files, call| match &call.tool[..] {
                "door_set" => done(json!({"open": true})),
                "run_program" if files.contains_key("/door.txt") => {
                    done(json!({"success": true, "output": "well done"}))
                }
                "run_program" => {
                    let error = "/check.lua:1: there is no /door.txt";
                    done(json!({"success": false, "output": "", "error": error}))
                }
                _ => carry_out(files, call),
            },
        );
        drive
    };
    let told = checked(&[&set]);
    assert_eq!(told.files["/door.txt"], "is open\n");
    assert_eq!(asked(&told), Role::Planner);
    assert_eq!(told.state().usage.executor_model_calls, 0);
    assert!(told.shown().contains("well done"), "{}", told.shown());
    let early = checked(&[]);
    assert!(!early.files.contains_key("/door.txt"), "{}", early.shown());
    assert_eq!(asked(&early), Role::Planner);
}

#[test]
fn a_file_that_was_renamed_and_is_missed_is_written_anew_with_what_the_task_says() {
    let mut drive = drive();
    let shell = json!({"name": "shell_exec", "effect": "effect", "description": "Runs.", "args_schema": {"type": "object"}});
    drive.add_tools(vec![serde_json::from_value(shell).unwrap()]);
    drive.files.insert("/notes.txt".into(), "old".into());
    if let Some(created) = &mut drive.bench.state.created {
        created.prompt = "Rename /notes.txt to /notes.old with the shell, and make a new /notes.txt that holds the one line \
                          `fresh`. /check.lua says whether it is right: run it."
            .into();
    }
    let shell = json!({"tool": "shell_exec", "args": {"command": "move /notes.txt /notes.old"}});
    let run = json!({"tool": "run_program", "args": {"path": "/check.lua"}});
    drive.say_with(
        &[&shell.to_string(), &run.to_string()],
        |files, call| match &call.tool[..] {
            "shell_exec" => {
                let old = files.remove("/notes.txt").unwrap();
                files.insert("/notes.old".into(), old);
                done(json!({"success": true, "output": ""}))
            }
            "run_program" => {
                let error = "/check.lua:2: there is no /notes.txt";
                done(json!({"success": false, "output": "", "error": error}))
            }
            _ => carry_out(files, call),
        },
    );
    assert_eq!(drive.files["/notes.txt"], "fresh\n", "{}", drive.shown());
    assert_eq!(drive.files["/notes.old"], "old");
}

#[test]
fn what_is_not_known_yet_is_told_and_each_file_is_asked_for_once() {
    let mut drive = drive();
    drive.say(&[&write(PROGRAM), "MISSING: what /a.txt holds"]);
    assert_eq!(asked(&drive), Role::Planner);
    assert!(!drive.files.contains_key("/sum.txt"));
    let told = "what the file has to hold: it is not known yet: find it out first";
    assert!(drive.shown().contains(told), "{}", drive.shown());
    drive.say(&[&write(PROGRAM)]);
    assert_eq!(asked(&drive), Role::Planner, "asked once");
}

#[test]
fn nobody_is_asked_where_it_is_switched_off_or_the_task_does_not_tell_of_the_file() {
    let mut off = drive();
    off.bench.profile.executor_mends = 0;
    off.say(&[&write(PROGRAM)]);
    assert_eq!(asked(&off), Role::Planner);
    let mut elsewhere = drive();
    elsewhere.add_computer("mine");
    if let Some(created) = &mut elsewhere.bench.state.created {
        created.prompt = "Each of base and mine has a file /sum.txt.".into();
    }
    elsewhere.say(&[&write(PROGRAM)]);
    assert_eq!(asked(&elsewhere), Role::Planner);
    let mut unnamed = drive();
    if let Some(created) = &mut unnamed.bench.state.created {
        created.prompt = "Write down the sum of the numbers in /a.txt.".into();
    }
    unnamed.say(&[&write(PROGRAM)]);
    assert_eq!(asked(&unnamed), Role::Planner);
}

#[test]
fn of_a_calculation_its_result_is_written_where_a_number_is_wanted() {
    let sum = "Write their sum to /sum.txt.";
    for (prompt, said, content) in [
        (sum, "64 + 70 + 12 = 145\n", "146\n"),
        (sum, "(2 + 4) / 2 = 3", "3\n"),
        (sum, "146\n", "146\n"),
        (sum, "side=12\n", "side=12\n"),
        (sum, "1=1\n", "1=1\n"),
        ("Write the line to /line.txt.", "1 + 1 = 2\n", "1 + 1 = 2\n"),
        (
            "Write the number 1 + 1 = 2 to /n.txt.",
            "1 + 1 = 2\n",
            "1 + 1 = 2\n",
        ),
    ] {
        assert_eq!(worked_out(said, prompt, false), content, "{prompt} {said}");
    }
    // A date is none, unless a calculation was asked for.
    assert_eq!(worked_out("2026-11-28\n", sum, false), "2026-11-28\n");
    assert_eq!(worked_out("64 + 70 + 12\n", sum, true), "146\n");
    assert_eq!(worked_out("146\n", sum, true), "146\n");
}

#[test]
fn the_numbers_that_are_known_are_told_who_is_asked_for_their_sum() {
    let task =
        "Write the sum of the numbers in /a.txt and /b.txt to /sum.txt. Run /check.lua at the end.";
    let told = |a: &str| {
        let mut drive = Drive::new(profile_with_asides("direct"), task);
        drive.files.insert("/a.txt".into(), a.into());
        drive.files.insert("/b.txt".into(), "70".into());
        assert!(drive.run_to_consult());
        let prompt = drive.state().prompt(Role::Executor);
        prompt.last().unwrap().content.clone()
    };
    assert!(told("64\n").contains("with the numbers above (64, 70) and"));
    assert!(told("64\n12\n").contains("with the numbers above and"));
}

#[test]
fn a_number_that_is_made_of_others_is_asked_for_as_a_calculation() {
    for (task, calculated) in [
        (TASK, true),
        (
            "Read /a.txt. Write their sum (nothing else) to /total.txt.",
            true,
        ),
        ("Copy the number in /a.txt to /sum.txt.", false),
        ("/a.txt names a sum. Write that number to /n.txt.", false),
    ] {
        let path = from_root(task.split(" to ").nth(1).unwrap().trim_end_matches('.'));
        assert_eq!(is_calculated(task, &path), calculated, "{task}");
    }
}

#[test]
fn a_fence_or_a_single_line_is_a_content() {
    for (said, content) in [
        ("```json\n{\"a\": 1}\n```", Some("{\"a\": 1}\n")),
        ("8128", Some("8128\n")),
        ("torches 16\nfuel 500", Some("torches 16\nfuel 500\n")),
        ("MISSING: the heights", None),
        ("**Missing:** the heights\n```\n0\n```", None),
        ("It holds\nthe sum", None),
        ("They are right as they are.", None),
        ("is open.", Some("is open.\n")),
        ("", None),
    ] {
        assert_eq!(read(&answer(said)).as_deref(), content, "{said}");
    }
    let mut cut = answer("81");
    cut.stop = StopReason::Length;
    assert_eq!(read(&cut), None);
}

proptest! {
    #[test]
    fn any_answer_is_read_without_a_panic(text in "(```|MISSING|\n| would hold the text of a program|/a.txt|\\PC){0,30}") {
        let _ = read(&answer(&text));
        let _ = told_of(&text);
    }
}

#[test]
fn the_word_with_which_a_line_begins_is_left_out_where_nothing_else_is_wanted() {
    let task = "/audit.lua prints some lines. One of them begins with BROKEN and names a sensor. Write its name (nothing else) to /a.txt.";
    for (content, prompt, written) in [
        ("BROKEN sensor-k7\n", task, "sensor-k7\n"),
        ("BROKEN: sensor-k7", task, "sensor-k7\n"),
        ("sensor-k7\n", task, "sensor-k7\n"),
        ("BROKEN\n", task, "BROKEN\n"),
        ("BROKENsensor\n", task, "BROKENsensor\n"),
        ("BROKEN a\nBROKEN b\n", task, "BROKEN a\nBROKEN b\n"),
        (
            "BROKEN a\n",
            "One of them begins with BROKEN. Write it to /a.txt.",
            "BROKEN a\n",
        ),
        (
            "BROKEN a\n",
            "One of them begins with the word `BROKEN`. Write its name (nothing else).",
            "a\n",
        ),
        (
            "a gate\n",
            "Its text begins with a vowel. Write it (nothing else) to /a.txt.",
            "a gate\n",
        ),
    ] {
        assert_eq!(without_label(content, prompt), written, "{content}");
    }
}
