//! Plans from the first prompt to the end: by hand, and at random.

mod any;
mod end;
mod executor;

use super::rig::{Rig, plan_profile, report};
use crate::domain::call::Outcome;
use crate::domain::chat::{ChatFailure, Role};
use crate::domain::decision::{Contract, Decision, WaitReason};
use crate::domain::event::TaskEvent;
use crate::domain::profile::{ExecutorMode, Profile};
use crate::domain::task::{TaskState, TaskStatus};
use crate::domain::work::plan::PlanAdvance;
use proptest::prelude::*;
use serde_json::{Value, json};

fn step(id: u32, action: &str, target: &str, depends_on: &[u32]) -> Value {
    json!({"id": id, "action": action, "target": target, "reason": "it is needed", "depends_on": depends_on})
}

fn on(computer: &str, mut step: Value) -> Value {
    step["on"] = json!(computer);
    step
}

/// A rig whose plans have no paths looked up.
fn rig() -> Rig {
    rig_with(|_| {})
}

fn rig_with(change: impl FnOnce(&mut Profile)) -> Rig {
    let mut profile = plan_profile();
    profile.plan.resolve_targets = false;
    change(&mut profile);
    let mut rig = Rig::new(profile);
    rig.run();
    rig
}

fn finished(made: &[Decision]) -> &crate::domain::directive::TaskResult {
    match made.last() {
        Some(Decision::Finish { result, .. }) => result,
        other => panic!("not finished: {other:?}"),
    }
}

fn failed(made: &[Decision]) -> (&str, &str, &Value) {
    match made.last() {
        Some(Decision::Fail {
            code,
            error,
            details,
        }) => (code, error, details),
        other => panic!("not failed: {other:?}"),
    }
}

fn asks(made: &[Decision]) -> Option<Contract> {
    match made.last() {
        Some(Decision::Consult(consult)) => Some(consult.contract),
        _ => None,
    }
}

#[test]
fn a_plan_whose_steps_have_one_meaning_is_carried_out_without_an_executor() {
    let mut rig = rig();
    let mut write = step(2, "write_file", "/a.lua", &[1]);
    write["params"] = json!({"content": "print('ok')"});
    rig.plan(json!([
        step(1, "read_file", "/a.lua", &[]),
        write,
        step(3, "run_test", "/a.lua x", &[2])
    ]));
    rig.ok(
        "fs_read",
        json!({"path": "/a.lua", "content": "print('no')", "bytes": 11}),
    );
    assert_eq!(rig.open_calls(), ["fs_write on base"]);
    rig.ok("fs_write", json!({"path": "/a.lua", "bytes": 11}));
    let made = rig.ok("run_program", json!({"success": true, "output": "ok"}));
    let result = finished(&made);
    assert!(result.success);
    assert_eq!(result.message, "it works");
    let steps = result.details["steps"].as_array().unwrap();
    let told: Vec<_> = steps
        .iter()
        .map(|s| {
            (
                s["id"].as_u64().unwrap(),
                s["outcome"].as_str().unwrap(),
                s["duration_ms"].as_i64().unwrap() > 0,
            )
        })
        .collect();
    assert_eq!(
        told,
        [(1, "done", true), (2, "done", true), (3, "done", true)]
    );
    assert!(
        result.details["results"]
            .as_str()
            .unwrap()
            .contains("exit: well")
    );
    assert_eq!(
        (
            rig.state.usage.executor_model_calls,
            rig.state.usage.model_calls
        ),
        (0, 1)
    );
    assert_eq!(result.details["executor_calls_avoided"], 3);
}

#[test]
fn independent_steps_run_at_once_on_different_computers_and_one_after_the_other_on_one() {
    let mut rig = rig();
    rig.plan(json!([
        step(1, "shell", "one", &[]),
        step(2, "shell", "two", &[]),
        on("farm", step(3, "shell", "three", &[])),
        on("farm", step(4, "read_file", "/a.txt", &[3])),
        step(5, "read_file", "/b.txt", &[]),
    ]));
    assert_eq!(
        rig.open_calls(),
        ["shell_exec on base", "shell_exec on farm"]
    );
    rig.ok("shell_exec", json!({"success": true}));
    assert_eq!(
        rig.open_calls(),
        ["shell_exec on farm", "shell_exec on base"]
    );
    assert_eq!(
        rig.outcomes(),
        ["done", "running", "running", "waiting", "waiting"]
    );
    rig.ok("shell_exec", json!({"success": true}));
    // What only looks may be under way together.
    assert_eq!(rig.open_calls(), ["shell_exec on base", "fs_read on farm"]);
    rig.ok("shell_exec", json!({"success": true}));
    assert_eq!(rig.open_calls(), ["fs_read on farm", "fs_read on base"]);
    rig.ok("fs_read", json!({"content": ""}));
    let made = rig.ok("fs_read", json!({"content": ""}));
    assert!(finished(&made).success);
}

