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
use crate::strategy::paths::{QUOTES, is_file_like, mentions, named_in};
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::turn::Turn;
use crate::strategy::words::named_tools::FORBIDS;
use crate::strategy::words::stated::{CONDITIONS, is_plainly_to_be_made, program_that_writes};

/// How often it is told of a file that may hold it already, or that a program may have written.
const MOST_OBJECTIONS: usize = 2;

/// Words that tell to put something somewhere.
const PUTS: [&str; 14] = [
    "write", "put", "save", "store", "add", "append", "insert", "copy", "move", "rename", "enter",
    "note", "log", "make",
];

/// Words right before the file that something is put into; behind them may stand what such a file is called by.
const INTO: [&str; 3] = ["to", "into", "as"];
const ITS_NAME: [&str; 8] = ["the", "a", "an", "file", "new", "called", "named", "list"];

/// Words that tell to take something away, the first of which may also be said of what is only read, and those right before the file.
const TAKES: [&str; 7] = [
    "take", "remove", "delete", "strike", "drop", "kick", "throw",
];
const OUT_OF: [&str; 3] = [" out of", " off", " from"];

/// What makes of "to" another word: "according to /rules.txt".
const OTHERWISE: [&str; 8] = [
    "according",
    "similar",
    "equal",
    "identical",
    "next",
    "compared",
    "belongs",
    "as",
];

/// Who writes then is a program of the task.
const WRITERS: [&str; 5] = ["program", "programs", "script", "function", "module"];

/// What a program is to do, says a sentence with one of these: "`todo done 2` should take number 2 out of /todo.txt".
pub(in crate::strategy) const SHALL: [&str; 3] = ["should", "shall", "must"];

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

/// Whether a sentence tells to write into a file, in any case: it puts something "to", "into" or "at the end of" it, or makes it.
pub(in crate::strategy) fn is_written_into(prompt: &str, path: &str) -> bool {
    is_plainly_to_be_made(prompt, path)
        || mentions(prompt, path).any(|at| {
            let before = sentence_before(&prompt[..at]);
            let doubtful = [&CONDITIONS[..], &FORBIDS[..], &WRITERS[..]].concat();
            let doubtful = doubtful.into_iter().filter(|word| *word != "then");
            let doubtful: Vec<&str> = doubtful.collect();
            has_word(before, &PUTS) && !has_word(before, &doubtful) && leads_into(before)
        })
}

/// Whether a sentence tells in any case to take something out of a file: "take everybody who is in /banned.txt out of /whitelist.txt".
pub(in crate::strategy) fn is_taken_out_of(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]);
        let doubtful = [&CONDITIONS[..], &FORBIDS[..], &WRITERS[..], &SHALL[..]].concat();
        let lower = before.trim_end().trim_end_matches(QUOTES).to_lowercase();
        let lower = lower.strip_suffix(" the").unwrap_or(&lower);
        let leads_out = OUT_OF.iter().any(|words| lower.ends_with(words));
        // "Take the numbers from /a.txt" leaves them there.
        let takes = TAKES.iter().skip(usize::from(lower.ends_with(" from")));
        let takes: Vec<&str> = takes.copied().collect();
        leads_out && has_word(before, &takes) && !has_word(before, &doubtful)
    }) && !named_in(prompt)
        .iter()
        .any(|other| other != path && is_written_into(prompt, other))
}

/// Whether what stands before a file leads into it.
fn leads_into(before: &str) -> bool {
    let lower = before.trim_end().trim_end_matches(QUOTES).to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '/'));
    let mut words = words.filter(|word| !word.is_empty()).rev().peekable();
    while words.next_if(|word| ITS_NAME.contains(word)).is_some() {}
    match words.next() {
        Some("of" | "in" | "on") => words
            .next()
            .is_some_and(|word| ["end", "bottom"].contains(&word)),
        Some(word) if INTO.contains(&word) => words
            .next()
            .is_some_and(|before| !OTHERWISE.contains(&before)),
        _ => false,
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

    #[test]
    fn a_file_out_of_which_something_is_to_be_taken_is_to_be_changed() {
        let bans = "Please take everybody who is in /banned.txt out of /white.txt.";
        for (prompt, path, told) in [
            (bans, "white.txt", true),
            (bans, "banned.txt", false),
            ("remove Bo from the /white.txt", "white.txt", true),
            ("Take the numbers from /a.txt", "a.txt", false),
            (
                "todo done 2 should take number 2 out of /a.txt",
                "a.txt",
                false,
            ),
            (
                "Take the sums out of /a.txt and write them into /b.txt",
                "a.txt",
                false,
            ),
            ("If Bo left, take him off /white.txt", "white.txt", false),
            ("Read the names from /white.txt", "white.txt", false),
            ("Do not take anybody off /white.txt", "white.txt", false),
        ] {
            assert_eq!(is_taken_out_of(prompt, path), told, "{prompt}");
        }
    }

    #[test]
    fn a_file_is_written_into_where_the_words_lead_into_it_in_any_case() {
        for (prompt, path, told) in [
            (TASK, "allowed.txt", true),
            (TASK, "all.txt", false),
            (
                "add the line `Olaf 35 paid` at the end of wages.txt",
                "wages.txt",
                true,
            ),
            (
                "Make me a report.txt here with three lines",
                "report.txt",
                true,
            ),
            (
                "pay Olaf and then write the sum into a file called sum.txt",
                "sum.txt",
                true,
            ),
            ("Write a program /a.lua", "a.lua", true),
            ("Rename /a.txt to b.txt", "b.txt", true),
            (
                "Write a program that adds a line to /log.txt",
                "log.txt",
                false,
            ),
            ("If it rains, write `rain` to /log.txt", "log.txt", false),
            ("Do not write to /log.txt", "log.txt", false),
            (
                "Write the names according to /rules.txt",
                "rules.txt",
                false,
            ),
            ("Count the lines in /log.txt", "log.txt", false),
            ("Write down what is in /log.txt", "log.txt", false),
        ] {
            assert_eq!(is_written_into(prompt, path), told, "{prompt}");
        }
    }
}
