//! Ends of tasks whose words tell to write into a file into which nothing was written: a weak model that has found out what belongs there, or
//! whose write was refused, says that all is done.

use super::unchanged::changes;
use super::untouched::{is_about, names};
use crate::domain::decision::{Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::step::CallRecord;
use crate::strategy::first_look::missing_files::is_missing;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::guards::times_told;
use crate::strategy::paths::{is_file_like, named_in};
use crate::strategy::turn::Turn;
use crate::strategy::words::stated::program_that_writes;
use crate::strategy::words::told_changes::{is_taken_out_of, is_written_into};

/// How often it is told of a file that may hold it already, or that a program may have written.
const MOST_OBJECTIONS: usize = 2;

impl Turn<'_> {
    /// What such an end is told. A file that is not there at all stands for itself; where it may be as it should be, it is told twice.
    pub(in crate::strategy) fn undelivered(&self) -> Option<Decision> {
        if !self.profile.demand_proof || !self.may_end() || self.state.wakes().is_some() {
            return None;
        }
        let path = self.file_without_its_content()?;
        let words = match is_written_into(self.asked_for(), &path) {
            true => {
                format!("the task tells to write into /{path}, and nothing was written there")
            }
            false => format!("the task takes something out of /{path}, and it is as it was"),
        };
        let is_lacking = self.is_known_to_be_missing(&path);
        if !is_lacking && times_told(self.state, &words) >= MOST_OBJECTIONS {
            return None;
        }
        let more = match is_lacking {
            true => "Write it. If that cannot be done, end the task and say that it is not done",
            false => "Do that. If it holds already what the task wants, end the task once more",
        };
        Some(self.block(Guard::Unfinished, format!("{words}. {more}")))
    }

    /// The first file, without its first slash, into which the task tells to write and no call has written.
    fn file_without_its_content(&self) -> Option<String> {
        let prompt = self.asked_for();
        let by_child = |call: &CallRecord| call.child.is_some();
        if self.state.calls().any(by_child) {
            return None;
        }
        let is_written = |path: &String| {
            let is_it = |call: &CallRecord| is_about(prompt, &call.args, path);
            let mut calls = self.state.calls();
            calls.any(|call| changes(call) && !call.kept_a_file() && is_it(call))
        };
        // "Make /a.lua faster" is about one that is there.
        let may_be_new = |path: &str| holds_data(path) || self.is_known_to_be_missing(path);
        let mut wanted = named_in(prompt).into_iter();
        wanted.find(|path| {
            is_file_like(path)
                && (is_written_into(prompt, path) || is_taken_out_of(prompt, path))
                && may_be_new(path)
                && program_that_writes(prompt, path).is_none()
                && !is_written(path)
        })
    }

    /// Whether the newest call about a file has found none, and nothing was done since that could have made it.
    pub(in crate::strategy) fn is_known_to_be_missing(&self, path: &str) -> bool {
        let root = from_root(path);
        let calls = self.state.all_calls().filter(|call| !call.is_open());
        let since: Vec<&CallRecord> = calls.collect();
        let found_none = |call: &&CallRecord| is_missing(call) && names(&call.args, path);
        let Some(at) = since.iter().rposition(found_none) else {
            return false;
        };
        let does = |call: &&CallRecord| changes(call) || call.tool == "run_program";
        !since[at..].iter().any(does) && !self.state.files.keys().any(|key| key.ends_with(&root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use serde_json::json;

    const END: &str = "FINAL ANSWER: all is well";
    const TASK: &str =
        "Take the names from /all.txt, leave out Tom, and save the others to /allowed.txt.";

    fn drive(task: &str) -> Drive {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.bench.profile.demand_proof = true;
        drive.files.insert("/all.txt".into(), "Ann\nTom\n".into());
        drive.files.insert("/wages.txt".into(), "Bo 15\n".into());
        drive
    }

    #[test]
    fn an_end_without_the_file_that_was_to_be_written_is_never_taken() {
        let mut drive = drive(TASK);
        drive.say(&[&call("fs_read", json!({"path": "/allowed.txt"}))]);
        for _ in 0..4 {
            drive.say(&[END]);
            assert!(drive.state().result.is_none(), "{}", drive.shown());
        }
        let told = "the task tells to write into /allowed.txt, and nothing was written there";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        let write = json!({"path": "/allowed.txt", "content": "Ann\n"});
        drive.say(&[&call("fs_write", write), END]);
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }

    #[test]
    fn a_file_that_is_there_and_was_not_written_is_told_twice() {
        let mut drive =
            drive("Add the line `Olaf 35` at the end of wages.txt, after a look at /all.txt");
        let read = call("fs_read", json!({"path": "/wages.txt"}));
        let write = |path: &str| call("fs_write", json!({"path": path, "content": "Olaf 35\n"}));
        // A write that left the file as it was is none.
        let kept = |files: &mut _, call: &CallRecord| match call.args["path"].as_str() {
            Some("/wages.txt") if call.tool == "fs_write" => {
                done(json!({"success": false, "kept": true, "error": "is there already"}))
            }
            _ => carry_out(files, call),
        };
        let said = [&read, &write("/wages.txt"), &write("/b.txt"), END, END];
        drive.say_with(&said, kept);
        assert!(drive.state().result.is_none(), "{}", drive.shown());
        drive.say(&[END]);
        let told = drive
            .state()
            .steps
            .iter()
            .filter_map(|step| step.blocked.as_ref());
        let told = told.filter(|blocked| blocked.evidence.contains("to write into /wages.txt"));
        assert_eq!(told.count(), 2, "{}", drive.shown());
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }
}
