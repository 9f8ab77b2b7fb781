//! A change of a few lines in a file, in a prompt of its own: a small model that is told to patch a long file writes it anew, or a patch whose
//! lines do not stand there, and one that is told to mend each use of a name looks for it until its time is over. Shown the lines of which
//! the task speaks, and nothing else, it gives them back as they shall be, and the patch is made of both by rule.

use super::mending::wants_mended;
use crate::domain::by_rule::ByRule;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::from_root;
use crate::domain::ids::ClientId;
use crate::domain::step::{CallRecord, Step};
use crate::prompts::{PromptError, render};
use crate::strategy::first_look::first_search::{GREP, Search, name_looked_for};
use crate::strategy::guards::check_program::{is_called_check, is_check};
use crate::strategy::paths::{is_file_like, named_in, normal};
use crate::strategy::text::{fenced, has_word};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::{self, pieces};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(in crate::strategy) const PATCH: &str = "fs_patch";

/// Words of a task that wants a file patched.
const PATCHES: [&str; 4] = ["patch", "patched", "diff", "patching"];

/// Words of one that wants the uses of a name changed, beside those of mending.
const RENAMES: [&str; 2] = ["rename", "replace"];

/// How many names or numbers of a task are looked for in that file.
const MOST_WORDS: usize = 4;

/// Lines that are shown before and behind a name: they may hold what is said of it.
const AROUND: u64 = 2;

/// The same of a number: without its neighbours a small model takes the key of an entry for its value.
const BESIDE: u64 = 1;

/// Lines that are shown: this prompt is short, or it is no help.
const MOST_LINES: usize = 16;

/// Bytes of a line. A search shows no more of one, and what was cut there cannot be patched.
const MOST_BYTES: usize = 300;

/// Figures of a number that stands for a place in a file.
const FEWEST_FIGURES: usize = 2;

/// The lines of a file that a task wants changed, by their numbers.
pub(in crate::strategy) struct LineEdit {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    lines: BTreeMap<u64, String>,
}

/// How a refusal of an answer about them begins.
fn lines_of(path: &str) -> String {
    format!("the lines of {path}: ")
}

/// The searches for what a task names in the one file that it wants patched: its quoted names, else its numbers.
pub(in crate::strategy) fn searches(prompt: &str) -> Vec<Search> {
    let Some(path) = file_to_patch(prompt) else {
        return Vec::new();
    };
    let is_name = |text: &str| {
        let is_part = |c: char| c.is_alphanumeric() || "_.:".contains(c);
        !text.is_empty() && text.chars().all(is_part)
    };
    let names = pieces(prompt).map(|(_, piece, _)| piece);
    let mut words: Vec<&str> = names.filter(|piece| is_name(piece)).collect();
    if words.is_empty() {
        let numbers = prompt.split(|c: char| !c.is_alphanumeric() && !"/._-".contains(c));
        words = numbers.filter(|word| is_number(word)).collect();
    }
    let mut seen: Vec<&str> = Vec::new();
    words.retain(|word| {
        let is_new = !seen.contains(word);
        seen.push(word);
        is_new
    });
    let search = |word: &&str| Search {
        tool: GREP,
        pattern: (*word).to_owned(),
        at: path.clone(),
        context: Some(if is_number(word) { BESIDE } else { AROUND }),
    };
    words.iter().take(MOST_WORDS).map(search).collect()
}

fn is_number(word: &str) -> bool {
    word.len() >= FEWEST_FIGURES && word.chars().all(|c| c.is_ascii_digit())
}

/// The only file of a task beside its checks, without its first slash, if the task wants a patch and does not tell to make that file.
pub(in crate::strategy) fn file_to_patch(prompt: &str) -> Option<String> {
    if !has_word(prompt, &PATCHES) {
        return None;
    }
    let mut named = named_in(prompt);
    named.retain(|path| !is_check(prompt, path));
    let mut named = named.into_iter();
    let path = named.next().filter(|_| named.next().is_none())?;
    (!stated::is_to_be_made(prompt, &path)).then_some(path)
}

/// Whether a sentence of the task tells to find the uses of a name below a folder and to change them there.
fn wants_uses_mended(prompt: &str) -> bool {
    sentences(prompt).any(|said| {
        let mends = wants_mended(said) || has_word(said, &RENAMES);
        let names_file = named_in(said).iter().any(|path| is_file_like(path));
        mends && !names_file && name_looked_for(prompt, said).is_some()
    })
}

