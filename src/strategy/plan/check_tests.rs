//! Which plans are taken, and why others are not.

use super::*;
use crate::domain::work::plan::{PlanAdvance, Settled};
use crate::strategy::plan::place::bench::{Setting, plan_of};
use proptest::prelude::*;

fn problems(steps: Value) -> Vec<String> {
    let setting = Setting::begin();
    check(&plan_of(steps), &PlanWork::default(), &setting.place()).unwrap_err()
}

fn step(id: u32, depends_on: &[u32]) -> Value {
    json!({"id": id, "action": "read_file", "target": "/a", "reason": "r", "depends_on": depends_on})
}

#[test]
fn what_cannot_be_carried_out_is_told_by_step() {
    let with = |more: Value| {
        let mut step = step(1, &[]);
        for (name, value) in more.as_object().unwrap() {
            step[name] = value.clone();
        }
        json!([step])
    };
    for (steps, expected) in [
        (json!([]), "no steps"),
        (json!([step(2, &[])]), "begin with 1"),
        (
            json!([step(1, &[]), step(3, &[])]),
            "where 2 should stand there is 3",
        ),
        (
            json!([step(1, &[2]), step(2, &[])]),
            "step 1 depends on step 2, which comes later",
        ),
        (json!([step(1, &[7])]), "step 7, which does not exist"),
        (json!([step(1, &[1])]), "step 1 depends on itself"),
        (with(json!({"action": "git_commit"})), "no version control"),
        (
            with(json!({"action": "dance"})),
            "no such action and no such tool. Actions: read_file, write_file",
        ),
        (with(json!({"target": null})), "read_file needs a target"),
        (
            with(json!({"on": "nowhere"})),
            "no computer \"nowhere\" is known; there are: base, farm",
        ),
        (
            with(json!({"action": "call_tool", "target": "fly"})),
            "there is no tool \"fly\". Tools: dig, fs_find",
        ),
        (
            with(json!({"action": "write_file"})),
            "runs no test after it",
        ),
    ] {
        let told = problems(steps.clone());
        assert!(
            told.iter().any(|t| t.contains(expected)),
            "{steps}: {told:?}"
        );
    }
}

#[test]
fn a_step_without_a_target_is_about_the_one_file_that_its_reason_names() {
    let setting = Setting::begin();
    let target = |action: &str, reason: &str| {
        let first = json!({"id": 1, "action": "read_file", "target": "/check.lua", "reason": "r"});
        let second =
            json!({"id": 2, "action": action, "reason": reason, "params": {"content": "x"}});
        let third = json!({"id": 3, "action": "run_test", "target": "/check.lua", "reason": "r"});
        let plan = plan_of(json!([first, second, third]));
        let checked = check(&plan, &PlanWork::default(), &setting.place());
        checked.ok().and_then(|plan| plan.steps[1].target.clone())
    };
    for (action, reason, meant) in [
        (
            "write_file",
            "to write the answer to /colour.txt",
            Some("/colour.txt"),
        ),
        (
            "edit_file",
            "the word goes into /colour.txt.",
            Some("/colour.txt"),
        ),
        ("run_program", "/a.lua shall print 9", Some("/a.lua")),
        // Two are none, and so is a folder, or what cannot be run.
        ("write_file", "copy /a.txt to /b.txt", None),
        ("write_file", "it belongs in /archive", None),
        ("run_program", "it reads /a.txt", Some("/check.lua")),
    ] {
        assert_eq!(
            target(action, reason).as_deref(),
            meant,
            "{action}: {reason}"
        );
    }
}

