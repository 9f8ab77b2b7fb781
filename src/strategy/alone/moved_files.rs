//! Where files go that a task wants moved or renamed, in a prompt of its own: a small model that is to put one program into an attic and give
//! its name to another one writes a new program over both, or edits a file to rename it. Shown what was asked for and the paths that are there,
//! and nothing else, it says from where to where, and that is moved by rule.

use super::chosen_files::DELETE;
use super::mending::wants_mended;
use crate::domain::by_rule::ByRule;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::files::from_root;
use crate::domain::step::{CallRecord, Step};
use crate::prompts::{PromptError, render};
use crate::strategy::ends::proved::own_words;
use crate::strategy::first_look::first_search::{FIND, Search};
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::excepted::stays;
use crate::strategy::paths::{QUOTES, file_name, is_file_like, mentions, named_in, normal};
use crate::strategy::shown_tools::named_by;
use crate::strategy::text::{fenced, has_word};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::named_tools::FORBIDS;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::is_to_be_made;
use crate::strategy::words::told_deletions::{files_to_delete, tells_to_delete};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(in crate::strategy) const MOVE: &str = "fs_move";

/// Words of a sentence that wants files moved, and such as do with "into".
const MOVES: [&str; 6] = ["move", "moved", "rename", "renamed", "belong", "belongs"];
const MOVES_INTO: [&str; 5] = ["put", "puts", "bring", "sort", "goes"];
const TAKES_NAME: &str = "take over the name";

/// Words of a task that wants something done to what is in files, or with other things than files.
const OTHER_WORK: [&str; 28] = [
    "write",
    "make",
    "change",
    "edit",
    "add",
    "replace",
    "append",
    "count",
    "copy",
    "copied",
    "backup",
    "shell",
    "pay",
    "dig",
    "craft",
    "turtle",
    "chest",
    "barrel",
    "inventory",
    "slot",
    "item",
    "items",
    "stack",
    "install",
    "send",
    "report",
    "tell",
    "answer",
];

/// Words before a folder into which something goes.
const INTO: [&str; 5] = ["into", "to", "called", "named", "under"];

/// Files that are shown: this prompt is short, or it is no help.
const MOST_FILES: usize = 12;

/// How a refusal of an answer about them begins.
const WHERE: &str = "where files go: ";

/// Files of which is to be said where they go. They lie on the task's own computer.
pub(in crate::strategy) struct Moves {
    there: Vec<String>,
    /// Those among them that the task tells to delete: they go first.
    deleted: Vec<String>,
}

/// Whether a task wants files moved, and nothing else that a rule could take for it.
pub(in crate::strategy) fn wants_moves(prompt: &str) -> bool {
    let tells = |said: &str| {
        let into = has_word(said, &MOVES_INTO) && has_word(said, &["into"]);
        !has_word(said, &FORBIDS) && (into || has_word(said, &MOVES) || said.contains(TAKES_NAME))
    };
    sentences(prompt).any(tells)
        && sentences(prompt).all(|said| !tells_to_delete(said) || !files_to_delete(said).is_empty())
        && !has_word(&own_words(prompt), &OTHER_WORK)
        && !wants_mended(prompt)
        && !named_in(prompt)
            .iter()
            .any(|path| is_to_be_made(prompt, path))
}

/// The looks into the folders out of which a task wants files moved.
pub(in crate::strategy) fn searches(prompt: &str) -> Vec<Search> {
    let sources = named_in(prompt).into_iter().filter(|path| {
        let goes_into = mentions(prompt, path).any(|at| is_target(&prompt[..at]));
        !is_file_like(path) && !goes_into
    });
    let look = |folder| Search {
        tool: FIND,
        pattern: "*".to_owned(),
        at: folder,
        context: None,
    };
    let all: Vec<Search> = sources.map(look).collect();
    match wants_moves(prompt) {
        true => all,
        false => Vec::new(),
    }
}

