//! What a task's own words say that a program prints, "`/sum.lua 2 3 4` prints 9": an end after a run that printed something else
//! is told so. Words can be meant otherwise, so whoever says the same again is believed.

use super::turn::Turn;
use crate::domain::call::CallReport;
use crate::domain::expectation::printed;
use crate::domain::fold::run_label;
use crate::domain::task::{CallRecord, Step, TaskState};
use crate::strategy::text::head_and_tail;
use serde_json::Value;

/// A run and what it prints.
#[derive(Debug, PartialEq)]
struct Stated<'a> {
    run: &'a str,
    text: &'a str,
}

/// How an output is announced behind the command.
const PRINTS: [&str; 6] = [
    "prints",
    "shall print",
    "should print",
    "must print",
    "has to print",
    "then prints",
];

/// Words of a sentence that tells what is wrong today.
const TODAY: [&str; 8] = [
    "wrong",
    "but ",
    "instead",
    "currently",
    "at present",
    "today",
    "at the moment",
    "right now",
];

/// Bytes of an output that are shown.
const SHOWN: usize = 200;

impl Turn<'_> {
    /// The last run of a program that did not print what the task's words say of it, unless that was told of this very output.
    pub(super) fn unlike_stated(&self) -> Option<String> {
        let told = |words: &str| {
            let mut steps = self.state.steps.iter();
            let said = |step: &Step| step.blocked.as_ref().map(|b| b.evidence.contains(words));
            steps.any(|step| said(step) == Some(true))
        };
        let mut unlike = unlike(self.state).into_iter();
        let (_, words) = unlike.find(|(_, words)| !told(words))?;
        Some(format!(
            "{words}. Mend what is wrong and run it again; if the task does not mean that, end it once more"
        ))
    }
}

/// The runs whose last output is not what the task's words say of it, with words for each.
pub fn unlike(state: &TaskState) -> Vec<(&str, String)> {
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let all = stated(prompt).into_iter();
    all.filter_map(|stated| Some((stated.run, difference(state, &stated)?)))
        .collect()
}

fn difference(state: &TaskState, stated: &Stated<'_>) -> Option<String> {
    let call = state
        .calls()
        .rev()
        .find(|call| !call.is_open() && run_label(call).trim() == stated.run)?;
    let differs = call.succeeded() && printed(call, stated.text) == Some(false);
    let printed = match output(call).trim() {
        "" => "nothing".to_owned(),
        output => format!("\"{}\"", head_and_tail(output, SHOWN)),
    };
    differs.then(|| {
        format!(
            "the task says that `{}` prints {}, and its last run printed {printed}",
            stated.run, stated.text
        )
    })
}

fn output(call: &CallRecord) -> &str {
    let result = call
        .report()
        .and_then(|report: &CallReport| report.result.as_ref());
    let at = |place: &str| result?.pointer(place).and_then(Value::as_str);
    at("/output")
        .or_else(|| at("/run/output"))
        .unwrap_or_default()
}

/// All such statements of a text, where the command and the output are given as they are.
fn stated(prompt: &str) -> Vec<Stated<'_>> {
    let mut found = Vec::new();
    let mut pieces = prompt.split('`');
    let mut before = pieces.next().unwrap_or_default();
    while let (Some(run), Some(after)) = (pieces.next(), pieces.next()) {
        // What stands behind the words may be in the next quotes.
        let quoted = pieces.clone().next();
        if let Some(text) = announced(after, quoted)
            && is_run(run)
            && !of_today(before, after)
        {
            found.push(Stated { run, text });
        }
        before = after;
    }
    found
}

/// The text that is said to be printed: in quotes of any kind, or a number.
fn announced<'a>(after: &'a str, quoted: Option<&'a str>) -> Option<&'a str> {
    let mut words = PRINTS
        .iter()
        .filter_map(|words| after.trim_start().strip_prefix(words));
    let rest = words
        .next()?
        .strip_prefix(char::is_whitespace)?
        .trim_start();
    let text = match rest.strip_prefix('"') {
        Some(inside) => inside.split_once('"')?.0,
        None if rest.is_empty() => quoted?,
        None => {
            let word = rest.split(|c: char| c.is_whitespace() || c == ',').next()?;
            let number = word.trim_end_matches(['.', ';', ':', ')', '!']);
            number.parse::<f64>().ok().map(|_| number)?
        }
    };
    (!text.trim().is_empty() && !text.split_whitespace().any(is_placeholder)).then_some(text)
}