#[test]
fn steps_without_a_file_mean_the_only_one_that_the_plan_names() {
    let nameless = |id: u32, action: &str| json!({"id": id, "action": action, "reason": "r", "depends_on": [id - 1], "params": {"search": "a", "replace": "b"}});
    let steps = json!([
        step(1, &[]),
        nameless(2, "edit_file"),
        nameless(3, "run_test")
    ]);
    let setting = Setting::begin();
    let checked = |steps: Value| check(&plan_of(steps), &PlanWork::default(), &setting.place());
    let plan = checked(steps.clone()).unwrap();
    let targets = plan.steps.iter().map(|step| step.target.as_deref());
    assert!(targets.into_iter().all(|target| target == Some("/a")));
    // A program with its arguments is that file.
    let mut with_args = steps.clone();
    with_args[0]["target"] = json!("/a.lua");
    with_args[2]["target"] = json!("/a.lua 2 3");
    let plan = checked(with_args).unwrap();
    assert_eq!(plan.steps[1].target.as_deref(), Some("/a.lua"));

    // Of two nobody knows which, and what is written whole is named.
    let mut two = steps.clone();
    two[0]["target"] = json!("/b");
    two[1]["target"] = json!("/a");
    assert!(problems(two)[0].contains("step 3: run_test needs a target"));
    let mut writes = steps;
    writes[1]["action"] = json!("write_file");
    assert!(problems(writes)[0].contains("step 2: write_file needs a target"));
}

#[test]
fn an_edit_without_a_file_is_about_the_one_that_a_step_before_it_has_read_for_it() {
    let setting = Setting::begin();
    let target = |needs: &[u32]| {
        let read = |id: u32, path: &str| json!({"id": id, "action": "read_file", "target": path, "reason": "r"});
        let edit = json!({"id": 3, "action": "edit_file", "reason": "the limit is 30", "depends_on": needs,
            "params": {"search": "20", "replace": "30"}});
        let test = json!({"id": 4, "action": "run_test", "target": "/check.lua", "reason": "r"});
        let plan = plan_of(json!([read(1, "/a.json"), read(2, "/b.json"), edit, test]));
        let checked = check(&plan, &PlanWork::default(), &setting.place());
        checked.ok().and_then(|plan| plan.steps[2].target.clone())
    };
    assert_eq!(target(&[2]).as_deref(), Some("/b.json"));
    assert_eq!(target(&[1, 2]), None);
    assert_eq!(target(&[]), None);
}

#[test]
fn a_step_that_runs_a_file_of_data_is_told_of_once() {
    let setting = Setting::begin();
    for (action, target) in [("run_program", "/a.json"), ("shell", "/a.json 2")] {
        let steps = json!([
            {"id": 1, "action": action, "target": target, "reason": "r"},
            {"id": 2, "action": "run_test", "target": "/a.lua", "reason": "r"}
        ]);
        let told = problems(steps.clone());
        let how = match action {
            "shell" => ", as in `move /from.txt /to.txt`",
            _ => "",
        };
        let data = format!("step 1: {action} needs a program{how}, and /a.json is a file of data");
        assert_eq!(told, [data]);
        let work = PlanWork {
            refused: vec![told],
            ..PlanWork::default()
        };
        assert!(check(&plan_of(steps), &work, &setting.place()).is_ok());
    }
}

#[test]
fn a_command_line_that_is_the_path_of_a_file_of_data_is_a_look_at_it() {
    let setting = Setting::begin();
    let plan = plan_of(json!([{"id": 1, "action": "shell", "target": "/a.json", "reason": "r"}]));
    let plan = check(&plan, &PlanWork::default(), &setting.place()).unwrap();
    assert_eq!(plan.steps[0].action, PlanAction::ReadFile);
}

#[test]
fn an_edit_of_no_file_is_left_out_where_later_steps_write_all_that_it_looks_at() {
    let setting = Setting::begin();
    let step = |id: u32, action: &str, target: Option<&str>, needs: &[u32]| json!({"id": id, "action": action, "target": target, "reason": "r", "depends_on": needs});
    let planned = |needs: &[u32], written: &str| {
        let plan = plan_of(json!([
            step(1, "read_file", Some("/a.txt"), &[]),
            step(2, "read_file", Some("/b.txt"), &[]),
            step(3, "edit_file", None, needs),
            step(4, "write_file", Some("/a.txt"), &[3]),
            step(5, "write_file", Some(written), &[3]),
            step(6, "run_test", Some("/a.lua"), &[]),
        ]));
        let plan = check(&plan, &PlanWork::default(), &setting.place())?;
        let needs = plan.steps.iter().map(|step| step.depends_on.clone());
        Ok::<_, Vec<String>>(needs.collect::<Vec<_>>())
    };
    let left_out = vec![vec![], vec![], vec![1, 2], vec![1, 2], vec![]];
    assert_eq!(planned(&[1, 2], "/b.txt"), Ok(left_out));
    for (needs, written) in [(&[1, 2][..], "/c.txt"), (&[], "/b.txt")] {
        let told = planned(needs, written).unwrap_err();
        assert!(told[0].contains("edit_file needs a target"), "{told:?}");
    }
}