/// Whether a path behind these words is where something goes: "into a folder", "to".
fn is_target(before: &str) -> bool {
    let words = before.split(|c: char| !c.is_alphanumeric()).rev();
    let mut words = words.filter(|word| !["", "a", "an", "the", "new", "folder"].contains(word));
    words.next().is_some_and(|word| INTO.contains(&word))
}

impl Turn<'_> {
    /// The files that are there of those that a task speaks of which wants some moved, before anything was changed; while the answer is not
    /// refused for good.
    pub(in crate::strategy) fn moves(&self, newest: &Step) -> Option<Moves> {
        let is_before = |step: &Step| step.prepares() || step.fills_in_vain() || !step.closed;
        let prompt = self.asked_for();
        if !self.state.steps.iter().all(is_before)
            || self.is_refused_for_good(newest, WHERE)
            || !wants_moves(prompt)
            || self.asks_somebody()
            || self.state.wakes().is_some()
            || !self.other_computers().is_empty()
            || !self.tools_to_call().is_empty()
            // "Move" and "delete" alone are the tools that do it.
            || named_by(&self.shown_tools().shown, &own_words(prompt))
                .any(|tool| ![MOVE, DELETE].contains(&tool.name.as_str()))
        {
            return None;
        }
        self.schema_of(&addressed(MOVE, None))?;
        let there = self.files_there()?;
        let deleted = files_to_delete(prompt);
        if !deleted.iter().all(|path| there.contains(path)) {
            return None;
        }
        if !deleted.is_empty() {
            self.schema_of(&addressed(DELETE, None))?;
        }
        let goes = |path: &String| !stays(prompt, path) && !deleted.contains(path);
        let fits = there.iter().any(goes) && there.len() <= MOST_FILES;
        fits.then_some(Moves { there, deleted })
    }

    /// The files that were looked at by rule, and those that a look into a folder has found; none where that may be only a part.
    fn files_there(&self) -> Option<Vec<String>> {
        let mut there: BTreeSet<String> = BTreeSet::new();
        let steps = self.state.steps.iter().filter(|step| step.prepares());
        for call in steps
            .flat_map(|step| &step.calls)
            .filter(|call| call.succeeded())
        {
            if call.tool == FIND {
                let result = call.report()?.result.as_ref()?;
                let found = result["found"]
                    .as_array()
                    .filter(|_| result["truncated"] == false)?;
                let files = found.iter().filter(|found| found["is_dir"] == false);
                there.extend(
                    files
                        .filter_map(|found| found["path"].as_str())
                        .map(str::to_owned),
                );
            } else if let Some(path) = call.args["path"].as_str() {
                there.insert(from_root(&normal(path)));
            }
        }
        Some(there.into_iter().collect())
    }

    pub(in crate::strategy) fn consult_for_moves(&self, moves: &Moves) -> Decision {
        self.ask_aside(Contract::Content, self.moves_prompt(moves))
    }

    fn moves_prompt(&self, moves: &Moves) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let prompt = self.asked_for();
        let mut offered = moves.there.clone();
        offered.retain(|path| !stays(prompt, path) && !moves.deleted.contains(path));
        let told = json!({
            "prompt": prompt,
            "files": fenced(&offered.join("\n"), ""),
            "refused": self.refused_just_now(WHERE),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/file_mover", json!({}))?),
            Message::user(render(prompts, "shared/files_to_move", told)?),
        ])
    }

    /// Moves them as it said.
    pub(in crate::strategy) fn move_said(
        &self,
        step: &Step,
        moves: &Moves,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| self.block(Guard::Invalid, format!("{WHERE}{why}"));
        let lines = said.unwrap_or_default().lines().map(str::trim);
        let mut wanted: Vec<(String, String)> = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let Some((from, to)) = line.split_once("->") else {
                return refused(&format!("\"{line}\" is not a path, -> and another path"));
            };
            let bare = |path: &str| path.trim().trim_matches(QUOTES).to_owned();
            let (from, mut to) = (bare(from), bare(to));
            if to.ends_with('/') || !is_file_like(&to) && is_file_like(&from) {
                // Into a folder.
                to = format!("{}/{}", to.trim_end_matches('/'), file_name(&from));
            }
            wanted.push((from, to));
        }
        let prompt = self.asked_for();
        let mut left = moves.there.clone();
        left.retain(|path| !moves.deleted.contains(path));
        let wrong = lacks(prompt, &left, &wanted);
        // What stays is no move, and what is deleted is deleted by rule.
        wanted.retain(|(from, to)| {
            from != to && !stays(prompt, from) && !moves.deleted.contains(from)
        });
        let wrong = what_is_wrong(prompt, &left, &wanted).or(wrong);
        if let Some(why) = wrong {
            return refused(&why);
        }
        let request = |tool: &str, does: &str, parameters: Value| StrictRequest::Tool {
            explanation: format!("{does} what is there, as the task says"),
            tool: tool.to_owned(),
            parameters,
            on: None,
        };
        let deleted = moves.deleted.iter();
        let deleted = deleted.map(|path| request(DELETE, "Deleting", json!({"path": path})));
        let moved = wanted.iter();
        let moved =
            moved.map(|(from, to)| request(MOVE, "Moving", json!({"from": from, "to": to})));
        let requests: Vec<StrictRequest> = deleted.chain(moved).collect();
        match self.try_calls(step, requests, TranslatedBy::Model) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }

    /// Whether files were moved so, and a task that wants nothing else has run all of which it speaks.
    pub(in crate::strategy) fn is_moved_and_run(&self) -> bool {
        let moved = |call: &CallRecord| call.tool == MOVE;
        let went = |call: &CallRecord| (moved(call) || call.tool == DELETE) && call.succeeded();
        let mut steps = self.state.steps.iter().filter(|step| step.fills());
        steps.any(|step| {
            step.by_rule() != Some(ByRule::FirstSearch)
                && step.calls.iter().any(moved)
                && step.calls.iter().all(went)
        }) && wants_moves(self.asked_for())
            && self.is_run_as_asked()
    }
}

