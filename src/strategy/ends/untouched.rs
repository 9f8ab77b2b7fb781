//! Ends of tasks that name files of which no call has touched any: a weak model makes a file of the same name elsewhere, and says
//! that all is done.

use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::TaskResult;
use crate::domain::files::from_root;
use crate::domain::task::{CallRecord, TaskState};
use crate::strategy::guards::strayed_path::is_namesake;
use crate::strategy::guards::times_told;
use crate::strategy::paths::{is_file_like, mentions, named_in, normal};
use crate::strategy::turn::Turn;
use crate::strategy::words::wanted_changes::may_want_a_change;
use serde_json::Value;

/// How often it is told: what a program did to a file no call shows.
const MOST_OBJECTIONS: usize = 2;

/// What stands in it and in no report of work.
const ITS_CORE: &str = "and no call so far has to do with it";

impl Turn<'_> {
    /// What an end is told whose task speaks of files that no call was about. To look at the file is enough; where a call was about
    /// another file of that name, nothing less is.
    pub(in crate::strategy) fn untouched(&self, result: &TaskResult) -> Option<Decision> {
        let prompt = &self.state.created.as_ref()?.prompt;
        if !self.profile.demand_proof || !self.may_end() || !may_want_a_change(prompt) {
            return None;
        }
        let mut named = named_in(prompt);
        named.retain(|path| is_file_like(path));
        let wished = wished(self.state);
        let is_touched =
            |path: &String| (wished.iter()).any(|call| is_about(prompt, &call.args, path));
        if named.iter().any(is_touched) {
            return None;
        }
        let strayed = |path: &&String| wished.iter().any(|call| is_namesake(&call.args, path));
        let strayed_from = named.iter().find(strayed);
        let meant = strayed_from.or(named.first())?;
        let words = format!("the task speaks of /{meant}, {ITS_CORE}");
        let echoes = result.message.contains(ITS_CORE);
        let objects =
            strayed_from.is_some() || echoes || times_told(self.state, &words) < MOST_OBJECTIONS;
        objects.then(|| {
            let told =
                format!("{words}. Look at it, do there what the task wants, and run what shows it");
            let told = self.with_look(told, Some(&format!("/{meant}")));
            self.block(Guard::Unfinished, told)
        })
    }
}

/// The calls that a model wished for.
fn wished(state: &TaskState) -> Vec<&CallRecord> {
    let steps = state.steps.iter().filter(|step| !step.looks_first());
    steps.flat_map(|step| &step.calls).collect()
}

/// Whether a call is about a file of the task's words: what they name without a slash may lie in any folder.
pub(super) fn is_about(prompt: &str, args: &Value, path: &str) -> bool {
    let anywhere = !prompt.contains(&from_root(path));
    names(args, path) || anywhere && is_namesake(args, path)
}

/// Whether any text among a call's arguments names a file, alone or in a command, with the first slash or without.
pub(in crate::strategy) fn names(args: &Value, path: &str) -> bool {
    match args {
        Value::String(text) => normal(text) == path || mentions(text, path).next().is_some(),
        Value::Array(items) => items.iter().any(|item| names(item, path)),
        Value::Object(fields) => fields.values().any(|value| names(value, path)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: all is well";

    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/count.lua".into(), "error".into());
        drive
    }

    /// Writes a program elsewhere and runs it.
    fn work(path: &str) -> [String; 2] {
        let write = json!({"path": path, "content": "print(1)"});
        [
            call("fs_write", write),
            call("run_program", json!({"path": path})),
        ]
    }

    #[test]
    fn an_end_after_work_on_another_file_of_that_name_is_never_taken() {
        let mut drive = drive("Mend /count.lua and run it.");
        // The guard of strayed paths lets pass what is said three times.
        for said in work("/tools/count.lua") {
            drive.say(&[&said, &said, &said]);
        }
        for _ in 0..3 {
            drive.say(&[END]);
            let told = "the task speaks of /count.lua, and no call so far has to do with it";
            assert!(drive.shown().contains(told), "{}", drive.shown());
            assert!(drive.bench.state.result.is_none());
        }
        let [write, run] = work("/count.lua");
        drive.say(&[
            &call("fs_read", json!({"path": "/count.lua"})),
            &write,
            &run,
            END,
        ]);
        assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn a_file_that_is_named_alone_may_lie_in_any_folder() {
        let mut drive = drive("Mend count.lua and run it.");
        for said in work("/tools/count.lua") {
            drive.say(&[&said, &said, &said]);
        }
        drive.say(&[END]);
        assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn an_end_of_other_work_is_told_twice_and_then_believed() {
        let mut drive = drive("Make /count.lua run well.");
        let [write, run] = work("/other.lua");
        drive.say(&[&write, &run, END, END]);
        assert!(drive.bench.state.result.is_none());
        drive.say(&[END]);
        assert!(drive.bench.state.result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn one_file_of_several_or_a_command_that_names_it_is_enough() {
        for task in [
            "Mend /other.lua and /count.lua.",
            "Write a program that prints 1.",
            "What is in /count.lua?",
        ] {
            let mut drive = drive(task);
            let [write, run] = work("/other.lua");
            drive.say(&[&write, &run, END]);
            assert!(drive.bench.state.result.is_some(), "{task}");
        }
        let args = |text: &str| json!({"command": text});
        for (text, named) in [
            ("copy /count.lua /b", true),
            ("count.lua 3", true),
            ("delete \"/count.lua\".", true),
            ("/tools/count.lua", false),
            ("/count.lua.old", false),
            ("recount.lua", false),
        ] {
            assert_eq!(names(&args(text), "count.lua"), named, "{text}");
        }
    }
}
