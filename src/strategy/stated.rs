//! What a task's own words say that a program prints, "`/sum.lua 2 3 4` prints 9": an end after a run that printed something else
//! is told so. "prints" may tell of today ("`/sum.lua 2 3` prints 23. Mend it."), so who says the same again is believed then; what a
//! program shall print, or did not print before the task changed anything, is certain.

use super::turn::Turn;
use super::unchanged::changes;
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
    /// It is said of what shall be.
    wanted: bool,
}

/// A run whose last output is not what the task's words say of it.
pub struct Unlike<'a> {
    pub run: &'a str,
    pub words: String,
    /// The words cannot be meant otherwise.
    pub certain: bool,
}

/// How an output is announced behind the command, and whether as what shall be.
const PRINTS: [(&str, bool); 6] = [
    ("prints", false),
    ("then prints", false),
    ("shall print", true),
    ("should print", true),
    ("must print", true),
    ("has to print", true),
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
    /// The last run of a program that did not print what the task's words say of it. Where they may be meant otherwise it is told
    /// once of each output.
    pub(super) fn unlike_stated(&self) -> Option<String> {
        let told = |words: &str| {
            let mut steps = self.state.steps.iter();
            let said = |step: &Step| step.blocked.as_ref().map(|b| b.evidence.contains(words));
            steps.any(|step| said(step) == Some(true))
        };
        let mut unlike = unlike(self.state).into_iter();
        let unlike = unlike.find(|unlike| unlike.certain || !told(&unlike.words))?;
        let otherwise = match unlike.certain {
            true => "",
            false => "; if the task does not mean that, end it once more",
        };
        let words = unlike.words;
        Some(format!(
            "{words}. Mend what is wrong and run it again{otherwise}"
        ))
    }
}

/// All such runs.
pub fn unlike(state: &TaskState) -> Vec<Unlike<'_>> {
    let created = state.created.as_ref();
    let prompt = created.map_or("", |created| created.prompt.as_str());
    let all = stated(prompt).into_iter();
    all.filter_map(|stated| {
        Some(Unlike {
            run: stated.run,
            words: difference(state, &stated)?,
            certain: stated.wanted || is_not_of_today(state, &stated),
        })
    })
    .collect()
}

/// Whether the program printed something else before the task changed anything: then the words cannot tell of that.
fn is_not_of_today(state: &TaskState, stated: &Stated<'_>) -> bool {
    let mut before = state.calls().take_while(|call| !changes(call));
    before.any(|call| is_run_of(call, stated) && call.succeeded() && lacks(call, stated))
}

fn is_run_of(call: &CallRecord, stated: &Stated<'_>) -> bool {
    !call.is_open() && run_label(call).trim() == stated.run
}

fn lacks(call: &CallRecord, stated: &Stated<'_>) -> bool {
    printed(call, stated.text) == Some(false)
}

fn difference(state: &TaskState, stated: &Stated<'_>) -> Option<String> {
    let mut newest = state.calls().rev();
    let call = newest.find(|call| is_run_of(call, stated))?;
    let differs = call.succeeded() && lacks(call, stated);
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
        if let Some((text, wanted)) = announced(after, quoted)
            && is_run(run)
            && !of_today(before, after)
        {
            found.push(Stated { run, text, wanted });
        }
        before = after;
    }
    found
}

/// The text that is said to be printed, in quotes of any kind or a number, and whether as what shall be.
fn announced<'a>(after: &'a str, quoted: Option<&'a str>) -> Option<(&'a str, bool)> {
    let after = after.trim_start();
    let mut all = PRINTS.iter();
    let (rest, wanted) =
        all.find_map(|(words, wanted)| Some((after.strip_prefix(words)?, *wanted)))?;
    let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let text = match rest.strip_prefix('"') {
        Some(inside) => inside.split_once('"')?.0,
        None if rest.is_empty() => quoted?,
        None => {
            let word = rest.split(|c: char| c.is_whitespace() || c == ',').next()?;
            let number = word.trim_end_matches(['.', ';', ':', ')', '!']);
            number.parse::<f64>().ok().map(|_| number)?
        }
    };
    let is_one = !text.trim().is_empty() && !text.split_whitespace().any(is_placeholder);
    is_one.then_some((text, wanted))
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

    #[test]
    fn an_end_after_an_output_that_is_certainly_wrong_is_never_taken() {
        let run = json!({"tool": "run_program", "args": {"path": "/sum.lua", "args": ["2", "3"]}});
        let (run, end) = (run.to_string(), "FINAL ANSWER: mended");
        for prompt in [
            "Mend /sum.lua: `/sum.lua 2 3` prints 5.",
            "Mend /sum.lua: `/sum.lua 2 3` shall print 5.",
        ] {
            let mut drive = Drive::new(profile_of("direct"), prompt);
            drive.files.insert("/sum.lua".into(), "print(23)".into());
            drive.say(&[&run, end, end, end]);
            assert!(drive.bench.state.result.is_none(), "{prompt}");
            assert!(drive.shown().contains("/sum.lua 2 3 FAILED"), "{prompt}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(`|\"|prints|shall print|/a.lua| |[0-9.]{1,3}|\\PC){0,40}") {
            let _ = stated(&text);
        }
    }
}
