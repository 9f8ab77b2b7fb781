//! The one short file of data that a task wants changed, in a prompt of its own: a small model that is to set a delay in a file of settings
//! writes the line with the delay over all of it, or patches a line that does not stand there. Shown what was asked for and the file, and
//! nothing else, it gives the file back as it shall be, and that is written by rule.

use super::changed_lines::{entry_lines, what_is_wrong};
use super::line_edits::file_to_patch;
use super::listed_entries::{Other, the_changed, wrong_entry};
use super::mending::{RUN, WRITE, wants_mended};
use super::told_entries::{key_of, untouched};
use super::told_values::lacking;
use crate::domain::by_rule::ByRule;
use crate::domain::chat::Message;
use crate::domain::decision::{Contract, Decision, Guard};
use crate::domain::files::{from_root, key};
use crate::domain::ids::ClientId;
use crate::domain::step::Step;
use crate::domain::task::CallRecord;
use crate::prompts::{PromptError, render};
use crate::strategy::ends::proved::own_words;
use crate::strategy::ends::unmended::only_program;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::lua_text::only_shows::only_shows;
use crate::strategy::memory::contents;
use crate::strategy::memory::told;
use crate::strategy::paths::{file_name, is_file_like, mentions, named_in, normal};
use crate::strategy::shown_tools::named_by;
use crate::strategy::text::{fenced, filled_lines, has_word, sentence_before};
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::places::addressed;
use crate::strategy::words::stated::{self, content_said};
use crate::strategy::words::wanted_changes::asks_for_a_change;
use serde_json::json;

/// Bytes of such a file: this prompt is short, or it is no help.
const MOST_BYTES: usize = 1_000;

/// Lines of one of which some stay: what has one line is written, not changed.
const FEWEST_LINES: usize = 2;

/// How often it is asked for once more what a change lacks: who leaves it out again is believed, as rules see numbers, switches and names, and not
/// what they mean.
const MOST_MORE: usize = 1;

/// Words of a task that wants something changed in a file, beside those of any change.
const CHANGES: [&str; 18] = [
    "set", "raise", "lower", "increase", "decrease", "turn", "switch", "enable", "disable",
    "append", "insert", "put", "take", "drop", "update", "correct", "swap", "reset",
];

/// How it says what something in the file is to be.
const SHALL_BE: [&str; 6] = [
    "shall be",
    "should be",
    "must be",
    "has to be",
    "needs to be",
    "ought to be",
];

/// Words of a sentence that only wants to know what it is.
const ASKS: [&str; 5] = ["does", "how", "what", "whether", "which"];

/// Words of one that wants more than that, or something found out.
const BEYOND: [&str; 14] = [
    "report", "send", "log", "copy", "move", "pay", "answer", "find", "count", "sum", "total",
    "gather", "collect", "if",
];

/// Words of one that wants something done beside the change: it does not end behind it.
const DEEDS: [&str; 14] = [
    "open", "close", "stop", "build", "dig", "craft", "install", "reboot", "restart", "play",
    "create", "show", "display", "explain",
];

/// How it wants to hear something. "As they tell you" is none of it.
const TELLS: [&str; 3] = ["tell me", "tell us", "let me know"];

/// The file, as it is.
pub(in crate::strategy) struct FileChange<'a> {
    /// From the root.
    path: String,
    /// The computer, unless it is the task's own.
    on: Option<ClientId>,
    holds: &'a str,
    /// What the task speaks of beside it.
    others: Vec<Other<'a>>,
    /// What it lacks once it was changed.
    lacks: Option<Lack>,
}

/// What a file that was changed lacks of what the task says.
pub(in crate::strategy) struct Lack {
    /// In words that name it.
    pub told: String,
    /// The line that is as it was, where an entry is spoken of.
    entry: Option<String>,
}

fn lack(asked: &str, held: &str, content: &str) -> Option<Lack> {
    let value = || {
        Some(Lack {
            told: lacking(asked, held, content)?,
            entry: None,
        })
    };
    let entry = || {
        let line = untouched(asked, held, content)?;
        let told = format!(
            "the task speaks of {}, and this line is as it was: {line}",
            key_of(line)
        );
        Some(Lack {
            told,
            entry: Some(line.to_owned()),
        })
    };
    value().or_else(entry)
}

/// Whether a sentence says of a program that it shall do something to the file: "`todo done 2` should take number 2 out of /todo.txt".
fn shall_change_it(prompt: &str, program: &str, path: &str) -> bool {
    let name = file_name(program);
    let stem = name.strip_suffix(".lua").unwrap_or(name);
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]);
        let mut named = mentions(before, stem).chain(mentions(before, name));
        named.any(|at| has_word(&before[at..], &stated::WANTED))
    })
}

impl FileChange<'_> {
    /// The entry that was still to be changed, where an answer has none of its name any more: a small model that hears of it takes it out.
    fn lost(&self, content: &str) -> Option<&str> {
        let line = self.lacks.as_ref()?.entry.as_deref()?;
        let is_there = filled_lines(content).any(|other| key_of(other) == key_of(line));
        (!is_there).then_some(line)
    }
}