impl Turn<'_> {
    /// The lines of which a task speaks that wants one file patched, or the use of a name mended wherever it is, as searches by rule have shown
    /// them, file by file, before anything else was changed; while their answer is not refused for good.
    pub(in crate::strategy) fn line_edit(&self, newest: &Step) -> Option<LineEdit> {
        let is_before = |step: &Step| step.prepares() || step.fills() || !step.closed;
        if !self.state.steps.iter().all(is_before) {
            return None;
        }
        let is_open = |edit: &LineEdit| {
            !self.was_patched(&edit.path, edit.on.as_ref())
                && !self.is_refused_for_good(newest, &lines_of(&edit.path))
        };
        let edit = self.edits()?.into_iter().find(is_open)?;
        self.schema_of(&addressed(PATCH, edit.on.as_ref()))?;
        let is_whole = |line: &String| line.len() < MOST_BYTES;
        let fits = edit.lines.len() <= MOST_LINES && edit.lines.values().all(is_whole);
        fits.then_some(edit)
    }

    /// All of them; none where a search has shown only a part, or the task wants no such change.
    fn edits(&self) -> Option<Vec<LineEdit>> {
        let prompt = self.asked_for();
        let one = file_to_patch(prompt);
        if one.is_none() && !wants_uses_mended(prompt) {
            return None;
        }
        let searches = self.state.steps.iter();
        let searches = searches.filter(|step| step.by_rule() == Some(ByRule::FirstSearch));
        let calls = searches.flat_map(|step| &step.calls);
        let calls = calls.filter(|call| call.tool == GREP && call.succeeded());
        let mut edits: Vec<LineEdit> = Vec::new();
        for call in calls {
            for (path, line, text) in found(call)? {
                let name = normal(&path);
                if is_called_check(&name) || one.as_ref().is_some_and(|one| *one != name) {
                    continue;
                }
                let on = self.elsewhere(call).cloned();
                let known = edits
                    .iter_mut()
                    .find(|edit| edit.path == path && edit.on == on);
                match known {
                    Some(edit) => {
                        edit.lines.insert(line, text);
                    }
                    None => edits.push(LineEdit {
                        path,
                        on,
                        lines: BTreeMap::from([(line, text)]),
                    }),
                }
            }
        }
        Some(edits)
    }

    /// Whether the lines of a file were asked for alone and patched.
    pub(in crate::strategy) fn was_patched(&self, path: &str, on: Option<&ClientId>) -> bool {
        let patches = |call: &CallRecord| {
            let is_it = call.args["path"] == path && self.elsewhere(call) == on;
            call.tool == PATCH && call.succeeded() && is_it
        };
        let mut alone = self.state.steps.iter().filter(|step| step.fills());
        alone.any(|step| step.calls.iter().any(patches))
    }

    /// Whether a folder, which has no first slash here, was searched for such lines, and all that were found below it are patched.
    pub(in crate::strategy) fn is_patched_below(&self, folder: &str) -> bool {
        let steps = self.state.steps.iter();
        let mut calls = steps.flat_map(|step| &step.calls);
        let is_it = |call: &CallRecord| {
            call.tool == GREP && call.succeeded() && call.args["path"] == from_root(folder)
        };
        let edits = self.edits().filter(|edits| !edits.is_empty());
        let is_done = |edit: &LineEdit| self.was_patched(&edit.path, edit.on.as_ref());
        calls.any(is_it) && edits.is_some_and(|edits| edits.iter().all(is_done))
    }

    pub(in crate::strategy) fn consult_for_lines(&self, edit: &LineEdit) -> Decision {
        self.ask_aside(Contract::Content, self.lines_prompt(edit))
    }

    fn lines_prompt(&self, edit: &LineEdit) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let lines: Vec<&str> = edit.lines.values().map(String::as_str).collect();
        let told = json!({
            "prompt": self.asked_for(),
            "path": edit.path,
            "lines": fenced(&lines.join("\n"), ""),
            "count": lines.len(),
            "refused": self.refused_just_now(&lines_of(&edit.path)),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/line_editor", json!({}))?),
            Message::user(render(prompts, "shared/lines_to_change", told)?),
        ])
    }

    /// Patches the file with what it answered.
    pub(in crate::strategy) fn patch_lines(
        &self,
        step: &Step,
        edit: &LineEdit,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{}{why}", lines_of(&edit.path));
            self.block(Guard::Invalid, told)
        };
        let diff = match diff_of(&edit.lines, said.unwrap_or_default()) {
            Ok(diff) => diff,
            Err(why) => return refused(&why),
        };
        let why = format!("Patching {}, as the task says", edit.path);
        let parameters = json!({"path": edit.path, "diff": diff});
        match self.act_aside(step, why, PATCH, parameters, edit.on.as_ref()) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

/// The lines that a search has shown, with their files and numbers, those around each place too; none where there were more. A number is no
/// part of a longer one.
fn found(call: &CallRecord) -> Option<Vec<(String, u64, String)>> {
    let result = call.report()?.result.as_ref()?;
    if result["truncated"] == true {
        return None;
    }
    let word = call.args["pattern"].as_str()?;
    let texts = |lines: &Value| -> Vec<String> {
        let lines = lines.as_array().into_iter().flatten();
        lines.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    for found in result["matches"].as_array()? {
        let (line, text) = (found["line"].as_u64()?, found["text"].as_str()?);
        if !has_word(text, &[&word.to_lowercase()]) && is_number(word) {
            continue;
        }
        let (before, after) = (texts(&found["before"]), texts(&found["after"]));
        let first = line.checked_sub(before.len() as u64)?;
        let path = found["path"].as_str()?;
        let of_place = before.into_iter().chain([text.to_owned()]).chain(after);
        let of_place = (first..).zip(of_place);
        all.extend(of_place.map(|(line, text)| (path.to_owned(), line, text)));
    }
    Some(all)
}

/// The unified diff that makes the answered lines of these.
fn diff_of(lines: &BTreeMap<u64, String>, answered: &str) -> Result<String, String> {
    let answered: Vec<&str> = answered.trim_matches('\n').lines().collect();
    if answered.len() != lines.len() {
        let (wanted, given) = (lines.len(), answered.len());
        return Err(format!("there are {wanted}, and the answer has {given}"));
    }
    let changed = lines.iter().zip(answered).filter_map(|((at, old), new)| {
        let indent = &old[..old.len() - old.trim_start().len()];
        let new = match new.starts_with(char::is_whitespace) {
            true => new.to_owned(),
            // Small models leave it out.
            false => format!("{indent}{new}"),
        };
        (old.trim() != new.trim()).then(|| format!("@@ -{at},1 +{at},1 @@\n-{old}\n+{new}\n"))
    });
    let diff: String = changed.collect();
    match diff.is_empty() {
        true => Err("none of them is changed".to_owned()),
        false => Ok(diff),
    }
}

#[cfg(test)]
#[path = "line_edits_tests.rs"]
mod tests;
