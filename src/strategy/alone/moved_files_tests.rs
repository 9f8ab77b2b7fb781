use super::*;
use crate::domain::chat::Role;
use crate::domain::task::TaskStatus;
use crate::domain::tool::ToolSpec;
use crate::strategy::bench::shown;
use crate::strategy::drive::{Drive, carry_out, done, profile_with_asides, run_tool};
use std::collections::BTreeMap;

const SWAP: &str = "The new one lies here as /lift_new.lua and should take over the name /lift.lua. I don't want to lose the old /lift.lua though, \
    so first put that one into a folder /attic and call it lift_old.lua there. Start /lift.lua in the end.";
const SORT: &str = "The folder /stuff is a mess. Songs (they end in .dfpwm) belong into /music and paintings into /art, both folders you'd have to \
    create. If something is neither, leave it where it is.";

fn answers(
    files: &mut BTreeMap<String, String>,
    call: &CallRecord,
) -> crate::domain::call::CallReport {
    match call.tool.as_str() {
        FIND => done(json!({"path": "/stuff", "truncated": false, "found": [
            {"path": "/stuff/bell.dfpwm", "is_dir": false, "size": 2},
            {"path": "/stuff/old", "is_dir": true},
            {"path": "/stuff/flag.nfp", "is_dir": false, "size": 2}]})),
        MOVE => done(json!({"from": call.args["from"], "to": call.args["to"]})),
        "run_program" => done(json!({"success": true, "output": "lift with 4 floors"})),
        _ => carry_out(files, call),
    }
}

fn begun(strategy: &str, task: &str) -> Drive {
    let mut drive = Drive::new(profile_with_asides(strategy), task);
    drive.bench.profile.one_model = true;
    let text = json!({"type": "string"});
    let tool = |name: &str, effect: &str| -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"path": text, "pattern": text, "from": text, "to": text}});
        let tool = json!({"name": name, "effect": effect, "description": "Of files.", "args_schema": schema});
        serde_json::from_value(tool).unwrap()
    };
    drive.add_tools(vec![tool(FIND, "read"), tool(MOVE, "effect"), run_tool()]);
    for (path, text) in [
        ("/lift.lua", "print(2)"),
        ("/lift_new.lua", "print(4)"),
        ("/a.txt", "1"),
    ] {
        drive.files.insert(path.into(), text.into());
    }
    drive.run_to_consult_with(answers);
    drive
}

fn moved(drive: &Drive) -> Vec<String> {
    let calls = drive.state().calls().filter(|call| call.tool == MOVE);
    let told =
        calls.map(|call| format!("{} {}", call.args["from"], call.args["to"]).replace('"', ""));
    told.collect()
}

#[test]
fn files_are_moved_as_a_model_says_in_its_order_and_the_task_ends_behind_the_run_that_it_wants() {
    for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
        let mut drive = begun(strategy, SWAP);
        let asked = shown(drive.state().prompt(Role::Executor));
        if strategy == "plan" {
            insta::assert_snapshot!("files_to_move", asked);
        }
        drive.say_with(
            &["```\n/lift.lua -> /attic/lift_old.lua\n/lift_new.lua -> /lift.lua\n```"],
            answers,
        );
        assert_eq!(
            moved(&drive),
            ["/lift.lua /attic/lift_old.lua", "/lift_new.lua /lift.lua"],
            "{strategy}: {asked}"
        );
        let ran = drive.state().calls().last().map(|call| call.tool.clone());
        assert_eq!(ran.as_deref(), Some("run_program"), "{strategy}");
        if ["plan", "goals"].contains(&strategy) {
            assert_eq!(
                drive.state().status,
                TaskStatus::Completed,
                "{}",
                drive.shown()
            );
        }
    }
}

#[test]
fn the_folder_out_of_which_files_go_is_looked_into_first() {
    let mut drive = begun("plan", SORT);
    drive.bench.profile.demand_proof = true;
    let asked = shown(drive.state().prompt(Role::Executor));
    assert!(
        asked.contains("/stuff/bell.dfpwm\n/stuff/flag.nfp\n"),
        "{asked}"
    );
    drive.say_with(
        &["```\n/stuff/bell.dfpwm -> /music/bell.dfpwm\n/stuff/flag.nfp -> /art/\n```"],
        answers,
    );
    assert_eq!(
        moved(&drive),
        [
            "/stuff/bell.dfpwm /music/bell.dfpwm",
            "/stuff/flag.nfp /art/flag.nfp"
        ]
    );
    assert_eq!(
        drive.state().status,
        TaskStatus::Completed,
        "{}",
        drive.shown()
    );
}

