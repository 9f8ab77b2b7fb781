//! One step: its calls, its executor, its words.

use super::*;
use crate::domain::toolbox::Tool;

#[test]
fn an_invalid_executor_answer_is_repaired_once_and_then_fails_its_step_alone() {
    for (first, told) in [
        ("I would read it", "holds no JSON call"),
        (
            "{\"calls\": [{\"tool\": \"fs_fly\", \"args\": {}}]}",
            "call 1: there is no tool fs_fly",
        ),
        (
            "{\"tool\": \"fs_write\", \"args\": {\"path\": 3}}",
            "call 1: fs_write: ",
        ),
        ("{\"analysis\": \"it is long\"}", "a call is needed"),
    ] {
        let mut rig = rig_with(|profile| profile.plan.replans = 0);
        assert_eq!(
            asks(&rig.plan(json!([step(1, "write_file", "/a.lua", &[])]))),
            Some(Contract::StepCalls)
        );
        assert_eq!(asks(&rig.say(first)), Some(Contract::StepCalls), "{first}");
        let prompt = rig.prompt(Role::Executor);
        assert!(prompt.contains(told), "{told}:\n{prompt}");
        let made = rig.say("no");
        assert!(
            failed(&made)
                .1
                .contains("the executor's answer stayed invalid: the answer holds no JSON call")
        );
    }
}

#[test]
fn a_step_that_writes_a_file_is_not_done_by_calls_that_do_something_else() {
    for (said, told) in [
        (
            json!({"tool": "fs_list", "args": {"path": "/"}}),
            "call 1: fs_list does not do what a write_file step is for. There are: fs_write",
        ),
        (
            json!({"tool": "fs_write", "args": {"path": "/b.lua", "content": "return 1"}}),
            "no call writes /a.lua, which is what this step is for",
        ),
    ] {
        let mut rig = rig();
        rig.plan(json!([step(1, "write_file", "/a.lua", &[])]));
        assert_eq!(asks(&rig.say(&said.to_string())), Some(Contract::StepCalls));
        let prompt = rig.prompt(Role::Executor);
        assert!(prompt.contains(told), "{told}:\n{prompt}");
        let right = json!({"tool": "fs_write", "args": {"path": "a.lua", "content": "return 1"}});
        rig.say(&right.to_string());
        assert_eq!(rig.open_calls(), ["fs_write on base"]);
    }
}

#[test]
fn a_step_that_writes_a_file_of_data_is_not_offered_the_tool_that_runs_it() {
    for (target, offered) in [("/a.txt", false), ("/a.lua", true)] {
        let mut rig = rig();
        rig.plan(json!([step(1, "write_file", target, &[])]));
        let prompt = rig.prompt(Role::Executor);
        assert_eq!(
            prompt.contains("write_and_run"),
            offered,
            "{target}:\n{prompt}"
        );
    }
}

#[test]
fn a_step_about_the_program_that_checks_may_write_the_file_that_its_reason_names() {
    for (task, target, is_made) in [
        (
            "Write red to /colour.txt, then run /check.lua.",
            "/check.lua",
            true,
        ),
        (
            "Write /show.lua, which shows /colour.txt.",
            "/show.lua",
            false,
        ),
    ] {
        let mut rig = rig();
        if let Some(created) = &mut rig.state.created {
            created.prompt = task.into();
        }
        let mut write = step(1, "write_file", target, &[]);
        write["reason"] = json!("to write the answer to /colour.txt");
        rig.plan(json!([write]));
        let said = json!({"tool": "fs_write", "args": {"path": "/colour.txt", "content": "red"}});
        rig.say(&said.to_string());
        assert_eq!(!rig.open_calls().is_empty(), is_made, "{task}");
    }
}

/// What the executor is told of this only call of a step that writes a file.
fn told_of_write(target: &str, call: Value) -> Option<String> {
    let mut rig = rig();
    let own = ["fs_copy", "tool_write"].map(|name| {
        let spec = json!({"name": name, "effect": "idempotent", "args_schema": {"type": "object"}});
        Tool::of(serde_json::from_value(spec).unwrap())
    });
    let base = &mut rig.fleet.computers[0];
    base.tools = base.tools.iter().cloned().chain(own).collect();
    rig.plan(json!([step(1, "write_file", target, &[])]));
    let again = asks(&rig.say(&call.to_string())) == Some(Contract::StepCalls);
    again.then(|| rig.prompt(Role::Executor))
}

#[test]
fn a_file_may_be_copied_or_be_a_tool_to_be_written_but_no_tool_lies_at_the_root() {
    let tool = json!({"tool": "tool_write", "args": {"name": "sum", "source": "x"}});
    let told = told_of_write("/sum.lua", tool.clone()).unwrap();
    assert!(told.contains("tool_write does not do what a write_file step is for"));
    assert_eq!(told_of_write("/tools/sum.lua", tool.clone()), None);
    assert_eq!(told_of_write("sum.lua", tool), None);
    let copy = json!({"tool": "fs_copy", "args": {"from": "/a.lua", "to": "/sum.lua"}});
    assert_eq!(told_of_write("/sum.lua", copy.clone()), None);
    assert!(told_of_write("/a.lua", copy).is_some());
}

