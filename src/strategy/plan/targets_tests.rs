use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::fixtures::open_call;
use crate::strategy::plan::place::bench::{Setting, plan_of};

fn answered(lookup: &Lookup, result: Value) -> CallRecord {
    CallRecord {
        target: lookup.on.clone().map_or(Target::Any, Target::Computer),
        end: CallEnd::Finished(CallReport {
            result: Some(result),
            error: None,
            code: None,
            ..CallReport::without_answer(Outcome::Done, "", "")
        }),
        ..open_call(lookup.tool, lookup.args.clone())
    }
}

fn found(paths: &[&str]) -> Value {
    let found: Vec<Value> = paths
        .iter()
        .map(|path| json!({"path": path, "is_dir": false}))
        .collect();
    json!({"path": "/", "found": found, "truncated": false})
}

/// The target of the last step after its lookup found these.
fn target(steps: Value, paths: &[&str]) -> Result<String, String> {
    let setting = Setting::begin();
    let (plan, place) = (plan_of(steps), setting.place());
    let calls: Vec<CallRecord> = lookups(&plan, &place)
        .iter()
        .map(|lookup| answered(lookup, found(paths)))
        .collect();
    resolve(&plan, &place, calls.iter())
        .map(|plan| plan.steps.last().unwrap().target.clone().unwrap())
        .map_err(|problems| problems.join("; "))
}

fn step(id: u32, action: &str, target: &str) -> Value {
    json!({"id": id, "action": action, "target": target, "reason": ""})
}

#[test]
fn a_part_of_a_path_becomes_the_whole_one() {
    let read = |path: &str| json!([step(1, "read_file", path)]);
    assert_eq!(
        target(read("TODO.lua"), &["/TODO.lua", "/old/TODO.lua"]).unwrap(),
        "/TODO.lua"
    );
    assert_eq!(
        target(read("lib/json.lua"), &["/apps/lib/json.lua", "/json.lua"]).unwrap(),
        "/apps/lib/json.lua"
    );
    assert_eq!(
        target(
            json!([step(1, "run_test", "t.lua fast")]),
            &["/tests/t.lua"]
        )
        .unwrap(),
        "/tests/t.lua fast"
    );
}

#[test]
fn a_folder_stays_a_folder() {
    let gather = json!([step(1, "gather", "logs/")]);
    assert_eq!(target(gather, &["/var/logs"]).unwrap(), "/var/logs/");
}

#[test]
fn what_is_to_be_gathered_is_looked_up_only_if_it_is_a_path() {
    let gather = json!([step(1, "gather", "what is stored")]);
    assert_eq!(target(gather, &[]).unwrap(), "what is stored");
}

#[test]
fn what_could_be_several_or_is_not_there_is_told() {
    let read = |path: &str| json!([step(1, "read_file", path)]);
    let told = target(read("a.lua"), &["/x/a.lua", "/y/a.lua"]).unwrap_err();
    assert_eq!(
        told,
        "step 1: a.lua could be /x/a.lua or /y/a.lua: name one of them in full"
    );
    let told = target(read("/src/a.lua"), &["/a.lua"]).unwrap_err();
    assert_eq!(told, "step 1: /src/a.lua does not exist; there is /a.lua");
    assert_eq!(
        target(read("a.lua"), &[]).unwrap_err(),
        "step 1: a.lua does not exist; a step that makes a new file is a write_file"
    );
}

#[test]
fn globs_and_what_earlier_steps_make_are_left_alone() {
    assert_eq!(
        target(json!([step(1, "read_file", "*.lua")]), &[]).unwrap(),
        "*.lua"
    );
    let written = json!([
        step(1, "write_file", "/new/a.lua"),
        step(2, "run_test", "a.lua")
    ]);
    assert_eq!(target(written, &[]).unwrap(), "/new/a.lua");
    let made = json!([
        step(1, "run_program", "/gen.lua"),
        step(2, "read_file", "/out.txt")
    ]);
    assert_eq!(target(made, &["/gen.lua"]).unwrap(), "/out.txt");
    let elsewhere = json!([{"id": 1, "action": "shell", "target": "gen", "reason": "", "on": "farm"}, step(2, "read_file", "/out.txt")]);
    assert!(
        target(elsewhere, &[])
            .unwrap_err()
            .contains("does not exist")
    );
}

