//! Ends of tasks that tell to delete files while no call has deleted one: a weak model is busy with the rest of the task, and says that all is done.

use super::untouched::is_about;
use crate::domain::decision::{Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::step::CallRecord;
use crate::strategy::alone::chosen_files::DELETE;
use crate::strategy::alone::moved_files::MOVE;
use crate::strategy::guards::excepted::kinds_named;
use crate::strategy::guards::times_told;
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::normal;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::stated::is_in_some_case;
use crate::strategy::words::told_deletions::{files_to_delete, tells_to_delete};
use serde_json::Value;

/// How often it is told: a program that ran may have done it.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// What such an end is told.
    pub(in crate::strategy) fn undeleted(&self) -> Option<Decision> {
        if !self.profile.demand_proof || !self.may_end() || self.state.wakes().is_some() {
            return None;
        }
        let what = self.file_not_deleted()?;
        let words = format!("the task tells to delete {what}, and no call has done so");
        (times_told(self.state, &words) < MOST_OBJECTIONS).then(|| {
            let told = format!(
                "{words}. Call {DELETE} for each such file. If there is none, end the task once more and say so"
            );
            self.block(Guard::Unfinished, told)
        })
    }

    /// A file, or an ending of files, that a sentence tells to delete in any case, and that no call has taken away.
    fn file_not_deleted(&self) -> Option<String> {
        let prompt = self.asked_for();
        let took = |call: &&CallRecord| {
            call.succeeded() && [DELETE, MOVE, "shell_exec"].contains(&call.tool.as_str())
        };
        let taken: Vec<&CallRecord> = self.state.calls().filter(took).collect();
        // A program that ran may have done it, unless its text says nothing of that.
        let may_delete = |call: &CallRecord| {
            let path = from_root(&normal(call.args["path"].as_str().unwrap_or_default()));
            let seen = self.state.calls().filter_map(contents::content_in);
            let text = seen.rev().find(|(of, _)| *of == path);
            text.is_none_or(|(_, text)| text.contains("delete"))
        };
        let mut calls = self.state.calls();
        let ran = calls.any(|call| runs(call) && call.succeeded() && may_delete(call));
        let in_any_case = |said: &&str| tells_to_delete(said) && !is_in_some_case(said);
        let mut told = sentences(prompt).filter(in_any_case);
        told.find_map(|said| {
            let is_taken = |path: &String| {
                let path = normal(path);
                taken.iter().any(|call| is_about(prompt, &call.args, &path))
            };
            let file = files_to_delete(said)
                .into_iter()
                .find(|path| !is_taken(path));
            let of_kind = |kind: &str| {
                let ending = format!(".{kind}");
                let has_it =
                    |text: &Value| text.as_str().is_some_and(|text| text.contains(&ending));
                let mut args = taken.iter().filter_map(|call| call.args.as_object());
                args.any(|args| args.values().any(has_it))
            };
            let mut kinds = kinds_named(said).into_iter();
            let kind = || {
                let kind = kinds.find(|kind| !ran && !of_kind(kind))?;
                Some(format!("the .{kind} files"))
            };
            file.map(|path| from_root(&path)).or_else(kind)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    /// What was told of these answers with which a task ends.
    fn told(task: &str, said: &[&str]) -> bool {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        for path in ["/a.lua", "/b.txt", "/c.bak"] {
            drive.files.insert(path.into(), "1\n".into());
        }
        drive.say(said);
        drive.shown().contains("tells to delete")
    }

    #[test]
    fn an_end_before_a_file_was_deleted_that_is_to_be_is_told_so() {
        let end = "FINAL ANSWER: all is clean";
        let read = call("fs_read", json!({"path": "/b.txt"}));
        let write = call("fs_write", json!({"path": "/b.txt", "content": "2\n"}));
        let delete = |path: &str| call("fs_delete", json!({"path": path}));
        for (task, path) in [
            ("Set /b.txt to 2. Then delete the old /a.lua.", "/a.lua"),
            ("Set /b.txt to 2 and delete the two .bak files.", "/c.bak"),
        ] {
            assert!(told(task, &[&read, &write, end]), "{task}");
            assert!(!told(task, &[&read, &write, &delete(path), end]), "{task}");
        }
        // A program of which nothing speaks of it has not done it.
        let run = call("run_program", json!({"path": "/a.lua"}));
        let see = call("fs_read", json!({"path": "/a.lua"}));
        let bak = "Run /a.lua and delete the two .bak files.";
        assert!(told(bak, &[&see, &run, end, end]));
        assert!(!told(bak, &[&run, end]));
        for other in [
            "Set /b.txt to 2. Never delete /a.lua.",
            "Set /b.txt to 2 and delete the first line of it.",
            "Set /b.txt to 2. If /a.lua is old, delete /a.lua.",
        ] {
            assert!(!told(other, &[&read, &write, end]), "{other}");
        }
    }
}