/// A program with its path, and arguments that are meant as they stand.
fn is_run(run: &str) -> bool {
    let mut words = run.split(' ');
    let program = words
        .next()
        .is_some_and(|word| word.starts_with('/') && word.len() > 1);
    program && words.all(|word| !word.is_empty() && !is_placeholder(word))
}

/// `FILE`, `NAME`: to be replaced by something.
fn is_placeholder(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(char::is_uppercase)
}

/// Whether the sentence around a statement may be about what is wrong.
fn of_today(before: &str, after: &str) -> bool {
    let ends = ['.', '!', '?', ':', ';', '\n'];
    let before = before.rsplit(ends).next().unwrap_or_default();
    // A number's own point is no end.
    let mut after = after.split(". ").next().unwrap_or_default();
    after = after
        .split(['!', '?', ';', '\n'])
        .next()
        .unwrap_or_default();
    let sentence = format!("{before} {after}").to_lowercase();
    TODAY.iter().any(|word| sentence.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, profile_of};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_statement_names_a_whole_command_and_the_very_output() {
        let of = |text| {
            let found = stated(text);
            found
                .into_iter()
                .map(|s| (s.run.to_owned(), s.text.to_owned()))
                .collect::<Vec<_>>()
        };
        for (text, run, output) in [
            (
                "It shall print the sum: `/sum.lua 2 3 4` prints 9. It does not.",
                "/sum.lua 2 3 4",
                "9",
            ),
            (
                "prints a wrong area: `/area.lua 3 4` shall print 12. The fault",
                "/area.lua 3 4",
                "12",
            ),
            ("`/half.lua` should print 0.5, no more", "/half.lua", "0.5"),
            (
                "`/hello.lua` must print `Hello, World!`.",
                "/hello.lua",
                "Hello, World!",
            ),
            (
                "`/hello.lua` prints \"hello\" at its end",
                "/hello.lua",
                "hello",
            ),
        ] {
            assert_eq!(of(text), [(run.to_owned(), output.to_owned())], "{text}");
        }
        for text in [
            "`/wc.lua FILE` prints the number of lines",
            "`/wc.lua FILE` prints `LINES WORDS`",
            "`/wc.lua a.txt` prints `LINES WORDS`",
            "`/rps.lua rock` (each) prints exactly `win`",
            "`sum 2 3` prints 5",
            "`/sum.lua 2 3` prints 23 instead of 5",
            "`/sum.lua 2 3` prints 23, but should not",
            "Currently `/sum.lua 2 3` prints 23.",
            "`/sum.lua",
            "",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }

    #[test]
    fn an_end_after_another_output_is_told_once_of_each() {
        let mut drive = Drive::new(
            profile_of("direct"),
            "Mend /sum.lua: `/sum.lua 2 3` prints 5.",
        );
        let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
        let write =
            |content: &str| call("fs_write", json!({"path": "/sum.lua", "content": content}));
        let run = call(
            "run_program",
            json!({"path": "/sum.lua", "args": ["2", "3"]}),
        );
        drive.say(&[&write("print(23)"), &run, "FINAL ANSWER: mended"]);
        let told = drive.shown();
        assert!(
            told.contains("the task says that `/sum.lua 2 3` prints 5, and its last run printed"),
            "{told}"
        );
        assert!(drive.bench.state.result.is_none());
        // It stands at the end of each prompt from the run on.
        assert!(told.contains("/sum.lua 2 3 FAILED"), "{told}");
        drive.say(&["FINAL ANSWER: mended"]);
        assert!(drive.bench.state.result.is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(`|\"|prints|shall print|/a.lua| |[0-9.]{1,3}|\\PC){0,40}") {
            let _ = stated(&text);
        }
    }
}
