//! A write over a file that the task wants renamed first ("Rename /notes.txt to /notes.old, and make a new /notes.txt"), or of something else under
//! its new name: what the file held is lost, and a check that looks for both names finds both.

use super::leave_words::{has_exception, lead_of, words};
use crate::domain::call::Target;
use crate::domain::files::{from_root, key};
use crate::domain::task::CallRecord;
use crate::strategy::alone::mending::due_calls::SHELL;
use crate::strategy::alone::mending::{WRITE, program_of};
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{behind, is_file_like, mentions, named_in, normal};
use crate::strategy::text::{has_word, sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use crate::strategy::words::named_tools::FORBIDS;
use serde_json::Value;

const RENAMES: [&str; 2] = ["rename", "move"];

impl Turn<'_> {
    /// What is told of such a write, as often as it is wanted, with the call that renames the file. None once anything may have moved it.
    pub(in crate::strategy) fn written_before_renamed(
        &self,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<String> {
        let home = self.state.home();
        let is_home = match target {
            Target::Any => true,
            Target::Computer(on) => Some(on) == home,
            Target::Group(_) => false,
        };
        let path = args.get("path").filter(|_| tool == WRITE && is_home)?;
        let (path, content) = (normal(path.as_str()?), args.get("content")?.as_str()?);
        let book = |path: &str| self.state.files.get(&key(home, None, &from_root(path)));
        let (from, to) = renamings(self.asked_for()).find(|(from, to)| {
            let holds = contents::known(self.state, None, &from_root(from));
            *from == path
                || (*to == path && holds.is_some_and(|holds| holds.trim() != content.trim()))
        })?;
        let is_as_it_was = book(&from).is_some_and(|file| !file.written);
        let mut calls = self.state.calls();
        if !is_as_it_was || book(&to).is_some() || calls.any(|call| self.may_move(call)) {
            return None;
        }
        let told = format!(
            "the task wants /{from} renamed to /{to}, and that is still to be done: what it holds would be lost, or would not be there. Rename it first"
        );
        let call = self.renaming_call(&from_root(&from), &from_root(&to), None);
        Some(call.map_or_else(|| told.clone(), |call| format!("{told}:\n{call}")))
    }

    /// Whether a call may have moved any file: a command, or a program that is no check of the work.
    fn may_move(&self, call: &CallRecord) -> bool {
        let is_check = |path: &str| self.is_given_check(&normal(path), self.elsewhere(call));
        call.tool == SHELL || (runs(call) && !program_of(call).is_some_and(is_check))
    }
}

/// The files that a task tells to rename, without their first slashes, and what they are called then.
fn renamings(prompt: &str) -> impl Iterator<Item = (String, String)> {
    let named = named_in(prompt).into_iter();
    named.filter_map(move |from| {
        let to = mentions(prompt, &from).find_map(|at| {
            let before = sentence_before(&prompt[..at]);
            let after = sentence_after(behind(prompt, at, &from)).trim_start();
            let words = words(before);
            let is_told = lead_of(&words, &RENAMES).is_some()
                && !has_word(before, &FORBIDS)
                && !has_exception(&format!("{before} {after}"));
            let to = named_in(after.strip_prefix("to ")?).into_iter().next();
            to.filter(|_| is_told)
        })?;
        (is_file_like(&to) && to != from).then_some((from, to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, profile_with_asides};
    use proptest::prelude::*;
    use serde_json::json;

    const TASK: &str = "Rename /notes.txt to /notes.old with the shell, and make a new /notes.txt that holds the one line `fresh`.";

    /// The task after these writes, each of a path and what it shall hold.
    fn written(task: &str, writes: &[(&str, &str)]) -> Drive {
        let mut profile = profile_with_asides("direct");
        profile.executor_mends = 0;
        let mut drive = Drive::new(profile, task);
        drive
            .files
            .insert("/notes.txt".into(), "an old note".into());
        let shell = json!({"name": SHELL, "effect": "effect", "description": "Runs.", "args_schema": {"type": "object"}});
        drive.add_tools(vec![serde_json::from_value(shell).unwrap()]);
        let write =
            |(path, content): &(&str, &str)| call(WRITE, json!({"path": path, "content": content}));
        let said: Vec<String> = writes.iter().map(write).collect();
        drive.say(&said.iter().map(String::as_str).collect::<Vec<_>>());
        drive
    }

    #[test]
    fn what_is_to_be_renamed_is_not_written_over_before_that() {
        for path in ["/notes.txt", "/notes.old"] {
            let drive = written(TASK, &[(path, "fresh"), (path, "fresh")]);
            let shown = drive.shown();
            let told = "Rename it first:\n{\"tool\": \"shell_exec\", \"args\": {\"command\":\"move /notes.txt /notes.old\"}}";
            assert!(shown.contains(told), "{shown}");
            assert_eq!(drive.files["/notes.txt"], "an old note");
            assert!(!drive.files.contains_key("/notes.old"));
        }
        // Written under its new name as it is, it may be made anew.
        let drive = written(
            TASK,
            &[("/notes.old", "an old note"), ("/notes.txt", "fresh")],
        );
        assert_eq!(drive.files["/notes.txt"], "fresh");
    }

    #[test]
    fn other_files_and_other_words_are_no_renaming() {
        for task in [
            "Do not rename /notes.txt to /notes.old, write fresh into it.",
            "Write fresh to /notes.txt.",
            "Move /notes.txt to the folder /old, and make it anew.",
            "Move the turtle, then copy /notes.txt to /notes.old.",
            "If it is full, rename /notes.txt to /notes.old. Write fresh into it.",
        ] {
            assert_eq!(
                written(task, &[("/notes.txt", "fresh")]).files["/notes.txt"],
                "fresh",
                "{task}"
            );
        }
        assert_eq!(
            written(TASK, &[("/a.txt", "fresh")]).files["/a.txt"],
            "fresh"
        );
    }

    proptest! {
        #[test]
        fn any_task_is_read_without_a_panic(prompt in "(rename |move |/a.txt| to |/b.txt|not |\\.|`|ä){0,20}") {
            let _ = renamings(&prompt).count();
        }
    }
}
