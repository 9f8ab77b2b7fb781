//! The content of a file in a prompt of its own: a small model that is to write the result of its work into a file writes a program there
//! which would find it out, and again when it is told so; or it hears from a check that a file is not as it should be, and does again what
//! it did; or it knows all and goes on looking. Shown what was asked for and what is known, and nothing else, it says what the file has to
//! hold, or that this is not known yet. What it says is written as any other call, by rule.

use super::chosen_files::DELETE;
use super::line_edits::PATCH;
use super::mending::{RUN, WRITE};
use super::moved_files::MOVE;
use super::typed_input::is_typed_run;
use super::unfilled::{REFUSED, Unfilled};
use crate::domain::by_rule::ByRule;
use crate::domain::chat::{ChatAnswer, Message, StopReason};
use crate::domain::decision::{Decision, Guard};
use crate::domain::files::{from_root, key};
use crate::domain::step::{CallRecord, Step};
use crate::prompts::{PromptError, render as render_prompt};
use crate::strategy::first_look::checked_files::Fault;
use crate::strategy::first_look::named_files;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::lua_text::only_shows::only_shows;
use crate::strategy::memory::{View, told};
use crate::strategy::paths::normal;
use crate::strategy::text::{fenced, has_word, sentence_after};
use crate::strategy::turn::Turn;
use crate::strategy::words::calculation;
use crate::strategy::words::places::{addressed, sentence_of};
use crate::strategy::words::said_lines;
use crate::strategy::words::stated;
use serde_json::json;
use std::borrow::Cow;

/// Calls whose results are shown, the last ones, and bytes of each: this prompt is short, or it is no help.
const MOST_CALLS: usize = 4;
const MOST_BYTES: usize = 1_000;

/// Bytes of an answer without a fence that may be a content: a number, a name, a few lines of them.
const MOST_BARE: usize = 80;

/// Words of a line of such an answer that has several.
const MOST_WORDS: usize = 3;

/// How a task says with which word a line begins.
const BEGINS: [&str; 2] = [" begins with ", " starts with "];

/// How an answer says that something has to be found out first.
const MISSING: &str = "missing";

/// The system prompt of who is asked.
pub(in crate::strategy) const FILLER: &str = "shared/filler";

