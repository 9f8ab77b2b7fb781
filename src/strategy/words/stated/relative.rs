//! What a clause says of a program right behind its name: "a program /greet.lua that reads a name and prints `hello` at its end". A task
//! may name other programs beside it.

use super::bare::forbids_runs;
use super::reading::{announced, ends_a_sentence, is_of_today, is_run, sentence};
use super::{CONDITIONS, Stated, TURNS};
use crate::strategy::paths::{QUOTES, behind, mentions, named_in};
use crate::strategy::text::{has_word, sentence_before};
use crate::strategy::words::named_tools::FORBIDS;

/// How such a clause begins.
const BEGINS: [&str; 2] = [" that ", " which "];

/// Words that want a program written.
pub const MAKES: [&str; 5] = ["write", "create", "make", "build", "add"];

/// Words that ask for a program ("I'd like a program called /allowed.lua", "need a lil script, /stacks.lua"), and what they ask for.
const ASKS: [&str; 5] = ["need", "needs", "want", "wants", "like"];
const PROGRAMS: [&str; 3] = ["program", "programme", "script"];

/// Words behind which another file is named than the one that is made.
const OTHERWISE: [&str; 16] = [
    "to", "into", "in", "from", "of", "what", "that", "which", "with", "on", "at", "for", "by",
    "run", "like", "about",
];

/// Words of a clause whose program prints that with arguments only.
const TAKES: [&str; 4] = ["takes", "argument", "arguments", "given"];

/// Words that tell where in its output a program prints it: that does not make it another output.
const WHERE: [&str; 2] = [" at its end", " at the end"];

/// How a sentence behind the one that asks for a program tells where it shall be: "Make me a calculator. It should live in /nether.lua."
const ITS_PLACE: [&str; 8] = [
    "it should live in",
    "it shall live in",
    "it lives in",
    "it goes into",
    "it should be called",
    "it shall be called",
    "call it",
    "name it",
];

/// Whether a sentence of the task tells to make this file, whose path has no first slash.
pub fn is_to_be_made(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]);
        (has_word(before, &MAKES) && !ends_with_a_run(before))
            || asks_for_a_program(before)
            || is_its_place(prompt, at)
    })
}

/// Whether what stands at `at` is where a program goes that the sentence before has told to make.
fn is_its_place(prompt: &str, at: usize) -> bool {
    let before = sentence_before(&prompt[..at]);
    let told = before
        .trim()
        .trim_end_matches(QUOTES)
        .trim_end()
        .to_lowercase();
    let earlier = &prompt[..at - before.len()];
    let earlier = earlier.trim_end_matches(|c: char| !c.is_alphanumeric());
    let asked = sentence_before(earlier);
    ITS_PLACE.contains(&told.as_str())
        && named_in(asked).is_empty()
        && !has_word(asked, &FORBIDS)
        && (has_word(asked, &MAKES) || asks_for_a_program(asked))
}

