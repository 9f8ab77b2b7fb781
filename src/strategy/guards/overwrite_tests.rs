//! What becomes of a write to a file that the task has not seen.

use super::{Sights, with_known_content};
use crate::domain::call::Target;
use crate::domain::files::{Sight, see};
use crate::domain::fixtures::open_call;
use crate::domain::ids::ClientId;
use crate::domain::task::{CallEnd, CallRecord, Step};
use crate::domain::tool::{ComputerView, FleetView, ToolSpec};
use crate::domain::track::Track;
use crate::strategy::drive::{Drive, done, fleet, profile_of};
use crate::strategy::fleet::ToolLookup;
use proptest::prelude::*;
use serde_json::{Value, json};

const OLD: &str = "{\"speed\": 3}";

fn drive() -> Drive {
    drive_for("Set speed to 9 in /settings.json")
}

fn drive_for(task: &str) -> Drive {
    let mut drive = Drive::new(profile_of("direct"), task);
    drive.files.insert("/settings.json".into(), OLD.into());
    drive
}

fn write(content: &str) -> String {
    json!({"tool": "fs_write", "args": {"path": "settings.json", "content": content}}).to_string()
}

fn settings(drive: &Drive) -> &str {
    &drive.files["/settings.json"]
}

/// What the first writes of a task say that they know.
fn known(drive: &Drive) -> Vec<Value> {
    let calls = drive.state().calls();
    calls.map(|call| call.args["if_hash"].clone()).collect()
}

#[test]
fn a_file_that_was_not_seen_is_kept_and_shown_and_may_be_written_otherwise() {
    let mut drive = drive();
    drive.say(&[&write("{}")]);
    assert_eq!(settings(&drive), OLD);
    assert!(drive.shown().contains(OLD), "{}", drive.shown());
    drive.say(&[&write("{\"speed\": 9}")]);
    assert_eq!(settings(&drive), "{\"speed\": 9}");
}

#[test]
fn who_writes_the_same_again_is_told_once_and_then_believed() {
    let mut drive = drive();
    drive.say(&[&write("{}"), &write("{}")]);
    assert_eq!(drive.state().calls().count(), 1);
    assert!(drive.shown().contains("was kept from exactly this content"));
    assert_eq!(settings(&drive), OLD);
    drive.say(&[&write("{}")]);
    assert_eq!(settings(&drive), "{}");
}

#[test]
fn who_makes_a_part_of_the_lines_anew_is_believed_at_the_second_time() {
    let old = "{\n  \"speed\": 3,\n  \"side\": \"north\",\n  \"limit\": 20\n}\n";
    for (new, believed) in [
        (old.replace('3', "9"), true),
        (old.replace("3,", "3,\n  \"more\": true,"), true),
        (old.replace("  \"side\": \"north\",\n", ""), false),
        ("{\"speed\": 9}\n".repeat(6), false),
    ] {
        let mut drive = drive();
        drive.files.insert("/settings.json".into(), old.into());
        drive.say(&[&write(&new), &write(&new)]);
        assert_eq!(settings(&drive) == new, believed, "{new}");
    }
}

#[test]
fn what_was_told_of_one_file_is_not_told_of_another_whose_path_ends_alike() {
    let mut drive = drive_for("Set speed to 9 in /settings.json and in /x/settings.json");
    drive.files.insert("/x/settings.json".into(), OLD.into());
    let other = write("{}").replace("settings", "/x/settings");
    drive.say(&[&other, &other, &write("{}"), &write("{}")]);
    assert_eq!(settings(&drive), OLD);
    assert_eq!(drive.state().calls().count(), 2);
    drive.say(&[&write("{}")]);
    assert_eq!(settings(&drive), "{}");
}

#[test]
fn who_is_believed_replaces_what_was_shown_and_nothing_newer() {
    let mut drive = drive();
    drive.say(&[&write("{}"), &write("{}")]);
    drive.files.insert("/settings.json".into(), "new".into());
    drive.say(&[&write("{}")]);
    assert_eq!(settings(&drive), "new");
    assert!(drive.shown().contains("new"), "{}", drive.shown());
}

