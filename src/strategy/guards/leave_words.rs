//! The plain words with which a task tells to leave something: "do not change anything below …", "leave … as it is". They are read where they
//! stand directly around what they are about; a condition, an exception, or a verb that forbids one way alone makes another thing of them.

use crate::strategy::text::has_word;

/// How something is forbidden, before the word that says what.
const NOT: [&str; 11] = [
    "must not",
    "may not",
    "shall not",
    "should not",
    "do not",
    "don't",
    "not to",
    "without",
    "never",
    "do not ever",
    "don't ever",
];

/// How it is told without a "not".
pub(super) const LEAVE: [&str; 4] = ["leave", "leaving", "keep", "keeping"];

/// Words between these and what they are about that say nothing else.
const FILLERS: [&str; 23] = [
    "anything",
    "any",
    "the",
    "a",
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "program",
    "programs",
    "module",
    "in",
    "inside",
    "below",
    "under",
    "within",
    "of",
    "and",
    "or",
    "nor",
    "either",
    "both",
];

/// Words of a sentence that holds at some time, or with exceptions.
const CONDITIONS: [&str; 11] = [
    "if",
    "unless",
    "until",
    "except",
    "before",
    "after",
    "while",
    "when",
    "whenever",
    "once",
    "otherwise",
];

/// Words behind a "but" that takes something of that back.
const EXCEPTS: [&str; 6] = ["it", "its", "them", "there", "only", "for"];

/// Whether the sentence around something, given as what stands before and behind it, tells to leave it: forbids some deeds with it, or leaves it
/// in one of some ways ("as it is").
pub(super) fn tells_to_leave(before: &str, after: &str, deeds: &[&str], how: &[&str]) -> bool {
    let is_kept = is_forbidden(before, after, deeds) || is_left(before, after, how);
    is_kept && !has_exception(&format!("{before} {after}"))
}

/// Whether a sentence holds at some time only, or takes something back.
pub(super) fn has_exception(sentence: &str) -> bool {
    let behind_but = sentence.split_once(" but ").map(|(_, behind)| behind);
    has_word(sentence, &CONDITIONS) || behind_but.is_some_and(|said| has_word(said, &EXCEPTS))
}

/// "You must not change anything below …", with nothing behind it that may make another thing of it.
fn is_forbidden(before: &str, after: &str, deeds: &[&str]) -> bool {
    let words = words(before);
    let Some(lead) = lead_of(&words, deeds) else {
        return false;
    };
    let lead = lead.join(" ");
    let is_not = |not: &str| {
        lead.strip_suffix(not)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
    };
    NOT.iter().any(|not| is_not(not)) && behind_others(after).is_empty()
}

/// "Leave … as it is".
fn is_left(before: &str, after: &str, how: &[&str]) -> bool {
    let words = words(before);
    let behind = behind_others(after);
    let says = |what: &str| {
        behind
            .strip_prefix(what)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    lead_of(&words, &LEAVE).is_some() && how.iter().any(|what| says(what))
}

/// The words before the last one of some, if nothing but fillers and paths follows it.
pub(super) fn lead_of<'w>(words: &'w [String], wanted: &[&str]) -> Option<&'w [String]> {
    let rest = words.iter().rev().take_while(says_nothing).count();
    let at = words.len().checked_sub(rest + 1)?;
    wanted.contains(&words[at].as_str()).then_some(&words[..at])
}

/// Whether a word only goes on with what is to be left, or names it.
fn says_nothing(word: &&String) -> bool {
    FILLERS.contains(&word.as_str()) || word.starts_with('/')
}

/// What stands behind what goes on naming it, up to the next clause.
pub(super) fn behind_others(after: &str) -> String {
    let clause = after.split([':', '(', ')']).next().unwrap_or_default();
    let clause = clause.split(", ").next().unwrap_or_default();
    let words = words(clause);
    let behind = words.iter().skip_while(says_nothing).map(String::as_str);
    behind.collect::<Vec<_>>().join(" ")
}

/// The words of a text, in small letters.
pub(super) fn words(text: &str) -> Vec<String> {
    let is_apart = |c: char| c.is_whitespace() || matches!(c, ',' | '`' | '"' | '(' | ')' | ':');
    let words = text.split(is_apart).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
