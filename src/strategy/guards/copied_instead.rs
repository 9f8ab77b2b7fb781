//! Copies of what a task wants moved: small models copy it, hear that the old one is still there, and move the copy back.

use super::times_told;
use crate::domain::task::TaskState;
use crate::strategy::paths::{mentions, normal};
use crate::strategy::text::{has_word, sentence_before};
use serde_json::Value;

pub const COPY: &str = "fs_copy";

const MOVES: [&str; 2] = ["move", "rename"];
/// A task that speaks of these may want both.
const COPIES: [&str; 5] = ["copy", "copies", "copied", "backup", "keep"];

/// How often it is told of one file: the first time a small model often says the same again without a thought.
const MOST_OBJECTIONS: usize = 2;

/// What is told of a copy of a file that the task wants moved.
pub fn objection(state: &TaskState, tool: &str, args: &Value) -> Option<String> {
    let path = args.get("from").filter(|_| tool == COPY)?.as_str()?;
    let words = wanted_moved(state, path, MOST_OBJECTIONS)?;
    Some(format!(
        "{words}. Only if you do want a copy, say it again; else call fs_move with the same from and to"
    ))
}

/// Why a plan goes back that copies such a file. It is told of once: a plan that stays with it is followed.
pub fn in_plan(state: &TaskState, tool: &str, path: &str) -> Option<String> {
    wanted_moved(state, path, 1).filter(|_| tool == COPY)
}

/// Words about a file that the task wants moved and not copied, unless they were told so often.
fn wanted_moved(state: &TaskState, path: &str, most: usize) -> Option<String> {
    let prompt = &state.created.as_ref()?.prompt;
    let path = normal(path);
    let at = mentions(prompt, &path).next()?;
    let words = format!("the task wants /{path} moved, and fs_copy leaves it where it is");
    let wants = !has_word(prompt, &COPIES) && has_word(sentence_before(&prompt[..at]), &MOVES);
    (wants && times_told(state, &words) < most).then_some(words)
}

#[cfg(test)]
mod tests {
    use crate::domain::work::Work;
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::json;

    /// Whether a copy of /a.txt is made, each of three times that it is wanted.
    fn made(task: &str) -> Vec<bool> {
        let copy = json!({"name": "fs_copy", "effect": "effect", "description": "Copies",
            "args_schema": {"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}}});
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.add_tools(vec![serde_json::from_value(copy).unwrap()]);
        let wanted = |to: &str| {
            let args = json!({"from": "/a.txt", "to": to});
            drive.say(&[&json!({"tool": "fs_copy", "args": args}).to_string()]);
            let mut closed = drive.state().steps.iter().rev().filter(|step| step.closed);
            closed.next().is_some_and(|step| !step.calls.is_empty())
        };
        ["/x", "/y", "/z"].map(wanted).to_vec()
    }

    #[test]
    fn the_move_is_shown_as_the_model_writes_it() {
        let mut drive = Drive::new(profile_of("directive"), "Move /a.txt to /b.txt.");
        let tool = |name: &str| serde_json::from_value(json!({"name": name, "effect": "effect"}));
        drive.add_tools(
            ["fs_copy", "fs_move"]
                .map(|name| tool(name).unwrap())
                .to_vec(),
        );
        drive.say(&[
            "DIRECTIVE: TOOL\nNAME: fs_copy\nARGS: {\"from\": \"/a.txt\", \"to\": \"/b.txt\"}",
        ]);
        let told = "else call fs_move with the same from and to:\nDIRECTIVE: TOOL\nNAME: fs_move\n\
                    ARGS: {\"from\":\"/a.txt\",\"to\":\"/b.txt\"}";
        assert!(drive.shown().contains(told), "{}", drive.shown());
    }

    #[test]
    fn a_plan_that_copies_what_the_task_wants_moved_goes_back_once() {
        let list = "1. fs_copy /a.txt /archive/a.txt\n2. run_program /check.lua";
        let subtask = json!({"description": "it is moved", "tool": "fs_copy", "targets": ["/a.txt", "/archive/a.txt"]});
        let goals =
            json!({"objectives": [{"description": "moved", "subtasks": [subtask]}]}).to_string();
        for (strategy, said, how) in [
            (
                "numbered",
                list,
                "write such items as \"fs_move /a.txt /archive/a.txt\"",
            ),
            ("goals", &goals, "its tool is fs_move"),
        ] {
            let mut drive = Drive::new(
                profile_of(strategy),
                "Move /a.txt into the folder /archive.",
            );
            let copy = json!({"name": "fs_copy", "effect": "effect", "description": "Copies",
                "args_schema": {"type": "object", "required": ["from", "to"],
                    "properties": {"from": {"type": "string"}, "to": {"type": "string"}}}});
            drive.add_tools(vec![serde_json::from_value(copy).unwrap()]);
            drive.say(&[said]);
            let told = "the task wants /a.txt moved, and fs_copy leaves it where it is: ";
            let told = format!("{told}{how}");
            assert!(drive.shown().contains(&told), "{told}: {}", drive.shown());
            assert_eq!(drive.state().work, Work::None, "{strategy}");
            drive.say(&[said]);
            assert_ne!(drive.state().work, Work::None, "{strategy}");
        }
    }

    #[test]
    fn a_copy_of_what_the_task_wants_moved_is_told_of_twice() {
        let told = vec![false, false, true];
        for task in [
            "Move /b.txt, /a.txt and /c.txt into the folder /archive.",
            "Look around. Then rename /a.txt to /b.txt.",
        ] {
            assert_eq!(made(task), told, "{task}");
        }
        for task in [
            "Bring /a.txt into the folder /archive.",
            "Move /a.txt to /b.txt and keep the old one.",
            "/a.txt says where to move.",
            "Move the turtle. Write what it saw to /a.txt.",
            "Move /b.txt.",
        ] {
            assert_eq!(made(task), [true; 3], "{task}");
        }
    }
}
