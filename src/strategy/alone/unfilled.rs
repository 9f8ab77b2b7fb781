//! Which file of data lacks its content: one into which a program was to be written, one with which a check is not content, or the one
//! that the task wants its result written into.

use super::mending::WRITE;
use super::tool_source::WRITE as WRITE_TOOL;
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::domain::tool::ComputerView;
use crate::strategy::first_look::checked_files::{Fault, Faulted, looks_into};
use crate::strategy::first_look::named_files;
use crate::strategy::guards::misplaced_program::{holds_data, told_of};
use crate::strategy::memory::contents;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{listed_behind_folders, mentions, named_in, normal};
use crate::strategy::shown_tools;
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::{sentences, was_asked};
use crate::strategy::words::stated::{self, content_said, program_that_writes};
use serde_json::Value;

/// Bytes of a file that is shown with what a check says of it: that prompt is short, or it is no help.
const MOST_BYTES: usize = 1_000;

/// Tools that bring what a file holds from another one.
const BRING: [&str; 2] = ["fs_move", COPY];
pub(in crate::strategy) const COPY: &str = "fs_copy";

/// Words of a sentence that tells to put a result into a file.
pub(in crate::strategy) const WRITES: [&str; 6] =
    ["write", "put", "save", "store", "make", "create"];

/// How a refusal of an answer about such a file begins.
pub(in crate::strategy) const REFUSED: &str = "what the file has to hold: ";

/// A file of which is to be said what it has to hold.
pub(in crate::strategy) struct Unfilled<'a> {
    pub path: String,
    /// The computer, unless it is the task's own.
    pub on: Option<ClientId>,
    pub wrong: Option<Wrong<'a>>,
}

/// What is wrong with a file that is there.
pub(in crate::strategy) struct Wrong<'a> {
    /// What a check says.
    pub said: String,
    pub holds: &'a str,
}

impl<'a> Turn<'a> {
    /// That file, as the newest step shows it; none while none is lacking.
    pub(in crate::strategy) fn unfilled(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let unfilled = self.refused_file(newest);
        let unfilled = unfilled.or_else(|| self.wrong_file(newest));
        let unfilled = unfilled.or_else(|| self.file_of_result(newest));
        // What a program of the task is to write is no work for the hand.
        let is_programs = |path: &str| program_that_writes(self.asked_for(), &normal(path));
        unfilled.filter(|unfilled| is_programs(&unfilled.path).is_none())
    }

    /// The file of the newest refusal, if nothing was done since, the task names it, and it is certain on which computer it lies.
    fn refused_file(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let path = refused_path(newest)?;
        let before = self.state.steps.iter();
        let mut before = before.take_while(|step| step.number != newest.number);
        if before.any(|step| refused_path(step).as_deref() == Some(path.as_str())) {
            return None;
        }
        // What a file has to hold that the task does not speak of, nobody can tell.
        if !self.names(&path) {
            return None;
        }
        let place = self.place_of(&normal(&path))?;
        Some(Unfilled {
            on: self.unless_own(place),
            path,
            wrong: None,
        })
    }

    /// The file of data with which a check was not content just now, if the task names it: one that is not there and that the task
    /// wants written, or a short one that is known as it is.
    fn wrong_file(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let faulted = self.faulted()?;
        let just_now = looks_into(newest)
            || newest
                .calls
                .iter()
                .any(|call| call.call_id == faulted.check.call_id);
        if !just_now
            || !holds_data(&faulted.path)
            || !self.names(&faulted.path)
            || self.was_filled(&faulted)
        {
            return None;
        }
        let wrong = match faulted.fault {
            Fault::Content => {
                let holds = self.held_by(&faulted)?;
                Some(Wrong {
                    holds: Some(holds).filter(|holds| holds.len() <= MOST_BYTES)?,
                    said: faulted.said,
                })
            }
            Fault::Missing if self.wants_it_written() || self.says_content(&faulted.path) => None,
            Fault::Missing | Fault::Remains => return None,
        };
        Some(Unfilled {
            path: faulted.path,
            on: faulted.on.cloned(),
            wrong,
        })
    }