#[test]
fn who_looks_or_deletes_before_writing_the_same_again_is_not_told() {
    for tool in ["fs_read", "fs_delete"] {
        let mut drive = drive();
        let first = json!({"tool": tool, "args": {"path": "/settings.json"}}).to_string();
        drive.say(&[&write("{}"), &first, &write("{}")]);
        assert_eq!(settings(&drive), "{}", "{tool}");
    }
    let mut drive = drive();
    let run = json!({"tool": "run_program", "args": {"path": "/settings.json"}}).to_string();
    drive.say(&[&write("{}"), &run, &write("{}")]);
    assert_eq!(settings(&drive), OLD, "a run is no look");
}

#[test]
fn a_file_that_the_task_read_or_wrote_itself_is_replaced_at_once() {
    let read = json!({"tool": "fs_read", "args": {"path": "/settings.json"}}).to_string();
    for first in [read, write(OLD)] {
        let mut drive = self::drive();
        drive.say(&[&first, &write("{}")]);
        assert_eq!(settings(&drive), "{}", "{first}");
    }
}

#[test]
fn a_file_that_changed_since_it_was_seen_is_kept() {
    let mut drive = self::drive();
    drive.say(&[&write(OLD)]);
    drive
        .files
        .insert("/settings.json".into(), "{\"x\": 1}".into());
    drive.say(&[&write("{}")]);
    assert_eq!(settings(&drive), "{\"x\": 1}");
    drive.say(&[&write("{ }")]);
    assert_eq!(settings(&drive), "{ }");
}

#[test]
fn a_file_of_which_only_the_name_was_seen_is_kept() {
    let mut drive = self::drive();
    let list = json!({"tool": "fs_list", "args": {"path": "/"}}).to_string();
    drive.say(&[&list, &write("{}")]);
    assert_eq!(settings(&drive), OLD);
}

#[test]
fn nobody_is_kept_from_a_file_by_writing_its_path_otherwise() {
    let mut drive = self::drive();
    let odd = |content: &str| write(content).replace("settings", "/x/..//settings");
    drive.say(&[&odd("{}")]);
    assert_eq!(settings(&drive), OLD);
    drive.say(&[&odd("1")]);
    assert_eq!(settings(&drive), "1");
}

#[test]
fn what_a_model_says_that_it_knows_counts_for_nothing() {
    let mut drive = self::drive();
    let lie = json!({"tool": "fs_write", "args": {"path": "/settings.json", "content": "{}", "if_hash": ""}});
    drive.say(&[&lie.to_string()]);
    assert_eq!(settings(&drive), OLD);
    assert_eq!(known(&drive), [json!("none")]);
}

#[test]
fn the_second_write_of_one_answer_does_not_say_what_the_first_one_leaves() {
    let mut drive = self::drive();
    drive.files.clear();
    let two = format!("{}\n{}", write("1"), write("2"));
    drive.say(&[&two]);
    assert_eq!(known(&drive), [json!("none"), Value::Null]);
    assert_eq!(settings(&drive), "2");
}

#[test]
fn a_task_that_may_overwrite_does() {
    let mut drive = self::drive();
    drive.bench.profile.guards.look_before_overwrite = false;
    drive.say(&[&write("{}")]);
    assert_eq!(settings(&drive), "{}");
    assert_eq!(known(&drive), [Value::Null]);
}

#[test]
fn a_write_that_was_kept_changed_nothing_and_no_test_is_needed_for_it() {
    let mut drive = self::drive();
    drive.say(&[&write(OLD)]);
    let before = drive.state().tests_before_change;
    drive.files.insert("/settings.json".into(), "other".into());
    drive.say(&[&write("{}")]);
    assert_eq!(drive.state().tests_before_change, before);
    assert!(!drive.state().files["/settings.json"].written);
}

