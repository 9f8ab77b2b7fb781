//! Tasks that want nothing done but to write what their files say into one, and a program run that looks at it or takes it up: the file is asked
//! for alone before any planner then, and that run is the end.

use super::mending::WRITE;
use super::unfilled::COPY;
use crate::domain::by_rule::ByRule;
use crate::domain::step::{CallRecord, Step};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::paths::{listed_behind_folders, mentions, named_in, normal};
use crate::strategy::shown_tools;
use crate::strategy::text::{has_word, sentence_after};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::stated;
use crate::strategy::words::told_changes::is_written_into;

/// The tools of a task that only wants its result written, as far as its words name any.
const ONLY: [&str; 5] = [WRITE, "fs_write_many", "fs_read", "fs_list", "run_program"];

/// Words of a task that wants something written only in some case.
const UNLESS: [&str; 5] = ["if", "unless", "otherwise", "when", "until"];

/// Words behind a run with which a task wants something more.
const BEHIND: [&str; 12] = [
    "tell", "report", "send", "write", "note", "copy", "move", "delete", "save", "pay", "answer",
    "what",
];

impl Turn<'_> {
    /// Whether nothing was done yet but to look, and the task wants nothing else.
    pub(in crate::strategy) fn only_writes_result(&self) -> bool {
        let is_look = |step: &Step| {
            let is_before = step.prepares() || !step.closed || step.fills_in_vain();
            is_before || step.by_rule() == Some(ByRule::FirstRun)
        };
        self.state.steps.iter().all(is_look) && self.wants_only_result()
    }

    /// Whether the file of the result was asked for alone and written, of a task that wants nothing else, and all ran well that it tells to run.
    pub(in crate::strategy) fn is_filled_and_run(&self) -> bool {
        let prompt = self.asked_for();
        let writes = |call: &CallRecord| {
            let path = call.args["path"].as_str().map(normal).unwrap_or_default();
            call.tool == WRITE
                && call.succeeded()
                && holds_data(&path)
                && named_in(prompt).contains(&path)
        };
        let mut steps = self.state.steps.iter().filter(|step| step.fills());
        steps.any(|step| step.calls.iter().any(writes))
            && self.wants_only_result()
            && !self.tests_since_change().is_empty()
            && self.is_run_as_asked()
    }

    /// Whether the task wants nothing done but to write what its files say, and a program run that looks at it or takes it up.
    fn wants_only_result(&self) -> bool {
        let prompt = self.asked_for();
        let mut programs = named_in(prompt).into_iter();
        let shown = self.shown_tools().shown;
        let mut named = shown_tools::named_by(&shown, prompt);
        let is_heard =
            |path: &String| stated::told_output(prompt).is_some_and(|told| normal(told) == *path);
        let last = sentences(prompt).last().unwrap_or_default();
        let runs_one = || {
            let mut named = named_in(last).into_iter();
            named.any(|path| {
                let behind = mentions(last, &path).last().map(|at| &last[at..]);
                is_check(prompt, &path) && behind.is_some_and(|said| !has_word(said, &BEHIND))
            })
        };
        self.state.wakes().is_none()
            && self.tools_to_call().is_empty()
            && !is_conditional(prompt)
            && !self.asks_somebody()
            && (self.has_closing_check() || runs_one() || self.is_made_of_files())
            && programs.all(|path| {
                holds_data(&path)
                    || is_check(prompt, &path)
                    || is_heard(&path)
                    || is_folder_of_listed(prompt, &path)
            })
            && named.all(|tool| {
                let is_content = tool.name == COPY && is_changed_copy(prompt);
                // A task that speaks of a tool and of writing names none about tools, unless by its whole name.
                is_content
                    || ONLY.contains(&tool.name.as_str())
                    || shown_tools::is_about_tools(&tool.name)
            })
    }

    /// Whether the task is about files of data of its own computer alone, and has one of them written, and that one is not there.
    fn is_made_of_files(&self) -> bool {
        let prompt = self.asked_for();
        let named = named_in(prompt);
        let written = |path: &&String| is_written_into(prompt, path);
        let mut results = named.iter().filter(written);
        let (Some(result), None) = (results.next(), results.next()) else {
            return false;
        };
        named.len() > 1
            && named.iter().all(|path| holds_data(path))
            && self.is_known_to_be_missing(result)
            && self.other_computers().is_empty()
    }
}

/// Whether a task wants something only in some case. What a program does in which case its own sentence tells behind it.
fn is_conditional(prompt: &str) -> bool {
    sentences(prompt).any(|said| {
        let programs = named_in(said)
            .into_iter()
            .filter(|path| path.ends_with(".lua"));
        let places = programs.filter_map(|path| mentions(said, &path).next());
        let end = places.min().unwrap_or(said.len());
        has_word(&said[..end], &UNLESS)
    })
}

/// Whether a path is the folder of files that are listed behind it.
fn is_folder_of_listed(prompt: &str, path: &str) -> bool {
    let listed = listed_behind_folders(prompt);
    listed.iter().any(|file| {
        file.rsplit_once('/')
            .is_some_and(|(folder, _)| folder == path)
    })
}

/// Whether a task wants a copy that is not the same: what that holds is written.
fn is_changed_copy(prompt: &str) -> bool {
    let behind = prompt
        .split_once("copy of ")
        .map(|(_, behind)| sentence_after(behind));
    let differs = [" in which ", " but with ", " where ", " except "];
    behind.is_some_and(|said| differs.iter().any(|words| said.contains(words)))
}

#[cfg(test)]
#[path = "only_result_tests.rs"]
mod tests;
