//! Which items are carried out without their model, and which are not.

use super::*;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::decision::Contract;
use crate::strategy::drive::{Drive, carry_out, done, profile_of};
use crate::strategy::numbered::NAME;
use proptest::prelude::*;
use serde_json::json;

const TASK: &str = "Write the one word red to /a.txt and run /check.lua at the end.";

/// The task after its model has planned so.
fn planned(task: &str, plan: &str) -> Drive {
    let mut drive = Drive::new(profile_of(NAME), task);
    drive
        .files
        .insert("/check.lua".into(), "all is right".into());
    drive.say(&[plan]);
    drive
}

fn made(drive: &Drive) -> Vec<(&str, &Value)> {
    let calls = drive.state().calls();
    calls.map(|call| (call.tool.as_str(), &call.args)).collect()
}

/// The calls of a tool of the computer's own, after its model has planned so.
fn set(task: &str, plan: &str) -> Vec<Value> {
    let mut drive = Drive::new(profile_of(NAME), task);
    drive.add_redstone();
    drive.say_with(&[plan], |files, call| match call.tool.as_str() {
        "redstone_set" => done(json!({"set": true})),
        _ => carry_out(files, call),
    });
    drive.redstone_set()
}

#[test]
fn an_item_that_calls_a_tool_as_the_task_says_is_carried_out_once_whatever_it_changes() {
    let task = "Open the door: set the signal at the back to 15 (redstone_set). Then write `open` to /door.txt.";
    let told = json!({"side": "back", "power": 15});
    for item in [
        "redstone_set(back, 15)",
        "redstone_set {\"side\": \"back\", \"power\": 15}",
    ] {
        let plan = format!("1. {item}\n2. {item}\n3. look at the door");
        assert_eq!(set(task, &plan), std::slice::from_ref(&told), "{item}");
    }
    for item in [
        "redstone_set(left, 15)",
        "redstone_set(back)",
        "redstone_set",
        "look whether redstone_set is there",
    ] {
        assert!(
            set(task, &format!("1. {item}\n2. look")).is_empty(),
            "{item}"
        );
    }
    for task in [
        "If it is dark, set the signal at the back to 15 (redstone_set).",
        "Do not set the signal at the back to 15 (redstone_set).",
        "Set the signal at the back (redstone_set).",
    ] {
        assert!(
            set(task, "1. redstone_set(back, 15)\n2. look").is_empty(),
            "{task}"
        );
    }
}

#[test]
fn items_that_are_whole_calls_are_carried_out_without_their_model() {
    for plan in [
        "1. fs_write(\"/a.txt\", \"red\")\n2. run_program(\"/check.lua\")",
        "1. `fs_write /a.txt \"red\"`\n2. run_program /check.lua.",
        "1. fs_write({\"path\": \"/a.txt\", \"content\": \"red\"})\n2. run_program(\"/check.lua\")",
        "1. fs_write /a.txt \"red\"\n2. Run /check.lua and look for what it prints",
        "1. fs_write /a.txt \"red\"\n2. run_program /check.lua",
    ] {
        let mut drive = planned(TASK, plan);
        assert_eq!(drive.files["/a.txt"], "red", "{plan}");
        let tools: Vec<&str> = made(&drive).iter().map(|(tool, _)| *tool).collect();
        assert_eq!(tools, ["fs_write", "run_program"], "{plan}");
        assert_eq!(drive.state().usage.model_calls, 1, "{plan}");
        let shown = drive.shown();
        for part in ["1. [done]", "2. [done]", "## run /check.lua on base: done"] {
            assert!(shown.contains(part), "{plan}: {part}\n{shown}");
        }
        assert!(!drive.say(&["Thought: both are done\nFinal Answer: it is red"]));
    }
}

#[test]
fn what_a_plan_makes_up_and_what_cannot_be_undone_is_for_the_model_to_say() {
    for (task, item) in [
        (TASK, "fs_write(\"/a.txt\", \"the right word\")"),
        (TASK, "fs_write(\"/b.txt\", \"red\")"),
        (TASK, "Write red to /a.txt with fs_write"),
        (TASK, "fs_write(\"/a.txt\")"),
        (TASK, "fs_write(\"/a.txt\", \"…\")"),
        ("Delete /a.txt.", "fs_delete(\"/a.txt\")"),
        (TASK, "run_program(\"/checks.lua\")"),
        (
            "Mend /check.lua, but do not run it.",
            "run_program(\"/check.lua\")",
        ),
    ] {
        let drive = planned(task, &format!("1. {item}\n2. run /check.lua"));
        assert_eq!(made(&drive), [], "{item}");
        assert_eq!(drive.state().usage.model_calls, 1, "{item}");
    }
}

#[test]
fn an_item_that_is_said_to_be_done_again_in_the_place_of_its_call_is_called() {
    let mut drive = planned(
        "Write /a.lua, which prints a word, and run it.",
        "1. fs_copy /a.lua /a.lua\n2. fs_write /a.lua \"print('made up')\"\n3. fs_delete /check.lua",
    );
    assert!(
        !drive.shown().contains("fs_copy /a.lua"),
        "{}",
        drive.shown()
    );
    drive.say(&["Item done"]);
    assert_eq!(made(&drive), []);
    drive.say(&["Item done"]);
    assert_eq!(drive.files["/a.lua"], "print('made up')");
    // What cannot be undone is not.
    drive.say(&["Item done", "Item done", "Item done"]);
    assert_eq!(made(&drive).len(), 1, "{}", drive.shown());
}

#[test]
fn an_item_whose_call_failed_is_the_model_s_and_is_not_called_again_by_rule() {
    let plan = "1. fs_read(\"/a.txt\")\n2. run_program(\"/check.lua\")";
    let drive = planned(TASK, plan);
    assert_eq!(made(&drive), [("fs_read", &json!({"path": "/a.txt"}))]);
    let asked = match drive.decisions.last() {
        Some(Decision::Consult(consult)) => consult.contract,
        other => panic!("{other:?}"),
    };
    assert_eq!(asked, Contract::React);
}

#[test]
fn after_a_call_whose_fate_nobody_knows_each_item_is_the_model_s() {
    let mut drive = Drive::new(profile_of(NAME), "Run /check.lua, then run /pay.lua.");
    let plan = "1. run_program(\"/check.lua\")\n2. run_program(\"/pay.lua\")\n3. run_program(\"/check.lua\")";
    drive.say_with(&[plan], |_, _| {
        CallReport::without_answer(Outcome::Unknown, "lost", "nobody knows".to_owned())
    });
    assert_eq!(made(&drive).len(), 1, "{}", drive.shown());
    drive.say(&["Thought: on\nItem: 2\nAction: run_program\nAction Input: /pay.lua"]);
    assert_eq!(made(&drive).len(), 2, "{}", drive.shown());
}

#[test]
fn a_path_is_known_by_its_file_and_its_folder_and_no_piece_of_a_word_is() {
    let words = "Move /a.txt and /b.txt into the folder /archive, at most 12 times.";
    for (text, known) in [
        ("/archive/a.txt", true),
        ("/a.txt", true),
        ("/archive/c.txt", false),
        ("/archiv/a.txt", false),
        ("/arch", false),
        ("12", true),
        ("1", false),
        ("", true),
    ] {
        assert_eq!(is_known_text(text, words), known, "{text}");
    }
}

proptest! {
    #[test]
    fn no_item_is_too_odd_to_look_for_a_call(item in "(fs_write|run_program|\\(|\\)|\"|/a|, |`|\\.|é| ){0,10}") {
        call_in(&item);
        is_known_text(&item, &item);
    }
}
