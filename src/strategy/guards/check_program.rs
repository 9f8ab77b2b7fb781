//! A program that is there to check the work, and that a task changes: small models that hear of a failed check write the check anew.

use super::times_told;
use crate::domain::call::Target;
use crate::domain::files;
use crate::domain::task::TaskState;
use crate::strategy::named_files::is_only_run;
use crate::strategy::paths::normal;
use serde_json::Value;

/// What writes a file whole, or changes a part of it.
const WRITES: [&str; 3] = ["fs_write", "write_and_run", "fs_patch"];

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
    let objects = found
        && prompt.contains(&files::from_root(&path))
        && is_only_run(prompt, &path)
        && times_told(state, &words) < MOST_OBJECTIONS;
    objects.then(|| {
        format!(
            "{words}, and the task wants it run, not changed. If it fails, what it speaks of is wrong: change that. Only if it is \
             the check itself that has to change, say it again"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::{Value, json};

    fn call(tool: &str, args: Value) -> String {
        json!({"tool": tool, "args": args}).to_string()
    }

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