    /// The file that the task wants its result written into, once all is known that it speaks of and the model's next answer led to
    /// nothing: small models know all then, and go on looking. Before anything else where nothing else is to be done, and once a tool of the
    /// task was used as it tells. Asked for once in a task, and there once more while its answer is refused.
    fn file_of_result(&self, newest: &Step) -> Option<Unfilled<'a>> {
        let brought_nothing =
            |call: &CallRecord| !call.succeeded() || named_files::was_shown(self.state, call);
        let is_lost = (newest.blocked.is_some() && !newest.fills())
            || (newest.by_rule().is_none()
                && !newest.calls.is_empty()
                && newest.calls.iter().all(brought_nothing));
        let mut before = self.state.steps.iter().filter(|step| step.closed);
        let is_tool = |step: &Step| step.calls.iter().any(|call| call.tool == WRITE_TOOL);
        let was_asked = before.any(|step| step.fills() && !step.fills_in_vain() && !is_tool(step))
            || self.is_refused_for_good(newest, REFUSED);
        let is_due = is_lost || self.only_writes_result() || self.was_used_as_told();
        if !is_due || was_asked {
            return None;
        }
        let prompt = self.asked_for();
        let mut wanted = named_in(prompt).into_iter().filter(|path| {
            let mut places = mentions(prompt, path);
            let is_written = |at: usize| has_word(sentence_before(&prompt[..at]), &WRITES);
            holds_data(path) && places.any(is_written) && self.is_unknown(path)
        });
        let (Some(path), None) = (wanted.next(), wanted.next()) else {
            return None;
        };
        let place = self.place_of(&path)?;
        let unfilled = Unfilled {
            on: self.unless_own(place),
            path: from_root(&path),
            wrong: None,
        };
        self.is_all_known(&unfilled.path).then_some(unfilled)
    }

    /// Whether the task tells to ask somebody, and nobody was asked. A computer is asked with a tool.
    pub(in crate::strategy) fn asks_somebody(&self) -> bool {
        if was_asked(self.state) {
            return false;
        }
        let named = self.named_tools();
        let names_one = |sentence: &str| {
            let mut tools = named.iter();
            tools.any(|tool| mentions(sentence, &tool.name).next().is_some())
        };
        sentences(self.asked_for()).any(|said| has_word(said, &["ask"]) && !names_one(said))
    }

    /// Whether every tool that the task names has answered, the program in whose output something is wanted has run well, and every other file
    /// of data that it names is known whole, and there is any, or somebody has answered, or a tool was made and used.
    pub(in crate::strategy) fn is_all_known(&self, unfilled: &str) -> bool {
        let tools = self.named_tools_answered();
        let mut files = named_in(self.asked_for());
        files.extend(listed_behind_folders(self.asked_for()));
        files.retain(|path| holds_data(path) && from_root(path) != unfilled);
        let is_known = |path: &String| self.is_known_wherever(path);
        let heard = self.has_heard();
        let is_any = [tools, heard].iter().any(Option::is_some)
            || !files.is_empty()
            || self.has_answer()
            || self.was_used_as_told();
        let is_none_left = tools != Some(false) && heard != Some(false);
        is_any && is_none_left && files.iter().all(is_known)
    }

    /// Whether a program, whose path has no first slash here, is that one and has run well.
    pub(in crate::strategy) fn was_heard(&self, path: &str) -> bool {
        let told = stated::told_output(self.asked_for()).map(normal);
        told.as_deref() == Some(path) && self.has_heard() == Some(true)
    }

    /// Whether the program in whose output something is wanted has run well; none where the task speaks of none.
    fn has_heard(&self) -> Option<bool> {
        let told = normal(stated::told_output(self.asked_for())?);
        let is_it =
            |call: &CallRecord| call.args["path"].as_str().map(normal) == Some(told.clone());
        let mut calls = self.state.calls();
        Some(calls.any(|call| runs(call) && call.succeeded() && is_it(call)))
    }

    /// Whether a person has answered a question of the task.
    fn has_answer(&self) -> bool {
        let mut asked = self
            .state
            .steps
            .iter()
            .filter_map(|step| step.question.as_ref());
        asked.any(|asked| asked.question.approval.is_none() && asked.answer.is_some())
    }

    /// Whether it is known what a file, which has no first slash here, holds in each place where the task has it, or at its end, of which the
    /// task speaks.
    pub(in crate::strategy) fn is_known_wherever(&self, path: &str) -> bool {
        let places = self.places_of(path);
        let is_known_on = |place: &&ComputerView| {
            let on = self.unless_own(place);
            contents::known(self.state, on.as_ref(), &from_root(path)).is_some()
                || named_files::shows_end(self.state, on.as_ref(), path)
        };
        !places.is_empty() && places.iter().all(is_known_on)
    }

    /// Whether the task has neither read nor written a file, wherever it lies.
    fn is_unknown(&self, path: &str) -> bool {
        let path = from_root(path);
        let mut known = self.state.files.keys();
        !known.any(|key| key.ends_with(&path))
    }

    /// Whether the task's words name the tool that writes, and none that brings a file from another place.
    fn wants_it_written(&self) -> bool {
        let shown = self.shown_tools().shown;
        let named = shown_tools::named_by(&shown, self.asked_for());
        let named: Vec<&str> = named.map(|tool| tool.name.as_str()).collect();
        named.contains(&WRITE) && !BRING.iter().any(|tool| named.contains(tool))
    }

    /// Whether the task's words say what a file holds, word for word.
    pub(in crate::strategy) fn says_content(&self, path: &str) -> bool {
        content_said(self.asked_for(), &normal(path)).is_some()
    }

    fn names(&self, path: &str) -> bool {
        named_in(self.asked_for()).contains(&normal(path))
    }

    /// Whether that was asked for already since the check has failed for the first time.
    fn was_filled(&self, faulted: &Faulted<'_>) -> bool {
        let program = faulted.check.args.get("path");
        let fails = |call: &CallRecord| call.args.get("path") == program && runs(call);
        let mut steps = self.state.steps.iter();
        let failed = steps.by_ref().find(|step| {
            let mut calls = step.calls.iter();
            calls.any(|call| fails(call) && !call.succeeded())
        });
        let since = failed.into_iter().chain(steps);
        let mut fills = since.filter(|step| step.closed && step.fills());
        let is_it = |call: &CallRecord| {
            let path = call.args.get("path").and_then(Value::as_str);
            path == Some(faulted.path.as_str()) && self.elsewhere(call) == faulted.on
        };
        // What was refused names no file.
        fills.any(|step| step.calls.is_empty() || step.calls.iter().any(is_it))
    }
}

/// The file for which a step was refused, from the root.
fn refused_path(step: &Step) -> Option<String> {
    let blocked = step.blocked.as_ref()?;
    told_of(&blocked.evidence).map(|path| from_root(&normal(path)))
}
