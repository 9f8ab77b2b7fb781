//! What came of a step, for the steps after it, for the planner and for people: a heading, each call by what its tool
//! tells, failures in plain words. What tools and programs said stands in fences.

use super::rules::title;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::expectation::{literal_part, printed};
use crate::domain::step::{CallEnd, CallRecord, QuestionRecord};
use crate::domain::work::plan::{Settled, StepState, StepWork};
use crate::strategy::directive::call_title;
use crate::strategy::guards::failure_text;
use crate::strategy::text::{fenced, head_and_tail, with_repeats_counted};
use serde_json::Value;

/// One step's result, not yet cut to any size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Without a line end.
    pub heading: String,
    pub failure: Option<String>,
    pub lines: Vec<Line>,
    /// Whoever reads this builds on it: it is shortened last.
    pub is_needed: bool,
}

/// A piece of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// Our own words, one line.
    Words(String),
    /// What somebody else wrote: data.
    Data { label: String, text: String },
}

/// What happened in a step beside what stands in the books.
#[derive(Debug, Clone, Default)]
pub struct Happened<'a> {
    /// In the order in which they were made.
    pub calls: Vec<&'a CallRecord>,
    /// Why each call was made, as far as an executor said so.
    pub reasons: Vec<&'a str>,
    /// What a model said in a step that is done by thinking.
    pub words: Option<&'a str>,
    pub question: Option<&'a QuestionRecord>,
}

impl Section {
    /// The section with each text of at most `max` bytes; 0 leaves them out.
    pub fn render(&self, max: usize) -> String {
        let mut out = format!("### {}\n", self.heading);
        if let Some(failure) = &self.failure {
            out.push_str(&format!(
                "Failed: {}\n",
                head_and_tail(failure, max.clamp(80, 600))
            ));
        }
        if max == 0 {
            return out;
        }
        for line in &self.lines {
            match line {
                Line::Words(words) => {
                    out.push_str(&format!("{}\n", head_and_tail(words, max.max(80))))
                }
                Line::Data { label, text } if text.is_empty() => {
                    out.push_str(&format!("{label}: (nothing)\n"));
                }
                Line::Data { label, text } => {
                    out.push_str(&format!(
                        "{label}:\n{}\n",
                        fenced(&head_and_tail(text, max), "")
                    ));
                }
            }
        }
        out
    }
}

/// The section of a step.
pub fn section(work: &StepWork, happened: &Happened<'_>) -> Section {
    let step = &work.step;
    let outcome = match &work.state {
        StepState::Settled(Settled::Carried { from }) => format!("done, as in step {from}"),
        StepState::Settled(Settled::Failed { .. }) => "FAILED".to_owned(),
        StepState::Skipped { because: 0 } => "given up for another plan".to_owned(),
        StepState::Skipped { because } => format!("skipped, because step {because} failed"),
        _ => work.outcome().to_owned(),
    };
    let mut lines = Vec::new();
    for (at, call) in happened.calls.iter().enumerate() {
        if let Some(why) = happened.reasons.get(at).filter(|why| !why.is_empty()) {
            lines.push(Line::Words(format!("why: {why}")));
        }
        told(call, &mut lines);
    }
    if let Some(words) = happened.words {
        lines.push(data("analysis", words));
    }
    if let Some(asked) = happened.question {
        question(asked, &mut lines);
    }
    if let Some(expected) = &step.expected_outcome {
        lines.push(Line::Words(expectation(expected, happened)));
    }
    Section {
        heading: format!("Step {}: {} — {outcome}", step.id, title(step)),
        failure: work.error().map(str::to_owned),
        lines,
        is_needed: false,
    }
}

