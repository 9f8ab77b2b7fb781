//! Texts that a task says its program prints or writes and that no line of the program has: "anything else prints `usage: rps MOVE OPPONENT`",
//! "and then `total: SUM`". A small model leaves such a case out, or writes "Total", and no run of which the task speaks shows it.

use super::differences::text_of;
use super::reading::{is_of_today, is_placeholder, pieces};
use super::{output, runs_a_program};
use crate::domain::task::{CallRecord, TaskState};
use crate::strategy::ends::unmended::only_program;
use crate::strategy::paths::named_in;
use crate::strategy::text::{has_word, sentence_before};

/// Words before such a text, with what may stand between them and it.
const PRINTS: [&str; 6] = [
    "prints",
    "print",
    "prints exactly",
    "print exactly",
    "prints the line",
    "print the line",
];

/// Words of a sentence that tells in which form something is printed or written.
const SAYS: [&str; 4] = ["prints", "print", "writes", "write"];

/// What stands between the texts of a list.
const BETWEEN: [&str; 5] = [",", "or", "and", ", or", ", and"];

/// What is told of a run whose program, which has no first slash here, lacks such a text, as far as it is known what it holds.
pub(super) fn lacking(
    state: &TaskState,
    prompt: &str,
    program: &str,
    run: &CallRecord,
) -> Option<String> {
    let mut all = said_texts(prompt).into_iter();
    let (_, text) = all.find(|(of, text)| of == program && lacks(state, run, text))?;
    Some(format!(
        "the task speaks of `{text}`, and no line of /{program} has that text, letter for letter"
    ))
}

/// A text that was printed may be put together of pieces, and so may what another file holds.
fn lacks(state: &TaskState, run: &CallRecord, text: &str) -> bool {
    let program = text_of(state, run);
    let is_whole = |program: &str| {
        !["dofile", "require", "loadfile"]
            .iter()
            .any(|way| program.contains(way))
    };
    let was_printed = || {
        state
            .calls()
            .any(|call| runs_a_program(call) && output(call).contains(text))
    };
    program.is_some_and(|program| is_whole(program) && !program.contains(text)) && !was_printed()
}

/// A program, which has no first slash here, with its texts letter for letter as the task has them where they stand there in other capitals
/// ("Total: " for "total:"); none if they are as they should be.
pub(super) fn with_texts(prompt: &str, program: &str, content: &str) -> Option<String> {
    let mut mended = content.to_owned();
    for (of, text) in said_texts(prompt) {
        if of == program && !mended.contains(text) {
            mended = as_told(&mended, text);
        }
    }
    (mended != content).then_some(mended)
}

/// A program in which a text stands as it is told wherever a string is the same in other capitals, or begins with it up to a mark ("Total: ").
fn as_told(program: &str, text: &str) -> String {
    let mut told = String::with_capacity(program.len());
    let mut rest = program;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, string) = rest.split_at(at + 1);
        told.push_str(before);
        rest = string;
        let ends_with_mark = text.ends_with(|c: char| c.is_ascii_punctuation());
        if let Some((same, behind)) = rest.split_at_checked(text.len())
            && same.eq_ignore_ascii_case(text)
            && (ends_with_mark || behind.starts_with(['"', '\'']))
        {
            told.push_str(text);
            rest = &rest[text.len()..];
        }
    }
    told.push_str(rest);
    told
}

/// All such texts with their programs, which have no first slash. One with a number may be worked out, and a word in capitals alone stands for
/// something.
fn said_texts(prompt: &str) -> Vec<(String, &str)> {
    let mut found: Vec<(String, &str)> = Vec::new();
    let mut was_one = false;
    for (head, text, after) in pieces(prompt) {
        let between = head.rsplit('`').next().unwrap_or_default();
        let announced = PRINTS.iter().any(|words| {
            let before = head.trim_end().strip_suffix(words);
            before.is_some_and(|before| before.ends_with(char::is_whitespace))
        });
        was_one = announced || (was_one && BETWEEN.contains(&between.trim()));
        let is_fixed = !text.chars().any(|c| c.is_ascii_digit())
            && text
                .split_whitespace()
                .any(|word| word.chars().any(char::is_alphabetic) && !is_placeholder(word));
        let said = match was_one && is_fixed {
            true => Some(text),
            false => fixed_part(text).filter(|_| has_word(sentence_before(head), &SAYS)),
        };
        if let Some(said) = said
            && !is_of_today(head, after)
            && let Some(program) = program_of(prompt, head)
        {
            found.push((program, said));
        }
    }
    found
}

