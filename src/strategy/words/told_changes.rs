//! Which files a task tells to change: it writes something "into" one, or takes something "out of" one.

use super::named_tools::FORBIDS;
use super::stated::{WANTED, is_in_some_case, is_plainly_to_be_made};
use crate::strategy::paths::{QUOTES, mentions, named_in};
use crate::strategy::text::{has_word, sentence_before};

/// Words that tell to put something somewhere.
const PUTS: [&str; 14] = [
    "write", "put", "save", "store", "add", "append", "insert", "copy", "move", "rename", "enter",
    "note", "log", "make",
];

/// Words right before the file that something is put into; behind them may stand what such a file is called by.
const INTO: [&str; 3] = ["to", "into", "as"];
const ITS_NAME: [&str; 8] = ["the", "a", "an", "file", "new", "called", "named", "list"];

/// Words that tell to take something away, the first of which may also be said of what is only read, and those right before the file.
const TAKES: [&str; 7] = [
    "take", "remove", "delete", "strike", "drop", "kick", "throw",
];
const OUT_OF: [&str; 3] = [" out of", " off", " from"];

/// What makes of "to" another word: "according to /rules.txt".
const OTHERWISE: [&str; 8] = [
    "according",
    "similar",
    "equal",
    "identical",
    "next",
    "compared",
    "belongs",
    "as",
];

/// Who writes then is a program of the task.
const WRITERS: [&str; 5] = ["program", "programs", "script", "function", "module"];

/// Whether a sentence tells to write into a file, in any case: it puts something "to", "into" or "at the end of" it, or makes it.
pub(in crate::strategy) fn is_written_into(prompt: &str, path: &str) -> bool {
    is_plainly_to_be_made(prompt, path)
        || mentions(prompt, path).any(|at| {
            let before = sentence_before(&prompt[..at]);
            has_word(before, &PUTS) && is_told_to_model(before) && leads_into(before)
        })
}

/// Whether a sentence tells in any case to take something out of a file: "take everybody who is in /banned.txt out of /whitelist.txt".
pub(in crate::strategy) fn is_taken_out_of(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]);
        let lower = before.trim_end().trim_end_matches(QUOTES).to_lowercase();
        let lower = lower.strip_suffix(" the").unwrap_or(&lower);
        let leads_out = OUT_OF.iter().any(|words| lower.ends_with(words));
        // "Take the numbers from /a.txt" leaves them there.
        let takes = TAKES.iter().skip(usize::from(lower.ends_with(" from")));
        let takes: Vec<&str> = takes.copied().collect();
        leads_out
            && has_word(before, &takes)
            && is_told_to_model(before)
            && !has_word(before, &WANTED)
    }) && !named_in(prompt)
        .iter()
        .any(|other| other != path && is_written_into(prompt, other))
}

/// Whether what is told before a file is told in any case, and not of what a program does.
fn is_told_to_model(before: &str) -> bool {
    !is_in_some_case(before) && !has_word(before, &FORBIDS) && !has_word(before, &WRITERS)
}

/// Whether what stands before a file leads into it.
fn leads_into(before: &str) -> bool {
    let lower = before.trim_end().trim_end_matches(QUOTES).to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '/'));
    let mut words = words.filter(|word| !word.is_empty()).rev().peekable();
    while words.next_if(|word| ITS_NAME.contains(word)).is_some() {}
    match words.next() {
        Some("of" | "in" | "on") => words
            .next()
            .is_some_and(|word| ["end", "bottom"].contains(&word)),
        Some(word) if INTO.contains(&word) => words
            .next()
            .is_some_and(|before| !OTHERWISE.contains(&before)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str =
        "Take the names from /all.txt, leave out Tom, and save the others to /allowed.txt.";

    #[test]
    fn a_file_out_of_which_something_is_to_be_taken_is_to_be_changed() {
        let bans = "Please take everybody who is in /banned.txt out of /white.txt.";
        for (prompt, path, told) in [
            (bans, "white.txt", true),
            (bans, "banned.txt", false),
            ("remove Bo from the /white.txt", "white.txt", true),
            ("Take the numbers from /a.txt", "a.txt", false),
            ("Look at it. Then take Bo out of /a.txt", "a.txt", true),
            (
                "todo done 2 should take number 2 out of /a.txt",
                "a.txt",
                false,
            ),
            (
                "Take the sums out of /a.txt and write them into /b.txt",
                "a.txt",
                false,
            ),
            ("If Bo left, take him off /white.txt", "white.txt", false),
            ("Read the names from /white.txt", "white.txt", false),
            ("Do not take anybody off /white.txt", "white.txt", false),
        ] {
            assert_eq!(is_taken_out_of(prompt, path), told, "{prompt}");
        }
    }

    #[test]
    fn a_file_is_written_into_where_the_words_lead_into_it_in_any_case() {
        for (prompt, path, told) in [
            (TASK, "allowed.txt", true),
            (TASK, "all.txt", false),
            (
                "add the line `Olaf 35 paid` at the end of wages.txt",
                "wages.txt",
                true,
            ),
            (
                "Make me a report.txt here with three lines",
                "report.txt",
                true,
            ),
            (
                "pay Olaf and then write the sum into a file called sum.txt",
                "sum.txt",
                true,
            ),
            ("Write a program /a.lua", "a.lua", true),
            ("Rename /a.txt to b.txt", "b.txt", true),
            (
                "Write a program that adds a line to /log.txt",
                "log.txt",
                false,
            ),
            ("If it rains, write `rain` to /log.txt", "log.txt", false),
            ("Do not write to /log.txt", "log.txt", false),
            (
                "Write the names according to /rules.txt",
                "rules.txt",
                false,
            ),
            ("Count the lines in /log.txt", "log.txt", false),
            ("Write down what is in /log.txt", "log.txt", false),
        ] {
            assert_eq!(is_written_into(prompt, path), told, "{prompt}");
        }
    }
}