impl Turn<'_> {
    /// The run of which the task speaks, once such a content was written and all is known that the task names: a small model that did not
    /// think of the content does not think of the run either.
    pub(in crate::strategy) fn run_filled(&self) -> Option<Decision> {
        let newest = self.state.newest_closed()?;
        if !(newest.fills() || writes_said(newest)) {
            return self.after_run(newest);
        }
        let clears = |call: &CallRecord| [DELETE, MOVE].contains(&call.tool.as_str());
        if newest
            .calls
            .iter()
            .any(|call| is_typed_run(call) || clears(call))
        {
            let moved = || newest.calls.iter().any(|call| call.tool == MOVE);
            let run = || moved().then(|| self.told_run()).flatten();
            return self.closing_run().or_else(run);
        }
        let mut written = newest.calls.iter();
        let writes = |call: &&CallRecord| [WRITE, PATCH].contains(&call.tool.as_str());
        let written = written.find(|call| writes(call) && call.succeeded())?;
        let path = from_root(&normal(written.args.get("path")?.as_str()?));
        let is_program = path.ends_with(".lua") || written.tool == PATCH;
        if self.changes_file(written) {
            return self.closing_run().or_else(|| self.show_change());
        }
        (is_program || self.is_all_known(&path))
            .then(|| self.closing_run().or_else(|| self.run_of_program(written)))
            .flatten()
            .or_else(|| self.show_written(written))
    }

    /// Runs a program that was just written, to see what it prints, where it takes nothing and does nothing but read and print.
    fn show_written(&self, written: &CallRecord) -> Option<Decision> {
        let path = written.args["path"]
            .as_str()
            .filter(|path| path.ends_with(".lua"))?;
        let text = written.args["content"]
            .as_str()
            .filter(|_| written.tool == WRITE)?;
        let may = only_shows(text)
            && self.tests_since_change().is_empty()
            && !is_check(self.asked_for(), &normal(path))
            && !stated::forbids_runs(self.asked_for());
        let on = self.elsewhere(written).cloned();
        self.schema_of(&addressed(RUN, on.as_ref()))?;
        let run = || self.call_by_rule(ByRule::FirstRun, RUN, json!({"path": path}), on);
        may.then(run).flatten()
    }

    /// Writes such a file by rule where the task says word for word what it holds, once each, after the tools that it names: what is to
    /// be written tells of what they did. A file that was there before the task, and is not gone, stays the model's.
    pub(in crate::strategy) fn write_said(&self, unfilled: &Unfilled<'_>) -> Option<Decision> {
        let (path, on) = (&unfilled.path, unfilled.on.as_ref());
        let content = stated::content_said(self.asked_for(), &normal(path))?;
        let file = self.state.files.get(&key(self.state.home(), on, path));
        let is_gone = self
            .faulted()
            .is_some_and(|faulted| faulted.fault == Fault::Missing && faulted.path == *path);
        let was_there = file.is_some_and(|file| !file.written) && !is_gone;
        let mut said = self.state.steps.iter().filter(|step| writes_said(step));
        let is_it =
            |call: &CallRecord| call.args["path"] == path.as_str() && self.elsewhere(call) == on;
        if was_there
            || !self.tools_to_call().is_empty()
            || said.any(|step| step.calls.iter().any(is_it))
        {
            return None;
        }
        let parameters = json!({"path": path, "content": content});
        self.call_by_rule(ByRule::SaidContent, WRITE, parameters, on.cloned())
    }

    pub(in crate::strategy) fn content_prompt(
        &self,
        unfilled: &Unfilled<'_>,
    ) -> Result<Vec<Message>, PromptError> {
        let (state, profile) = (self.state, self.profile);
        let view = View {
            first_step: 0,
            max_bytes: profile.memory.result_bytes.min(MOST_BYTES),
        };
        let steps = state
            .steps
            .iter()
            .filter(|step| step.closed && !step.looks_first());
        // What failed and came out well when it was asked again says nothing more.
        let is_past = |call: &CallRecord| {
            let mut later = state
                .calls()
                .rev()
                .take_while(|other| other.call_id != call.call_id);
            !call.succeeded() && later.any(|other| other.tool == call.tool && other.succeeded())
        };
        let told = steps.flat_map(|step| {
            let told = told::calls(state, profile, step, view, None).into_iter();
            let each = told.zip(&step.calls);
            each.filter_map(|(told, call)| {
                let is_told = is_past(call) || named_files::was_shown(state, call);
                (!is_told).then_some(told)
            })
        });
        let mut known: Vec<String> = told.collect();
        known.drain(..known.len().saturating_sub(MOST_CALLS));
        // Numbers of files that stand before those of tools are taken for them.
        known.extend(named_files::told_for_content(state, profile)?);
        let wrong = unfilled.wrong.as_ref();
        let told = json!({
            "prompt": self.asked_for(),
            "path": unfilled.path,
            "answers": told::answers(state.steps.iter()),
            "known": known,
            "complete": self.is_all_known(&unfilled.path),
            "calculated": is_calculated(self.asked_for(), &unfilled.path),
            "reckons": reckons(self.asked_for()),
            "numbers": named_files::numbers(state),
            "wrong": wrong.map(|wrong| json!({"said": wrong.said, "holds": fenced(wrong.holds.trim_end(), "")})),
        });
        Ok(vec![
            Message::system(render_prompt(&profile.prompts, FILLER, json!({}))?),
            Message::user(render_prompt(
                &profile.prompts,
                "shared/content_to_write",
                told,
            )?),
        ])
    }

    pub(in crate::strategy) fn write_filled(
        &self,
        step: &Step,
        unfilled: &Unfilled<'_>,
        said: Option<&str>,
    ) -> Decision {
        let Some(content) = said else {
            return self.refused_fill("it is not known yet: find it out first");
        };
        let prompt = self.asked_for();
        let is_asked = is_calculated(prompt, &unfilled.path);
        let content = without_label(content, prompt);
        let content = &worked_out(&content, prompt, is_asked);
        let holds = unfilled.wrong.as_ref().map(|wrong| wrong.holds.trim());
        if holds == Some(content.trim()) {
            return self.refused_fill("the answer was what it holds already");
        }
        let why = format!("Writing what {} has to hold", unfilled.path);
        match self.write_aside(step, why, &unfilled.path, unfilled.on.as_ref(), content) {
            Ok(decision) => decision,
            Err(problems) => self.refused_fill(&problems.join("; ")),
        }
    }

    pub(in crate::strategy) fn refused_fill(&self, why: &str) -> Decision {
        self.block(Guard::Invalid, format!("{REFUSED}{why}"))
    }
}

/// A line without the word with which it begins by the task's own words, where these want a part of it and nothing else: "One of them begins
/// with BROKEN and names a sensor. Write its name (nothing else)".
fn without_label<'c>(content: &'c str, prompt: &str) -> Cow<'c, str> {
    let line = content.trim();
    let is_one = !line.contains('\n') && prompt.contains("nothing else");
    let said = BEGINS.iter().filter_map(|words| prompt.split_once(words));
    let mut labels = said.filter_map(|(_, behind)| {
        let words = said_lines::words_of(sentence_after(behind));
        words.into_iter().next()
    });
    let part = labels.find_map(|label| {
        let part = line
            .strip_prefix(label)
            .filter(|_| is_one && !label.is_empty())?;
        let part = part.strip_prefix(|c: char| c == ':' || c.is_whitespace())?;
        Some(part.trim()).filter(|part| !part.is_empty())
    });
    match part {
        Some(part) => Cow::Owned(format!("{part}\n")),
        None => Cow::Borrowed(content),
    }
}