/// Whether a sentence has asked for a new program before it names the file: "need a … script", with no condition and no "not".
fn asks_for_a_program(before: &str) -> bool {
    let words = before.split(|c: char| !(c.is_alphanumeric() || c == '/'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let asked = words.iter().position(|word| is_one_of(word, &ASKS));
    let mut said = asked.map_or(&[][..], |at| &words[at..]).iter();
    let is_doubtful = |word: &&str| {
        let other = [&CONDITIONS[..], &FORBIDS[..]].concat();
        is_one_of(word, &other) || word.contains('/')
    };
    // "I want program /a.lua": not everybody writes an article.
    let is_next = asked.and_then(|at| words.get(at + 1));
    let is_next = is_next.is_some_and(|word| is_one_of(word, &PROGRAMS));
    let is_new = said.any(|word| is_one_of(word, &["a", "an", "another", "new"]));
    (is_next || is_new && said.any(|word| is_one_of(word, &PROGRAMS)))
        && !words.iter().any(is_doubtful)
}

/// Whether such a sentence tells so without a doubt: the file stands behind "write a program" or "and a program", nothing stands between them
/// that could make it another file, and no condition and no "not" before or behind them.
pub fn is_plainly_to_be_made(prompt: &str, path: &str) -> bool {
    mentions(prompt, path).any(|at| {
        let before = sentence_before(&prompt[..at]);
        if asks_for_a_program(before) || is_its_place(prompt, at) {
            return true;
        }
        let words = before.split(|c: char| !(c.is_alphanumeric() || c == '/'));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let makes = |word: &&str| is_one_of(word, &MAKES);
        let begin = words
            .iter()
            .rposition(|word| makes(word) || is_one_of(word, &["and"]));
        let Some(begin) = begin else {
            return false;
        };
        let (told, named) = (&words[..=begin], &words[begin + 1..]);
        let is_other = |word: &&str| word.contains('/') || is_one_of(word, &OTHERWISE);
        let is_doubtful = |word: &&str| is_one_of(word, &CONDITIONS) || is_one_of(word, &FORBIDS);
        let next = behind(prompt, at, path)
            .split(|c: char| !c.is_alphanumeric())
            .find(|word| !word.is_empty());
        let has_article = named
            .first()
            .is_some_and(|word| is_one_of(word, &["a", "an", "the"]));
        !named.iter().any(is_other)
            && !told.iter().chain(&next).any(is_doubtful)
            && (makes(&words[begin]) || (has_article && told.iter().any(makes)))
    })
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// "Write `1` to /a.txt, then run" is about another file than the one that is written. "Write and run" is not.
fn ends_with_a_run(before: &str) -> bool {
    let words = before.split(|c: char| !c.is_alphanumeric()).rev();
    let mut words = words.filter(|word| !word.is_empty());
    words.next().is_some_and(|word| is_one_of(word, &["run"]))
        && words
            .find(|word| !is_one_of(word, &["and", "then"]))
            .is_none_or(|word| !is_one_of(word, &MAKES))
}

/// All such statements about runs without arguments.
pub(super) fn said_in_clauses(prompt: &str) -> Vec<Stated<'_>> {
    let mut found = Vec::new();
    if !prompt.contains(".lua") || forbids_runs(prompt) {
        return found;
    }
    for (place, space) in prompt.match_indices(char::is_whitespace) {
        let (head, rest) = prompt.split_at(place + space.len());
        let Some((text, wanted, behind)) = announced(rest) else {
            continue;
        };
        let before = sentence_before(head);
        let Some((run, of_it)) = subject(before) else {
            continue;
        };
        if is_of_today(head, rest) {
            continue;
        }
        let when = has_word(&sentence(of_it, rest), &CONDITIONS) || has_word(of_it, &TAKES);
        let mut wheres = WHERE.iter();
        let behind = wheres
            .find_map(|words| behind.strip_prefix(words))
            .unwrap_or(behind);
        found.push(Stated {
            run,
            text,
            wanted: wanted || has_word(&before[..before.len() - of_it.len()], &MAKES),
            plain: !when && !has_word(prompt, &TURNS) && ends_a_sentence(behind),
        });
    }
    found
}

/// The newest program of a sentence that such a clause follows, with its path as it stands, and what of the clause follows it.
fn subject(before: &str) -> Option<(&str, &str)> {
    let clauses = BEGINS
        .iter()
        .filter_map(|words| before.rfind(words).map(|at| (at, words.len())));
    let (at, length) = clauses.max()?;
    let named = before[..at].trim_end_matches(',').trim_end_matches(QUOTES);
    let program = named
        .rsplit(|c: char| c.is_whitespace() || "`\"'(".contains(c))
        .next()?;
    (is_run(program) && program.ends_with(".lua")).then(|| (program, &before[at + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_without_a_doubt_stands_right_behind_the_word_for_it() {
        for (prompt, told) in [
            ("Write /a.lua and run it.", true),
            ("Create a rock-paper-scissors game, `/a.lua`.", true),
            (
                "Create a module /m/init.lua that adds, and a test program /a.lua that checks it.",
                true,
            ),
            ("Write what /a.lua prints to /b.txt.", false),
            ("Write 5 to /b.txt and run /a.lua.", false),
            ("Write /b.lua and /a.lua.", false),
            ("Write a program that calls /a.lua.", false),
            ("Run /a.lua.", false),
            ("Do not write /a.lua.", false),
            ("If the door is open, write /a.lua.", false),
            ("Write /a.lua if the door is open.", false),
            ("Write /a.lua, which prints `yes` if a door is open.", true),
            ("need a lil script on this turtle, /a.lua. it prints", true),
            ("For the door I'd like a program called `/a.lua`: it", true),
            (
                "Could you please make me a calculator? It should live in /a.lua. You type X.",
                true,
            ),
            ("Make a sign. Look around. It should live in /a.lua.", false),
            ("Do not make a sign. It should live in /a.lua.", false),
            ("i want program /a.lua, it get one word", true),
            ("I need the program /a.lua mended.", false),
            ("I want a list of what /a.lua prints.", false),
            ("If you need a script, take /a.lua.", false),
            ("I need a program like /b.lua or /a.lua.", false),
        ] {
            assert_eq!(is_plainly_to_be_made(prompt, "a.lua"), told, "{prompt}");
        }
    }

    #[test]
    fn a_clause_behind_a_program_says_what_it_prints() {
        let tests = "Create a module /m/init.lua that returns a table, and a test program /m/test.lua that checks it with \
                     dofile(\"/m/init.lua\") and prints `all passed` at its end. Run the tests.";
        for (prompt, said) in [
            (tests, Some(("/m/test.lua", "all passed", true, true))),
            (
                "Write /b.lua, and `/a.lua`, which prints \"go\".",
                Some(("/a.lua", "go", true, true)),
            ),
            (
                "/a.lua, which prints 5, is slow. Mend it and /b.lua.",
                Some(("/a.lua", "5", false, false)),
            ),
            (
                "Write /a.lua that reads a key and prints `ok` if it is y, and /b.lua.",
                Some(("/a.lua", "ok", true, false)),
            ),
            (
                "Write /a.lua that takes a name and prints `hello`, and /b.lua.",
                Some(("/a.lua", "hello", true, false)),
            ),
            ("Write /a.lua that prints `ok`. Do not run it.", None),
            ("Mend /a.lua, which prints 5 but should print 6.", None),
            ("Write to /a.txt that /b.lua prints `ok`.", None),
            ("Write /a.lua that greets. It prints `ok`.", None),
        ] {
            let found = said_in_clauses(prompt);
            let found = found
                .first()
                .map(|one| (one.run, one.text, one.wanted, one.plain));
            assert_eq!(found, said, "{prompt}");
        }
    }
    #[test]
    fn what_is_only_run_in_the_sentence_of_another_file_is_not_to_be_made() {
        for (prompt, made) in [
            ("Write /a.lua, which prints 5.", true),
            ("Write and run /a.lua.", true),
            ("Write `1` to /b.txt, then run /a.lua.", false),
            ("Create /b.txt and run `/a.lua`.", false),
            ("Run /a.lua. Write /b.txt.", false),
            ("Write /a.lua. Then run /a.lua.", true),
        ] {
            assert_eq!(is_to_be_made(prompt, "a.lua"), made, "{prompt}");
        }
    }
}
