//! Runs of the only program that a task names, without arguments: "it fails without an argument", "mend it and run it".

use super::reading::{announced, ends_a_sentence, is_of_today, is_wanted, sentence};
use super::{CONDITIONS, Stated, TURNS};
use crate::strategy::ends::unmended::only_program;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::paths::{mentions, named_in};
use crate::strategy::text::{ends_sentence, has_word};

/// How a run is told that gives its program nothing.
const NO_ARGUMENT: [&str; 6] = [
    "without an argument",
    "without arguments",
    "without any argument",
    "without any arguments",
    "with no argument",
    "with no arguments",
];

/// How a task says that something is not to be run. "It does not run" tells of today.
const NO_RUN: [&str; 8] = [
    "do not run",
    "don't run",
    "never run",
    "without running",
    "not be run",
    "not to run",
    "must not run",
    "may not run",
];

/// What the only program of a task is called where it is said what it prints.
pub(super) const IT: [&str; 3] = ["it", "that", "which"];

/// Whether a task says of any run that it is not to be made: then no rule makes one.
pub fn forbids_runs(prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    NO_RUN.iter().any(|words| lower.contains(words))
}

/// The run of the only program that a task names, if it wants that run and speaks of nothing that it shall be given.
pub fn bare_run(prompt: &str) -> Option<&str> {
    let program = only_program(prompt)?;
    // "It" may be what checks the work.
    let mut named = named_in(prompt).into_iter();
    if named.any(|path| is_check(prompt, &path)) {
        return None;
    }
    let lower = prompt.to_ascii_lowercase();
    let name = program.to_ascii_lowercase();
    let by_name = [format!("run /{name}"), format!("run {name}")];
    let words = ["run it", &by_name[0], &by_name[1]];
    let mut wanted = words.into_iter().flat_map(|words| {
        let behind = |(at, words): (usize, &str)| at + words.len();
        lower.match_indices(words).map(behind).collect::<Vec<_>>()
    });
    let is_bare = |behind: usize| {
        let rest = lower[behind..].trim_start();
        let place = ["there", "here"]
            .into_iter()
            .find_map(|place| rest.strip_prefix(place));
        let rest = place.unwrap_or(rest);
        rest.is_empty() || ends_a_sentence(rest) || rest.starts_with([':', ',', ';'])
    };
    wanted
        .any(is_bare)
        .then(|| in_full(prompt, &program))
        .flatten()
}

/// A path where it stands in a text, with its first slash.
pub(super) fn in_full<'a>(prompt: &'a str, path: &str) -> Option<&'a str> {
    let begin = mentions(prompt, path).next()?;
    let end = begin + prompt[begin..].find(path)? + path.len();
    Some(&prompt[begin..end])
}

/// The only program that a text names, if it speaks of a run without arguments: the program, and what stands behind these words.
pub fn run_without_arguments(prompt: &str) -> Option<(&str, &str)> {
    // Keeps every byte at its place.
    let lower = prompt.to_ascii_lowercase();
    let behind = |words: &&str| Some(lower.find(*words)? + words.len());
    let at = NO_ARGUMENT.iter().filter_map(behind).max()?;
    let mut programs = named_in(prompt);
    programs.retain(|path| path.ends_with(".lua"));
    let [program] = programs.as_slice() else {
        return None;
    };
    Some((in_full(prompt, program)?, &prompt[at..]))
}

/// What such a run is said to print, in the sentence that speaks of it or in the next one.
pub(super) fn said_without_arguments(prompt: &str) -> Option<Stated<'_>> {
    let (run, rest) = run_without_arguments(prompt)?;
    let mut ends = rest
        .char_indices()
        .filter(|(at, c)| ends_sentence(rest, *at, *c));
    let near = ends.nth(1).map_or(rest, |(at, _)| &rest[..at]);
    let head = |place: usize| &prompt[..prompt.len() - rest.len() + place];
    let mut places = near.match_indices(char::is_whitespace);
    let (text, wanted) = places.find_map(|(place, _)| {
        let (text, wanted, _) = announced(&rest[place..])?;
        (!is_of_today(head(place), &rest[place..])).then_some((text, wanted))
    })?;
    Some(Stated {
        run,
        text,
        wanted,
        // The condition is the run itself.
        plain: wanted && !has_word(prompt, &TURNS),
    })
}

/// What that program is said to print: "mend it: it shall print `ready`".
pub(super) fn said_of_it(prompt: &str) -> Option<Stated<'_>> {
    let run = bare_run(prompt)?;
    let mut places = prompt.match_indices(char::is_whitespace);
    places.find_map(|(place, _)| {
        let (head, rest) = prompt.split_at(place);
        let said_of = head.rsplit(|c: char| !c.is_alphanumeric()).next()?;
        let is_it = IT.iter().any(|it| said_of.eq_ignore_ascii_case(it));
        let (text, wanted, behind) = announced(rest).filter(|_| is_it)?;
        let when = has_word(&sentence(head, rest), &CONDITIONS);
        (!is_of_today(head, rest)).then_some(Stated {
            run,
            text,
            wanted: wanted || is_wanted(head, behind),
            plain: !when && !has_word(prompt, &TURNS) && ends_a_sentence(behind),
        })
    })
}