/// The content in an answer: what its first fence holds, or a line that is all there is. None where something has to be found out first.
pub(in crate::strategy) fn read(answer: &ChatAnswer) -> Option<String> {
    let said = answer.content.trim();
    let says_missing = |line: &str| {
        let words = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        words.to_lowercase().starts_with(MISSING)
    };
    let mut before_fence = said.lines().take_while(|line| !line.starts_with("```"));
    if before_fence.any(says_missing) {
        return None;
    }
    let fenced = crate::strategy::alone::mending::read(answer);
    // No words of an explanation: "torches 16", "fuel 500".
    let is_entry = |line: &str| {
        let count = line.split_whitespace().count();
        let ends_in_number = line.trim_end().ends_with(|c: char| c.is_ascii_digit());
        ends_in_number && (1..=MOST_WORDS).contains(&count)
    };
    // Nor a sentence about it: "They are right as they are."
    let is_sentence = said.ends_with('.') && said.split_whitespace().count() > MOST_WORDS;
    let is_short = said.len() <= MOST_BARE && (!said.contains('\n') || said.lines().all(is_entry));
    // Paths alone, or where they go.
    let is_path = |line: &str| {
        let words = line.split_whitespace().count();
        line.starts_with('/') && (words == 1 || words == 3 && line.contains(" -> "))
    };
    let is_bare = answer.stop == StopReason::Stop
        && !said.is_empty()
        && !is_sentence
        && !said.contains('`')
        && (is_short || said.lines().all(is_path));
    fenced.or_else(|| is_bare.then(|| format!("{said}\n")))
}

fn writes_said(step: &Step) -> bool {
    step.by_rule() == Some(ByRule::SaidContent)
}

/// Words of a task that wants a number and not how it comes about.
const NUMBERS: [&str; 6] = ["sum", "number", "total", "product", "difference", "average"];

/// The words of a sentence whose number is made of others.
const CALCULATIONS: [&str; 3] = ["sum", "product", "difference"];

/// Whether the task wants a number in a file, from the root, that is made of others: "Write their sum (nothing else) to /sum.txt".
fn is_calculated(prompt: &str, path: &str) -> bool {
    let sentence = sentence_of(prompt, &normal(path)).unwrap_or_default();
    let said = sentence.replace(path, "");
    has_word(&said, &CALCULATIONS) && !has_word(&said, &["line", "lines"])
}

/// How a task says that a last line has the sum of the others.
const LAST_LINE: &str = "last line";
const ADDED_UP: [&str; 4] = ["added up", "added together", "in total", "the sum of"];

/// The result of a calculation, where it was asked for, or where it stands with its result and the task wants a number: "64 + 70 + 12 = 146" is
/// 146; and the last line of some with the sum of the others, where the task wants it so. Anything else as it is.
fn worked_out<'a>(content: &'a str, prompt: &str, is_asked: bool) -> Cow<'a, str> {
    let (calculation, with_result) = match content.trim().rsplit_once('=') {
        Some((calculation, _)) => (calculation.trim(), true),
        None => (content.trim(), false),
    };
    let is_one = calculation.contains(['+', '-', '*', '/'])
        && has_word(prompt, &NUMBERS)
        && !prompt.contains(calculation);
    let result = calculation::worked_out(calculation);
    let in_lines = || {
        let lines = calculation::lines_worked_out(content)?;
        let is_copied = |line: &&str| line.contains('*') && prompt.contains(line.trim());
        (reckons(prompt) && !content.lines().any(|line| is_copied(&line))).then_some(lines)
    };
    let has_total =
        prompt.contains(LAST_LINE) && ADDED_UP.iter().any(|words| prompt.contains(words));
    let total = |content: &str| {
        has_total
            .then(|| calculation::with_total(content))
            .flatten()
    };
    if let Some(result) = result.filter(|_| is_one && (with_result || is_asked)) {
        return Cow::Owned(format!("{result}\n"));
    }
    let lines = in_lines();
    let added = total(lines.as_deref().unwrap_or(content));
    added.or(lines).map_or(Cow::Borrowed(content), Cow::Owned)
}

/// Words of a task that has numbers worked out of others.
const RECKONS: [&str; 8] = [
    "times",
    "multiplied",
    "sum",
    "total",
    "product",
    "difference",
    "average",
    "divided",
];

fn reckons(prompt: &str) -> bool {
    has_word(prompt, &RECKONS)
}

#[cfg(test)]
#[path = "filling_tests.rs"]
mod tests;
