//! When a program is asked for alone, what that prompt says, and which answers are taken.

use super::*;
use crate::domain::chat::Role;
use crate::strategy::bench::shown;
use crate::strategy::drive::{Drive, call, profile_of, profile_with_asides};

const TASK: &str = "Write /primes.lua, which writes all prime numbers up to its argument to /primes.txt. Run it with 30.";

fn drive(task: &str) -> Drive {
    let mut profile = profile_of("direct");
    profile.executor_mends = 6;
    Drive::new(profile, task)
}

#[test]
fn a_program_that_a_run_did_not_find_is_asked_for_alone_and_runs_as_the_task_says() {
    let mut drive = drive(TASK);
    drive.say(&[&call("run_program", json!({"path": "/primes.lua"}))]);
    let prompt = drive.state().prompt(Role::Executor);
    insta::assert_snapshot!("new_program", shown(prompt));
    drive.say(&["Here it is:\n```lua\nmissing = 2\n```\n"]);
    assert_eq!(drive.files["/primes.lua"], "missing = 2\n");
    let mut calls = drive.state().calls().rev();
    let ran = calls.find(|call| call.tool == "run_program");
    assert_eq!(
        ran.map(|call| call.args.clone()),
        Some(json!({"path": "/primes.lua", "args": ["30"]})),
        "{}",
        drive.shown()
    );
}

#[test]
fn who_writes_the_file_of_a_program_by_hand_is_asked_for_the_program() {
    let mut drive = drive(TASK);
    let by_hand = json!({"path": "/primes.txt", "content": "4\n"});
    drive.say(&[&call("fs_write", by_hand), "```lua\nprint(2)\n```"]);
    assert_eq!(drive.files["/primes.lua"], "print(2)\n");
    assert!(!drive.files.contains_key("/primes.txt"));
}

/// The program of which the executor was asked last.
fn asked_alone(drive: &Drive) -> bool {
    let prompt = drive.state().prompt(Role::Executor).last();
    prompt.is_some_and(|asked| asked.content.contains("There is no /primes.lua yet."))
}

#[test]
fn a_check_that_misses_its_file_is_told_by_the_program() {
    let mut drive = drive(&format!("{TASK} Then run /check.lua."));
    let check = "error('/check.lua:1: there is no /primes.txt')";
    drive.files.insert("/check.lua".into(), check.into());
    drive.say(&[&call("run_program", json!({"path": "/check.lua"}))]);
    assert!(asked_alone(&drive), "{}", drive.shown());
}

#[test]
fn an_item_that_writes_it_needs_no_turn_and_is_left_once_it_is_written() {
    let list = "1. fs_write /primes.lua\n2. run_program /primes.lua 30\n3. look at the result";
    let mut numbered = drive(TASK);
    numbered.bench.profile.strategy = "numbered".into();
    numbered.bench.profile.strategy_version = crate::strategy::numbered::VERSION;
    let prompts = crate::prompts::PromptLibrary::embedded().unwrap();
    numbered.bench.profile.prompts = prompts.texts("numbered");
    numbered.say(&[list]);
    assert!(asked_alone(&numbered), "{}", numbered.shown());
    numbered.say(&["```lua\nprint(2)\n```"]);
    let shown = numbered.shown();
    assert!(
        shown.contains("1. [done]") && shown.contains("3. [now]"),
        "{shown}"
    );
    assert_eq!(numbered.state().usage.model_calls, 2);
}

/// A task of which nothing was done yet, with a file.
fn begun(strategy: &str, task: &str) -> Drive {
    let mut drive = Drive::new(profile_with_asides(strategy), task);
    drive.files.insert("/poem.txt".into(), "the moon\n".into());
    assert!(drive.run_to_consult());
    drive
}

#[test]
fn a_program_that_is_not_there_is_asked_for_before_any_planner() {
    let task = "Write /wc.lua: `/wc.lua FILE` prints the number of lines of that file. Run it on /poem.txt.";
    for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
        let mut drive = begun(strategy, task);
        let asked = shown(drive.state().prompt(Role::Executor));
        if strategy == "direct" {
            insta::assert_snapshot!("first_program", asked);
        }
        assert!(
            asked.contains("There is no /wc.lua yet."),
            "{strategy}: {asked}"
        );
        drive.say(&["```lua\nprint(1)\n```"]);
        let ran = drive.state().calls().last().map(|call| call.args.clone());
        let run = json!({"path": "/wc.lua", "args": ["/poem.txt"]});
        assert_eq!(ran, Some(run), "{strategy}");
    }
}

#[test]
fn who_writes_a_program_is_told_how_a_line_of_its_file_is_taken_apart() {
    let task = "Write /thanks.lua. It goes through /gifts.txt and prints every name once.";
    let mut drive = Drive::new(profile_with_asides("plan"), task);
    let gifts = "Moss 10\nQuill 5\nMoss 15\n";
    drive.files.insert("/gifts.txt".into(), gifts.into());
    assert!(drive.run_to_consult());
    let asked = shown(drive.state().prompt(Role::Executor));
    insta::assert_snapshot!("program_over_lines", asked);
}

