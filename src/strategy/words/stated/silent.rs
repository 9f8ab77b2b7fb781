//! Programs of which a task's words say that they print something, whatever that is: "`/wc.lua FILE` prints the number of lines". A run
//! that printed nothing shows that such a program is wrong.

use super::bare::IT;
use super::reading::{is_of_today, pieces, says_print, sentence};
use super::{CONDITIONS, Unlike, is_to_be_made, output, output_in_words, runs_a_program};
use crate::domain::fold::{run_label, run_on};
use crate::domain::task::{CallRecord, TaskState};
use crate::strategy::ends::unmended::only_program;
use crate::strategy::paths::{mentions, normal};
use crate::strategy::text::{has_word, sentence_before};

/// Words behind "prints" that tell of no output.
const NONE: [&str; 4] = ["nothing", "no", "neither", "not"];

/// A program that prints something.
#[derive(Debug, PartialEq)]
struct Printing {
    /// Without its first slash.
    program: String,
    /// It is said of its command, or of a program that is still to be made.
    certain: bool,
}

/// The programs whose last run ended well and printed nothing.
pub(super) fn silent(state: &TaskState, prompt: &str) -> Vec<Unlike> {
    // Most runs print something, and no word is looked at for them.
    if !state
        .calls()
        .any(|call| runs_a_program(call) && is_empty(call))
    {
        return Vec::new();
    }
    let all = said_to_print(prompt).into_iter();
    all.filter_map(|printing| {
        let mut newest = state.calls().rev();
        let newest = newest.find(|call| is_run_of(call, &printing))?;
        is_empty(newest).then(|| Unlike {
            run: run_on(state.home(), newest).trim().to_owned(),
            words: format!(
                "the task says that /{} prints something, and its last run printed {}",
                printing.program,
                output_in_words(state, newest)
            ),
            certain: printing.certain,
        })
    })
    .collect()
}

/// Whether a run printed nothing though the task says that its program prints.
pub(super) fn is_silent(prompt: &str, run: &CallRecord) -> bool {
    let is_it = |printing: &Printing| is_run_of(run, printing);
    is_empty(run) && said_to_print(prompt).iter().any(is_it)
}

fn is_run_of(call: &CallRecord, printing: &Printing) -> bool {
    let is_run = runs_a_program(call) && !call.is_open();
    is_run && program_in(&run_label(call)).as_ref() == Some(&printing.program)
}

fn is_empty(run: &CallRecord) -> bool {
    run.succeeded() && output(run).trim().is_empty()
}

/// The program that a command line begins with, without its first slash.
fn program_in(command: &str) -> Option<String> {
    let path = command.trim_start().strip_prefix('/')?;
    let path = normal(path.split(' ').next()?);
    (!path.is_empty()).then_some(path)
}

/// All such programs, where nothing is said of when they print.
fn said_to_print(prompt: &str) -> Vec<Printing> {
    let mut found: Vec<Printing> = Vec::new();
    for (head, command, after) in pieces(prompt) {
        if prints_something(head, behind_brackets(after))
            && let Some(program) = program_in(command)
        {
            found.push(Printing {
                program,
                certain: true,
            });
        }
    }
    let only = only_program(prompt)
        .filter(|program| found.is_empty() && is_said_to_print(prompt, program));
    found.extend(only.map(|program| Printing {
        certain: is_to_be_made(prompt, &program),
        program,
    }));
    found
}

/// Whether the only program of a task is said to print something: "it shall print", "/sum.lua on this computer shall print".
fn is_said_to_print(prompt: &str, program: &str) -> bool {
    let mut places = prompt.match_indices(char::is_whitespace);
    places.any(|(place, _)| {
        let (head, after) = prompt.split_at(place);
        let last_word = head.rsplit(|c: char| !c.is_alphanumeric()).next();
        let is_it = || {
            let is_called = |it: &str| last_word.is_some_and(|word| word.eq_ignore_ascii_case(it));
            let subject = sentence_before(head);
            IT.iter().any(|it| is_called(it)) || mentions(subject, program).next().is_some()
        };
        prints_something(head, after) && is_it()
    })
}

