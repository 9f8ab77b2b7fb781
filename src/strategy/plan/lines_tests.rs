//! How the lines of a plan are read, what is told of those that are none, and how a plan is said in them.

use super::*;
use crate::domain::chat::Role;
use crate::domain::work::plan_rules::PlanForm;
use crate::strategy::bench::answer;
use crate::strategy::plan::rig::{Rig, plan_profile};
use proptest::prelude::*;
use serde_json::Value;

fn steps(text: &str) -> Vec<PlanStep> {
    let read = read(&answer(text));
    let problems = read.problems;
    read.plan.unwrap_or_else(|| panic!("{problems:?}")).steps
}

/// What a line comes to: the action, its target, its computer, what it says of it, its params.
fn one(line: &str) -> (String, String, Option<String>, String, Value) {
    let [step] = &steps(line)[..] else {
        panic!("{line}");
    };
    (
        step.action.as_str().to_owned(),
        step.target.clone().unwrap_or_default(),
        step.on.as_ref().map(ToString::to_string),
        step.reason.clone(),
        step.params.clone(),
    )
}

#[test]
fn a_line_is_a_step() {
    for (line, action, target, on) in [
        ("read /a.txt", "read_file", "/a.txt", None),
        ("read /a.txt on mine", "read_file", "/a.txt", Some("mine")),
        (
            "1. Read `/a.txt` on the computer mine",
            "read_file",
            "/a.txt",
            Some("mine"),
        ),
        ("- run /sum.lua 2 3", "run_test", "/sum.lua 2 3", None),
        (
            "Step 2: move /a.txt to /b/a.txt",
            "shell",
            "move /a.txt /b/a.txt",
            None,
        ),
        (
            "copy /a.txt to /b.txt on mine",
            "shell",
            "copy /a.txt /b.txt",
            Some("mine"),
        ),
        ("delete /a.txt", "shell", "delete /a.txt", None),
        ("shell ls /", "shell", "ls /", None),
        ("list /work", "gather", "/work", None),
        (
            "ask: which colour shall it be?",
            "ask_user",
            "which colour shall it be?",
            None,
        ),
        (
            "call ledger_pay on depot 10 Ada",
            "call_tool",
            "ledger_pay on depot 10 Ada",
            None,
        ),
    ] {
        let (said, what, there, ..) = one(line);
        assert_eq!(
            (said.as_str(), what.as_str(), there.as_deref()),
            (action, target, on),
            "{line}"
        );
    }
}

#[test]
fn what_stands_behind_a_path_says_what_the_file_has_to_hold() {
    let (_, target, on, reason, params) =
        one("change /lamp.lua on mine: it has to know `flip`: off and on");
    assert_eq!(
        (target.as_str(), on.as_deref()),
        ("/lamp.lua", Some("mine"))
    );
    assert_eq!(
        (reason.as_str(), params),
        ("it has to know `flip`: off and on", Value::Null)
    );
    let (.., params) = one("write /code.txt: \"7391\"");
    assert_eq!(params, json!({"content": "7391\n"}));
    let (.., reason, params) = one("write /code.txt: the number \"7391\"");
    assert_eq!(
        (reason.as_str(), params),
        ("the number \"7391\"", Value::Null)
    );
    let (.., params) = one("find *.lua below /programs");
    assert_eq!(params, json!({"path": "/programs"}));
    let (_, target, .., params) = one("call ledger_pay {\"to\": \"Ada\", \"amount\": 10}");
    assert_eq!(
        (target.as_str(), params),
        ("ledger_pay", json!({"to": "Ada", "amount": 10}))
    );
}

#[test]
fn lines_that_small_models_write_in_their_own_way_are_taken_as_they_are_meant() {
    let (action, target, .., params) = one("/ledger_pay {\"to\": \"Ada\"}");
    assert_eq!(
        (action.as_str(), target.as_str()),
        ("call_tool", "ledger_pay")
    );
    assert_eq!(params, json!({"to": "Ada"}));
    let (action, target, ..) = one("redstone_set left 15");
    assert_eq!(
        (action.as_str(), target.as_str()),
        ("call_tool", "redstone_set left 15")
    );
    let (action, target, ..) = one("/notes.txt rename to /notes.old");
    assert_eq!(
        (action.as_str(), target.as_str()),
        ("shell", "move /notes.txt /notes.old")
    );
    let (action, target, on, _, params) = one("replace 7319 with 7391 on mine");
    assert_eq!(
        (action.as_str(), target.as_str(), on.as_deref()),
        ("edit_file", "", Some("mine"))
    );
    assert_eq!(params, json!({"search": "7319", "replace": "7391"}));
    let all =
        steps("read /log.txt\ncount the lines that speak of Ada\nwrite /ada.txt: that number");
    assert_eq!(all[1].action, PlanAction::AnalyseError);
    assert_eq!(all[1].reason, "count the lines that speak of Ada");
    assert_eq!(all[2].depends_on, [1, 2]);
}

