use super::*;
use crate::domain::call::CallReport;
use crate::domain::chat::Role;
use crate::strategy::drive::{
    Drive, call, carry_out, done, profile_of, profile_with_asides, run_tool,
};
use std::collections::BTreeMap;

const TASK: &str = "/order.lua asks two questions. Order 12 ladders. Then run /check.lua, which says whether it is right.";
const ORDER: &str =
    "local what = read()\nlocal count = tonumber(read()) -- read() again\nfile.read()";

/// A computer whose check fails until the program was run.
fn computer(_: &mut BTreeMap<String, String>, call: &CallRecord) -> CallReport {
    let is_well = call.args["path"] == "/order.lua";
    done(json!({"success": is_well, "output": "", "error": "/check.lua:1: there is no order"}))
}

fn drive(mends: u32) -> Drive {
    drive_of(TASK, mends)
}

fn drive_of(task: &str, mends: u32) -> Drive {
    let mut drive = drive_before_check(task, mends);
    let check = call(RUN, json!({"path": "/check.lua"}));
    drive.say_with(&[&check], computer);
    drive
}

fn drive_before_check(task: &str, mends: u32) -> Drive {
    let mut profile = profile_of("direct");
    profile.executor_mends = mends;
    let mut drive = Drive::new(profile, task);
    drive.add_tools(vec![run_tool()]);
    drive.files.insert("/order.lua".into(), ORDER.into());
    let read = call("fs_read", json!({"path": "/order.lua"}));
    drive.say_with(&[&read], carry_out);
    drive
}

#[test]
fn a_program_that_waits_for_input_is_shown_with_a_place_for_each_line() {
    let mut drive = drive(0);
    let form =
        "{\"tool\": \"run_program\", \"args\": {\"input\":[\"…\",\"…\"],\"path\":\"/order.lua\"}}";
    assert!(drive.shown().contains(form), "{}", drive.shown());
    let order = json!({"path": "/order.lua", "input": ["ladders", "12"]});
    let check = call(RUN, json!({"path": "/check.lua"}));
    drive.say_with(&[&call(RUN, order), &check], computer);
    assert!(!drive.shown().contains(form), "{}", drive.shown());
}

#[test]
fn a_program_that_is_to_be_changed_or_not_to_be_run_is_not_typed_into() {
    for task in [
        "Mend /order.lua, which asks two questions. /check.lua says whether it is right.",
        "Look at /order.lua, but do not run it. /check.lua says whether it is there.",
    ] {
        let drive = drive_of(task, 6);
        let planner = drive.state().prompt(Role::Executor).is_empty();
        assert!(planner && !drive.shown().contains("\"input\":"), "{task}");
    }
}

#[test]
fn who_writes_such_a_program_once_more_as_it_is_is_asked_for_what_is_typed() {
    let mut drive = drive_before_check(TASK, 6);
    let same = call("fs_write", json!({"path": "/order.lua", "content": ORDER}));
    drive.say_with(&[&same, "```\nladders\n12\n```"], computer);
    let mut runs = drive.state().calls().filter(|call| call.tool == RUN);
    let first = runs.next().map(|run| run.args["input"].clone());
    assert_eq!(first, Some(json!(["ladders", "12"])), "{}", drive.shown());
}

/// What ran before any planner was asked, where a model was asked at once what is typed.
fn ran_first(task: &str, strategy: &str) -> Vec<Value> {
    ran_with(task, strategy, "ladders\n12")
}

fn ran_with(task: &str, strategy: &str, typed: &str) -> Vec<Value> {
    let mut drive = Drive::new(profile_with_asides(strategy), task);
    drive.add_tools(vec![run_tool()]);
    drive.files.insert("/order.lua".into(), ORDER.into());
    let computer =
        |files: &mut BTreeMap<String, String>, call: &CallRecord| match call.tool.as_str() {
            RUN => done(json!({"success": true, "output": "ordered"})),
            _ => carry_out(files, call),
        };
    drive.say_with(&[&format!("```\n{typed}\n```")], computer);
    let runs = drive.state().calls().filter(|call| call.tool == RUN);
    runs.map(|run| run.args.clone()).collect()
}