/// Whether what follows says, without a condition, that something is printed.
fn prints_something(head: &str, after: &str) -> bool {
    let Some((text, _)) = says_print(after) else {
        return false;
    };
    let first_word = text.split(|c: char| !c.is_alphanumeric()).next();
    let is_none = first_word.is_some_and(|word| NONE.contains(&word));
    let said = sentence(head, after);
    !is_none && !is_of_today(head, after) && (!has_word(&said, &CONDITIONS) || is_either(&said))
}

/// Whether a sentence says what is printed in one case and in the other: "prints yes when that name is on the list, no when it isn't".
fn is_either(sentence: &str) -> bool {
    let words = sentence.split(|c: char| !c.is_alphanumeric());
    let cases = words.filter(|word| ["when", "if"].contains(word)).count();
    cases > 1 || has_word(sentence, &["otherwise", "else"])
}

/// What stands behind a remark in brackets.
fn behind_brackets(text: &str) -> &str {
    let remark = text.trim_start().strip_prefix('(');
    let behind = remark.and_then(|remark| remark.split_once(')'));
    behind.map_or(text, |(_, behind)| behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, call, carry_out, done, profile_of};
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_said_to_print_something_is_a_command_or_the_only_program() {
        let of = |text: &str| {
            let found = said_to_print(text).into_iter();
            found
                .map(|one| (one.program, one.certain))
                .collect::<Vec<_>>()
        };
        for (text, program, certain) in [
            (
                "Write /wc.lua: `/wc.lua FILE` prints the number of lines.",
                "wc.lua",
                true,
            ),
            (
                "`/rps.lua MOVE` (rock or paper) prints exactly `win` or `lose`",
                "rps.lua",
                true,
            ),
            (
                "/count.lua fails. It shall print the numbers from 1 to 5.",
                "count.lua",
                false,
            ),
            (
                "I'd like a program /ok.lua: it prints yes when a name is there, no when it isn't.",
                "ok.lua",
                true,
            ),
            (
                "The program /sum.lua on this computer shall print the sum of its arguments.",
                "sum.lua",
                false,
            ),
        ] {
            assert_eq!(of(text), [(program.to_owned(), certain)], "{text}");
        }
        for text in [
            "`/a.lua` prints nothing.",
            "`/a.lua` prints something, but should not.",
            "`/a.lua N` prints N if it is a prime number.",
            "If there is no file, `/a.lua` prints an error.",
            "Write /a.lua and /b.lua; that prints the sum.",
            "Write the sum to /a.txt with /a.lua.",
            "Find the machine. It prints money.",
            "`/a.lua",
            "",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }

    #[test]
    fn a_program_that_prints_nothing_where_the_task_says_that_it_prints_has_failed() {
        let task = "Write /wc.lua: `/wc.lua FILE` prints the number of lines of that file. Run it on /poem.txt.";
        let mut drive = Drive::new(profile_of("direct"), task);
        let mut prints = "";
        let mut computer =
            |files: &mut BTreeMap<String, String>, call: &CallRecord| match &call.tool[..] {
                "run_program" => done(json!({"success": true, "output": prints})),
                _ => carry_out(files, call),
            };
        let write = |text: &str| call("fs_write", json!({"path": "/wc.lua", "content": text}));
        let uncalled = write("local function count(path) print(3) end");
        let run = call(
            "run_program",
            json!({"path": "/wc.lua", "args": ["/poem.txt"]}),
        );
        let end = "FINAL ANSWER: it has 3 lines";
        drive.say_with(&[&uncalled, &run, end, end], &mut computer);
        assert!(drive.state().result.is_none());
        let told = "the task says that /wc.lua prints something, and its last run printed nothing";
        assert!(drive.shown().contains(told), "{}", drive.shown());
        let why = "its function `count` is called nowhere";
        assert!(drive.shown().contains(why), "{}", drive.shown());
        assert!(drive.shown().contains("/wc.lua /poem.txt FAILED"));
        prints = "3\n";
        let mut computer =
            |files: &mut BTreeMap<String, String>, call: &CallRecord| match &call.tool[..] {
                "run_program" => done(json!({"success": true, "output": prints})),
                _ => carry_out(files, call),
            };
        drive.say_with(&[&write("print(count())"), &run, end], &mut computer);
        assert!(drive.state().result.is_some(), "{}", drive.shown());
    }
}
