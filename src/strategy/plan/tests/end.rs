//! How a plan ends: failures, new plans, reviews, proof.

use super::*;

#[test]
fn a_failed_step_takes_its_dependents_along_and_a_new_plan_goes_on_from_what_is_done() {
    let mut rig = rig();
    rig.plan(json!([
        step(1, "read_file", "/a.lua", &[]),
        step(2, "run_test", "/a.lua", &[1]),
        step(3, "shell", "after", &[2]),
        on("farm", step(4, "gather", "/notes.txt", &[])),
    ]));
    rig.ok(
        "fs_read",
        json!({"path": "/a.lua", "content": "x", "bytes": 1}),
    );
    rig.end(
        "run_program",
        report(
            Outcome::Done,
            json!({"success": false, "output": "", "error": "boom"}),
            None,
        ),
    );
    assert_eq!(rig.outcomes(), ["done", "failed", "skipped", "running"]);
    let made = rig.ok(
        "fs_read",
        json!({"path": "/notes.txt", "content": "buy milk", "bytes": 8}),
    );
    assert_eq!(asks(&made), Some(Contract::Plan));
    let prompt = rig.prompt(Role::Planner);
    for told in [
        "step 2 failed: run_program: boom",
        "skipped, because step 2 failed",
        "buy milk",
        "Ids begin with 5",
        "steps 1, 4; do not repeat",
    ] {
        assert!(prompt.contains(told), "{told}:\n{prompt}");
    }
    // It repeats a step that is done: its result is taken, nothing is called.
    rig.plan(json!([
        on("farm", step(1, "gather", "/notes.txt", &[])),
        step(2, "run_test", "/a.lua", &[])
    ]));
    assert_eq!(rig.open_calls(), ["run_program on base"]);
    let made = rig.ok("run_program", json!({"success": true, "output": "ok"}));
    let result = finished(&made);
    assert!(result.success);
    let outcomes: Vec<_> = result.details["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        ["done", "failed", "skipped", "done", "done", "done"]
    );
}