#[test]
fn several_calls_of_a_step_are_made_one_after_the_other_and_stop_at_the_first_failure() {
    let mut rig = rig_with(|profile| profile.plan.replans = 0);
    rig.plan(json!([step(1, "gather", "what is stored here", &[])]));
    let calls = json!([{"tool": "fs_list", "args": {"path": "/"}}, {"tool": "fs_read", "args": {"path": "/a"}}, {"tool": "fs_read", "args": {"path": "/b"}}]);
    rig.say(&calls.to_string());
    assert_eq!(rig.open_calls(), ["fs_list on base"]);
    rig.ok("fs_list", json!({"entries": []}));
    assert_eq!(rig.open_calls(), ["fs_read on base"]);
    assert!(
        failed(&rig.fails("fs_read", "gone"))
            .1
            .contains("fs_read: gone")
    );
    assert_eq!(rig.state.usage.calls, 2);
}

#[test]
fn a_step_that_only_looks_may_not_change_anything() {
    let mut rig = rig();
    rig.plan(json!([step(1, "gather", "what is stored here", &[])]));
    assert!(!rig.prompt(Role::Executor).contains("fs_write"));
    rig.say("{\"tool\": \"shell_exec\", \"args\": {\"command\": \"rm /\"}}");
    assert!(
        rig.prompt(Role::Executor)
            .contains("shell_exec may change something, and this step only looks")
    );
    rig.say("{\"unclear\": [\"which folder\"]}");
    assert_eq!(
        rig.work().steps[0].error(),
        Some("the executor would have to guess: which folder")
    );
}

#[test]
fn the_words_of_a_thinking_step_reach_the_steps_after_it() {
    let mut rig = rig();
    let plan = json!([
        step(1, "run_test", "/a.lua", &[]),
        step(2, "analyze_error", "the crash", &[1]),
        step(3, "edit_file", "/a.lua", &[2])
    ]);
    rig.plan(plan);
    assert_eq!(
        asks(&rig.ok(
            "run_program",
            json!({"success": true, "output": "attempt to index nil"})
        )),
        Some(Contract::StepWords)
    );
    assert!(rig.prompt(Role::Executor).contains("attempt to index nil"));
    assert_eq!(
        asks(&rig.say("Line 3: the file is not open.")),
        Some(Contract::StepCalls)
    );
    let prompt = rig.prompt(Role::Executor);
    assert!(
        prompt.contains("analysis:\n```\nLine 3: the file is not open.\n```"),
        "{prompt}"
    );
    rig.say("{\"tool\": \"fs_patch\", \"args\": {\"path\": \"/a.lua\", \"edits\": [{\"search\": \"a\", \"replace\": \"b\"}]}}");
    assert!(finished(&rig.ok("fs_patch", json!({"path": "/a.lua", "bytes": 3}))).success);
    assert_eq!(rig.state.usage.executor_model_calls, 2);
}

/// What `fs_write` says of a file that it kept.
fn kept(content: &str) -> Value {
    json!({"success": false, "kept": true, "path": "/a.lua", "bytes": content.len(), "hash": "sha256:1", "content": content,
        "truncated": false, "error": "/a.lua: is there already, so nothing was written."})
}

#[test]
fn the_executor_of_a_step_is_shown_the_file_that_its_write_left_alone_and_answers_again() {
    let mut rig = rig();
    rig.plan(json!([step(1, "write_file", "/a.lua", &[])]));
    let write =
        json!({"tool": "fs_write", "args": {"path": "/a.lua", "content": "return 1"}}).to_string();
    rig.say(&write);
    assert_eq!(
        asks(&rig.ok("fs_write", kept("return 'old'"))),
        Some(Contract::StepCalls)
    );
    let prompt = rig.prompt(Role::Executor);
    assert!(
        prompt.contains("return 'old'") && prompt.contains("answer again"),
        "{prompt}"
    );
    rig.say(&write);
    assert_eq!(rig.open_calls(), ["fs_write on base"]);
    assert!(finished(&rig.ok("fs_write", json!({"path": "/a.lua", "bytes": 1}))).success);
    assert_eq!(rig.state.usage.calls, 2);
}

