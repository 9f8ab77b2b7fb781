//! A program that is there to check the work, and that a task changes: small models that hear of a failed check write the check anew.

use super::times_told;
use crate::domain::call::Target;
use crate::domain::files;
use crate::domain::task::TaskState;
use crate::strategy::paths::{file_name, mentions, normal};
use crate::strategy::words::stated::is_to_be_made;
use serde_json::Value;

/// What writes a file whole, or changes a part of it.
const WRITES: [&str; 3] = ["fs_write", "write_and_run", "fs_patch"];

/// Words in the names of programs that check the work.
const CHECKS: [&str; 7] = [
    "check",
    "test",
    "tests",
    "verify",
    "spec",
    "validate",
    "validator",
];

/// Words right before a program that is only to be run.
pub const RUNS: [&str; 4] = ["run", "start", "launch", "execute"];

/// How often it is told of one file.
const MOST_OBJECTIONS: usize = 2;

/// What is told of a change of a program that was there, that the task did not write, and that its words only want to be run.
pub fn objection(state: &TaskState, target: &Target, tool: &str, args: &Value) -> Option<String> {
    let given = args
        .get("path")?
        .as_str()
        .filter(|_| WRITES.contains(&tool))?;
    let on = match target {
        Target::Any => state.home(),
        Target::Computer(on) => Some(on),
        Target::Group(_) => return None,
    };
    let path = normal(given);
    let key = files::key(state.home(), on, &files::from_root(&path));
    let found = state.files.get(&key).is_some_and(|file| !file.written);
    let prompt = &state.created.as_ref()?.prompt;
    let words = format!("{key} is there to check the work");
    let objects = found && is_check(prompt, &path) && times_told(state, &words) < MOST_OBJECTIONS;
    objects.then(|| {
        format!(
            "{words}, and the task wants it run, not changed. If it fails, what it speaks of is wrong: change that. Only if it is \
             the check itself that has to change, say it again"
        )
    })
}

/// Whether a task's words make a program one that checks the work: by its name, or because they only want it run. `path` has no first slash.
pub fn is_check(prompt: &str, path: &str) -> bool {
    let mut places = mentions(prompt, path).peekable();
    let is_named = places.peek().is_some();
    let runs = |at: usize| {
        let before = prompt[..at].trim_end_matches(['`', '"', '\'']).trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
        word.is_some_and(|word| RUNS.contains(&word.to_lowercase().as_str()))
    };
    is_named && path.ends_with(".lua") && (is_called_check(path) || places.all(runs))
}

/// Whether a task's words only want a check run, and do not tell to make it: nothing that writes it belongs into a plan.
pub fn is_only_run(prompt: &str, path: &str) -> bool {
    is_check(prompt, path) && !is_to_be_made(prompt, path)
}

/// Whether a program's own name says that it checks.
pub fn is_called_check(path: &str) -> bool {
    let name = file_name(path);
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(|word| CHECKS.contains(&word))
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        let check = "error".to_owned();
        drive.files.insert("/check.lua".into(), check);
        drive
    }

    #[test]
    fn a_check_that_was_there_is_changed_only_by_who_says_so_three_times() {
        let task = "Set limit to 30 in /a.cfg. /check.lua says whether it is right: run it.";
        let mut drive = drive(task);
        let read = call("fs_read", json!({"path": "/check.lua"}));
        let write = json!({"path": "/check.lua", "content": "print(1)"});
        let write = call("fs_write", write);
        drive.say(&[&read, &write, &write]);
        let told = "/check.lua is there to check the work, and the task wants it run";
        assert_eq!(drive.shown().matches(told).count(), 2, "{}", drive.shown());
        assert_eq!(drive.files["/check.lua"], "error");
        drive.say(&[&write]);
        assert_eq!(drive.files["/check.lua"], "print(1)");
    }

    #[test]
    fn a_program_checks_the_work_by_its_name_or_because_it_is_only_run() {
        for (prompt, path, checks) in [
            ("/check.lua says whether it is right", "check.lua", true),
            ("Make /a.txt, then run `/a.lua`.", "a.lua", true),
            ("Mend /a.lua and run /a.lua", "a.lua", false),
            ("Mend /lib/a.lua and run /a.lua", "a.lua", true),
            ("Run /a.txt", "a.txt", false),
            ("Mend it", "check.lua", false),
        ] {
            assert_eq!(super::is_check(prompt, path), checks, "{prompt}");
        }
    }

    #[test]
    fn a_check_that_the_task_makes_or_that_it_is_about_is_written() {
        let write = |content: &str| {
            let args = json!({"path": "/check.lua", "content": content});
            call("fs_write", args)
        };
        let mut made = drive("Write /check.lua, which tests /a.lua, and run it.");
        made.files.clear();
        made.say(&[&write("1"), &write("2")]);
        assert_eq!(made.files["/check.lua"], "2");
        let mut unnamed = drive("Mend whatever fails.");
        let read = call("fs_read", json!({"path": "/check.lua"}));
        unnamed.say(&[&read, &write("1")]);
        assert_eq!(unnamed.files["/check.lua"], "1");
    }
}
