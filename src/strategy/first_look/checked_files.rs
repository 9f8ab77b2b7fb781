//! The file of which a failed check says that it is not as it should be. A small model that hears so runs the check again, or does
//! once more what it did before; so the file is read by rule where nobody knows what it holds now, the end of the prompt names it in
//! the call that is due, and what a file of data has to hold is asked for in a prompt of its own.

use super::missing_files::is_about_missing;
use super::named_files::READ;
use crate::domain::by_rule::ByRule;
use crate::domain::decision::Decision;
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::strategy::alone::mending::RUN;
use crate::strategy::guards::failure_text;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::memory::contents;
use crate::strategy::paths::{is_file_like, named_in, normal};
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::content_said;
use serde_json::{Value, json};

/// How many files are read so in one task.
const MOST_LOOKS: usize = 3;

/// A file that a failed check speaks of.
pub(in crate::strategy) struct Faulted<'a> {
    /// From the root.
    pub path: String,
    /// The computer, unless it is the task's own.
    pub on: Option<&'a ClientId>,
    pub check: &'a CallRecord,
    /// What the check says, in one line.
    pub said: String,
    pub fault: Fault,
}

/// What a check finds wrong about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strategy) enum Fault {
    /// It is not there.
    Missing,
    /// It is there, and should not be.
    Remains,
    /// It holds something else than it should.
    Content,
}

impl Fault {
    fn told_by(said: &str) -> Self {
        match said.contains(" still ") {
            true => Fault::Remains,
            false if is_about_missing(said) || said.contains("there is no ") => Fault::Missing,
            false => Fault::Content,
        }
    }
}

/// The arguments by which calls name the file that comes to be, or the one that goes.
const THERE: [&str; 2] = ["to", "path"];
const GOES: [&str; 2] = ["from", "path"];

impl Faulted<'_> {
    /// The arguments by which the call that is due may name the file.
    pub(in crate::strategy) fn places(&self) -> [&'static str; 2] {
        match self.fault {
            Fault::Remains => GOES,
            Fault::Missing | Fault::Content => THERE,
        }
    }
}