#[test]
fn the_executor_is_shown_once_why_a_file_tool_refused_its_only_call() {
    let patch = json!({"tool": "fs_patch", "args": {"path": "/a.lua", "diff": "30"}}).to_string();
    let mut rig = rig_with(|profile| profile.plan.replans = 0);
    rig.plan(json!([step(1, "edit_file", "/a.lua", &[])]));
    rig.say(&patch);
    let told = "the diff has no hunk";
    assert_eq!(
        asks(&rig.fails("fs_patch", told)),
        Some(Contract::StepCalls)
    );
    assert!(rig.prompt(Role::Executor).contains(told));
    rig.say(&patch);
    assert!(failed(&rig.fails("fs_patch", told)).1.contains(told));
    assert_eq!(rig.state.usage.calls, 2);
    // What a program did before it failed nobody knows.
    let mut rig = rig_with(|profile| profile.plan.replans = 0);
    rig.plan(json!([step(1, "edit_file", "/a.lua", &[])]));
    let run = json!({"tool": "write_and_run", "args": {"path": "/a.lua", "content": "return 1"}});
    rig.say(&run.to_string());
    assert!(failed(&rig.fails("write_and_run", "no")).1.contains("no"));
}

#[test]
fn a_write_that_leaves_the_file_alone_twice_fails_its_step() {
    let mut rig = rig_with(|profile| profile.plan.replans = 0);
    rig.plan(json!([step(1, "write_file", "/a.lua", &[])]));
    let write =
        json!({"tool": "fs_write", "args": {"path": "/a.lua", "content": "return 1"}}).to_string();
    rig.say(&write);
    rig.ok("fs_write", kept("1"));
    rig.say(&write);
    let made = rig.ok("fs_write", kept("2"));
    assert!(failed(&made).1.contains("is there already"));
}

#[test]
fn a_plan_that_insists_on_its_content_is_told_once_and_then_believed() {
    let mut rig = rig();
    let text = json!({"type": "string"});
    let spec = json!({"name": "fs_write", "effect": "idempotent", "args_schema": {"type": "object",
        "required": ["path", "content"], "properties": {"path": text, "content": text, "if_hash": text}}});
    let own = Tool::of(serde_json::from_value(spec).unwrap());
    let base = &mut rig.fleet.computers[0];
    let others = base.tools.iter().filter(|tool| tool.name != "fs_write");
    base.tools = others.cloned().chain([own]).collect();
    let mut write = step(1, "write_file", "/a.lua", &[]);
    write["params"] = json!({"content": "return 1"});
    let plan = json!([write]);
    rig.plan(plan.clone());
    rig.ok("fs_write", kept("return 'old'"));
    rig.plan(plan.clone());
    let told = "/a.lua was kept from exactly this content";
    assert!(rig.prompt(Role::Planner).contains(told));
    assert_eq!(rig.state.usage.calls, 1);
    rig.plan(plan);
    assert_eq!(rig.open_calls(), ["fs_write on base"]);
}

#[test]
fn what_rules_would_have_written_over_a_file_fails_its_step_and_the_planner_is_shown_the_file() {
    let mut rig = rig();
    let mut write = step(1, "write_file", "/a.lua", &[]);
    write["params"] = json!({"content": "return 1"});
    rig.plan(json!([write]));
    assert_eq!(
        asks(&rig.ok("fs_write", kept("return 'old'"))),
        Some(Contract::Plan)
    );
    let prompt = rig.prompt(Role::Planner);
    assert!(prompt.contains("return 'old'"), "{prompt}");
}

#[test]
fn a_run_of_a_program_that_waits_for_input_is_the_executors_with_a_place_for_each_line() {
    let mut rig = rig_with(|profile| profile.plan.resolve_targets = false);
    rig.state.created.as_mut().unwrap().prompt = "Order 12 ladders with /order.lua.".to_owned();
    let properties = json!({"path": {"type": "string"}, "input": {"type": "array"}});
    let run = json!({"name": "run_program", "effect": "effect",
        "args_schema": {"type": "object", "required": ["path"], "properties": properties}});
    let base = &mut rig.fleet.computers[0];
    let others = base.tools.iter().filter(|tool| tool.name != "run_program");
    let mut tools: Vec<Tool> = others.cloned().collect();
    tools.push(Tool::of(serde_json::from_value(run).unwrap()));
    base.tools = tools.into_iter().collect();
    rig.run();
    let steps = json!([
        step(1, "read_file", "/order.lua", &[]),
        step(2, "run_program", "/order.lua", &[1])
    ]);
    rig.plan(steps);
    let order = "write(\"What? \")\nlocal what = read()\nwrite(\"How many? \")\nread()\n";
    rig.ok(
        "fs_read",
        json!({"path": "/order.lua", "content": order, "truncated": false, "hash": "sha256:1"}),
    );
    let prompt = rig.prompt(Role::Executor);
    let form = "/order.lua waits for what is typed (What? How many?). Its call, with what the task says in the place of each \"…\":\n\
        {\"calls\":[{\"args\":{\"input\":[\"…\",\"…\"],\"path\":\"/order.lua\"},\"tool\":\"run_program\"}]}";
    assert!(prompt.contains(form), "{prompt}");
    let typed =
        json!({"tool": "run_program", "args": {"path": "/order.lua", "input": ["ladders", "12"]}});
    rig.say(&typed.to_string());
    assert_eq!(rig.open_calls(), ["run_program on base"]);
}