#[test]
fn a_look_at_what_a_later_step_makes_is_left_out() {
    let setting = Setting::begin();
    let resolved = |steps: Value, found_at: &[&str]| {
        let (plan, place) = (plan_of(steps), setting.place());
        let calls: Vec<CallRecord> = lookups(&plan, &place)
            .iter()
            .map(|lookup| answered(lookup, found(found_at)))
            .collect();
        let plan = resolve(&plan, &place, calls.iter())?;
        let steps = plan.steps.into_iter();
        let told = steps.map(|s| (s.id, s.action.as_str().to_owned(), s.depends_on));
        Ok::<Vec<_>, Vec<String>>(told.collect())
    };
    let needs = |id: u32, action: &str, needs: &[u32]| json!({"id": id, "action": action, "target": "/colour.txt", "reason": "", "depends_on": needs});
    let ask = json!({"id": 1, "action": "ask_user", "target": "Which colour?", "reason": ""});
    let steps = |read: &str| {
        json!([
            ask,
            needs(2, read, &[1]),
            needs(3, "write_file", &[2]),
            needs(4, "read_file", &[3])
        ])
    };
    let shown = |id: u32, action: &str, needs: &[u32]| (id, action.to_owned(), needs.to_vec());
    assert_eq!(
        resolved(steps("read_file"), &[]).unwrap(),
        [
            shown(1, "ask_user", &[]),
            shown(2, "write_file", &[1]),
            shown(3, "read_file", &[2])
        ]
    );
    // It is there, it lies elsewhere, or it is to be changed: the look is one.
    assert_eq!(
        resolved(steps("read_file"), &["/colour.txt"])
            .unwrap()
            .len(),
        4
    );
    assert!(resolved(steps("read_file"), &["/old/colour.txt"]).is_err());
    assert!(resolved(steps("edit_file"), &[]).is_err());
}

#[test]
fn a_lookup_is_made_once_and_where_its_step_is() {
    let setting = Setting::begin();
    let mut far = step(3, "read_file", "a.lua");
    far["on"] = json!("farm");
    let plan = plan_of(json!([
        step(1, "read_file", "a.lua"),
        step(2, "edit_file", "/x/a.lua"),
        far
    ]));
    let wanted = lookups(&plan, &setting.place());
    let on: Vec<Option<&str>> = wanted
        .iter()
        .map(|l| l.on.as_ref().map(|id| id.as_str()))
        .collect();
    assert_eq!(on, [None, Some("farm")]);
    assert_eq!(wanted[0].args, json!({"pattern": "a.lua", "limit": 50}));
}

#[test]
fn a_computer_that_can_only_list_is_asked_for_the_folder() {
    let mut setting = Setting::begin();
    for computer in &mut setting.fleet.computers {
        computer.tools = computer
            .tools
            .iter()
            .filter(|t| t.name != "fs_find")
            .cloned()
            .collect();
    }
    let plan = plan_of(json!([step(1, "read_file", "/lib/a.lua")]));
    let place = setting.place();
    let wanted = lookups(&plan, &place);
    assert_eq!(
        (wanted[0].tool, wanted[0].args.clone()),
        ("fs_list", json!({"path": "/lib"}))
    );
    for (name, there) in [("a.lua", true), ("b.lua", false)] {
        let calls = [answered(&wanted[0], json!({"entries": [{"name": name}]}))];
        assert_eq!(resolve(&plan, &place, calls.iter()).is_ok(), there);
    }
    // A folder that cannot be listed tells nothing.
    let mut failed = answered(&wanted[0], Value::Null);
    failed.end = CallEnd::Finished(CallReport::without_answer(
        Outcome::Failed,
        "x",
        "no folder",
    ));
    assert!(resolve(&plan, &place, [failed].iter()).is_ok());
}

#[test]
fn who_takes_a_tool_of_a_computer_for_a_file_hears_which_tools_that_has() {
    let told = target(json!([step(1, "gather", "farm/inventory_list")]), &[]).unwrap_err();
    let tools = "step 1: farm/inventory_list does not exist; farm is a computer, and of its own it has the tools dig (direction (string, optional)): \
                 to call one, \"action\": \"call_tool\", \"on\": \"farm\"";
    assert_eq!(told, tools);
    let none = target(json!([step(1, "gather", "base/inventory_list")]), &[]).unwrap_err();
    assert!(
        none.ends_with("base is a computer, and it has no such tool"),
        "{none}"
    );
}
