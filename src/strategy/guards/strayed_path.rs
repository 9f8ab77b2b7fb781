//! The file of a task in another folder: small models that shall mend `/count.lua` run `/tools/count.lua`, hear that there is no
//! such program, write one, run it, and say that they are done. They are told of it; who means it says it again.

use super::times_told;
use crate::domain::task::TaskState;
use crate::strategy::paths::{file_name, named_in, normal};
use serde_json::Value;

/// Arguments that name a file which the task works with; where something is copied or moved to is a new place.
const FILES: [&str; 2] = ["path", "from"];

/// How often one such path is objected to: the first time a small model often says it again without a thought.
const MOST_OBJECTIONS: usize = 2;

/// What is told of a call whose file is called like one that the task names, and lies where neither the task nor anything that it
/// has seen says; and the file that the task names.
pub fn objection(state: &TaskState, tool: &str, args: &Value) -> Option<(String, String)> {
    let given = FILES.iter().find_map(|name| args.get(name)?.as_str())?;
    let path = normal(given);
    let prompt = &state.created.as_ref()?.prompt;
    let meant = named_like(prompt, &path)?;
    if names_folder_of(prompt, &path) || was_seen(state, &path) {
        return None;
    }
    let words = format!("the task speaks of /{meant}, and /{path} is another file");
    (times_told(state, &words) < MOST_OBJECTIONS).then(|| {
        let told = format!(
            "{words}. Call {tool} with /{meant}; only if you do mean /{path}, say it again"
        );
        (told, format!("/{meant}"))
    })
}

/// Whether a call is about another file that is called like this one, a path without its first slash.
pub fn is_namesake(args: &Value, path: &str) -> bool {
    let given = FILES.iter().filter_map(|key| args.get(key)?.as_str());
    let mut given = given.map(normal);
    given.any(|given| given != path && file_name(&given) == file_name(path))
}

/// The only path from the root in these words that ends with the same name, if it is not the same path.
fn named_like(words: &str, path: &str) -> Option<String> {
    let name = Some(file_name(path)).filter(|name| !name.is_empty())?;
    let mut alike = named_in(words);
    alike.retain(|named| file_name(named) == name);
    match alike.len() {
        1 => alike.pop().filter(|named| named != path),
        _ => None,
    }
}

/// Whether the words say anything of a folder that the file lies in.
fn names_folder_of(words: &str, path: &str) -> bool {
    let words = words.to_lowercase();
    let mut folders = path.split('/').rev().skip(1);
    folders.any(|folder| words.contains(&folder.to_lowercase()))
}

/// Whether a call was made with that path, or has shown it: whole, or as a name in the folder that was looked at.
fn was_seen(state: &TaskState, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let holds = |value: &Value, text: &str| value.to_string().contains(text);
    state.all_calls().any(|call| {
        let result = call.report().and_then(|report| report.result.as_ref());
        let shows = |text| result.is_some_and(|result| holds(result, text));
        let looked_at = call.args.get("path").and_then(Value::as_str);
        let in_folder = looked_at.is_some_and(|at| normal(at) == folder) && shows(name);
        holds(&call.args, path) || shows(path) || in_folder
    })
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::json;

    const TASK: &str = "/count.lua does not even start. Mend /count.lua and run it.";

    fn run(path: &str) -> String {
        json!({"tool": "run_program", "args": {"path": path}}).to_string()
    }

    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.files.insert("/count.lua".into(), "print(1)".into());
        drive
    }

    #[test]
    fn the_task_s_file_in_another_folder_is_told_of_twice() {
        let mut drive = drive(TASK);
        drive.say(&[&run("/tools/count.lua"), &run("/tools/count.lua")]);
        let told = "the task speaks of /count.lua, and /tools/count.lua is another file. Call run_program with /count.lua";
        let shown = drive.shown();
        assert_eq!(shown.matches(told).count(), 2, "{shown}");
        let right =
            "say it again:\n{\"tool\": \"run_program\", \"args\": {\"path\":\"/count.lua\"}}";
        assert!(shown.contains(right), "{shown}");
        assert_eq!(drive.bench.state.calls().count(), 0);
        drive.say(&[&run("/tools/count.lua")]);
        assert_eq!(drive.bench.state.calls().count(), 1, "who means it");
        drive.say(&[&run("/tools/count.lua")]);
        assert_eq!(drive.bench.state.calls().count(), 2);
    }

    #[test]
    fn the_same_path_in_another_spelling_and_a_folder_of_the_task_are_left_alone() {
        for (task, path) in [
            (TASK, "count.lua"),
            (TASK, "//count.lua"),
            (TASK, "/tools/other.lua"),
            (
                "Copy /count.lua into the folder backup",
                "/backup/count.lua",
            ),
            ("Compare /a/count.lua and /b/count.lua", "/c/count.lua"),
            ("Mend the program that counts", "/tools/count.lua"),
        ] {
            let mut drive = drive(task);
            drive.say(&[&run(path)]);
            assert_eq!(drive.bench.state.calls().count(), 1, "{task} {path}");
        }
    }

    #[test]
    fn a_place_that_a_call_has_shown_is_known() {
        let mut drive = drive("Run /count.lua");
        drive.files.clear();
        drive
            .files
            .insert("/old/count.lua".into(), "print(1)".into());
        let list = json!({"tool": "fs_list", "args": {"path": "/old"}}).to_string();
        drive.say(&[&list, &run("/old/count.lua")]);
        assert_eq!(drive.bench.state.calls().count(), 2, "{}", drive.shown());
    }
}