#[test]
fn without_plans_left_a_failure_ends_the_task_with_all_its_steps() {
    let mut rig = rig_with(|profile| profile.plan.replans = 0);
    rig.plan(json!([
        step(1, "read_file", "/a", &[]),
        step(2, "shell", "x", &[1])
    ]));
    let made = rig.fails("fs_read", "/a: no such file");
    let (code, error, details) = failed(&made);
    assert_eq!(
        (code, error),
        ("plan_failed", "step 1 failed: fs_read: /a: no such file")
    );
    let summary = details["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("1. read_file /a: failed (")
            && summary.ends_with("\n2. shell x: skipped"),
        "{summary}"
    );
}

#[test]
fn dependents_of_a_failed_step_run_where_dependencies_are_not_strict() {
    let mut rig = rig_with(|profile| {
        profile.plan.strict_dependencies = false;
        profile.plan.replans = 0;
    });
    rig.plan(json!([
        step(1, "read_file", "/a", &[]),
        step(2, "shell", "x", &[1])
    ]));
    rig.fails("fs_read", "gone");
    let made = rig.ok("shell_exec", json!({"success": true}));
    assert_eq!(rig.outcomes(), ["failed", "done"]);
    assert_eq!(failed(&made).0, "plan_failed");
}

#[test]
fn a_review_decides_whether_the_goal_is_reached() {
    let review = |achieved: bool| {
        json!({"achieved": achieved, "message": "seen", "missing": ["the test"]}).to_string()
    };
    let mut rig = rig_with(|profile| {
        profile.plan.review = true;
        profile.plan.replans = 1;
    });
    rig.plan(json!([step(1, "read_file", "/a", &[])]));
    assert_eq!(
        asks(&rig.ok("fs_read", json!({"content": "x"}))),
        Some(Contract::Review)
    );
    assert_eq!(asks(&rig.say(&review(false))), Some(Contract::Plan));
    assert!(
        rig.prompt(Role::Planner)
            .contains("the goal is not reached: seen the test")
    );
    rig.plan(json!([step(1, "shell", "test", &[])]));
    // The last plan failed, but the goal holds.
    assert_eq!(
        asks(&rig.fails("shell_exec", "exists already")),
        Some(Contract::Review)
    );
    let made = rig.say(&review(true));
    assert_eq!(
        (finished(&made).success, finished(&made).message.as_str()),
        (true, "seen")
    );
}

#[test]
fn a_review_that_cannot_be_read_is_asked_for_again_and_one_that_never_can_be_changes_nothing() {
    let reviewed = || {
        let mut rig = rig_with(|profile| profile.plan.review = true);
        rig.plan(json!([step(1, "read_file", "/a", &[])]));
        rig.ok("fs_read", json!({"content": "x"}));
        assert_eq!(asks(&rig.say("looks good")), Some(Contract::Review));
        let shown = rig.prompt(Role::Planner);
        assert!(shown.contains("looks good"), "{shown}");
        assert!(
            shown.contains("no JSON object with \"achieved\""),
            "{shown}"
        );
        rig
    };
    // What was chatter is not taken for consent.
    let missing = json!({"achieved": false, "message": "half", "missing": ["the rest"]});
    let asked = reviewed().say(&missing.to_string());
    assert_eq!(asks(&asked), Some(Contract::Plan));
    let mut rig = reviewed();
    assert_eq!(asks(&rig.say("")), Some(Contract::Review));
    assert!(finished(&rig.say("really")).success);
}

#[test]
fn a_kind_that_demands_proof_gets_it_planned_and_is_not_ended_without() {
    let mut rig = rig_with(|profile| profile.demand_proof = true);
    let mut write = step(1, "write_file", "/a.lua", &[]);
    write["params"] = json!({"content": "x"});
    rig.plan(json!([write]));
    assert!(rig.prompt(Role::Planner).contains("add a run_test step"));
    rig.plan(json!([step(1, "read_file", "/a", &[])]));
    assert_eq!(
        asks(&rig.ok("fs_read", json!({"content": "x"}))),
        Some(Contract::Plan)
    );
    assert!(rig.prompt(Role::Planner).contains("run your tests first"));
    rig.plan(json!([step(1, "run_test", "/a.lua", &[])]));
    assert!(finished(&rig.ok("run_program", json!({"success": true}))).success);
}

#[test]
fn a_look_that_failed_is_no_failure_once_the_task_s_own_check_has_passed() {
    let checked = "Write red to /a.txt. /check.lua says whether it is right: run it at the end.";
    let ends = |prompt: &str, looks_before_check: bool| {
        let mut rig = rig();
        rig.state.created.as_mut().unwrap().prompt = prompt.to_owned();
        let mut write = step(1, "write_file", "/a.txt", &[]);
        write["params"] = json!({"content": "red"});
        let needed: &[u32] = if looks_before_check { &[1, 2] } else { &[1] };
        rig.plan(json!([
            write,
            step(2, "read_file", "/old.txt", &[1]),
            step(3, "run_test", "/check.lua", needed)
        ]));
        rig.ok("fs_write", json!({"path": "/a.txt", "bytes": 3}));
        let made = rig.fails("fs_read", "/old.txt: no such file or folder");
        if looks_before_check {
            return made;
        }
        rig.ok(
            "run_program",
            json!({"success": true, "output": "all is right"}),
        )
    };
    assert!(finished(&ends(checked, false)).success);
    for (prompt, looks_before_check) in [("Write red to /a.txt.", false), (checked, true)] {
        let made = ends(prompt, looks_before_check);
        assert_eq!(asks(&made), Some(Contract::Plan), "{prompt}");
    }
}

#[test]
fn a_later_plan_without_a_step_says_that_nothing_is_left_where_only_a_look_failed() {
    let asked_again = |last: Value, tool: &str| {
        let mut rig = rig();
        let mut write = step(1, "write_file", "/a.txt", &[]);
        write["params"] = json!({"content": "red"});
        rig.plan(json!([write, last]));
        rig.ok("fs_write", json!({"path": "/a.txt", "bytes": 3}));
        assert_eq!(asks(&rig.fails(tool, "no such file")), Some(Contract::Plan));
        rig.plan(json!([]))
    };
    let looked = asked_again(step(2, "read_file", "/old.txt", &[1]), "fs_read");
    assert!(finished(&looked).success);
    // What was to do something is still to be done.
    let shell = asked_again(step(2, "shell", "mkdir /b", &[1]), "shell_exec");
    assert_eq!(asks(&shell), Some(Contract::Plan));
}

#[test]
fn a_first_plan_that_leaves_out_the_file_of_the_result_is_followed_by_another_one() {
    let mut rig = rig_with(|profile| profile.demand_proof = true);
    rig.state.created.as_mut().unwrap().prompt = "Save the names of /a.json to /b.txt".to_owned();
    rig.plan(json!([step(1, "read_file", "/a.json", &[])]));
    let made = rig.ok("fs_read", json!({"content": "[]"}));
    assert_eq!(asks(&made), Some(Contract::Plan));
    let told = "the task tells to write into /b.txt, and nothing was written there";
    assert!(rig.prompt(Role::Planner).contains(told));
}
