//! The newest failure that a prompt goes on showing, with the line of the program where it happened.

use super::contents;
use super::pins::runs;
use crate::domain::fold::{run_label, run_on};
use crate::domain::task::{CallRecord, Step, TaskState};
use crate::strategy::answers::meant_words::meant;
use crate::strategy::guards::check_program::is_check;
use crate::strategy::guards::failure_text;
use crate::strategy::lua_text::missing_functions;
use crate::strategy::paths::normal;
use crate::strategy::text::head_and_tail;
use serde::Serialize;

/// The newest failure that nothing has shown to be mended.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FailurePin {
    pub text: String,
    /// `file:line`, and the line itself where the file is known.
    pub line: Option<String>,
    /// Only where a compaction took the result that holds it.
    pub trace: Option<String>,
    /// A program did not do what it should.
    #[serde(skip)]
    pub of_run: bool,
}

impl FailurePin {
    /// A run that ended well and shows that the program is wrong.
    pub fn of_run(text: String) -> Self {
        FailurePin {
            text,
            of_run: true,
            ..FailurePin::default()
        }
    }
}

/// Bytes of a failure's text and of its trace.
const FAILURE_BYTES: usize = 600;
const TRACE_BYTES: usize = 800;

/// The newest failed call. A failed run stays pinned until the same run succeeds, another failure until something
/// else was done.
pub fn newest(state: &TaskState) -> Option<FailurePin> {
    let home = state.home();
    let mut newer: Vec<(&Step, &CallRecord)> = Vec::new();
    let steps = state.steps.iter().filter(|step| !step.looks_first());
    let calls = steps.flat_map(|step| step.calls.iter().map(move |call| (step, call)));
    for (step, call) in calls.rev().filter(|(_, call)| !call.is_open()) {
        if !step.passed(call) {
            let mended = newer.iter().any(|(step, later)| {
                step.passed(later) && runs(later) && run_on(home, later) == run_on(home, call)
            });
            let passed = !runs(call) && !newer.is_empty();
            if !mended && !passed {
                return Some(pin_failure(state, step, call));
            }
        }
        newer.push((step, call));
    }
    None
}

fn pin_failure(state: &TaskState, step: &Step, call: &CallRecord) -> FailurePin {
    let text = match step.missed(call).filter(|_| call.succeeded()) {
        Some(missed) => format!("{}: \"{missed}\" is not in its output", run_label(call)),
        None => failure_text(call),
    };
    let trace = trace_of(call);
    let at = place(&text).or_else(|| trace.and_then(place));
    let at = at.map(|at| below_check(state, call, &at.0).unwrap_or(at));
    let told = match meant(state, call, &text) {
        Some((_, word)) => Some(format!("the task says {word}: call it with that")),
        None => missing_functions::told(&text),
    };
    let text = match told {
        Some(told) => format!("{text}; {told}"),
        None => text,
    };
    // Until then it stands in the step's own result, word for word.
    let compacted = state.compaction.as_ref();
    let is_gone = compacted.is_some_and(|facts| step.number <= facts.upto_step);
    FailurePin {
        line: at.map(|(file, line)| with_source(state, call, &file, line)),
        trace: trace
            .filter(|trace| is_gone && !text.contains(trace.trim()))
            .map(|trace| head_and_tail(trace, TRACE_BYTES)),
        text: head_and_tail(&text, FAILURE_BYTES),
        of_run: runs(call),
    }
}

fn trace_of(call: &CallRecord) -> Option<&str> {
    said(call, ["/traceback", "/run/traceback"]).filter(|trace| !trace.is_empty())
}

fn said<'a>(call: &'a CallRecord, at: [&str; 2]) -> Option<&'a str> {
    let result = call.report()?.result.as_ref()?;
    at.iter().find_map(|at| result.pointer(at)?.as_str())
}

/// Where a program failed that a check ran: the error is the check's own, and what the program said is in its output.
fn below_check(state: &TaskState, call: &CallRecord, failed: &str) -> Option<(String, usize)> {
    let prompt = &state.created.as_ref()?.prompt;
    if !is_check(prompt, &normal(failed)) {
        return None;
    }
    let output = said(call, ["/output", "/run/output"])?;
    place(output).filter(|(file, _)| file.ends_with(".lua") && file != failed)
}

/// The first `file:line:` in an error text, as Lua writes it.
fn place(text: &str) -> Option<(String, usize)> {
    let mut from = 0;
    while let Some(found) = text[from..].find(':') {
        let colon = from + found;
        let digits: String = text[colon + 1..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        let after = &text[colon + 1 + digits.len()..];
        let name = text[..colon]
            .rsplit(|c: char| c.is_whitespace() || "\"'([".contains(c))
            .next()
            .unwrap_or_default();
        let ends = after.is_empty() || after.starts_with([':', ' ', '\n', ')', '"']);
        if let Ok(line) = digits.parse::<usize>()
            && !name.is_empty()
            && name.chars().any(char::is_alphabetic)
            && ends
        {
            return Some((name.to_owned(), line));
        }
        from = colon + 1;
    }
    None
}

/// `file:line: the line`, if the file's content is known.
fn with_source(state: &TaskState, call: &CallRecord, file: &str, line: usize) -> String {
    let known = contents::newest(state, call, file);
    let source = known.and_then(|content| content.lines().nth(line.saturating_sub(1)));
    match source.map(str::trim).filter(|source| !source.is_empty()) {
        Some(source) => {
            let source: String = source.chars().take(160).collect();
            format!("{file}:{line}: {source}")
        }
        None => format!("{file}:{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_failing_line_is_found_in_what_lua_says() {
        for (text, expected) in [
            (
                "run_program: TODO.lua:12: attempt to index nil",
                Some(("TODO.lua", 12)),
            ),
            ("/lib/a.lua:3: bad", Some(("/lib/a.lua", 3))),
            ("[string \"x.lua\"]:4: oops", None),
            (
                "stack traceback:\n\t/x.lua:7: in function 'f'",
                Some(("/x.lua", 7)),
            ),
            ("at 12:30:00 it failed", None),
            ("http://10.0.0.1:80/ refused", None),
            ("shell: no such program", None),
        ] {
            let expected = expected.map(|(file, line)| (file.to_owned(), line));
            assert_eq!(place(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn looking_for_a_line_in_noise_never_panics(text in "(:|[0-9]{1,3}|a.lua|\\PC){0,40}") {
            let _ = place(&text);
        }
    }
}