/// The arguments of a call as they are sent, where the task has seen `/seen` on its own computer and `/other` on `t2`.
fn sent(tool: &str, schema: Value, target: Target, args: Value) -> Value {
    sent_after(None, tool, schema, target, args)
}

fn sent_after(
    call: Option<CallRecord>,
    tool: &str,
    schema: Value,
    target: Target,
    args: Value,
) -> Value {
    let mut state = drive().bench.state;
    let mut step = Step::new(1, Track::MAIN);
    step.calls.extend(call);
    state.steps.push(step);
    let spec = json!({"name": tool, "args_schema": schema});
    let spec: ToolSpec = serde_json::from_value(spec).unwrap();
    let base = fleet().computers.remove(0);
    let computers = ["base", "t2"].map(|name| ComputerView {
        client_id: ClientId::parse(name).unwrap(),
        tools: vec![spec.clone()].into(),
        ..base.clone()
    });
    let fleet = FleetView {
        computers: computers.into(),
        has_tools: true,
    };
    for (key, hash) in [
        ("/seen", "sha256:1"),
        ("t2:/other", "sha256:2"),
        ("/old", "abc"),
    ] {
        let sight = Sight {
            path: key.into(),
            bytes: 1,
            hash: Some(hash.into()),
            written: false,
        };
        see(&mut state.files, key, &sight, 1);
    }
    let tools = ToolLookup::at(&state, &fleet, &target);
    let sights = Sights {
        state: &state,
        before: &[],
    };
    with_known_content(args, tool, &target, &tools, &sights)
        .unwrap_or_else(|evidence| json!(evidence))
}

#[test]
fn each_file_is_told_as_its_computer_was_seen_to_have_it() {
    let text = json!({"type": "string"});
    let one = json!({"properties": {"path": text, "if_hash": text}});
    let many = json!({"properties": {"files": {"items": one}}});
    let on_t2 = || Target::Computer(ClientId::parse("t2").unwrap());
    let of = |target, path| {
        sent("write_and_run", one.clone(), target, json!({"path": path}))["if_hash"].clone()
    };
    assert_eq!(of(Target::Any, "seen"), "sha256:1");
    assert_eq!(of(Target::Any, "/other"), "none");
    assert_eq!(of(on_t2(), "/other"), "sha256:2");
    assert_eq!(of(on_t2(), "/seen"), "none");
    // The server's own hash means nothing to a computer.
    assert_eq!(of(Target::Any, "/old"), "none");
    let files = json!({"files": [{"path": "/seen"}, {"path": "/new", "if_hash": "x"}, 3]});
    assert_eq!(
        sent("fs_write_many", many, Target::Any, files),
        json!({"files": [{"path": "/seen", "if_hash": "sha256:1"}, {"path": "/new", "if_hash": "none"}, 3]})
    );
}

#[test]
fn of_several_files_only_the_one_that_was_kept_may_not_be_written_so_again() {
    let text = json!({"type": "string"});
    let one = json!({"properties": {"path": text, "content": text, "if_hash": text}});
    let many = json!({"properties": {"files": {"items": one}}});
    let files =
        json!({"files": [{"path": "/seen", "content": "x"}, {"path": "/old", "content": "y"}]});
    let of = |kept: &str| {
        let mut call = open_call("fs_write_many", files.clone());
        let kept = json!({"success": false, "kept": true, "files": [{"path": kept, "kept": true, "content": "was"}]});
        call.end = CallEnd::Finished(done(kept));
        sent_after(
            Some(call),
            "fs_write_many",
            many.clone(),
            Target::Any,
            files.clone(),
        )
    };
    let evidence = of("/seen");
    assert!(
        evidence
            .as_str()
            .unwrap()
            .starts_with("/seen was kept from exactly this content"),
        "{evidence}"
    );
    assert_eq!(of("/old")["files"][0]["if_hash"], "sha256:1");
}

