//! A program that the task tells to write, in a prompt of its own: before anything else, where the task tells nothing to be done before it, or
//! once a run did not find it, its file was missed by a check or was to be written by hand, or once the item of a list is due that says to
//! write it. A small model that has forgotten to write it runs it again, and writes by hand what the program should have written; one that
//! plans does something else first. Shown what was asked for and nothing else, it writes the program.

use super::data_lines::taken_apart;
use super::mending::{WRITE, program_of};
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::domain::work::Work;
use crate::prompts::{PromptError, render};
use crate::strategy::first_look::checked_files::Fault;
use crate::strategy::first_look::named_files;
use crate::strategy::guards::hand_written;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::memory::contents;
use crate::strategy::numbered;
use crate::strategy::paths::{QUOTES, behind, mentions, named_in, normal};
use crate::strategy::text::{fenced, has_word, sentence_before};
use crate::strategy::turn::Turn;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::{self, program_that_writes};
use serde_json::json;

/// Bytes of another program of the task that is shown whole.
const MOST_BYTES: usize = 2_000;

/// How else a task says that its program reads a file.
const READS: [&str; 7] = [
    "goes through",
    "looks through",
    "looks into",
    "looks in",
    "look in there",
    "from that file",
    "out of that file",
];

/// Such a program.
pub(in crate::strategy) struct NewProgram {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
}

/// How a refusal of an answer about a program begins.
fn program_named(path: &str) -> String {
    format!("the program {path}: ")
}

