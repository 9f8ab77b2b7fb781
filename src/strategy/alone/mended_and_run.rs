//! Tasks that only want a program mended, and whose program was mended alone before anything was planned: it prints what they say, or something
//! else than before.

use super::mending::wants_mended;
use crate::domain::ids::ClientId;
use crate::strategy::ends::proved::{ABOUT_IT, BEYOND, own_words};
use crate::strategy::ends::unmended::only_program;
use crate::strategy::guards::misplaced_program::holds_data;
use crate::strategy::memory::pins::runs;
use crate::strategy::paths::{mentions, named_in, normal};
use crate::strategy::shown_tools::named_by;
use crate::strategy::text::has_word;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_questions::sentences;
use crate::strategy::words::asked_runs;
use crate::strategy::words::stated;
use crate::strategy::words::wanted_changes::asks_for_a_change;

/// Words of a task that wants something beside a program written or mended.
pub(super) const MORE: [&str; 22] = [
    "make", "create", "change", "replace", "edit", "remove", "add", "patch", "build", "put", "set",
    "show", "try", "test", "install", "start", "open", "close", "too", "check", "explain", "why",
];

/// Words of a sentence that tells how something is; "s" is the end of "it's".
const TELLS: [&str; 6] = ["is", "are", "was", "were", "been", "s"];

/// Words of a sentence that tells what shall be.
const SHALL: [&str; 3] = ["shall", "should", "must"];

/// Words before a value of which the output of a program is made.
const USES: [&str; 3] = ["use", "uses", "using"];

impl Turn<'_> {
    /// Whether the task names one program and nothing else, says what that prints, and it was mended and prints it.
    pub(in crate::strategy) fn is_mended_as_said(&self) -> bool {
        let prompt = self.asked_for();
        let Some(program) = only_program(prompt) else {
            return false;
        };
        let is_computer = |piece: &str| {
            let id = ClientId::parse(piece);
            id.is_ok_and(|id| self.inputs.fleet.has(&id))
        };
        // With what the program does it, beside what it prints then.
        let is_used = |head: &str| {
            let word = head.trim_end().rsplit(' ').next().unwrap_or_default();
            USES.contains(&word)
        };
        let is_known = |head: &str, piece: &str| {
            normal(piece) == program || is_computer(piece) || is_used(head)
        };
        let is_about = |path: &String| {
            *path == program
                || self.is_left_alone(path, None)
                || self.is_worked_with(&program, path)
        };
        let words = own_words(prompt);
        let shown = self.shown_tools().shown;
        let ran = self.tests_since_change().last();
        let is_about_it = |sentence: &str| has_word(sentence, &ABOUT_IT) || sentence.contains('`');
        named_in(prompt).iter().all(is_about)
            && sentences(prompt).all(is_about_it)
            && !has_word(&words, &BEYOND)
            && named_by(&shown, &words).next().is_none()
            && self.mended().iter().any(|(path, _)| *path == program)
            && ran.is_some_and(|run| run.success)
            && self.unmade_run().is_none()
            && stated::is_all_shown(self.state, is_known)
    }

    /// Whether the task wants its only program mended, or one of two that the other one loads, and nothing else, and that was, and it shows
    /// something else now: whether it is right nobody has looked at but the model that mended it, so a planner that is another one does.
    pub(in crate::strategy) fn is_mended_and_run(&self) -> bool {
        let prompt = self.asked_for();
        let mended = self.mended();
        let program = only_program(prompt).map(|program| (program.clone(), program));
        let program = program.or_else(|| self.loader_of_mended());
        let Some((program, at_fault)) = program.filter(|_| wants_mended(prompt)) else {
            return false;
        };
        let is_about = |path: &String| {
            *path == program
                || *path == at_fault
                || self.is_left_alone(path, None)
                || self.is_worked_with(&program, path)
        };
        let tells = |sentence: &str| {
            let names_it = mentions(sentence, &program).next().is_some();
            names_it || has_word(sentence, &ABOUT_IT) || has_word(sentence, &TELLS)
        };
        let words = own_words(prompt);
        let ran = self.tests_since_change().last();
        let mut steps = self.state.steps.iter();
        self.profile.one_model
            && self.other_computers().is_empty()
            && named_in(prompt).iter().all(is_about)
            && (sentences(prompt).all(tells) || self.shows_all_quoted())
            && !has_word(&words, &BEYOND)
            && !has_word(&words, &MORE)
            && named_by(&self.shown_tools().shown, &words).next().is_none()
            && mended.iter().any(|(path, _)| *path == at_fault)
            && ran.is_some_and(|run| run.success && asked_runs::program_of(&run.what) == program)
            && steps.all(|step| step.planner.is_none())
            && self.shows_otherwise()
            && self.unmade_run().is_none()
    }

    /// Of the two programs that a task names the one that was not mended, and the other one.
    fn loader_of_mended(&self) -> Option<(String, String)> {
        let mended = self.mended();
        let mut programs = named_in(self.asked_for());
        programs.retain(|path| path.ends_with(".lua"));
        let is_mended = |path: &String| mended.iter().any(|(mended, _)| mended == path);
        programs.sort_by_key(is_mended);
        match programs.as_slice() {
            [loader, mended] if !is_mended(loader) => Some((loader.clone(), mended.clone())),
            _ => None,
        }
    }

    /// Whether the last run has printed all that stands in quotes in the task but paths, and that is more than one text: whatever story is told
    /// around them.
    fn shows_all_quoted(&self) -> bool {
        let mut calls = self.state.calls().rev();
        let Some(run) = calls.find(|call| runs(call)) else {
            return false;
        };
        let pieces = stated::pieces(self.asked_for());
        let texts = pieces
            .map(|(_, text, _)| text)
            .filter(|text| !text.contains('/'));
        let texts: Vec<&str> = texts.collect();
        texts.len() > 1 && texts.iter().all(|text| stated::output(run).contains(text))
    }

    /// Whether a file is what a mended program works with, and not of the task's own work: its text names it, and each sentence of the task that
    /// does begins with the program and tells what that does.
    fn is_worked_with(&self, program: &str, file: &str) -> bool {
        let is_of_program = |sentence: &str| {
            let first = sentence.split_whitespace().next().unwrap_or_default();
            normal(first.trim_matches('`')) == program || first.eq_ignore_ascii_case("it")
        };
        let tells = |sentence: &str| {
            is_of_program(sentence) && !asks_for_a_change(sentence) && !has_word(sentence, &SHALL)
        };
        let of_it = |sentence: &&str| mentions(sentence, file).next().is_some();
        let mended = self.mended();
        let mut mended = mended.iter().filter(|(path, _)| path == program);
        holds_data(file)
            && sentences(self.asked_for()).filter(of_it).all(tells)
            && mended.any(|(path, on)| self.is_named_in(path, *on, file))
    }
}