#[test]
fn groups_older_libraries_and_other_tools_are_told_nothing() {
    let text = json!({"type": "string"});
    let takes = json!({"properties": {"path": text, "if_hash": text}});
    let args = json!({"path": "/seen"});
    let group = Target::Group("miners".into());
    for (tool, schema, target) in [
        ("fs_write", takes.clone(), group),
        (
            "fs_write",
            json!({"properties": {"path": text}}),
            Target::Any,
        ),
        ("fs_patch", takes, Target::Any),
    ] {
        assert_eq!(sent(tool, schema, target, args.clone()), args, "{tool}");
    }
}

/// What a task does to one file, or somebody else does.
#[derive(Debug, Clone)]
enum Act {
    Write(u8),
    Read,
    Other(u8),
    Gone,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0u8..3).prop_map(Act::Write),
        Just(Act::Read),
        (0u8..3).prop_map(Act::Other),
        Just(Act::Gone),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_content_is_lost_that_the_task_was_not_shown(acts in proptest::collection::vec(act(), 1..8)) {
        let mut drive = self::drive();
        drive.bench.profile.guards.duplicate_calls = 0;
        drive.bench.profile.guards.bounces = 60;
        let mut shown: Vec<String> = Vec::new();
        for act in acts {
            let before = drive.files.get("/settings.json").cloned();
            let said = match act {
                Act::Write(n) => write(&n.to_string()),
                Act::Read => json!({"tool": "fs_read", "args": {"path": "/settings.json"}}).to_string(),
                Act::Other(n) => {
                    drive.files.insert("/settings.json".into(), n.to_string());
                    continue;
                }
                Act::Gone => {
                    drive.files.clear();
                    continue;
                }
            };
            prop_assert!(drive.say(&[&said]));
            let now = drive.files.get("/settings.json").cloned();
            if let Some(lost) = before.filter(|before| Some(before) != now.as_ref()) {
                prop_assert!(shown.contains(&lost), "{lost} was lost");
            }
            let results = drive.state().calls().filter_map(|call| call.report()?.result.clone());
            let told = results.filter_map(|result| Some(result["content"].as_str()?.to_owned()));
            shown.extend(told);
            shown.extend(now);
        }
    }
}

#[test]
fn one_line_of_many_that_is_given_alone_is_taken_for_an_edit_of_that_line() {
    let there = "owner=Ada\nside=south\ndepth=12\n";
    let edit =
        |said: &str, there: &str| crate::strategy::guards::overwrite::likely_edit(said, there);
    let found = ("side=south".to_owned(), "side=north".to_owned());
    assert_eq!(edit("side=north\n", there), Some(found));
    assert_eq!(edit("side=south", there), None, "nothing would change");
    assert_eq!(edit("side=north\ndepth=1", there), None, "more than a line");
    assert_eq!(edit("wide=north", there), None);
    assert_eq!(
        edit("side=north", "side=south\nside=east\n"),
        None,
        "which one?"
    );
    assert_eq!(
        edit("side=north", "side=south"),
        None,
        "the file is that line"
    );
    let json = edit("\"limit\": 30", "{\n  \"limit\": 20,\n  \"b\": 1\n}");
    assert_eq!(json.unwrap().0, "\"limit\": 20,");
}

#[test]
fn a_program_that_a_run_has_shown_to_be_wrong_is_replaced_when_its_writer_says_so_once_more() {
    let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
    drive.files.insert("/a.lua".into(), "error".into());
    let run = json!({"tool": "run_program", "args": {"path": "/a.lua"}}).to_string();
    let write =
        json!({"tool": "fs_write", "args": {"path": "/a.lua", "content": "print(1)"}}).to_string();
    drive.say(&[&run, &write]);
    assert_eq!(drive.files["/a.lua"], "error", "it was not seen yet");
    drive.say(&[&write]);
    assert_eq!(drive.files["/a.lua"], "print(1)");
}