#[test]
fn files_of_another_kind_are_not_shown_and_stay_though_an_answer_moves_them() {
    let mut drive = begun("directive", "move all teh .nfp files in /stuff to /art");
    let asked = shown(drive.state().prompt(Role::Executor));
    assert!(asked.contains("```\n/stuff/flag.nfp\n```"), "{asked}");
    // Without a fence, too.
    let said = "/stuff/bell.dfpwm -> /art/bell.dfpwm\n/stuff/flag.nfp -> /art/flag.nfp";
    drive.say_with(&[said], answers);
    assert_eq!(moved(&drive), ["/stuff/flag.nfp /art/flag.nfp"]);
}

#[test]
fn a_file_that_is_to_be_deleted_goes_before_others_are_moved() {
    let mut drive = begun(
        "directive",
        "delete lift.lua and rename lift_new.lua to lift.lua thx",
    );
    let asked = shown(drive.state().prompt(Role::Executor));
    assert!(asked.contains("```\n/lift_new.lua\n```"), "{asked}");
    drive.say_with(
        &["```\n/lift.lua -> /lift_old.lua\n/lift_new.lua -> /lift.lua\n```"],
        answers,
    );
    let made: Vec<String> = drive
        .state()
        .calls()
        .map(|call| call.tool.clone())
        .collect();
    assert_eq!(made[made.len() - 2..], [DELETE, MOVE], "{}", drive.shown());
    assert_eq!(moved(&drive), ["/lift_new.lua /lift.lua"]);
}

#[test]
fn a_move_that_cannot_be_meant_is_asked_for_once_more() {
    for (said, why) in [
        ("/lift_new.lua -> /lift.lua", "/lift.lua is there already"),
        (
            "/lift_old.lua -> /attic/lift_old.lua",
            "/lift_old.lua is not there",
        ),
        (
            "/lift.lua -> /new/path/lift.lua",
            "nobody has spoken of /new/path/lift.lua",
        ),
        ("/lift.lua -> /lift.lua", "no file is moved in it"),
        ("I would move both.", "is not a path, -> and another path"),
        (
            "/lift.lua -> /attic/lift_old.lua",
            "/lift_new.lua is not in it: one line for each file",
        ),
    ] {
        let mut drive = begun("plan", SWAP);
        drive.say_with(&[&format!("```\n{said}\n```")], answers);
        assert!(moved(&drive).is_empty(), "{said}");
        let asked = shown(drive.state().prompt(Role::Executor));
        assert!(asked.contains(why), "{said}: {asked}");
    }
}

#[test]
fn a_task_that_wants_other_work_too_is_not_asked_about_so() {
    for task in [
        "Move /a.txt to /b.txt and write `1` into /a.txt.",
        "Do not move /a.txt.",
        "Fix /lift.lua and move it to /attic.",
        "Rename /a.txt to /b.txt with the shell.",
        "Put /a.txt into the chest.",
        "Move /a.txt to /b.txt and delete all in /stuff.",
        "What is in /a.txt?",
    ] {
        assert!(!wants_moves(task), "{task}");
    }
}

#[test]
fn the_plainest_words_for_it_ask_alone_too() {
    let task = "Move /a.txt and /lift_new.lua into the folder /archive, under the same names. /check.lua says whether it is right: run it at the end.";
    for strategy in ["direct", "directive", "numbered", "plan", "goals"] {
        let mut drive = begun(strategy, task);
        drive.say_with(
            &["```\n/a.txt -> /archive/a.txt\n/lift_new.lua -> /archive/lift_new.lua\n```"],
            answers,
        );
        let told = [
            "/a.txt /archive/a.txt",
            "/lift_new.lua /archive/lift_new.lua",
        ];
        assert_eq!(moved(&drive), told, "{strategy}");
    }
}
