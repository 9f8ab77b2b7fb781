//! What a task's words say that a file holds: "write the one line `open` to /door.txt", "a new /notes.txt that holds `fresh`".

use super::in_turn::said_in_turn;
use super::reading::is_placeholder;
use crate::strategy::alone::unfilled::WRITES;
use crate::strategy::paths::{behind, mentions};
use crate::strategy::text::{has_word, sentence_after, sentence_before};
use crate::strategy::words::named_tools::FORBIDS;

/// Words between the one that tells to write and the text itself.
pub(super) const AROUND: [&str; 9] = [
    "the", "a", "one", "single", "line", "word", "text", "just", "only",
];

/// Words between the text and the file that comes behind it.
const INTO: [&str; 5] = ["to", "into", "in", "the", "file"];

/// Words between the file and the text that comes behind it.
pub(super) const HOLDS: [&str; 6] = ["that", "which", "with", "holds", "contains", "containing"];

/// Words of a sentence after which such a file is written at some time only.
pub(super) const CONDITIONS: [&str; 6] =
    ["if", "when", "whenever", "unless", "otherwise", "instead"];

/// That content of a file, given without its first slash; none where the words leave anything open.
pub fn content_said(prompt: &str, path: &str) -> Option<String> {
    let mut places = mentions(prompt, path);
    let said = places.find_map(|at| {
        let (before, after) = around(prompt, at, path);
        let is_certain = ![before, after]
            .iter()
            .any(|part| has_word(part, &CONDITIONS));
        content(before, after).filter(|_| is_certain)
    });
    said.or_else(|| as_content(said_in_turn(prompt, path)?))
}

/// The same where its sentence says when it is so.
pub fn content_told(sentence: &str, path: &str) -> Option<String> {
    let mut places = mentions(sentence, path);
    places.find_map(|at| {
        let (before, after) = around(sentence, at, path);
        content(before, after)
    })
}

/// What stands of a sentence before a path that it names, and behind it.
fn around<'a>(text: &'a str, at: usize, path: &str) -> (&'a str, &'a str) {
    let after = sentence_after(behind(text, at, path));
    (sentence_before(&text[..at]), after)
}

fn content(before: &str, after: &str) -> Option<String> {
    as_content(said_before(before).or_else(|| said_behind(before, after))?)
}

/// What a file holds that holds this text.
fn as_content((text, is_line): (&str, bool)) -> Option<String> {
    let is_meant = !text.trim().is_empty() && !text.split_whitespace().any(is_placeholder);
    is_meant.then(|| format!("{text}{}", if is_line { "\n" } else { "" }))
}

/// The text of "write the line `open` to /door.txt", and whether it is called a line.
fn said_before(before: &str) -> Option<(&str, bool)> {
    let (before, into) = before.trim_end_matches(['/', '`', '"']).rsplit_once('`')?;
    let (before, text) = before.rsplit_once('`')?;
    let mut into = into.split_whitespace().peekable();
    into.peek()?;
    if !into.all(|word| INTO.contains(&word)) {
        return None;
    }
    let mut words = before.split_whitespace().rev();
    let mut is_line = false;
    let first = words.find(|word| {
        is_line |= *word == "line";
        !AROUND.contains(word)
    })?;
    if first == "and" {
        return Some((text, is_line | said_as_well(before)?));
    }
    (has_word(first, &WRITES) && !forbids(before)).then_some((text, is_line))
}

/// Whether what stands before "and `two` to /b.txt" tells to write a line ("write the line `one` to /a.txt"); none if it tells of no file.
fn said_as_well(before: &str) -> Option<bool> {
    let (other, _) = before.trim_end().rsplit_once("and")?;
    let other = other.trim_end().trim_end_matches(',');
    let (other, path) = other.rsplit_once(char::is_whitespace)?;
    path.contains('/')
        .then(|| said_before(other))?
        .map(|(_, is_line)| is_line)
}

/// Whether the clause in front of a text says that it is not to be written; one that ends before it says something else.
pub(super) fn forbids(before: &str) -> bool {
    let clause = before
        .rsplit_once(", ")
        .map_or(before, |(_, clause)| clause);
    has_word(clause, &FORBIDS)
}

/// The text of "make /notes.txt, which holds the line `fresh`", and whether it is called a line.
fn said_behind<'a>(before: &str, after: &'a str) -> Option<(&'a str, bool)> {
    let (words, rest) = after.split_once('`')?;
    let (text, _) = rest.split_once('`')?;
    let words: Vec<&str> = words
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .collect();
    let holds = words.iter().any(|word| HOLDS[2..].contains(word));
    let is_that = words
        .iter()
        .all(|word| HOLDS.contains(word) || AROUND.contains(word));
    let is_told = has_word(before, &WRITES) && !forbids(before);
    (holds && is_that && is_told).then_some((text, words.contains(&"line")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_content_is_read_where_nothing_is_left_open() {
        for (prompt, content) in [
            (
                "Open it. Then write `open` to /a.txt, and run /check.lua.",
                Some("open"),
            ),
            (
                "Pay. Then write the one line `paid Ada 25` to /a.txt here.",
                Some("paid Ada 25\n"),
            ),
            (
                "Dig, and write the one line `dug` to the file /a.txt on it.",
                Some("dug\n"),
            ),
            (
                "Make a new /a.txt that holds the one line `fresh`.",
                Some("fresh\n"),
            ),
            (
                "Write the file `/a.txt` with the one line `on` there.",
                Some("on\n"),
            ),
            ("Put the single word `red` into `/a.txt`.", Some("red")),
            ("Write `one` to /b.txt, and `two` to /a.txt.", Some("two")),
            (
                "Write the line `one` to `/b.txt` and `two` to /a.txt, then run /check.lua.",
                Some("two\n"),
            ),
            ("Take `one` to /b.txt and `two` to /a.txt.", None),
            ("Write `one` and `two` to /a.txt.", None),
            ("Copy /b.txt and `two` to /a.txt.", None),
            (
                "If you are refused, write the one word `no` to /a.txt.",
                None,
            ),
            ("Write the one word `no` to /a.txt instead.", None),
            ("Write the two lines `a` and `b` to /a.txt.", None),
            ("Write the line `iron N` to /a.txt.", None),
            ("Write what `size` says to /a.txt.", None),
            ("Do not leave `open` in /a.txt.", None),
            ("Do not write `open` to /a.txt.", None),
            ("Write `open` to /b.txt and look at /a.txt.", None),
            ("Make /a.txt a copy of /b.txt in which `x` is `y`.", None),
            ("Make /a.txt, which `lua` reads.", None),
            ("Write `` to /a.txt.", None),
            ("`open` to /a.txt", None),
            ("Write the sum to /a.txt.", None),
        ] {
            assert_eq!(
                content_said(prompt, "a.txt").as_deref(),
                content,
                "{prompt}"
            );
        }
    }

    #[test]
    fn what_is_written_under_a_condition_is_read_with_its_sentence() {
        let sentence = "If it may not be reached, write the one word `no` to /a.txt instead";
        assert_eq!(content_told(sentence, "a.txt").as_deref(), Some("no"));
        assert_eq!(content_said(sentence, "a.txt"), None);
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(prompt in "(write |the |line |`|/a.txt|to |holds |é|\\. ){0,20}") {
            content_said(&prompt, "a.txt");
        }
    }
}