#[test]
fn json_in_the_place_of_a_program_is_not_written() {
    let mut drive = begun("direct", "Write /a.lua and run it.");
    let unclear = "{\"kind\": \"unclear\", \"missing\": \"what it shall do\"}";
    drive.say(&[unclear]);
    assert!(!drive.files.contains_key("/a.lua"), "{}", drive.shown());
    drive.say(&["```lua\nprint(1)\n```"]);
    assert_eq!(
        drive.files["/a.lua"], "print(1)\n",
        "it is asked for once more"
    );
    let mut drive = begun("direct", "Write /a.lua and run it.");
    drive.say(&[unclear; 4]);
    let shown = drive.shown();
    assert!(
        shown.contains("You work on a ComputerCraft computer"),
        "{shown}"
    );
}

#[test]
fn of_several_programs_each_is_asked_for_in_its_turn_and_shown_with_the_others() {
    let task = "Create a module /m/init.lua that adds, and a test program /m/test.lua that checks it. Run the tests.";
    let mut drive = begun("direct", task);
    let asked = shown(drive.state().prompt(Role::Executor));
    assert!(!asked.contains("A test is short"), "{asked}");
    let later = "There is no /m/init.lua yet. Write it, whole, in one ```lua block. /m/test.lua is written later, and is no part of it.";
    assert!(asked.contains(later), "{asked}");
    drive.say(&["```lua\nreturn {}\n```"]);
    let asked = shown(drive.state().prompt(Role::Executor));
    for part in [
        "# /m/init.lua, which is there\n\n```lua\nreturn {}\n```",
        "There is no /m/test.lua yet. Write it, whole, in one ```lua block. Its first line is `local m = dofile(\"/m/init.lua\")`.",
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    drive.say(&["```lua\nlocal m = dofile(\"/m/init.lua\")\nprint(1)\n```"]);
    let ran = drive.state().calls().last().map(|call| call.args.clone());
    assert_eq!(ran, Some(json!({"path": "/m/test.lua"})));
}

#[test]
fn a_module_gives_something_and_a_test_loads_it_or_it_is_told_and_asked_for_once_more() {
    let task = "Create a module /m/init.lua that adds, and a test program /m/test.lua that checks it. Run the tests.";
    let mut drive = begun("plan", task);
    drive.say(&["```lua\nlocal m = {}\nprint(1)\n```"]);
    let asked = |drive: &Drive| shown(drive.state().prompt(Role::Executor));
    insta::assert_snapshot!("module_refused", asked(&drive));
    drive.say(&[
        "```lua\nreturn {}\n```",
        "```lua\nlocal m = {}\nprint(1)\n```",
    ]);
    let why = "Your last answer was not taken: it does not load /m/init.lua, which it tests: `dofile(\"/m/init.lua\")`.";
    assert!(asked(&drive).contains(why), "{}", asked(&drive));
    for content in [
        "dofile('/m/init.lua')",
        "require(\"m\")",
        "require(\"m.init\")",
        "require '/m'",
    ] {
        assert!(loads(content, "m/init.lua"), "{content}");
    }
    for content in ["-- the test of m", "require(\"am\")", "require(\"mean\")"] {
        assert!(!loads(content, "m/init.lua"), "{content}");
    }
}

#[test]
fn what_the_task_says_of_a_program_s_files_and_of_other_calls_stands_in_its_prompt() {
    let task = "Write /a.lua that reads /poem.txt and writes its length to /n.txt. `/a.lua WHAT` prints `ok`; anything else prints `usage: a WHAT`.";
    let drive = begun("direct", task);
    insta::assert_snapshot!(
        "program_with_files",
        drive.state().prompt(Role::Executor).last().unwrap().content
    );
}

#[test]
fn what_is_to_be_done_before_a_program_comes_before_it() {
    for task in [
        "Ask the person for a name. Write /a.lua that prints it.",
        "Write what /a.lua prints to /b.txt.",
        "Write /poem.txt anew.",
    ] {
        let drive = begun("direct", task);
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(!asked.contains("There is no"), "{task}: {asked}");
    }
}

#[test]
fn a_program_that_nobody_wants_written_is_not_asked_for() {
    for (task, ran) in [
        ("Run /primes.lua.", "/primes.lua"),
        (TASK, "/other.lua"),
        ("Read /notes.txt. Then run /primes.lua.", "/primes.lua"),
    ] {
        let mut drive = drive(task);
        drive.say(&[&call("run_program", json!({"path": ran}))]);
        assert!(drive.state().prompt(Role::Executor).is_empty(), "{task}");
    }
}