#[test]
fn a_fence_below_a_file_is_what_it_holds() {
    let said = "```\nwrite /a.lua:\n```lua\nprint(1)\n\nread()\n```\nrun /a.lua\n```";
    let steps = steps(said);
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert_eq!(steps[0].params, json!({"content": "print(1)\n\nread()\n"}));
}

#[test]
fn talk_behind_the_last_step_and_the_end_of_a_fence_around_the_plan_are_nothing() {
    let said = "```\nread /a.txt\nwrite /b.txt: the sum\n```\n\nThis plan reads the file, and writes the sum.";
    let steps = steps(said);
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert_eq!(steps[1].params, Value::Null);
    let echo = "read /a.txt\ncontent of /a.txt:\n```\nsecret\n```\nrun /a.lua";
    let problems = read(&answer(echo)).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn a_step_waits_for_what_it_may_need_and_looks_wait_for_nothing() {
    let all = steps(
        "read /a.txt on mine\nread /a.txt on depot\nwrite /b.txt: both\nwrite /c.txt: both\nrun /check.lua\nread /c.txt",
    );
    let needs: Vec<&[u32]> = all.iter().map(|step| step.depends_on.as_slice()).collect();
    let expected: [&[u32]; 6] = [&[], &[], &[1, 2], &[1, 2], &[1, 2, 3, 4], &[4]];
    assert_eq!(needs, expected);
}

#[test]
fn a_line_that_is_no_step_is_told_and_a_plan_in_json_is_one_too() {
    let problems = |text: &str| read(&answer(text)).problems.join("; ");
    assert!(
        problems("read /a.txt\nI would mend it then.\nrun /a.lua")
            .contains("\"I would mend it then.\" is no step")
    );
    assert!(problems("All is done.").contains("no line of the answer is a step"));
    assert!(problems("change: it has to work").contains("no line of the answer is a step"));
    assert!(problems("").contains("no line of the answer is a step"));
    let json = r#"{"goal": "g", "steps": [{"id": 1, "action": "read_file", "target": "/a", "reason": "r", "depends_on": []}]}"#;
    assert_eq!(steps(json)[0].action, PlanAction::ReadFile);
    let mut cut = answer("read /a.txt\nwrite /b.t");
    cut.stop = StopReason::Length;
    assert!(read(&cut).problems[0].contains("cut off"));
}

/// A task whose plans are asked for in lines.
fn rig() -> Rig {
    let mut profile = plan_profile();
    profile.plan.form = PlanForm::Lines;
    profile.plan.resolve_targets = false;
    Rig::new(profile)
}

#[test]
fn a_plan_is_asked_for_in_lines_and_what_is_wrong_with_it_is_told_so() {
    let mut rig = rig();
    rig.run();
    insta::assert_snapshot!("planner_lines", rig.prompt(Role::Planner));
    rig.say("I hope so.\nchange /TODO.lua: it has to work");
    insta::assert_snapshot!("planner_lines_again", rig.prompt(Role::Planner));
    rig.say("read /TODO.lua\nrun /TODO.lua list");
    let adopted: Vec<String> = rig
        .work()
        .current()
        .map(|work| line_of(&work.step))
        .collect();
    assert_eq!(adopted, ["read /TODO.lua", "run /TODO.lua list"]);
    rig.ok(
        "fs_read",
        json!({"path": "/TODO.lua", "content": "print(1)\n", "bytes": 9}),
    );
    rig.fails("run_program", "/TODO.lua:1: it fails");
    insta::assert_snapshot!("planner_lines_after_failure", rig.prompt(Role::Planner));
}

fn any_step() -> impl Strategy<Value = String> {
    let path = "/[a-z]{1,6}\\.(lua|txt)";
    prop_oneof![
        (path, proptest::option::of("[a-z]{2,5}")).prop_map(|(path, on)| {
            format!(
                "read {path}{}",
                on.map_or_else(String::new, |on| format!(" on {on}"))
            )
        }),
        (path, "[a-z]{3,9}( [a-z]{2,9}){1,3}")
            .prop_map(|(path, what)| format!("write {path}: {what}")),
        (path, "[a-z]{3,9}( [a-z]{2,9}){1,3}")
            .prop_map(|(path, what)| format!("change {path}: {what}")),
        (path, "( [a-z0-9]{1,4}){0,3}").prop_map(|(path, args)| format!("run {path}{args}")),
    ]
}

proptest! {
    #[test]
    fn lines_that_were_said_are_read_back(lines in proptest::collection::vec(any_step(), 1..8)) {
        let plan = TaskPlan { steps: steps(&lines.join("\n")), ..TaskPlan::default() };
        let again = steps(&said(&plan));
        prop_assert_eq!(again, plan.steps);
    }

    #[test]
    fn no_answer_breaks_the_reader(text in "(read|write|call|run|move|ask|[a-z]{1,4}|[/\\.:\"`{}# \n-]|on |to |[^a]){0,60}") {
        let read = read(&answer(&text));
        prop_assert_eq!(read.plan.is_none(), !read.problems.is_empty());
    }
}