/// What stands in a form before the first word that stands for a value: "total:" of "total: SUM". None of a command.
fn fixed_part(form: &str) -> Option<&str> {
    let is_value = |word: &&str| word.len() > 1 && is_placeholder(word);
    let value = form.split_whitespace().find(is_value)?;
    let fixed = form[..form.find(value)?].trim();
    let is_one = !form.starts_with('/') && fixed.chars().any(char::is_lowercase);
    is_one.then_some(fixed)
}

/// The program of which a text that stands behind `head` is said: the last one that its sentence names, or the only one of the task.
fn program_of(prompt: &str, head: &str) -> Option<String> {
    let mut named = named_in(sentence_before(head)).into_iter();
    named
        .rfind(|path| path.ends_with(".lua"))
        .or_else(|| only_program(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::TaskStatus;
    use crate::strategy::drive::{Drive, call, profile_of};
    use serde_json::json;

    const TASK: &str = "Write /rps.lua. `/rps.lua MOVE OPPONENT` prints exactly `win`, `lose` or `draw`; anything else prints `usage: rps MOVE OPPONENT`.";

    #[test]
    fn every_text_of_a_list_is_one_that_is_printed() {
        let texts = |prompt: &'static str| -> Vec<&str> {
            said_texts(prompt)
                .into_iter()
                .map(|(_, text)| text)
                .collect()
        };
        assert_eq!(
            texts(TASK),
            ["win", "lose", "draw", "usage: rps MOVE OPPONENT"]
        );
        assert!(
            said_texts(TASK)
                .iter()
                .all(|(program, _)| program == "rps.lua")
        );
        let form = "Write /a.lua that writes one line for each, `item: count*price`, and then `total: SUM`.";
        assert_eq!(texts(form), ["total:"]);
        for prompt in [
            "/a.lua prints `3 11`, and then `/b.lua`.",
            "/a.lua prints it as `LINES WORDS`.",
            "/a.lua prints `LINES WORDS`.",
            "/a.lua prints `no` but should greet.",
            "It prints `yes`.",
            "Write `yes` to /a.txt and run /a.lua.",
        ] {
            assert_eq!(texts(prompt), [""; 0], "{prompt}");
        }
    }

    #[test]
    fn a_text_in_other_capitals_is_written_as_the_task_has_it() {
        let total = "Write /a.lua that writes one line for each, and then `total: SUM`.";
        let odd = "local Total = 1 out.write(\"Total: \" .. Total)";
        let meant = "local Total = 1 out.write(\"total: \" .. Total)";
        assert_eq!(with_texts(total, "a.lua", odd).as_deref(), Some(meant));
        let ready = "Mend /a.lua: it prints `ready`.";
        let told = with_texts(ready, "a.lua", "print('Ready')");
        assert_eq!(told.as_deref(), Some("print('ready')"));
        for (task, program, content) in [
            (total, "b.lua", odd),
            (total, "a.lua", meant),
            (total, "a.lua", "print(Total: é)"),
            (total, "a.lua", "print(\"Totals: \")"),
            (ready, "a.lua", "print('Ready player one')"),
            (ready, "a.lua", "print('Ready') print('ready')"),
        ] {
            assert_eq!(with_texts(task, program, content), None, "{content}");
        }
    }

    #[test]
    fn an_end_while_the_program_lacks_such_a_text_is_told_so_once() {
        let ends = |program: &str| {
            let mut drive = Drive::new(profile_of("direct"), TASK);
            let write = call("fs_write", json!({"path": "/rps.lua", "content": program}));
            let run = call("run_program", json!({"path": "/rps.lua", "args": ["rock"]}));
            let end = "FINAL ANSWER: it is played";
            drive.say(&[&write, &run, end]);
            let told = drive.shown().contains("has that text, letter for letter");
            if told {
                drive.say(&[end]);
            }
            assert_eq!(drive.state().status, TaskStatus::Completed, "{program}");
            told
        };
        let whole = "win lose draw usage: rps MOVE OPPONENT";
        assert!(!ends(whole));
        assert!(ends("win lose draw"));
        assert!(!ends("dofile win lose draw"));
    }
}