#[test]
fn a_last_step_that_runs_a_file_of_data_is_the_check_of_which_the_task_speaks() {
    let edit = json!({"id": 1, "action": "edit_file", "target": "/a.json", "reason": "r"});
    let test = json!({"id": 2, "action": "run_test", "target": "/a.json", "reason": "r"});
    let numbered = |step: &Value, id: u32| {
        let mut step = step.clone();
        step["id"] = json!(id);
        step
    };
    let runs = |prompt: &str, steps: Value| {
        let mut setting = Setting::begin();
        setting.state.created.as_mut().unwrap().prompt = prompt.to_owned();
        let checked = check(&plan_of(steps), &PlanWork::default(), &setting.place());
        checked.map(|plan| plan.steps.last().unwrap().target.clone().unwrap())
    };
    let checked =
        "In /a.json `x` shall be 3. /check.lua says whether it is right: run it at the end.";
    let both = json!([edit, test]);
    assert_eq!(runs(checked, both.clone()).as_deref(), Ok("/check.lua"));
    // Else a test of data is a look at it: all that there is in a task without a program, and no test where there is one.
    let no_program = runs("In /a.json `x` shall be 3.", both.clone());
    assert_eq!(no_program.as_deref(), Ok("/a.json"));
    let lacks = "the plan changes a file and runs no test after it: add a run_test step at the end";
    let with_target = format!("{lacks} with the target /check.lua, and its arguments behind it");
    let turned = json!([numbered(&test, 1), numbered(&edit, 2)]);
    for (prompt, steps, told) in [
        (
            "In /a.json `x` shall be 3. Test it.",
            both,
            lacks.to_owned(),
        ),
        (checked, turned, with_target),
    ] {
        assert_eq!(runs(prompt, steps), Err(vec![told]), "{prompt}");
    }
    let looked = json!([numbered(&test, 1), {"id": 2, "action": "run_test", "target": "/a.lua", "reason": "r"}]);
    let setting = Setting::begin();
    let plan = check(&plan_of(looked), &PlanWork::default(), &setting.place()).unwrap();
    assert_eq!(plan.steps[0].action, PlanAction::ReadFile);
}

#[test]
fn a_file_that_is_made_and_then_filled_is_one_step() {
    let about = |id: u32, action: &str, needs: &[u32]| json!({"id": id, "action": action, "target": "/a.lua", "reason": action, "depends_on": needs});
    let setting = Setting::begin();
    let ids_of = |steps: Value| {
        let plan = check(&plan_of(steps), &PlanWork::default(), &setting.place()).unwrap();
        let ids = plan.steps.iter().map(|s| (s.id, s.depends_on.clone()));
        (ids.collect::<Vec<_>>(), plan)
    };
    let steps = json!([
        about(1, "write_file", &[]),
        about(2, "edit_file", &[1]),
        about(3, "run_test", &[1, 2]),
        about(4, "run_program", &[3])
    ]);
    let (ids, plan) = ids_of(steps.clone());
    assert_eq!(ids, [(1, vec![]), (2, vec![1]), (3, vec![2])]);
    assert_eq!(plan.steps[0].reason, "write_file; edit_file");

    // An edit that says what it changes, one of a file that was there, and one after a run stand for themselves.
    let mut says = steps.clone();
    says[1]["params"] = json!({"search": "a", "replace": "b"});
    let mut reads = steps.clone();
    reads[0]["action"] = json!("read_file");
    let mut runs = steps;
    runs[1]["action"] = json!("run_program");
    runs[2]["action"] = json!("edit_file");
    for steps in [says, reads, runs] {
        assert_eq!(ids_of(steps).0.len(), 4);
    }
}

