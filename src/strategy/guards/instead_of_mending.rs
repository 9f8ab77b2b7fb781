//! Changes of a file of data while the program that a task wants mended is as it was: a program prints the wrong name, and a small model puts the
//! right one into the file that it reads.

use super::misplaced_program::holds_data;
use super::times_told;
use crate::domain::files::from_root;
use crate::domain::task::{CallRecord, TaskState};
use crate::strategy::alone::mending::wants_mended;
use crate::strategy::ends::unchanged::changes;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::ends::untouched::names;
use crate::strategy::paths::{mentions, normal};
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::wanted_changes::asks_for_a_change;
use serde_json::Value;

/// How often it is told of one file.
const MOST_OBJECTIONS: usize = 2;

/// What is told of such a call.
pub fn objection(state: &TaskState, tool: &str, args: &Value) -> Option<String> {
    let name = match tool {
        "fs_write" | "fs_patch" | "fs_delete" => "path",
        "fs_move" => "from",
        _ => return None,
    };
    let words = words(state, args.get(name)?.as_str()?)?;
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        format!("{words}. Change the program; only if that file is wrong, too, say it once more")
    })
}

/// Words about a file that the task only tells of, and that was there before it; none once the program was changed.
pub fn words(state: &TaskState, path: &str) -> Option<String> {
    let prompt = &state.created.as_ref()?.prompt;
    let path = normal(path);
    if !holds_data(&path) || !wants_mended(prompt) {
        return None;
    }
    let program = only_program(prompt)?;
    let is_of_it = |sentence: &&str| mentions(sentence, &path).next().is_some();
    let mut told_of = sentences(prompt).filter(is_of_it).peekable();
    let is_only_told_of = told_of.peek().is_some() && !told_of.any(asks_for_a_change);
    let stood_there = state.files.get(&from_root(&path));
    let stood_there = stood_there.is_some_and(|file| !file.written);
    let is_changed = |call: &CallRecord| changes(call) && names(&call.args, &program);
    (is_only_told_of && stood_there && !state.calls().any(is_changed)).then(|| {
        format!(
            "the task wants /{program} mended, and this changes /{path}, of which it only tells"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::{Value, json};

    const TASK: &str =
        "/best.lua shall print who leads in /scores.txt, but it prints Bob. Can you fix it?";

    /// Which of these calls are made.
    fn made(task: &str, calls: &[(&str, Value)]) -> Vec<bool> {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.executor_mends = 0;
        drive.files.insert("/best.lua".into(), "print(1)".into());
        drive.files.insert("/scores.txt".into(), "Bob 9".into());
        for path in ["/scores.txt", "/best.lua"] {
            let read = json!({"tool": "fs_read", "args": {"path": path}});
            drive.say(&[&read.to_string()]);
        }
        let made = calls.iter().map(|(tool, args)| {
            let before = drive.state().calls().count();
            drive.say(&[&json!({"tool": tool, "args": args}).to_string()]);
            drive.state().calls().count() > before
        });
        made.collect()
    }

    fn write(path: &str, content: &str) -> (&'static str, Value) {
        ("fs_write", json!({"path": path, "content": content}))
    }

    #[test]
    fn the_data_of_a_program_that_is_to_be_mended_is_changed_only_after_it() {
        let data = |content: &str| write("/scores.txt", content);
        let all = [data("Kim"), data("Kim 1"), data("Kim 2")];
        assert_eq!(made(TASK, &all), [false, false, true]);
        let after = [write("/best.lua", "print(2)"), data("Kim")];
        assert_eq!(made(TASK, &after), [true, true]);
        assert_eq!(made(TASK, &[write("/new.txt", "Kim")]), [true]);
        for task in [
            "/best.lua prints who leads in /scores.txt. Write Kim into it.",
            "Fix /best.lua. In /scores.txt change Bob to Kim.",
            "Fix /best.lua and /more.lua, they read /scores.txt.",
        ] {
            assert_eq!(made(task, &all[..1]), [true], "{task}");
        }
    }
}
