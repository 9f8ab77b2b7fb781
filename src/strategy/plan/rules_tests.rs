//! Steps that rules carry out without an executor.

use super::*;
use crate::domain::fixtures::{intended, open_call};
use crate::domain::step::Step;
use crate::domain::task::CallEnd;
use crate::domain::track::Track;
use crate::strategy::drive::done;
use crate::strategy::plan::place::bench::{Setting, plan_of};

fn meaning(step: Value) -> Option<(String, Value)> {
    meaning_in(&Setting::begin(), step)
}

fn meaning_in(setting: &Setting, mut step: Value) -> Option<(String, Value)> {
    step["id"] = json!(1);
    step["reason"] = json!("because");
    let plan = plan_of(json!([step]));
    match request_of(&plan.steps[0], &setting.place())? {
        StrictRequest::Tool {
            tool, parameters, ..
        } => Some((tool, parameters)),
        _ => None,
    }
}

#[test]
fn a_step_with_one_meaning_is_a_call_by_rule() {
    for (step, tool, args) in [
        (
            json!({"action": "read_file", "target": "/a.lua"}),
            "fs_read",
            json!({"path": "/a.lua"}),
        ),
        (
            json!({"action": "write_file", "target": "/a.lua", "params": {"content": "x"}}),
            "fs_write",
            json!({"path": "/a.lua", "content": "x"}),
        ),
        (
            json!({"action": "edit_file", "target": "/a.lua", "params": {"search": "x", "replace": "y"}}),
            "fs_patch",
            json!({"path": "/a.lua", "edits": [{"search": "x", "replace": "y"}]}),
        ),
        (
            json!({"action": "edit_file", "target": "/a.lua", "params": {"search": "x", "replace": "y", "all": true}}),
            "fs_patch",
            json!({"path": "/a.lua", "edits": [{"search": "x", "replace": "y", "all": true}]}),
        ),
        (
            json!({"action": "edit_file", "target": "/a.lua", "params": {"content": "z"}}),
            "fs_write",
            json!({"path": "/a.lua", "content": "z"}),
        ),
        (
            json!({"action": "run_test", "target": "/a.lua add \"buy milk\""}),
            "run_program",
            json!({"path": "/a.lua", "args": ["add", "buy milk"]}),
        ),
        (
            json!({"action": "run", "target": "/a.lua", "params": {"args": ["x"]}}),
            "run_program",
            json!({"path": "/a.lua", "args": ["x"]}),
        ),
        (
            json!({"action": "run_test", "target": "shell /check.lua"}),
            "run_program",
            json!({"path": "/check.lua"}),
        ),
        (
            json!({"action": "test", "target": "todo list"}),
            "shell_exec",
            json!({"command": "todo list"}),
        ),
        (
            json!({"action": "shell", "target": "copy a b"}),
            "shell_exec",
            json!({"command": "copy a b"}),
        ),
        (
            json!({"action": "search", "target": "open("}),
            "fs_grep",
            json!({"pattern": "open("}),
        ),
        (
            json!({"action": "search", "target": "*.lua"}),
            "fs_find",
            json!({"pattern": "*.lua"}),
        ),
        (
            json!({"action": "search_code", "target": "/lib", "params": {"pattern": "x"}}),
            "fs_grep",
            json!({"pattern": "x", "path": "/lib"}),
        ),
        (
            json!({"action": "call_tool", "target": "dig", "params": {"direction": "up"}}),
            "dig",
            json!({"direction": "up"}),
        ),
        (
            json!({"action": "call_tool", "params": {"tool": "dig", "args": {"direction": "up"}}}),
            "dig",
            json!({"direction": "up"}),
        ),
        (
            json!({"action": "gather", "target": "/logs/"}),
            "fs_list",
            json!({"path": "/logs/"}),
        ),
        (
            json!({"action": "gather", "params": {"tool": "fs_list", "args": {"path": "/"}}}),
            "fs_list",
            json!({"path": "/"}),
        ),
        (
            json!({"action": "ask_user", "target": "Which?"}),
            "ask_user",
            json!({"question": "Which?", "why": "because"}),
        ),
    ] {
        assert_eq!(
            meaning(step.clone()),
            Some((tool.to_owned(), args)),
            "{step}"
        );
    }
}

#[test]
fn a_step_with_a_doubt_is_left_to_the_executor() {
    for step in [
        json!({"action": "read_file", "target": "*.lua"}),
        json!({"action": "write_file", "target": "/a.lua"}),
        json!({"action": "edit_file", "target": "/a.lua", "params": {"line_number": 42, "fix_type": "null_check"}}),
        json!({"action": "run_test", "target": "/a.lua x", "params": {"args": ["y"]}}),
        json!({"action": "run_test", "target": "/a.lua \"open"}),
        json!({"action": "search", "target": "/lib"}),
        json!({"action": "gather", "params": {"tool": "run_program"}}),
        json!({"action": "gather", "target": "what is stored"}),
        json!({"action": "analyse_error", "target": "x"}),
    ] {
        assert_eq!(meaning(step.clone()), None, "{step}");
    }
}

#[test]
fn a_folder_that_a_search_has_shown_is_listed_where_it_was_to_be_read() {
    let mut setting = Setting::begin();
    let mut find = open_call("fs_find", json!({"pattern": "backups"}));
    let found =
        json!([{"path": "/backups", "is_dir": true}, {"path": "/backups.txt", "is_dir": false}]);
    find.end = CallEnd::Finished(done(json!({"found": found})));
    find.intended = Some(intended(&find, "base"));
    let mut step = Step::new(1, Track::MAIN);
    step.calls.push(find);
    setting.state.steps.push(step);
    let read = |path: &str| meaning_in(&setting, json!({"action": "read_file", "target": path}));
    let list = ("fs_list".to_owned(), json!({"path": "/backups"}));
    assert_eq!(read("/backups"), Some(list));
    for path in ["/backups.txt", "/backups/a"] {
        assert_eq!(read(path).unwrap().0, "fs_read", "{path}");
    }
}

#[test]
fn a_path_to_gather_is_read_only_if_its_name_has_an_ending() {
    let gathered = |path: &str| meaning(json!({"action": "gather", "target": path}));
    let read = ("fs_read".to_owned(), json!({"path": "/lib/a.lua"}));
    assert_eq!(gathered("/lib/a.lua"), Some(read));
    for path in ["/lib", "/apps.d/lib"] {
        assert_eq!(gathered(path), None, "{path}");
    }
}

#[test]
fn a_missing_tool_has_a_fallback_only_where_that_is_allowed() {
    let mut setting = Setting::begin();
    for computer in &mut setting.fleet.computers {
        computer.tools = computer
            .tools
            .iter()
            .filter(|t| t.name != "run_program")
            .cloned()
            .collect();
    }
    let step = json!({"action": "run", "target": "/a.lua x", "params": {"args": ["buy milk"]}});
    let expected = (
        "shell_exec".to_owned(),
        json!({"command": "/a.lua x \"buy milk\""}),
    );
    assert_eq!(meaning_in(&setting, step.clone()), Some(expected));
    setting.profile.plan.allow_tool_fallback = false;
    assert_eq!(meaning_in(&setting, step), None);
}
