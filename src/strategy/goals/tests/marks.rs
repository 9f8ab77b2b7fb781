//! Marks: what counts as one, and what one needs to count.

use super::*;

#[test]
fn a_subtask_is_complete_only_after_an_action_that_could_have_done_it() {
    let mut drive = drive();
    assert!(say(&mut drive, &[HELLO.into(), mark(true)]));
    assert_eq!(last_guard(&drive), Guard::Unfinished);
    let look = call("fs_list", json!({}));
    assert!(say(&mut drive, &[look, mark(true)]));
    assert!(
        drive.shown().contains("has changed nothing"),
        "{}",
        drive.shown()
    );
    // It writes another file than the one that the subtask names.
    assert!(say(&mut drive, &[write("/helo.lua", "x"), mark(true)]));
    let shown = drive.shown();
    let way_out = "Your mark was NOT accepted: /hello.lua is not there. Write it now";
    for told in ["is not there: /hello.lua", way_out, "\"success\": false"] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let prompt = drive.state().prompt(Role::Planner);
    insta::assert_snapshot!("refused_mark", prompt.last().unwrap().content);
    assert!(!say(&mut drive, &[write("/hello.lua", "x"), mark(true)]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
}

#[test]
fn a_file_in_another_folder_is_the_one_that_nobody_but_the_model_names() {
    for (task, completes) in [
        ("Write a program that says hello", true),
        ("Write /hello.lua, a program that says hello", false),
    ] {
        let mut drive = Drive::new(profile_of(NAME), task);
        let said = [HELLO.into(), write("/bin/hello.lua", "x"), mark(true)];
        assert_eq!(!say(&mut drive, &said), completes, "{}", drive.shown());
    }
}

#[test]
fn the_call_of_a_subtask_said_again_and_again_is_its_mark() {
    let mut drive = drive();
    let said = write("/hello.lua", "x");
    assert!(say(&mut drive, &[HELLO.into(), said.clone()]));
    assert!(!say(&mut drive, &[said]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
    let writes = drive.state().calls().filter(|call| call.tool == "fs_write");
    assert_eq!(writes.count(), 1);
    // Of a subtask that names more it may be a slip.
    let mut drive = self::drive();
    let both =
        json!({"description": "write both", "tool": "fs_write", "targets": ["/a.lua", "/b.lua"]});
    let goals = json!({"objectives": [{"description": "both", "subtasks": [both]}]}).to_string();
    let a = write("/a.lua", "x");
    assert!(say(&mut drive, &[goals, a.clone(), a]));
    let writes = drive.state().calls().filter(|call| call.tool == "fs_write");
    assert_eq!(writes.count(), 2);
    // Made ahead, in the subtask before.
    let mut drive = self::drive();
    let files = ["/a.lua", "/b.lua"]
        .map(|path| json!({"description": "write it", "tool": "fs_write", "targets": [path]}));
    let goals = json!({"objectives": [{"description": "both", "subtasks": files}]}).to_string();
    let (a, b) = (write("/a.lua", "x"), write("/b.lua", "x"));
    assert!(say(
        &mut drive,
        &[goals, b.clone(), a, mark(true), b.clone()]
    ));
    assert!(!say(&mut drive, &[b]), "{}", drive.shown());
    // Another content is another call.
    let mut drive = self::drive();
    let texts = ["x", "y", "z", "y"].map(|text| write("/hello.lua", text));
    assert!(say(&mut drive, &[HELLO.into()]) && say(&mut drive, &texts));
}

/// A task that opens a door with a tool, with such a check.
fn at_a_door(check: &str) -> Drive {
    let task = "Open the door with door_open. Run /check.lua at the end.";
    let mut drive = Drive::new(profile_of(NAME), task);
    let open = json!({"name": "door_open", "effect": "effect", "description": "Opens.", "args_schema": {"type": "object"}});
    drive.add_tools(vec![serde_json::from_value(open).unwrap()]);
    drive.files.insert("/check.lua".into(), check.into());
    drive
}

#[test]
fn subtasks_that_were_done_ahead_are_over_once_the_check_of_the_task_runs_well() {
    for (check, calls) in [("all is right", 1), ("error('no')", 2)] {
        let mut drive = at_a_door(check);
        let subtasks = ["run_program", "door_open", "run_program"]
            .map(|tool| json!({"description": tool, "tool": tool, "targets": ["/check.lua"]}));
        let goals = json!({"objectives": [{"description": "it is open", "subtasks": subtasks}]});
        let door = call("door_open", json!({}));
        let run = call("run_program", json!({"path": "/check.lua"}));
        let said = [goals.to_string(), door.clone(), run, mark(true), door];
        let is_right = calls == 1;
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        // Nothing is asked for after the run where it came out well.
        let said = if is_right { &said[..3] } else { &said };
        drive.say_with(said, |files, call| match call.tool.as_str() {
            "door_open" => done(json!({"opened": true})),
            _ => carry_out(files, call),
        });
        let opened = drive
            .state()
            .calls()
            .filter(|call| call.tool == "door_open");
        assert_eq!(opened.count(), calls, "{}", drive.shown());
        let is_done = drive.state().status == TaskStatus::Completed;
        assert_eq!(is_done, is_right, "{}", drive.shown());
    }
}

#[test]
fn a_subtask_whose_own_call_was_not_made_stays_open_although_the_check_ran_well() {
    let mut drive = at_a_door("all is right");
    let subtasks = [("door_open", "/check.lua"), ("fs_read", "/log.txt")]
        .map(|(tool, file)| json!({"description": tool, "tool": tool, "targets": [file]}));
    let goals = json!({"objectives": [{"description": "it is open", "subtasks": subtasks}]});
    let door = call("door_open", json!({}));
    let run = call("run_program", json!({"path": "/check.lua"}));
    drive.say_with(
        &[&goals.to_string(), &door, &run],
        |files, call| match call.tool.as_str() {
            "door_open" => done(json!({"opened": true})),
            _ => carry_out(files, call),
        },
    );
    let shown = drive.shown();
    assert!(shown.contains("current subtask 1.2"), "{shown}");
}

#[test]
fn who_goes_on_with_the_next_subtask_has_ended_the_one_before() {
    let tool = json!({"name": "fs_move", "effect": "idempotent", "args_schema": {"type": "object",
        "properties": {"from": {"type": "string"}, "to": {"type": "string"}}}});
    let moves = |name: &str| (format!("/{name}"), format!("/old/{name}"));
    let subtasks = ["a", "b", "c"].map(|name| {
        let (from, to) = moves(name);
        json!({"description": format!("move {from} to {to}"), "tool": "fs_move", "targets": [from, to]})
    });
    let goals = json!({"objectives": [{"description": "moved", "subtasks": subtasks}]}).to_string();
    let moving = |name: &str| {
        let (from, to) = moves(name);
        call("fs_move", json!({"from": from, "to": to}))
    };
    let begun = |said: &[String]| {
        let mut drive = Drive::new(profile_of(NAME), "Put all away");
        drive.add_tools(vec![serde_json::from_value(tool.clone()).unwrap()]);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        drive.say_with(&said, |files, call| match call.tool.as_str() {
            "fs_move" => {
                let text = |name: &str| call.args[name].as_str().unwrap_or_default();
                let moved = files.remove(text("from")).unwrap_or_default();
                files.insert(text("to").to_owned(), moved);
                done(json!({"from": text("from"), "to": text("to")}))
            }
            _ => carry_out(files, call),
        });
        drive
    };
    let in_a_row = [goals.clone(), moving("a"), moving("b"), moving("c")];
    let drive = begun(&in_a_row);
    let open = drive.shown().contains("current subtask 1.3");
    assert!(open && drive.state().result.is_none(), "{}", drive.shown());
    let drive = begun(&[&in_a_row[..], &[mark(true)]].concat());
    assert_eq!(drive.state().status, TaskStatus::Completed);
    assert_eq!(drive.state().usage.model_calls, 5);
    // Another thing than a subtask's is no word about the one before.
    let look = call("fs_list", json!({"path": "/"}));
    let drive = begun(&[goals, moving("a"), look]);
    let shown = drive.shown();
    assert!(shown.contains("current subtask 1.1"), "{shown}");
}

#[test]
fn a_file_that_stood_there_is_not_written_by_marking_its_subtask() {
    for look in ["/", "/sub"] {
        let mut drive = drive();
        drive.files.insert("/hello.lua".into(), "old".into());
        drive.files.insert("/sub/x.lua".into(), "old".into());
        let elsewhere = write("/other.lua", "x");
        let look = call("fs_list", json!({"path": look}));
        assert!(say(
            &mut drive,
            &[HELLO.into(), look, elsewhere, mark(true)]
        ));
        let shown = drive.shown();
        let told = "is to write /hello.lua, and nothing in this task has: write it";
        assert!(shown.contains(told), "{shown}");
        // It may be as it should be.
        assert!(!say(&mut drive, &[mark(true)]));
        assert_eq!(drive.state().status, TaskStatus::Completed);
    }
}

#[test]
fn a_program_that_ran_may_have_written_the_file_of_a_subtask() {
    let mut drive = drive();
    drive.files.insert("/hello.lua".into(), "old".into());
    drive.files.insert("/make.lua".into(), "print(1)".into());
    assert!(!say(
        &mut drive,
        &[HELLO.into(), run("/make.lua"), mark(true)]
    ));
}

#[test]
fn a_file_that_was_written_and_is_gone_is_noticed_before_the_word_is_taken() {
    let bare = "Mark it: {\"success\": true, \"reason\": \"written\"}";
    for mark in [mark(true), bare.into()] {
        let mut drive = drive();
        assert!(say(&mut drive, &[HELLO.into(), write("/hello.lua", "x")]));
        drive.files.clear();
        assert!(say(&mut drive, &[mark]));
        let shown = drive.shown();
        assert!(
            shown.contains("MISSING on the computer: /hello.lua"),
            "{shown}"
        );
        assert!(shown.contains("NOT accepted"), "{shown}");
    }
}

#[test]
fn a_mark_beside_calls_does_not_count() {
    let mut drive = drive();
    drive.say(&[HELLO]);
    let both = calls(&[
        ("fs_write", json!({"path": "/hello.lua", "content": "x"})),
        (MARK_TOOL, json!({"success": true, "reason": "written"})),
    ]);
    drive.answer(both);
    assert!(drive.run_to_consult());
    assert!(work(&drive).current().is_some());
    let shown = drive.shown();
    assert!(shown.contains("after you saw what came of them"), "{shown}");
    assert!(shown.contains("[calls fs_write"), "{shown}");
}

#[test]
fn the_arguments_of_a_mark_alone_are_a_mark_and_other_json_is_words() {
    let args = "{\"success\": true, \"reason\": \"it is written\"}";
    for bare in [
        args.to_owned(),
        format!("```json\n{args}\n```"),
        format!("Mark subtask complete with {args}."),
    ] {
        let mut drive = drive();
        drive.say(&[TWO]);
        assert!(say(&mut drive, &[write("/hello.lua", "x"), bare]));
        let place = work(&drive).current().map(|(place, _)| place.to_string());
        assert_eq!(place, Some("1.2".into()));
        assert!(drive.say(&["{\"success\": true}"]));
        assert_eq!(last_guard(&drive), Guard::Reminder);
    }
}

#[test]
fn the_last_mark_needs_a_test_where_the_kind_demands_proof() {
    let mut drive = drive();
    drive.bench.profile.demand_proof = true;
    assert!(say(
        &mut drive,
        &[HELLO.into(), write("/hello.lua", "print(1)"), mark(true)]
    ));
    assert_eq!(last_guard(&drive), Guard::Proof);
    assert!(!say(&mut drive, &[run("/hello.lua"), mark(true)]));
    assert_eq!(drive.state().status, TaskStatus::Completed);
}

#[test]
fn the_mark_is_shown_in_the_form_in_which_the_model_calls() {
    let written = json!({"path": "/hello.lua", "content": "x"});
    let args = r#"{"success": true, "reason": "…"}"#;
    let (native, text) = (
        calls(&[("fs_write", written)]),
        answer(&write("/hello.lua", "x")),
    );
    for (said, form) in [
        (
            native,
            format!("complete: call mark_subtask_complete with {args}."),
        ),
        (
            text,
            format!(
                "complete, and you answer\n{{\"tool\": \"mark_subtask_complete\", \"args\": {args}}}"
            ),
        ),
    ] {
        let mut drive = drive();
        drive.say(&[TWO]);
        drive.answer(said);
        assert!(drive.run_to_consult());
        assert!(drive.shown().contains(&form), "{}", drive.shown());
    }
}

#[test]
fn a_subtask_whose_run_came_out_well_often_enough_before_it_is_done() {
    for (on, program) in [(None, "/hello.lua"), (Some("mine"), "/hello.lua")] {
        let tool = |name: &str| match on {
            Some(on) => format!("{on}/{name}"),
            None => name.to_owned(),
        };
        let subtask = |what: &str, tool: &str| json!({"description": what, "tool": tool, "targets": [program], "on": on});
        let goal = json!({"objectives": [{"description": "Say hello", "subtasks": [
            subtask("Write /hello.lua, which prints hello", "fs_write"),
            subtask("Run /hello.lua", "run_program")]}]});
        let mut drive = Drive::new(profile_of(NAME), "Write /hello.lua on mine or here");
        drive.add_computer("mine");
        let path = json!({"path": program});
        let written = json!({"path": program, "content": "hello"});
        let run = call(&tool("run_program"), path);
        let write = call(&tool("fs_write"), written);
        let before = [
            goal.to_string(),
            write,
            run.clone(),
            run.clone(),
            run.clone(),
        ];
        assert!(say(&mut drive, &before));
        assert!(say(&mut drive, &[mark(true)]), "{}", drive.shown());
        assert!(say(&mut drive, &[run]), "{}", drive.shown());
        assert_eq!(last_guard(&drive), Guard::Duplicate, "{on:?}");
        assert!(!say(&mut drive, &[mark(true)]), "{on:?}: {}", drive.shown());
        assert_eq!(drive.state().status, TaskStatus::Completed, "{on:?}");
    }
}