impl Turn<'_> {
    /// The program that the newest step's run did not find, whose file its check missed or it was to write by hand, that the current item of a
    /// list writes, or that is written before anything else; once each, and once more while that answer is refused.
    pub(in crate::strategy) fn new_program(&self, newest: &Step) -> Option<NewProgram> {
        let mut runs = newest.calls.iter();
        let run = runs.find(|call| call.found_no_program());
        let name = match run {
            Some(run) => normal(program_of(run)?),
            None => {
                let refused = newest.blocked.as_ref();
                let told = refused.and_then(|told| hand_written::program_told(&told.evidence));
                let missed = || self.writer_of_missed(newest);
                let told = told.map(normal).or_else(missed);
                let told = told.or_else(|| self.program_of_item());
                told.or_else(|| self.first_to_write())?
            }
        };
        let path = from_root(&name);
        let on = match run {
            Some(run) => self.elsewhere(run),
            None => {
                let place = self.place_of(&name).map(|place| &place.client_id);
                place.filter(|id| Some(*id) != self.state.home())
            }
        };
        let is_of_it =
            |call: &CallRecord| program_of(call) == Some(&path) && self.elsewhere(call) == on;
        let mut asked = self.state.steps.iter().filter(|step| step.fills());
        let was_asked = asked.any(|step| step.calls.iter().any(is_of_it))
            || self.is_refused_for_good(newest, &program_named(&path));
        let is_known = self
            .state
            .files
            .contains_key(&key(self.state.home(), on, &path));
        if was_asked || is_known || !stated::is_to_be_made(self.asked_for(), &name) {
            return None;
        }
        self.schema_of(&addressed(WRITE, on))?;
        let on = on.cloned();
        Some(NewProgram { path, on })
    }

    /// The program that writes a file, as the task says, which a check missed just now.
    fn writer_of_missed(&self, newest: &Step) -> Option<String> {
        let faulted = self.faulted()?;
        let mut calls = newest.calls.iter();
        let is_new = calls.any(|call| call.call_id == faulted.check.call_id);
        let is_missed = is_new && faulted.on.is_none() && faulted.fault == Fault::Missing;
        program_that_writes(self.asked_for(), &normal(&faulted.path)).filter(|_| is_missed)
    }

    /// The program that the current item of a list writes, while nothing was done in it.
    fn program_of_item(&self) -> Option<String> {
        let Work::List(list) = &self.state.work else {
            return None;
        };
        let (_, item) = list.current()?;
        let is_new = item.succeeded == 0 && item.failed == 0;
        numbered::program_of_item(&item.text).filter(|_| is_new)
    }

    /// The first program that the task tells to write and that is not there, where nothing was done yet but to look and to write others of
    /// them, and the task tells of nobody who is asked and of no tool that is called.
    fn first_to_write(&self) -> Option<String> {
        let prompt = self.asked_for();
        let steps = &self.state.steps;
        let is_before = |step: &Step| step.prepares() || step.fills() || !step.closed;
        if !steps.iter().all(is_before)
            || self.state.wakes().is_some()
            || !self.tools_to_call().is_empty()
            || has_word(prompt, &["ask"])
        {
            return None;
        }
        // No first look reads a test, and one that is there all the same is not written over unseen.
        let is_missing = |path: &str, on: Option<&ClientId>| {
            let book = key(self.state.home(), on, &from_root(path));
            let is_new_test =
                stated::is_test(prompt, path) && !self.state.files.contains_key(&book);
            is_new_test || self.was_not_there(path, on)
        };
        let is_to_write = |path: &String| {
            let place = self.place_of(path);
            let on = place.map(|place| self.unless_own(place));
            path.ends_with(".lua")
                && stated::is_plainly_to_be_made(prompt, path)
                && on.is_some_and(|on| is_missing(path, on.as_ref()))
        };
        named_in(prompt).into_iter().find(is_to_write)
    }

    pub(in crate::strategy) fn consult_for_program(&self, program: &NewProgram) -> Decision {
        self.ask_aside(Contract::Content, self.program_prompt(program))
    }

    fn program_prompt(&self, program: &NewProgram) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let prompt = self.asked_for();
        let name = normal(&program.path);
        let usage = stated::usage_of(prompt, &name);
        let others = named_in(prompt).into_iter().filter(|path| {
            *path != name && path.ends_with(".lua") && stated::is_to_be_made(prompt, path)
        });
        let data = || named_in(prompt).into_iter().filter(|path| holds_data(path));
        let other = |path: String| {
            let path = from_root(&path);
            let text = contents::known(self.state, program.on.as_ref(), &path);
            let text = text.filter(|text| text.len() <= MOST_BYTES);
            json!({"path": path, "text": text.map(|text| fenced(text.trim_end(), "lua"))})
        };
        let read = data().find(|path| self.is_read_by_program(path));
        let apart = read.as_ref().and_then(|path| {
            let text = contents::known(self.state, program.on.as_ref(), &from_root(path))?;
            taken_apart(text)
        });
        let told = json!({
            "prompt": prompt,
            "path": program.path,
            "known": named_files::told_for_content(self.state, self.profile)?,
            "usage": usage.as_ref().map(|usage| usage.command),
            "names": usage.map(|usage| usage.names.join(", ")),
            "otherwise": stated::printed_else(prompt),
            "others": others.map(other).collect::<Vec<_>>(),
            "writes": data().find(|path| program_that_writes(prompt, path).as_ref() == Some(&name)).map(|path| from_root(&path)),
            "reads": read.map(|path| from_root(&path)),
            "apart": apart,
            "is_test": stated::is_test(prompt, &name),
            "is_module": is_module(prompt, &name),
            "refused": self.refused_just_now(&program_named(&program.path)),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/programmer", json!({}))?),
            Message::user(render(prompts, "shared/new_program", told)?),
        ])
    }

    /// What an answer lacks by the task's words, whatever it does: what a module gives to who loads it, and in a test the program that it tests.
    fn lacks(&self, program: &NewProgram, content: &str) -> Option<String> {
        let prompt = self.asked_for();
        let name = normal(&program.path);
        if is_module(prompt, &name) && !content.lines().any(|line| line.starts_with("return")) {
            return Some("a module ends with `return` and what it gives".to_owned());
        }
        if !stated::is_test(prompt, &name) {
            return None;
        }
        let mut others = named_in(prompt).into_iter().filter(|path| {
            *path != name && is_module(prompt, path) && stated::is_to_be_made(prompt, path)
        });
        let unused = others.find(|path| !loads(content, path))?;
        let path = from_root(&unused);
        Some(format!(
            "it does not load {path}, which it tests: `dofile(\"{path}\")`"
        ))
    }

    /// Whether a file of data, which has no first slash here, is what the program of the task reads: the task says that it reads one, and this
    /// one is there.
    pub(in crate::strategy) fn is_read_by_program(&self, path: &str) -> bool {
        let prompt = self.asked_for();
        let reads =
            has_word(prompt, &["reads"]) || READS.iter().any(|words| prompt.contains(words));
        reads && self.is_known_wherever(path)
    }

    /// Writes what it answered.
    pub(in crate::strategy) fn write_program(
        &self,
        step: &Step,
        program: &NewProgram,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{}{why}", program_named(&program.path));
            self.block(Guard::Invalid, told)
        };
        let Some(content) = said else {
            return refused("the answer holds none");
        };
        // No program of Lua begins with a table.
        if content.trim_start().starts_with('{') {
            return refused("the answer is JSON, and no program");
        }
        if let Some(lacking) = self.lacks(program, content) {
            return refused(&lacking);
        }
        let why = format!("Writing {}, as the task says", program.path);
        match self.write_aside(step, why, &program.path, program.on.as_ref(), content) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

/// Whether a program, whose path has no first slash, is what the task calls a module.
fn is_module(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]).trim_end_matches(QUOTES);
        let said = behind(prompt, at, path);
        let said = [" that", " which"]
            .iter()
            .find_map(|word| said.strip_prefix(word))
            .unwrap_or(said);
        before.trim_end().ends_with("module") || said.starts_with(" returns a table")
    })
}

/// Whether a program loads such a module: by its path, or by its name as `require` takes it.
fn loads(content: &str, module: &str) -> bool {
    let name = module.trim_end_matches(".lua");
    let name = name.strip_suffix("/init").unwrap_or(name);
    [name.to_owned(), name.replace('/', ".")]
        .iter()
        .any(|name| {
            let quoted = |quote: char| {
                let loads = |(at, _): (usize, &str)| {
                    let behind = content[at + name.len()..].chars().next();
                    let is_whole = behind.is_some_and(|c| c == quote || "./".contains(c));
                    is_whole && content[..at].ends_with(['/', quote])
                };
                content.match_indices(name.as_str()).any(loads)
            };
            quoted('"') || quoted('\'')
        })
}

#[cfg(test)]
#[path = "new_programs_tests.rs"]
mod tests;
