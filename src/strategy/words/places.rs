//! On which computer the files lie of which a task's words speak: "On the computer `mine` the program /drill.lua fails." A sentence
//! that names none speaks of the task's own computer, if the whole task does.

use super::asked_questions::sentences;
use crate::domain::call::{Address, Target};
use crate::domain::ids::ClientId;
use crate::domain::tool::ComputerView;
use crate::strategy::fleet::computers_in;
use crate::strategy::paths::{QUOTES, behind, may_stand_in_path, mentions};
use crate::strategy::text::{has_word, sentence_after, sentence_before};
use crate::strategy::turn::Turn;
use std::collections::BTreeSet;

/// Words of a sentence about the task's own computer.
const HERE: [&str; 2] = ["here", "this"];

/// Words of a sentence about the computer that a person named.
const THAT_ONE: [&str; 2] = ["that computer", "that turtle"];

/// Words of a sentence that may name a computer for the sake of what it can do.
const FOR_ITS_TOOL: [&str; 2] = ["tool", "tools"];

impl<'a> Turn<'a> {
    /// The computer on which a file of the task lies, given without its first slash, by the sentence that names it first. None where
    /// that says nothing certain, and none where nobody knows the computer.
    pub(in crate::strategy) fn place_of(&self, path: &str) -> Option<&'a ComputerView> {
        let own = self.own_computer()?;
        let others = self.other_computers();
        if others.is_empty() {
            return Some(own);
        }
        if let [named] = self.named_behind(path).as_slice() {
            return Some(named);
        }
        let sentence = sentence_of(self.asked_for(), path)?;
        let sentence = sentence.as_str();
        if THAT_ONE.iter().any(|words| sentence.contains(words))
            && let Some(answered) = self.answered_computer()
        {
            return Some(answered);
        }
        let said = computers_in(sentence);
        let mut there = others.iter().filter(|other| said.contains(*other));
        let is_here = has_word(sentence, &HERE) || said.contains(&own.client_id);
        match (there.next(), there.next(), is_here) {
            (Some(other), None, false)
                if !has_word(sentence, &FOR_ITS_TOOL) && is_place(sentence, other) =>
            {
                self.inputs.fleet.computer(other)
            }
            (None, None, true) => Some(own),
            (None, None, false) if self.goes_on_here(path) => Some(own),
            _ => None,
        }
    }

    /// Whether the last sentence about a file speaks of the task's own computer: "Bring it here as /map.txt".
    pub(in crate::strategy) fn is_brought_here(&self, path: &str) -> bool {
        let said = sentences(self.asked_for());
        let last = said
            .filter(|said| mentions(said, path).next().is_some())
            .last();
        let own = self.own_computer();
        let names_own = |said| own.is_some_and(|own| computers_in(said).contains(&own.client_id));
        last.is_some_and(|last| has_word(last, &HERE) || names_own(last))
    }

    /// Whether the sentence before the one that names a file speaks of the task's own computer alone: "Write it to /sum.txt here. /check.lua says
    /// whether it is right."
    fn goes_on_here(&self, path: &str) -> bool {
        let mut said = sentences(self.asked_for());
        let is_it = |sentence: &&str| mentions(sentence, path).next().is_some();
        let before = said.by_ref().take_while(|said| !is_it(said)).last();
        before.is_some_and(|before| {
            let others = self.other_computers();
            let named = computers_in(before);
            has_word(before, &HERE) && !others.iter().any(|other| named.contains(other))
        })
    }

    /// The computers on which a file of the task lies: several where its sentence says so of each of them.
    pub(in crate::strategy) fn places_of(&self, path: &str) -> Vec<&'a ComputerView> {
        match self.place_of(path) {
            Some(place) => vec![place],
            None => self.each_place_of(path).unwrap_or_default(),
        }
    }

    fn each_place_of(&self, path: &str) -> Option<Vec<&'a ComputerView>> {
        let named = self.named_behind(path);
        if named.len() > 1 {
            return Some(named);
        }
        let sentence = sentence_of(self.asked_for(), path)?;
        if !has_word(&sentence, &["each"]) || has_word(&sentence, &FOR_ITS_TOOL) {
            return None;
        }
        let own = self.own_computer()?;
        let said = computers_in(&sentence);
        let is_here = has_word(&sentence, &HERE) || said.contains(&own.client_id);
        let others = self.other_computers();
        let others = others.iter().filter(|other| said.contains(*other));
        let others = others.filter_map(|other| self.inputs.fleet.computer(other));
        let places: Vec<_> = is_here.then_some(own).into_iter().chain(others).collect();
        (places.len() > 1).then_some(places)
    }

    /// The computers that the task names right behind a path.
    fn named_behind(&self, path: &str) -> Vec<&'a ComputerView> {
        let others = self.other_computers();
        let own = self.own_computer().map(|own| &own.client_id);
        let known: Vec<&ClientId> = others.iter().chain(own).collect();
        let named = named_behind(self.asked_for(), path, &known).into_iter();
        named
            .filter_map(|id| self.inputs.fleet.computer(id))
            .collect()
    }

    /// The computers that the task's words name beside its own one, as far as they were ever seen.
    pub(in crate::strategy) fn other_computers(&self) -> BTreeSet<ClientId> {
        let own = self.own_computer().map(|own| &own.client_id);
        let mut named = computers_in(self.asked_for());
        named.retain(|id| Some(id) != own && self.inputs.fleet.has(id));
        named
    }

    /// The one computer of the task that the newest answer of a person names, where somebody was asked.
    fn answered_computer(&self) -> Option<&'a ComputerView> {
        let asked = self.state.steps.iter().rev();
        let mut answers = asked.filter_map(|step| step.question.as_ref()?.answer.as_ref());
        let said = computers_in(&answers.next()?.answer);
        let own = self.own_computer()?;
        let others = self.other_computers();
        let known = |id: &&ClientId| **id == own.client_id || others.contains(*id);
        let mut named = said.iter().filter(known);
        match (named.next(), named.next()) {
            (Some(id), None) => self.inputs.fleet.computer(id),
            _ => None,
        }
    }

    /// The computer of the task, or the only one there is.
    pub(in crate::strategy) fn own_computer(&self) -> Option<&'a ComputerView> {
        let fleet = &self.inputs.fleet;
        match (self.state.home(), fleet.computers.as_slice()) {
            (Some(home), _) => fleet.computer(home),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// Where a call has to go that shall reach a computer: none for the task's own.
    pub(in crate::strategy) fn unless_own(&self, computer: &ComputerView) -> Option<ClientId> {
        let is_own = self
            .state
            .home()
            .is_none_or(|home| *home == computer.client_id);
        (!is_own).then(|| computer.client_id.clone())
    }
}