#[test]
fn an_answer_that_is_no_plan_is_told_then_asked_for_simply_then_a_person_is_asked() {
    let mut rig = rig();
    assert_eq!(
        asks(&rig.say("I will look around first.")),
        Some(Contract::Plan)
    );
    let prompt = rig.prompt(Role::Planner);
    assert!(
        prompt.contains("- the answer holds no JSON plan with a list of steps")
            && prompt.contains("I will look around first."),
        "{prompt}"
    );
    let made = rig.plan(json!([step(1, "git_commit", "x", &[])]));
    assert_eq!(asks(&made), Some(Contract::Plan));
    let prompt = rig.prompt(Role::Planner);
    assert!(
        prompt.contains("at most 4 steps")
            && prompt.contains("no version control")
            && !prompt.contains("# Actions"),
        "{prompt}"
    );
    let made = rig.say("{\"steps\": [");
    let Some(Decision::Ask { question, .. }) = made.last() else {
        panic!("{made:?}")
    };
    assert!(question.why.contains("cut off"), "{}", question.why);
    rig.push(TaskEvent::QuestionAnswered {
        question_id: question.question_id.clone(),
        answer: "only read /a".into(),
        by: "Ada".into(),
        authenticated: true,
    });
    assert_eq!(asks(&rig.run()), Some(Contract::Plan));
    let prompt = rig.prompt(Role::Planner);
    assert!(
        prompt.contains("Ada answered: only read /a") && prompt.contains("# Actions"),
        "{prompt}"
    );
    rig.plan(json!([step(1, "read_file", "/a", &[])]));
    assert!(finished(&rig.ok("fs_read", json!({"content": "x"}))).success);
}

#[test]
fn a_question_that_nobody_answers_ends_a_task_without_a_plan() {
    let mut rig = rig();
    rig.say("no");
    rig.say("no");
    let made = rig.say("no");
    let Some(Decision::Ask { question, .. }) = made.last() else {
        panic!("{made:?}")
    };
    rig.push(TaskEvent::QuestionExpired {
        question_id: question.question_id.clone(),
    });
    let made = rig.run();
    let (code, error, _) = failed(&made);
    assert_eq!(code, "plan_invalid");
    assert!(
        error.contains("nobody answered") && error.contains("no JSON plan"),
        "{error}"
    );
    let mut silent = rig_with(|profile| profile.budgets.questions = 0);
    silent.say("no");
    silent.say("no");
    assert_eq!(failed(&silent.say("no")).0, "plan_invalid");
}

#[test]
fn paths_are_looked_up_before_the_plan_is_followed() {
    let mut rig = rig_with(|profile| profile.plan.resolve_targets = true);
    rig.plan(json!([
        step(1, "read_file", "TODO.lua", &[]),
        on("farm", step(2, "read_file", "notes.txt", &[]))
    ]));
    assert_eq!(rig.open_calls(), ["fs_find on base", "fs_find on farm"]);
    rig.ok(
        "fs_find",
        json!({"found": [{"path": "/apps/TODO.lua"}], "truncated": false}),
    );
    rig.ok(
        "fs_find",
        json!({"found": [{"path": "/a/notes.txt"}, {"path": "/b/notes.txt"}], "truncated": false}),
    );
    let prompt = rig.prompt(Role::Planner);
    assert!(
        prompt.contains("step 2: notes.txt could be /a/notes.txt or /b/notes.txt"),
        "{prompt}"
    );
    rig.plan(json!([
        step(1, "read_file", "TODO.lua", &[]),
        on("farm", step(2, "read_file", "/b/notes.txt", &[]))
    ]));
    rig.ok(
        "fs_find",
        json!({"found": [{"path": "/apps/TODO.lua"}], "truncated": false}),
    );
    rig.ok(
        "fs_find",
        json!({"found": [{"path": "/b/notes.txt"}], "truncated": false}),
    );
    let targets: Vec<_> = rig
        .work()
        .steps
        .iter()
        .map(|w| w.step.target.clone().unwrap())
        .collect();
    assert_eq!(targets, ["/apps/TODO.lua", "/b/notes.txt"]);
    assert_eq!(rig.open_calls(), ["fs_read on base", "fs_read on farm"]);
}