/// How a refusal of an answer about it begins.
fn change_of(path: &str) -> String {
    format!("{path} as it shall be: ")
}

impl<'a> Turn<'a> {
    /// That file, before anything else was done; while its answer is not refused for good. Once more where it was changed and lacks something
    /// that the task says.
    pub(in crate::strategy) fn file_change(&self, newest: &Step) -> Option<FileChange<'a>> {
        let changed = |step: &&Step| step.fills() && !step.calls.is_empty();
        let times = self.state.steps.iter().filter(changed).count();
        let is_before =
            |step: &Step| step.prepares() || step.fills_in_vain() || !step.closed || changed(&step);
        if !self.state.steps.iter().all(is_before) || self.asks_somebody() {
            return None;
        }
        let lacks = self.value_not_set().filter(|_| times > 0);
        let newest_first = self.state.steps.iter().rev();
        let mut since = newest_first.take_while(|step| !changed(step));
        // An answer that was refused then, as one without a change is, says that nothing is lacking.
        let was_asked = times > 0 && since.any(Step::fills_in_vain);
        if times > MOST_MORE || was_asked || (times > 0) != lacks.is_some() {
            return None;
        }
        let (path, on) = self.file_to_change()?;
        self.schema_of(&addressed(WRITE, on.as_ref()))?;
        let holds = contents::known(self.state, on.as_ref(), &path)?;
        let in_lines = entry_lines(holds);
        let entries = filled_lines(in_lines.as_deref().unwrap_or(holds)).count();
        let fits = holds.len() <= MOST_BYTES && entries >= FEWEST_LINES;
        let others = self.others_to_look_into(&path, on.as_ref())?;
        let is_open = fits && !self.is_refused_for_good(newest, &change_of(&path));
        is_open.then_some(FileChange {
            path,
            on,
            holds,
            others,
            lacks: lacks.map(|(_, lack)| lack),
        })
    }

    /// The other files of data that the task names, if all of them are short and known.
    fn others_to_look_into(&self, path: &str, on: Option<&ClientId>) -> Option<Vec<Other<'a>>> {
        let others = named_in(self.asked_for()).into_iter();
        let others = others.map(|other| from_root(&other));
        let others = others.filter(|other| other != path && holds_data(other));
        let seen = |path: String| {
            let holds = contents::known(self.state, on, &path)?;
            (holds.len() <= MOST_BYTES).then_some(Other { path, holds })
        };
        others.map(seen).collect()
    }

    /// The only file of data that the task wants changed and its computer, where it wants nothing else but programs run.
    fn file_to_change(&self) -> Option<(String, Option<ClientId>)> {
        let prompt = self.asked_for();
        let named = named_in(prompt);
        let (programs, data): (Vec<&String>, Vec<&String>) =
            named.iter().partition(|path| path.ends_with(".lua"));
        let path = the_changed(prompt, &data)?;
        let changes = |said: &str| asks_for_a_change(said) || has_word(said, &CHANGES);
        let shall_be = || {
            let mut about = sentences(prompt).filter(|said| mentions(said, path).next().is_some());
            about.any(|said| {
                let said = said.to_lowercase();
                !has_word(&said, &ASKS) && SHALL_BE.iter().any(|words| said.contains(words))
            })
        };
        let is_worked_on = |program: &&String| {
            let mut about =
                sentences(prompt).filter(|said| mentions(said, program).next().is_some());
            about.any(|said| {
                let is_about_both = mentions(said, path).next().is_some();
                wants_mended(said) || (changes(said) && !is_about_both)
            }) || stated::is_to_be_made(prompt, program)
                || shall_change_it(prompt, program, path)
        };
        let words = own_words(prompt);
        let place = self.place_of(path)?;
        let on = self.unless_own(place);
        let is_there = |other: &ClientId| Some(other) == on.as_ref();
        let is_wanted = holds_data(path)
            && is_file_like(path)
            && (changes(prompt) || shall_be())
            && !has_word(&words, &BEYOND)
            && !TELLS.iter().any(|tells| words.contains(tells))
            && !self.is_left_alone(&from_root(path), on.as_ref())
            && !programs.iter().any(is_worked_on)
            && content_said(prompt, path).is_none()
            && file_to_patch(prompt).is_none()
            && named_by(&self.shown_tools().shown, &words).next().is_none()
            && self.state.wakes().is_none()
            && self.tools_to_call().is_empty()
            && self.other_computers().iter().all(is_there);
        is_wanted.then(|| (from_root(path), on))
    }

    /// That file, from the root, and what it lacks of what the task says, as far as that is known; of one that nobody has changed, by what it holds
    /// anyway.
    pub(in crate::strategy) fn value_not_set(&self) -> Option<(String, Lack)> {
        let (path, on) = self.file_to_change()?;
        let holds = contents::known(self.state, on.as_ref(), &path)?;
        let home = self.state.home();
        let key = key(home, on.as_ref().or(home), &path);
        let mut found = contents::as_found(self.state).into_iter();
        let held = found.find(|(of, _)| *of == key);
        let held = held.map_or(holds, |(_, held)| held);
        let lack = lack(&self.asked_and_answered(), held, holds)?;
        Some((path, lack))
    }

    /// Whether a call has brought that file to what it shall be.
    pub(in crate::strategy) fn changes_file(&self, call: &CallRecord) -> bool {
        let is_it = |(path, on): (String, Option<ClientId>)| {
            call.args["path"] == path && self.elsewhere(call) == on.as_ref()
        };
        call.tool == WRITE && call.succeeded() && self.file_to_change().is_some_and(is_it)
    }

    /// That file, from the root, once it was changed so.
    pub(in crate::strategy) fn changed_file(&self) -> Option<String> {
        let alone = self.state.steps.iter().filter(|step| step.fills());
        let mut alone = alone.flat_map(|step| &step.calls);
        let was_changed = alone.any(|call| self.changes_file(call));
        self.file_to_change()
            .filter(|_| was_changed)
            .map(|(path, _)| path)
    }

    /// Whether that file was changed so, all ran well of which the task speaks, and it wants no other deed.
    pub(in crate::strategy) fn is_changed_and_run(&self) -> bool {
        self.is_run_as_asked()
            && !has_word(&own_words(self.asked_for()), &DEEDS)
            && self.changed_file().is_some()
            && self.value_not_set().is_none()
    }

    /// Runs the only program that the task names, to see what it makes of the change, where it takes nothing and does nothing but read and print.
    pub(in crate::strategy) fn show_change(&self) -> Option<Decision> {
        let (_, on) = self.file_to_change()?;
        let program = from_root(&only_program(self.asked_for())?);
        let text = contents::known(self.state, on.as_ref(), &program)?;
        let may = only_shows(text)
            && self.tests_since_change().is_empty()
            && !stated::forbids_runs(self.asked_for());
        self.schema_of(&addressed(RUN, on.as_ref()))?;
        let run = || self.call_by_rule(ByRule::ClosingRun, RUN, json!({"path": program}), on);
        may.then(run).flatten()
    }

    pub(in crate::strategy) fn consult_for_change(&self, change: &FileChange<'_>) -> Decision {
        self.ask_aside(Contract::Content, self.change_prompt(change))
    }

    fn change_prompt(&self, change: &FileChange<'_>) -> Result<Vec<Message>, PromptError> {
        let prompts = &self.profile.prompts;
        let others = change.others.iter();
        let others = others
            .map(|other| json!({"path": other.path, "holds": fenced(other.holds.trim_end(), "")}));
        let told = json!({
            "prompt": self.asked_for(),
            "path": change.path,
            "holds": fenced(change.holds.trim_end(), ""),
            "others": others.collect::<Vec<_>>(),
            "answers": told::answers(self.state.steps.iter()),
            "refused": self.refused_just_now(&change_of(&change.path)),
            "lacks": change.lacks.as_ref().map(|lack| &lack.told),
        });
        Ok(vec![
            Message::system(render(prompts, "shared/file_editor", json!({}))?),
            Message::user(render(prompts, "shared/file_to_change", told)?),
        ])
    }

    /// The task's words, and what somebody answered.
    fn asked_and_answered(&self) -> String {
        let questions = self.state.steps.iter();
        let questions = questions.filter_map(|step| step.question.as_ref());
        let answers = questions.filter_map(|asked| Some(asked.answer.as_ref()?.answer.as_str()));
        let asked: Vec<&str> = std::iter::once(self.asked_for()).chain(answers).collect();
        asked.join("\n")
    }

    /// Writes what it answered.
    pub(in crate::strategy) fn write_change(
        &self,
        step: &Step,
        change: &FileChange<'_>,
        said: Option<&str>,
    ) -> Decision {
        let refused = |why: &str| {
            let told = format!("{}{why}", change_of(&change.path));
            self.block(Guard::Invalid, told)
        };
        let content = format!("{}\n", said.unwrap_or_default().trim_matches('\n'));
        let asked = self.asked_and_answered();
        // What is added may stand in another file.
        let others = change.others.iter().map(|other| other.holds);
        let known: Vec<&str> = std::iter::once(asked.as_str()).chain(others).collect();
        let wrong = what_is_wrong(&known.join("\n"), change.holds, &content).or_else(|| {
            let both = (change.holds, content.as_str());
            wrong_entry(&asked, &normal(&change.path), &change.others, both)
        });
        if let Some(why) = wrong {
            return refused(&why);
        }
        if let Some(line) = change.lost(&content) {
            return refused(&format!(
                "{line} is to be changed as the task says, and not to go"
            ));
        }
        let why = format!("Changing {}, as the task says", change.path);
        match self.write_aside(step, why, &change.path, change.on.as_ref(), &content) {
            Ok(decision) => decision,
            Err(problems) => refused(&problems.join("; ")),
        }
    }
}

#[cfg(test)]
#[path = "changed_file_tests.rs"]
mod tests;