#[test]
fn an_edit_and_the_saving_of_what_it_changed_are_one_step() {
    let setting = Setting::begin();
    let steps = |reason: &str, params: Value| {
        let plan = plan_of(json!([
            {"id": 1, "action": "edit_file", "target": "/a.json", "reason": "to change it", "depends_on": [],
             "params": {"search": "1", "replace": "2"}},
            {"id": 2, "action": "write_file", "target": "/a.json", "reason": reason, "depends_on": [1], "params": params},
            {"id": 3, "action": "run_test", "target": "/a.lua", "reason": "r", "depends_on": [2]}
        ]));
        let plan = check(&plan, &PlanWork::default(), &setting.place()).unwrap();
        let ids = plan.steps.iter().map(|s| (s.id, s.depends_on.clone()));
        ids.collect::<Vec<_>>()
    };
    let joined = [(1, vec![]), (2, vec![1])];
    assert_eq!(steps("to save the new value", Value::Null), joined);
    assert_eq!(steps("to write it anew", Value::Null).len(), 3);
    assert_eq!(steps("to save it", json!({"content": "{}"})).len(), 3);
}

#[test]
fn a_later_plan_counts_from_1_or_on_from_any_free_number() {
    let setting = Setting::begin();
    let mut work = PlanWork::default();
    let first = plan_of(json!([step(1, &[]), step(2, &[1])]));
    let first = PlanAdvance::Adopted {
        plan: check(&first, &work, &setting.place()).unwrap(),
        after_step: 1,
    };
    work.advance(&first, 0);
    for begins in [1, 3, 17] {
        let later = plan_of(json!([step(begins, &[]), step(begins + 1, &[begins])]));
        let later = check(&later, &work, &setting.place()).unwrap();
        let ids = later.steps.iter().map(|s| (s.id, s.depends_on.clone()));
        assert_eq!(
            ids.collect::<Vec<_>>(),
            [(3, vec![]), (4, vec![3])],
            "{begins}"
        );
    }
    let taken = plan_of(json!([step(2, &[])]));
    let problems = check(&taken, &work, &setting.place()).unwrap_err();
    assert!(
        problems[0].contains("begin with 3, not with 2"),
        "{problems:?}"
    );
}

#[test]
fn size_and_depth_are_limited() {
    let many: Vec<Value> = (1..=13).map(|id| step(id, &[])).collect();
    assert!(problems(json!(many))[0].contains("13 steps"));
    let chain: Vec<Value> = (1..=11)
        .map(|id| {
            if id == 1 {
                step(1, &[])
            } else {
                step(id, &[id - 1])
            }
        })
        .collect();
    assert!(problems(json!(chain))[0].contains("11 steps depend on each other in a chain"));
    let wide: Vec<Value> = (1..=11)
        .map(|id| step(id, if id == 1 { &[] } else { &[1] }))
        .collect();
    let setting = Setting::begin();
    assert!(
        check(
            &plan_of(json!(wide)),
            &PlanWork::default(),
            &setting.place()
        )
        .is_ok()
    );
}

#[test]
fn the_name_of_a_tool_stands_for_calling_it() {
    let setting = Setting::begin();
    let plan = plan_of(
        json!([{"id": 1, "action": "fs_list", "target": "/", "reason": ""},
            {"id": 2, "action": "dig", "target": "down", "reason": "", "on": "farm"},
            {"id": 3, "action": "gather", "target": "farm", "reason": ""},
            {"id": 4, "action": "call_tool", "target": "farm/dig", "reason": ""}]),
    );
    let plan = check(&plan, &PlanWork::default(), &setting.place()).unwrap();
    assert_eq!(plan.steps[0].action, PlanAction::Gather);
    assert_eq!(
        (&plan.steps[1].action, plan.steps[1].target.as_deref()),
        (&PlanAction::CallTool, Some("dig"))
    );
    assert_eq!(plan.steps[1].params, json!({"target": "down"}));
    assert_eq!(plan.steps[2].on.as_ref().unwrap().as_str(), "farm");
    assert_eq!(plan.steps[3].on.as_ref().unwrap().as_str(), "farm");
    assert_eq!(plan.steps[3].target.as_deref(), Some("dig"));
}