#[test]
fn a_question_to_a_person_is_a_step_and_its_answer_a_result() {
    let mut rig = rig();
    let made = rig.plan(json!([
        step(1, "ask_user", "Which folder?", &[]),
        step(2, "gather", "list that folder", &[1])
    ]));
    let Some(Decision::Ask { question, .. }) = made.last() else {
        panic!("{made:?}")
    };
    assert_eq!(
        (question.question.as_str(), question.why.as_str()),
        ("Which folder?", "it is needed")
    );
    rig.push(TaskEvent::QuestionAnswered {
        question_id: question.question_id.clone(),
        answer: "/logs".into(),
        by: "farm".into(),
        authenticated: false,
    });
    rig.run();
    assert!(
        rig.prompt(Role::Executor)
            .contains("farm answered (not authenticated):\n```\n/logs\n```")
    );
}

#[test]
fn a_model_that_is_away_is_waited_for_while_calls_go_on() {
    let mut rig = rig();
    rig.plan(json!([
        step(1, "shell", "slow", &[]),
        step(2, "analyse_error", "x", &[])
    ]));
    let (consult, role, _) = rig.consult().unwrap();
    let failure = ChatFailure {
        code: "model_unreachable".into(),
        message: "m".into(),
        hint: "h".into(),
        retryable: true,
    };
    rig.push(TaskEvent::ModelFailed {
        consult,
        role,
        failure,
    });
    assert!(matches!(
        rig.run().last(),
        Some(Decision::Wait {
            reason: WaitReason::Model,
            ..
        })
    ));
    rig.ok("shell_exec", json!({"success": true}));
    assert_eq!(rig.outcomes(), ["done", "running"]);
    rig.push(TaskEvent::WaitEnded {
        reason: WaitReason::Model,
    });
    assert_eq!(asks(&rig.run()), Some(Contract::StepWords));
    assert!(finished(&rig.say("It follows.")).success);
}

#[test]
fn what_a_plan_and_its_task_name_is_wanted_of_the_fleet() {
    let mut rig = rig();
    rig.plan(json!([
        on("farm", step(1, "read_file", "/a", &[])),
        step(2, "call_tool", "group:miners/dig", &[1])
    ]));
    let wanted: Vec<String> = super::wants(&rig.state)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        wanted.iter().any(|w| w == "farm/") && wanted.iter().any(|w| w == "group:miners/dig"),
        "{wanted:?}"
    );
}

#[test]
fn the_prompts_of_a_real_course() {
    let because = |why: &str, mut step: Value| {
        step["reason"] = json!(why);
        step
    };
    let mut rig = rig_with(|profile| profile.instructions = "Keep what already works.".into());
    insta::assert_snapshot!("planner", rig.prompt(Role::Planner));
    rig.say("First I would look at the file.");
    insta::assert_snapshot!("planner_again", rig.prompt(Role::Planner));
    let mut test = because(
        "see how it fails",
        step(2, "run_test", "/TODO.lua list", &[1]),
    );
    test["expected_outcome"] = json!("a line with \"1. [ ]\"");
    rig.plan(json!([
        because(
            "see how tasks are kept",
            step(1, "read_file", "/TODO.lua", &[])
        ),
        test,
        because(
            "find the cause of the failure",
            step(3, "analyse_error", "the output of the test", &[1, 2])
        ),
        because(
            "mend what the analysis names",
            step(4, "edit_file", "/TODO.lua", &[3])
        ),
        because(
            "its notes are wanted here",
            on("farm", step(5, "gather", "/notes.txt", &[]))
        ),
    ]));
    rig.ok("fs_read", json!({"path": "/TODO.lua", "content": "local f = fs.open('/todo.txt', 'r')\nprint(f.readAll())\n", "bytes": 57}));
    rig.fails("fs_read", "/notes.txt: no such file");
    rig.ok("run_program", json!({"success": true, "output": "TODO.lua:2: attempt to index local 'f' (a nil value)\n"}));
    insta::assert_snapshot!("analyst", rig.prompt(Role::Executor));
    rig.say(
        "There is no /todo.txt yet, so fs.open gives nil in line 1. Print nothing in that case.",
    );
    rig.say("{\"calls\": [{\"tool\": \"fs_patch\", \"args\": {\"name\": \"/TODO.lua\"}}]}");
    insta::assert_snapshot!("executor", rig.prompt(Role::Executor));
    rig.say("{\"unclear\": [\"the text to replace\"]}");
    insta::assert_snapshot!("planner_after_failure", rig.prompt(Role::Planner));
}

#[test]
fn the_simple_prompt_and_the_review_of_a_real_course() {
    let mut rig = rig_with(|profile| profile.plan.review = true);
    rig.say("hm");
    rig.say("{\"steps\": []}");
    insta::assert_snapshot!("planner_simple", rig.prompt(Role::Planner));
    rig.plan(json!([step(1, "read_file", "/a.txt", &[])]));
    rig.ok(
        "fs_read",
        json!({"path": "/a.txt", "content": "42", "bytes": 2}),
    );
    insta::assert_snapshot!("review", rig.prompt(Role::Planner));
}