impl<'a> Turn<'a> {
    /// The file that the last run speaks of, if that was a check which failed and nothing was changed since.
    pub(in crate::strategy) fn faulted(&self) -> Option<Faulted<'a>> {
        let failed = self.tests_since_change().last();
        let failed = failed.filter(|run| !run.success)?;
        let check = self.call_of(&failed.what)?;
        let program = normal(check.args.get("path")?.as_str()?);
        let (said, on) = (failure_text(check), self.elsewhere(check));
        if check.succeeded() || !self.is_given_check(&program, on) {
            return None;
        }
        let fault = Fault::told_by(&said);
        // A check may repeat what a file holds, which may name others.
        let is_there = |path: &str| fault == Fault::Missing || !self.was_not_there(path, on);
        let is_it = |path: &String| is_file_like(path) && *path != program && is_there(path);
        let named = named_in(&said).into_iter().find(is_it);
        let (path, fault) = match named {
            Some(path) => (path, fault),
            None => {
                let names_one = named_in(&said).iter().any(|path| *path != program);
                let only = self.only_data_file(on, names_one);
                only.filter(|_| fault != Fault::Remains)?
            }
        };
        Some(Faulted {
            path: from_root(&path),
            on,
            check,
            fault,
            said,
        })
    }

    /// Where such a file may come from: the only other file of data that the task names, if that is there.
    pub(in crate::strategy) fn origin_of(&self, faulted: &Faulted<'a>) -> Option<String> {
        let mut others = named_in(self.asked_for());
        others.retain(|path| holds_data(path) && from_root(path) != faulted.path);
        let [other] = others.as_slice() else {
            return None;
        };
        let other = from_root(other);
        let book = key(self.state.home(), faulted.on, &other);
        self.state.files.contains_key(&book).then_some(other)
    }

    /// The only file of data that the task names: that is what a check is about which names none. Where its words name no file at all, the
    /// only one of several that the task has written. None that holds what the task says word for word.
    fn only_data_file(&self, on: Option<&ClientId>, names_one: bool) -> Option<(String, Fault)> {
        let mut data = named_in(self.asked_for());
        let is_as_said = |path: &String| {
            let holds = contents::known(self.state, on, &from_root(path));
            let said = content_said(self.asked_for(), path);
            said.is_some_and(|said| holds.is_some_and(|holds| holds.trim() == said.trim()))
        };
        data.retain(|path| is_file_like(path) && holds_data(path) && !is_as_said(path));
        if data.len() > 1 && !names_one {
            let book = |path: &String| key(self.state.home(), on, &from_root(path));
            let file = |path: &String| self.state.files.get(&book(path));
            data.retain(|path| file(path).is_some_and(|file| file.written));
        }
        let [path] = <[String; 1]>::try_from(data).ok()?;
        let book = key(self.state.home(), on, &from_root(&path));
        let fault = match self.state.files.contains_key(&book) {
            true => Fault::Content,
            false => Fault::Missing,
        };
        Some((path, fault))
    }

    /// Whether the newest read or run of a file, which has no first slash here, did not find it, and nothing has brought it there since.
    pub(in crate::strategy) fn was_not_there(&self, path: &str, on: Option<&ClientId>) -> bool {
        let is_it = |call: &&CallRecord| {
            let of = call.args.get("path").and_then(Value::as_str);
            let is_tried = call.tool == READ || call.tool == RUN;
            let is_tried = is_tried && of.is_some_and(|of| normal(of) == path);
            let mut written = contents::written_by(call).into_iter();
            (is_tried || written.any(|to| normal(to) == path)) && self.elsewhere(call) == on
        };
        let newest = self.state.calls().rev().find(is_it);
        newest.is_some_and(|call| {
            let is_read = call.tool == READ && !call.succeeded();
            call.found_no_program() || (is_read && is_about_missing(&failure_text(call)))
        })
    }

    /// Reads such a file, if nobody knows what it holds since it came there, what was found in another place than where it was to be
    /// read, or the program in whose line a run failed; each once.
    pub(in crate::strategy) fn look_into(&self) -> Option<Decision> {
        let steps = self.state.steps.iter();
        let mut looked = steps
            .filter(|step| looks_into(step))
            .flat_map(|step| &step.calls);
        if looked.clone().count() >= MOST_LOOKS || !self.may_step_aside() {
            return None;
        }
        let found = self.found_elsewhere().or_else(|| self.unknown_fault());
        let (path, on) = found.or_else(|| self.unseen_culprit())?;
        let is_it = |call: &CallRecord| {
            let of = call.args.get("path").and_then(Value::as_str);
            of == Some(path.as_str()) && self.elsewhere(call) == on
        };
        if looked.any(is_it) {
            return None;
        }
        self.schema_of(&addressed(READ, on))?;
        let parameters = json!({"path": path, "max_bytes": self.profile.memory.result_bytes});
        self.call_by_rule(ByRule::LookInto, READ, parameters, on.cloned())
    }

    fn unknown_fault(&self) -> Option<(String, Option<&'a ClientId>)> {
        let faulted = self.faulted()?;
        let book = key(self.state.home(), faulted.on, &faulted.path);
        let is_unknown = !self.state.files.contains_key(&book);
        (is_unknown && faulted.fault == Fault::Content).then_some((faulted.path, faulted.on))
    }

    /// What such a file holds now, where that is known whole.
    pub(in crate::strategy) fn held_by(&self, faulted: &Faulted<'a>) -> Option<&'a str> {
        let book = key(self.state.home(), faulted.on, &faulted.path);
        self.state.files.get(&book)?;
        contents::known(self.state, faulted.on, &faulted.path)
    }
}

/// Whether such a file is read in a step by rule.
pub(in crate::strategy) fn looks_into(step: &Step) -> bool {
    step.by_rule() == Some(ByRule::LookInto)
}

#[cfg(test)]
#[path = "checked_files_tests.rs"]
mod tests;
