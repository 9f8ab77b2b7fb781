//! Whether a task's words want something changed: players say "mend", "write" and "save", and "pvp off" as well.

use super::asked_questions::sentences;
use crate::strategy::paths::named_in;
use crate::strategy::text::has_word;

/// Words of tasks that ask for a change.
const CHANGES: [&str; 16] = [
    "mend", "fix", "repair", "write", "make", "create", "change", "replace", "edit", "rename",
    "move", "delete", "remove", "add", "patch", "build",
];

/// Words that ask for one in most tasks, and are said of other things as well.
const MORE_CHANGES: [&str; 20] = [
    "save", "put", "set", "store", "copy", "append", "insert", "update", "extend", "clean",
    "clear", "convert", "swap", "take", "turn", "switch", "sort", "merge", "refuel", "bring",
];

/// Words of tasks that only want something looked at, run or told; of sentences that do, if they begin so; what may stand before that; and
/// how a request begins that is no question.
const LOOKS: [&str; 14] = [
    "tell", "show", "say", "explain", "describe", "inspect", "find", "read", "know", "wonder",
    "run", "execute", "ask", "greet",
];
const BEGINS_A_LOOK: [&str; 20] = [
    "what", "which", "how", "who", "whose", "when", "where", "why", "whether", "is", "are", "list",
    "count", "look", "check", "search", "test", "print", "call", "compare",
];
const FILLERS: [&str; 12] = [
    "please", "hey", "hi", "hello", "so", "um", "ok", "okay", "and", "now", "just", "first",
];
const REQUESTS: [&str; 6] = [
    "can you",
    "can u",
    "could you",
    "could u",
    "would you",
    "will you",
];

/// Words that forbid what follows.
const FORBIDS: [&str; 7] = [
    "not", "don't", "don’t", "dont", "never", "without", "nothing",
];

/// Words that make a change depend on what is found.
const IN_SOME_CASE: [&str; 7] = [
    "if", "unless", "whether", "when", "should", "sure", "ensure",
];

/// Words that ask or tell about something, and those with which a sentence goes on from there to what is to be done.
const QUESTIONS: [&str; 12] = [
    "what", "which", "how", "who", "whose", "where", "why", "does", "did", "tell", "show", "say",
];
const GOES_ON: [&str; 3] = ["and", "then", "please"];

/// How a sentence makes a change depend on its need, behind the word for it.
const WHERE_NEEDED: [&str; 6] = [
    "if need", "if nec", "if req", "if it is", "if there", "unless",
];

/// Whether a task, or a sentence of it, has a word that asks for a change.
pub(in crate::strategy) fn asks_for_a_change(prompt: &str) -> bool {
    has_word(prompt, &CHANGES)
}

/// Whether a task may want something changed: it has a word for that, or none for a look. "server.properties: pvp off" has neither, as has a task
/// in another language.
pub(in crate::strategy) fn may_want_a_change(prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    let asks = lower.contains('?') && !REQUESTS.iter().any(|words| lower.contains(words));
    let begins = |said: &str| {
        let mut words = said.split(|c: char| !c.is_alphanumeric());
        let first = words.find(|word| !word.is_empty() && !FILLERS.contains(word));
        first.is_some_and(|word| BEGINS_A_LOOK.contains(&word))
    };
    let only_looks = asks || has_word(&lower, &LOOKS) || sentences(&lower).any(begins);
    has_change(&lower) || !only_looks
}

/// Whether a text in small letters has a word for a change that it does not forbid: "just tell me, dont change anything".
fn has_change(lower: &str) -> bool {
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_change = |word: &str| CHANGES.contains(&word) || MORE_CHANGES.contains(&word);
    let is_forbidden = |at: usize| {
        let before = &words[at.saturating_sub(2)..at];
        before.iter().any(|word| FORBIDS.contains(word))
    };
    let mut changes = words.iter().enumerate().filter(|(_, word)| is_change(word));
    changes.any(|(at, _)| !is_forbidden(at))
}

/// Whether a task that names a file or folder wants a change with no condition in one of its sentences, or has no word for a look at all.
pub(in crate::strategy) fn wants_a_change_in_any_case(prompt: &str) -> bool {
    let changing = [&CHANGES[..], &MORE_CHANGES[..]].concat();
    let is_certain = |said: &str| {
        let said = said.to_lowercase();
        let words: Vec<&str> = said.split(|c: char| !c.is_alphanumeric()).collect();
        let at = words.iter().position(|word| changing.contains(word));
        let Some(at) = at.filter(|_| has_change(&said)) else {
            return false;
        };
        let (before, has) = (&words[..at], |words: &[&str], among: &[&str]| {
            words.iter().any(|word| among.contains(word))
        });
        let is_told = before.last().is_some_and(|word| GOES_ON.contains(word));
        (is_told || !has(before, &QUESTIONS))
            && !has(before, &IN_SOME_CASE)
            && !WHERE_NEEDED.iter().any(|words| said.contains(words))
    };
    let has_no_word = !has_word(prompt, &changing) && !has_word(prompt, &IN_SOME_CASE);
    !named_in(prompt).is_empty()
        && (sentences(prompt).any(is_certain) || has_no_word && may_want_a_change(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_word_for_a_look_may_want_a_change() {
        for prompt in [
            "Mend it.",
            "server.properties: pvp off, 30 players max. The rest stays!!",
            "I need a list of who may join: save it to /allowed.txt",
            "Schreibe /a.lua",
            "So some people who are banned are on it. The ban list stays as it is.",
            "Could you add up the sales? They are in /a.csv",
        ] {
            assert!(may_want_a_change(prompt), "{prompt}");
        }
        for prompt in [
            "Run /fixed.lua",
            "What is in the address book?",
            "Is /a.txt there?",
            "Hey, count the lines in /a.txt.",
            "quick question, which world has pvp on? its in worlds.csv. just tell me dont change anything",
            "I want to know who is on.",
            "Tell me who is on.",
        ] {
            assert!(!may_want_a_change(prompt), "{prompt}");
        }
    }

    #[test]
    fn only_words_for_a_change_ask_for_one() {
        for prompt in ["Mend it.", "please FIX /a.lua", "Write a poem"] {
            assert!(asks_for_a_change(prompt), "{prompt}");
        }
        for prompt in [
            "Run /fixed.lua",
            "What is in the address book?",
            "Schreibe /a.lua",
            "",
        ] {
            assert!(!asks_for_a_change(prompt), "{prompt}");
        }
    }
}