fn data(label: &str, text: &str) -> Line {
    Line::Data {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}

fn question(asked: &QuestionRecord, lines: &mut Vec<Line>) {
    match &asked.answer {
        Some(answer) => {
            let proven = if answer.authenticated {
                ""
            } else {
                " (not authenticated)"
            };
            lines.push(data(
                &format!("{} answered{proven}", answer.by),
                &answer.answer,
            ));
        }
        None => lines.push(Line::Words(
            "nobody answered in time; that is no consent".to_owned(),
        )),
    }
}

/// Only a quoted text is looked for; the rest is for whoever reads.
fn expectation(expected: &str, happened: &Happened<'_>) -> String {
    let seen = literal_part(expected).map(|text| {
        let mut calls = happened.calls.iter();
        let found = calls.any(|call| printed(call, text) == Some(true));
        if found { " (found)" } else { " (NOT found)" }
    });
    format!("expected: {expected}{}", seen.unwrap_or_default())
}

/// A call and what its tool told.
fn told(call: &CallRecord, lines: &mut Vec<Line>) {
    let place = call
        .intended
        .as_ref()
        .map(|i| format!(" on {}", i.client_id));
    let title = format!("{}{}", call_title(call), place.unwrap_or_default());
    let CallEnd::Finished(report) = &call.end else {
        let end = match &call.end {
            CallEnd::NotPlaced(no_route) => {
                format!("{title}: not carried out: {}", no_route.message)
            }
            _ => format!("{title}: still running"),
        };
        lines.push(Line::Words(end));
        return;
    };
    let said = match report.outcome {
        Outcome::Done if report.succeeded() => "ok",
        Outcome::Done => "ran and FAILED",
        Outcome::Failed => "FAILED",
        Outcome::NotStarted => "not carried out, nothing happened",
        Outcome::Unknown => "outcome UNKNOWN: it may or may not have happened",
    };
    lines.push(Line::Words(format!("{title}: {said}")));
    if !report.succeeded() {
        lines.push(data("error", &failure_text(call)));
    }
    let kept = report.kept_files();
    for file in &kept {
        let text = |key: &str| file.get(key).and_then(Value::as_str);
        let label = format!("content of {} now", text("path").unwrap_or_default());
        lines.push(data(&label, text("content").unwrap_or_default()));
    }
    if let Some(result) = report.result.as_ref().filter(|_| kept.is_empty()) {
        result_of(&call.tool, result, lines);
    }
    cut(report, lines);
}

fn cut(report: &CallReport, lines: &mut Vec<Line>) {
    let more = report.result.as_ref().and_then(|r| r.get("truncated")) == Some(&Value::Bool(true));
    if report.truncated || more {
        lines.push(Line::Words("(there is more than is shown here)".to_owned()));
    }
}

/// What a tool's result says, by tool.
fn result_of(tool: &str, result: &Value, lines: &mut Vec<Line>) {
    let text = |at: &str| result.pointer(at).and_then(Value::as_str);
    let number = |at: &str| result.pointer(at).and_then(Value::as_u64);
    let path = text("/path").unwrap_or_default();
    match tool {
        "fs_read" if text("/content").is_some() => {
            let size = number("/bytes").map(|bytes| format!(" ({bytes} bytes)"));
            let label = format!("content of {path}{}", size.unwrap_or_default());
            lines.push(data(&label, text("/content").unwrap_or_default()));
        }
        "fs_write" if number("/bytes").is_some() => lines.push(Line::Words(written(result))),
        "fs_write_many" if result.get("files").is_some_and(Value::is_array) => {
            let files = result
                .get("files")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            lines.extend(files.map(|file| Line::Words(written(file))));
        }
        "fs_patch" if number("/bytes").is_some() => lines.push(Line::Words(format!(
            "changed {path}: {} lines added, {} removed, {} bytes now",
            number("/lines_added").unwrap_or(0),
            number("/lines_removed").unwrap_or(0),
            number("/bytes").unwrap_or(0)
        ))),
        "run_program" | "shell_exec" => ran(result, lines),
        "write_and_run" => {
            if number("/write/bytes").is_some() {
                lines.push(Line::Words(format!(
                    "wrote {} bytes",
                    number("/write/bytes").unwrap_or(0)
                )));
            }
            if let Some(run) = result.get("run").filter(|run| run.is_object()) {
                ran(run, lines);
            }
        }
        "fs_list" if result.get("entries").is_some_and(Value::is_array) => {
            lines.push(data(
                &format!("entries of {path}"),
                &names(result, "entries", "name"),
            ));
        }
        "fs_find" if result.get("found").is_some_and(Value::is_array) => {
            lines.push(data("found", &names(result, "found", "path")));
        }
        "fs_grep" if result.get("matches").is_some_and(Value::is_array) => {
            lines.push(data("matches", &matches(result)));
        }
        _ => lines.push(data("result", &result.to_string())),
    }
}

fn written(file: &Value) -> String {
    let made = if file.get("created") == Some(&Value::Bool(true)) {
        " (a new file)"
    } else {
        ""
    };
    let bytes = file.get("bytes").and_then(Value::as_u64).unwrap_or(0);
    let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
    format!("wrote {bytes} bytes to {path}{made}")
}

/// How a program ended and what it printed.
fn ran(run: &Value, lines: &mut Vec<Line>) {
    let text = |key: &str| run.get(key).and_then(Value::as_str);
    let exit = if run.get("timed_out") == Some(&Value::Bool(true)) {
        "stopped at its time limit"
    } else if run.get("success") == Some(&Value::Bool(false)) {
        "with an error"
    } else {
        "well"
    };
    lines.push(Line::Words(format!("exit: {exit}")));
    let output = with_repeats_counted(text("output").unwrap_or_default());
    lines.push(data("output", &output));
    for key in ["error", "traceback"] {
        if let Some(text) = text(key).filter(|text| !text.is_empty()) {
            lines.push(data(key, text));
        }
    }
}

fn names(result: &Value, list: &str, field: &str) -> String {
    let items = result
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let name = |item: &Value| {
        let name = item.get(field)?.as_str()?;
        let is_dir = item.get("is_dir") == Some(&Value::Bool(true));
        let size = item.get("size").and_then(Value::as_u64).filter(|_| !is_dir);
        let size = size
            .map(|bytes| format!(" ({bytes} bytes)"))
            .unwrap_or_default();
        Some(format!("{name}{}{size}", if is_dir { "/" } else { "" }))
    };
    items.filter_map(name).collect::<Vec<_>>().join("\n")
}

fn matches(result: &Value) -> String {
    let items = result
        .get("matches")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let line = |item: &Value| {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let number = item.get("line")?.as_u64()?;
        Some(format!("{}:{number}: {}", text("path")?, text("text")?))
    };
    items.filter_map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "summary_tests.rs"]
pub mod tests;