/// Words before a computer's name that make it the place of what its sentence speaks of.
const AT: [&str; 4] = ["on", "at", "in", "from"];

/// Whether a sentence names a computer as a place, or begins with it. "Copy /a.txt to the computer `depot`" speaks of where something
/// shall be, and "with the notes of `depot`" or "from the
/// depot's account" of something else.
fn is_place(sentence: &str, computer: &ClientId) -> bool {
    let name = computer.as_str();
    let at = mentions(sentence, name).next().unwrap_or_default();
    let before = sentence[..at].to_lowercase();
    let words = before.split(|c: char| !c.is_alphanumeric());
    let mut words = words
        .rev()
        .filter(|word| !["", "the", "computer"].contains(word));
    let named = sentence.get(at..).unwrap_or_default();
    let behind = named.strip_prefix(name).unwrap_or_default();
    let its = ["'s ", "’s "].iter().find_map(|of| behind.strip_prefix(of));
    let is_owner_of_another =
        its.is_some_and(|what| !what.starts_with('/') && !what.starts_with(QUOTES));
    !is_owner_of_another && words.next().is_none_or(|word| AT.contains(&word))
}

/// Words that may stand before a computer's name, in this order: "on the computer called `mine`".
const BEFORE_NAME: [&str; 9] = [
    "the ",
    "two ",
    "three ",
    "four ",
    "computers ",
    "computer ",
    "turtle ",
    "called ",
    "named ",
];

/// The computers that are named right behind the first mention of a path: "run /check.lua on `depot`", "on mine and depot". "On mine or
/// here" says nothing certain.
fn named_behind<'a>(text: &str, path: &str, known: &[&'a ClientId]) -> Vec<&'a ClientId> {
    let at = mentions(text, path).next();
    let behind = at.and_then(|at| behind(text, at, path).strip_prefix(" on "));
    let mut rest = behind.unwrap_or_default();
    let mut named = Vec::new();
    loop {
        for word in BEFORE_NAME {
            rest = rest.strip_prefix(word).unwrap_or(rest);
        }
        rest = rest.trim_start_matches(QUOTES);
        let next = known.iter().find_map(|id| {
            let behind = rest.strip_prefix(id.as_str())?;
            let goes_on = behind
                .trim_start_matches('.')
                .starts_with(may_stand_in_path);
            (!goes_on).then_some((*id, behind))
        });
        let Some((next, behind)) = next else {
            return named;
        };
        named.push(next);
        rest = behind.trim_start_matches(QUOTES);
        if rest.starts_with(" or ") {
            return Vec::new();
        }
        let more = [", ", " and "].into_iter();
        let Some(more) = more.filter_map(|word| rest.strip_prefix(word)).next() else {
            return named;
        };
        rest = more;
    }
}

/// The sentence that names a path first.
pub(in crate::strategy) fn sentence_of(text: &str, path: &str) -> Option<String> {
    let at = mentions(text, path).next()?;
    let (before, after) = text.split_at(at);
    Some(format!(
        "{}{}",
        sentence_before(before),
        sentence_after(after)
    ))
}