#[test]
fn a_later_plan_counts_on_whether_it_begins_with_one_or_not() {
    let setting = Setting::begin();
    let mut work = PlanWork::default();
    work.advance(
        &PlanAdvance::Adopted {
            plan: plan_of(json!([step(1, &[]), step(2, &[])])),
            after_step: 1,
        },
        0,
    );
    work.advance(
        &PlanAdvance::StepSettled {
            step: 1,
            settled: Settled::Done,
            skips: vec![],
        },
        1,
    );
    let failed = Settled::Failed { error: "no".into() };
    work.advance(
        &PlanAdvance::StepSettled {
            step: 2,
            settled: failed,
            skips: vec![],
        },
        1,
    );
    for (steps, needed) in [
        (json!([step(1, &[]), step(2, &[1])]), 3),
        (json!([step(3, &[]), step(4, &[3])]), 3),
        (json!([step(3, &[]), step(4, &[1])]), 1),
    ] {
        let plan = check(&plan_of(steps), &work, &setting.place()).unwrap();
        let ids: Vec<u32> = plan.steps.iter().map(|s| s.id).collect();
        assert_eq!(
            (ids, plan.steps[1].depends_on.clone()),
            (vec![3, 4], vec![needed])
        );
    }
    let wrong = check(&plan_of(json!([step(3, &[2])])), &work, &setting.place()).unwrap_err();
    assert!(wrong[0].contains("step 3 depends on step 2, which was not done"));
}

proptest! {
    #[test]
    fn a_circle_is_found_exactly_where_there_is_one(edges in prop::collection::vec((1u32..7, 1u32..7), 0..12)) {
        let steps: Vec<PlanStep> = (1..7).map(|id| {
            let needs: Vec<u32> = edges.iter().filter(|(from, _)| *from == id).map(|(_, to)| *to).collect();
            serde_json::from_value(step(id, &needs)).unwrap()
        }).collect();
        // By another road: who can reach itself.
        let mut reach = [[false; 7]; 7];
        for (from, to) in &edges { reach[*from as usize][*to as usize] = true; }
        for k in 0..7 { for i in 0..7 { for j in 0..7 { reach[i][j] |= reach[i][k] && reach[k][j]; } } }
        let circular: Vec<u32> = (1..7u32).filter(|id| reach[*id as usize][*id as usize]).collect();
        let found = cycle(&steps);
        prop_assert_eq!(found.is_some(), !circular.is_empty());
        if let Some(found) = found {
            prop_assert!(circular.iter().all(|id| found.contains(id)));
        }
    }

    #[test]
    fn what_passes_has_ids_in_order_and_points_back(
        steps in prop::collection::vec((0u32..8, prop::collection::vec(0u32..8, 0..3), 0usize..14), 0..8),
    ) {
        let words = ["read_file", "write_file", "run_test", "shell", "dig", "git_status", "gather", "analyse_error", "ask_user", "edit", "search", "call_tool", "x", ""];
        let steps: Vec<Value> = steps.iter().enumerate().map(|(at, (id, deps, word))| {
            let id = if *id == 0 { *id } else { at as u32 + 1 };
            json!({"id": id, "action": words[*word], "target": "/a", "reason": "", "depends_on": deps})
        }).collect();
        let setting = Setting::begin();
        if let Ok(plan) = check(&plan_of(json!(steps)), &PlanWork::default(), &setting.place()) {
            for (at, step) in plan.steps.iter().enumerate() {
                prop_assert_eq!(step.id as usize, at + 1);
                prop_assert!(step.depends_on.iter().all(|id| *id >= 1 && *id < step.id));
                prop_assert!(!matches!(step.action, PlanAction::Other(_)));
            }
            prop_assert!(depth(&plan.steps) <= 10);
        }
    }
}