#[test]
fn where_nothing_else_is_to_be_done_what_is_typed_is_asked_for_first() {
    let typed = json!({"path": "/order.lua", "input": ["ladders", "12"]});
    for strategy in ["direct", "directive", "numbered", "goals"] {
        let ran = ran_first(TASK, strategy);
        assert_eq!(
            ran,
            [typed.clone(), json!({"path": "/check.lua"})],
            "{strategy}"
        );
    }
    // What nobody has said is not confirmed before a planner had its turn.
    let unsaid = "Run /order.lua, and order 12 ladders.";
    assert_eq!(ran_with(unsaid, "direct", "ladders\ny"), [Value::Null; 0]);
    for task in [
        "Order 12 ladders with /order.lua and write /done.txt.",
        "Mend /order.lua.",
    ] {
        assert_eq!(ran_first(task, "direct"), [Value::Null; 0], "{task}");
    }
}

#[test]
fn what_is_typed_is_asked_for_alone_and_the_program_runs_with_it() {
    let mut drive = drive(6);
    let messages = drive.state().prompt(Role::Executor).iter();
    let texts: Vec<&str> = messages.map(|message| message.content.trim_end()).collect();
    insta::assert_snapshot!("typing", texts.join("\n=====\n"));
    drive.say_with(&["```\nladders\n12\n```"], computer);
    // The check runs again by rule behind it.
    let run = drive.state().calls().rev().nth(1).unwrap();
    assert_eq!(
        run.args,
        json!({"path": "/order.lua", "input": ["ladders", "12"]})
    );

    let mut unknown = self::drive(6);
    unknown.say_with(&["MISSING: how many"], computer);
    let told = "what is typed into /order.lua: it is not known yet: find it out first";
    assert!(unknown.shown().contains(told), "{}", unknown.shown());
    let mut made_up = self::drive(6);
    made_up.say_with(&["```\nladders\n64\n```"], computer);
    let told = "what is typed into /order.lua: nothing says \"64\": find it out first";
    assert!(made_up.shown().contains(told), "{}", made_up.shown());
    let check = call(RUN, json!({"path": "/check.lua"}));
    // Once more, and then no more.
    unknown.say_with(&[&check, "MISSING: how many", &check], computer);
    let asked = unknown.decisions.last();
    assert!(
        matches!(asked, Some(Decision::Consult(consult)) if consult.role == Role::Planner),
        "{asked:?}"
    );
}

#[test]
fn questions_are_filled_in_and_what_is_no_answer_is_asked_for_once_more() {
    let order = "write(\"What? \")\nlocal what = read()\nwrite(\"How many? \")\nread()\n";
    let check = call(RUN, json!({"path": "/check.lua"}));
    for (no_answer, told) in [
        (
            "```\nWhat? ladders\nHow many? …\n```",
            "\"…\" only stands for the answer",
        ),
        (
            "what = order.lua\nHow many? 12",
            "order.lua is the program itself, and no answer",
        ),
    ] {
        let mut drive = drive_before_check(TASK, 6);
        drive.files.insert("/order.lua".into(), order.into());
        let read = call("fs_read", json!({"path": "/order.lua"}));
        drive.say_with(&[&read], carry_out);
        drive.say_with(&[&check], computer);
        let asked = |drive: &Drive| drive.state().prompt(Role::Executor).last().cloned();
        insta::assert_snapshot!("filling_in", asked(&drive).unwrap().content);
        drive.say_with(&[no_answer, &check], computer);
        let again = asked(&drive).unwrap().content;
        let refused = format!("Your last answer was refused: {told}");
        assert!(again.contains(&refused), "{again}");
        drive.say_with(&["what = \"ladders\"\nHow many? 12."], computer);
        let mut runs = drive.state().calls().filter(|call| call.tool == RUN);
        let typed = runs.find_map(|run| run.args.get("input").cloned());
        assert_eq!(typed, Some(json!(["ladders", "12"])), "{}", drive.shown());
    }
}

#[test]
fn a_line_is_said_by_whole_words_in_their_order() {
    for (line, said) in [
        ("Grace", true),
        ("Grace Hopper", true),
        ("Hopper Grace", false),
        ("race", false),
        ("12", true),
        ("", true),
    ] {
        assert_eq!(
            stands_in("Register the name `Grace Hopper`, 12 times.", line),
            said,
            "{line}"
        );
    }
}