/// A tool as it is called on another computer, or on the task's own.
pub(in crate::strategy) fn addressed(tool: &str, on: Option<&ClientId>) -> String {
    let target = on.map_or(Target::Any, |on| Target::Computer(on.clone()));
    let tool = tool.to_owned();
    Address { target, tool }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decision::Decision;
    use crate::domain::event::TaskEvent;
    use crate::strategy::drive::{Drive, profile_of};
    use proptest::prelude::*;

    /// Where a task on `base`, beside which there are `mine` and `depot`, has its /a.txt.
    fn place(task: &str) -> Option<String> {
        let mut drive = Drive::new(profile_of("direct"), task);
        drive.add_computer("mine");
        drive.add_computer("depot");
        let inputs = drive.inputs();
        let place = drive.turn(&inputs).place_of("a.txt");
        place.map(|place| place.client_id.to_string())
    }

    #[test]
    fn a_file_on_that_computer_lies_on_the_one_that_a_person_named() {
        let task = "Ask the person on which computer it shall be (mine or depot). Write /a.txt on that computer.";
        let place = |answer: &str| {
            let mut drive = Drive::new(profile_of("direct"), task);
            drive.add_computer("mine");
            drive.add_computer("depot");
            let Some(Decision::Ask { question, .. }) = drive.decide() else {
                panic!("nobody is asked")
            };
            drive.bench.push(TaskEvent::QuestionAnswered {
                question_id: question.question_id,
                answer: answer.into(),
                by: "Ada".into(),
                authenticated: true,
            });
            let inputs = drive.inputs();
            let place = drive.turn(&inputs).place_of("a.txt");
            place.map(|place| place.client_id.to_string())
        };
        assert_eq!(place("depot").as_deref(), Some("depot"));
        assert_eq!(place("on depot, please").as_deref(), Some("depot"));
        assert_eq!(place("base").as_deref(), Some("base"));
        assert_eq!(place("mine or depot"), None);
        assert_eq!(place("I do not care"), None);
    }

    #[test]
    fn a_file_lies_where_the_first_sentence_about_it_says() {
        for (task, on) in [
            ("Mend /a.txt.", Some("base")),
            (
                "On the computer `mine` the program /a.txt fails. Mend it there.",
                Some("mine"),
            ),
            (
                "The computer mine has /a.txt. Bring it to depot as /a.txt.",
                Some("mine"),
            ),
            (
                "Look at mine. How many there are is in /a.txt on this computer.",
                Some("base"),
            ),
            ("Look at mine, and write what you see to /a.txt here.", None),
            ("Each of base, mine and depot has a file /a.txt.", None),
            (
                "Call the tool dig of mine and write its answer to /a.txt.",
                None,
            ),
            ("Look at mine. Mend /a.txt.", None),
            (
                "Look at mine. Write it to /b.txt here. Run /a.txt.",
                Some("base"),
            ),
            ("Copy /b.txt from mine to this computer. Run /a.txt.", None),
            ("On mine: /a.txt is wrong.", Some("mine")),
            ("What is in /b.txt on mine?", None),
            ("Copy /a.txt to the computer `depot`.", None),
            ("Make /a.txt work with the notes of depot.", None),
            ("Take /a.txt from the depot.", Some("depot")),
            ("From mine's /a.txt take the sum.", Some("mine")),
            (
                "Pay Olaf from the depot's account, and then add a line to /a.txt",
                None,
            ),
            (
                "Bring it to the computer `depot`, and run `/a.txt` on `depot`, which tells.",
                Some("depot"),
            ),
            (
                "Look at mine and at /a.txt on the computer depot.",
                Some("depot"),
            ),
            ("Look at mine and at /a.txt on base.", Some("base")),
            (
                "the rota is /a.txt on the computer called `mine`. put the name into /b.txt on this computer here",
                Some("mine"),
            ),
            ("Run /a.txt on mine or `depot`.", None),
            ("Run /a.txt on mine and depot.", None),
            ("Run /a.txt on mine, and look at depot.", Some("mine")),
            (
                "Compare /a.txt on depot with what it should be.",
                Some("depot"),
            ),
        ] {
            assert_eq!(place(task).as_deref(), on, "{task}");
        }
    }

    #[test]
    fn a_file_on_several_computers_lies_on_each_that_is_named_behind_it() {
        let places = |task: &str| {
            let mut drive = Drive::new(profile_of("direct"), task);
            drive.add_computer("mine");
            drive.add_computer("depot");
            let inputs = drive.inputs();
            let places = drive.turn(&inputs).places_of("a.txt").into_iter();
            places
                .map(|place| place.client_id.to_string())
                .collect::<Vec<_>>()
        };
        let all = ["mine", "depot", "base"];
        assert_eq!(
            places("It is in /a.txt on the three computers `mine`, `depot` and `base`."),
            all
        );
        assert_eq!(places("Look at /a.txt on mine and depot."), all[..2]);
        assert!(places("Look at /a.txt on mine or depot.").is_empty());
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(text in "(/a.txt| on |mine|/|é| |\\. |: |\\PC){0,30}") {
            let _ = sentence_of(&text, "a.txt");
            let mine = ClientId::parse("mine").unwrap();
            let accent = ClientId::parse("é").unwrap();
            let named = named_behind(&text, "a.txt", &[&mine, &accent]);
            prop_assert!(named.iter().all(|id| **id == mine || **id == accent));
            let _ = is_place(&text, &ClientId::parse("mine").unwrap());
        }
    }
}
