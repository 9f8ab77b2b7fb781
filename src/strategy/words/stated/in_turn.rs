//! What each of several files holds by a task's words, one after the other: "make /a.txt and /b.txt; each holds one line, `one` and `two`".

use super::content::{AROUND, CONDITIONS, HOLDS, forbids};
use super::pieces;
use crate::strategy::alone::unfilled::WRITES;
use crate::strategy::paths::{is_file_like, named_in};
use crate::strategy::text::{has_word, sentence_before};

/// The word that gives each of several files its own of several texts.
const EACH: [&str; 2] = ["each", "Each"];

/// Words that may stand behind it: "each of them holds".
const OF_THEM: [&str; 3] = ["of", "them", "these"];

/// What stands between two such texts.
const JOINS: [&str; 3] = [", and `", ", `", " and `"];

/// The text of such a file, given without its first slash, and whether it is called a line.
pub(super) fn said_in_turn<'a>(prompt: &'a str, path: &str) -> Option<(&'a str, bool)> {
    pieces(prompt).find_map(|(head, first, after)| {
        let clause = sentence_before(head);
        let at = EACH.iter().filter_map(|each| clause.rfind(each)).max()?;
        let (told, holds) = (&clause[..at], &clause[at + EACH[0].len()..]);
        let told = match told.trim().is_empty() {
            true => {
                let before = &head[..head.len() - clause.len()];
                sentence_before(before.trim_end_matches(['.', ';']))
            }
            false => told,
        };
        let is_line = holds_alone(holds)?;
        let is_certain = has_word(told, &WRITES)
            && !forbids(told)
            && ![told, clause]
                .iter()
                .any(|part| has_word(part, &CONDITIONS));
        let files = named_in(told);
        let texts = listed(first, after)?;
        let is_each = texts.len() > 1 && files.len() == texts.len();
        if !is_certain || !is_each || !files.iter().all(|file| is_file_like(file)) {
            return None;
        }
        let place = files.iter().position(|file| file == path)?;
        Some((*texts.get(place)?, is_line))
    })
}

/// Whether words say that a file holds a text and nothing else, and then whether they call it a line.
fn holds_alone(words: &str) -> Option<bool> {
    let words = words.split(|c: char| c.is_whitespace() || c == ',');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_that =
        |word: &&str| HOLDS.contains(word) || AROUND.contains(word) || OF_THEM.contains(word);
    let says_so = words.iter().any(|word| HOLDS[2..].contains(word));
    (says_so && words.iter().all(is_that)).then(|| words.contains(&"line"))
}

/// The texts of a list that begins with this one.
fn listed<'a>(first: &'a str, after: &'a str) -> Option<Vec<&'a str>> {
    let mut texts = vec![first];
    let mut rest = after;
    while let Some(next) = JOINS.iter().find_map(|join| rest.strip_prefix(join)) {
        let (text, behind) = next.split_once('`')?;
        texts.push(text);
        rest = behind;
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_of_several_files_holds_the_text_of_its_place() {
        for (prompt, text) in [
            (
                "Make /a.txt, /b.txt and /c.txt; each holds one line, `one`, `two` and `three`. Run /check.lua.",
                ("two", true),
            ),
            (
                "Write `/a.txt` and `/b.txt`. Each of them holds the single word `one` and `two`.",
                ("two", false),
            ),
            (
                "Make /a.txt and /b.txt, each with `one`, and `two`.",
                ("two", false),
            ),
        ] {
            assert_eq!(said_in_turn(prompt, "b.txt"), Some(text), "{prompt}");
            assert_eq!(said_in_turn(prompt, "d.txt"), None, "{prompt}");
        }
    }

    #[test]
    fn where_the_words_leave_open_which_file_holds_what_nothing_is_said() {
        for prompt in [
            "Make /a.txt and /b.txt; each holds the lines `one`, `two` and `three`.",
            "Make /a.txt and /b.txt; each holds `one`.",
            "Make /a.txt and /b.txt, which hold `one` and `two`.",
            "Make /b.txt; each line holds `one` or `two`.",
            "Make the folders /a.txt and /b; each holds `one` and `two`.",
            "Make /a.txt and /b.txt. They are short. Each holds `one` and `two`.",
            "Make /a.txt and /b.txt; each must not hold `one` and `two`.",
            "If it fails, make /a.txt and /b.txt; each holds `one` and `two`.",
            "Do not make /a.txt and /b.txt; each holds `one` and `two`.",
            "Look at /a.txt and /b.txt; each holds `one` and `two`.",
            "Each of them holds `one` and `two",
        ] {
            assert_eq!(said_in_turn(prompt, "b.txt"), None, "{prompt}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(prompt in "(make |each |holds |`|/a.txt|/b.txt| and |, |é|; |\\. ){0,20}") {
            said_in_turn(&prompt, "a.txt");
        }
    }
}