/// What is wrong with these moves of files that are there.
fn what_is_wrong(prompt: &str, there: &[String], wanted: &[(String, String)]) -> Option<String> {
    if wanted.is_empty() {
        return Some("no file is moved in it".to_owned());
    }
    let mut there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    for (from, to) in wanted {
        if !there.remove(from.as_str()) {
            return Some(format!("{from} is not there, or was moved before"));
        }
        if !to.starts_with('/') || !is_spoken_of(prompt, from, to) {
            return Some(format!("nobody has spoken of {to}"));
        }
        if !there.insert(to) {
            return Some(format!(
                "{to} is there already: what is there has to be moved before"
            ));
        }
    }
    None
}

/// A file that the task names and of which these lines say nothing: a small model says where the first one goes, and stops.
fn lacks(prompt: &str, there: &[String], said: &[(String, String)]) -> Option<String> {
    let is_said = |path: &String| said.iter().any(|(from, to)| from == path || to == path);
    let is_named = |path: &&String| mentions(prompt, &normal(path)).next().is_some();
    let mut named = there.iter().filter(is_named);
    // A check looks at where the others are.
    let may_lack = |path: &str| stays(prompt, path) || is_check(prompt, &normal(path));
    let lacking = named.find(|path| !is_said(path) && !may_lack(path))?;
    Some(format!(
        "{lacking} is not in it: one line for each file, also where another one is moved first (a file that stays: {lacking} -> {lacking})"
    ))
}

/// Whether a task speaks of a path to which a file is moved: of all of it, or of its folder and its new name. Where only the name is another one
/// the folder stays.
fn is_spoken_of(prompt: &str, from: &str, to: &str) -> bool {
    let named = |path: &str| mentions(prompt, path).next().is_some();
    let folder = |path: &str| normal(path.rsplit_once('/').map_or("", |(folder, _)| folder));
    let is_named = named(&normal(to));
    let name_stays = file_name(from) == file_name(to);
    let folder_stays = folder(from) == folder(to);
    is_named || (folder_stays || named(&folder(to))) && (name_stays || named(file_name(to)))
}

#[cfg(test)]
#[path = "moved_files_tests.rs"]
mod tests;
