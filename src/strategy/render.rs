//! How a call's end is told to a planner: what it said stands in fences, what it means in plain lines.

use crate::domain::call::{CallReport, Outcome, Target};
use crate::domain::directive::{Action, Directive};
use crate::domain::expectation::{literal_part, printed};
use crate::domain::task::{CallEnd, CallRecord};
use crate::strategy::directive::printer;
use crate::strategy::guards::overwrite::likely_edit;
use crate::strategy::memory::recall::{self, Handle};
use crate::strategy::text::{cut_middle, fenced, head_and_tail, with_repeats_counted};
use crate::strategy::told_json::told_json;
use crate::strategy::words::said_lines;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Fields of a result that hold text for people; everything else is shown as JSON.
const TEXT_FIELDS: [&str; 4] = ["output", "content", "error", "traceback"];

/// The order in which a reader follows what happened.
const SHOWN_FIRST: [&str; 4] = ["write", "run", "output", "content"];

/// How a call is shown.
#[derive(Debug, Clone, Default)]
pub struct Shown<'a> {
    pub expect: Option<&'a str>,
    /// Bounds each text, in bytes.
    pub max_bytes: usize,
    /// Where the rest of a text that was cut can be had.
    pub handle: Option<Handle>,
    /// Lines in place of the `content` of a result.
    pub content: Option<String>,
    /// Words of the task: lines of an output that have one of them stay when it is cut.
    pub words: Vec<&'a str>,
}

/// A call and its end, for people. `max_bytes` bounds each text.
pub fn call(call: &CallRecord, expect: Option<&str>, max_bytes: usize) -> String {
    let shown = Shown {
        expect,
        max_bytes,
        ..Shown::default()
    };
    call_as(call, &shown)
}

/// A call and its end, for a prompt.
pub fn call_as(call: &CallRecord, shown: &Shown<'_>) -> String {
    let place = match &call.intended {
        Some(intended) => format!(" on {}", intended.client_id),
        None => String::new(),
    };
    let mut out = format!(
        "## {}{place}: ",
        crate::strategy::directive::call_title(call)
    );
    match &call.end {
        CallEnd::Open => out.push_str("still running\n"),
        CallEnd::NotPlaced(no_route) => {
            let _ = writeln!(out, "not carried out\n{}", no_route.message);
        }
        CallEnd::Finished(report) => finished(&mut out, call, report, shown),
    }
    match (shown.expect, shown.expect.and_then(literal_part)) {
        (_, Some(text)) => expected(&mut out, call, text),
        // Nobody can match words; the one who wrote them can.
        (Some(words), None) if !words.trim().is_empty() => {
            let words = head_and_tail(words.lines().next().unwrap_or_default(), 200);
            let _ = writeln!(out, "EXPECT was not checked, compare it yourself: {words}");
        }
        _ => {}
    }
    out.trim_end().to_owned()
}

fn expected(out: &mut String, call: &CallRecord, text: &str) {
    let seen = match printed(call, text) {
        Some(true) => "was found in the output",
        Some(false) => "was NOT found in the output",
        None => "was NOT found in what there is of the output",
    };
    let _ = writeln!(out, "EXPECT: \"{text}\" {seen}");
    if printed(call, text) != Some(false) || !call.succeeded() {
        return;
    }
    let path = call.args.get("path").and_then(Value::as_str);
    if let ("run_program", Some(path)) = (call.tool.as_str(), path) {
        let look = Directive {
            action: Action::Tool {
                name: "fs_read".to_owned(),
                args: json!({"path": path}),
            },
            on: match &call.target {
                Target::Computer(id) => Some(id.clone()),
                _ => None,
            },
        };
        let _ = writeln!(
            out,
            "So this run counts as failed. If the output is right, run it without EXPECT; if the program is wrong, look at it and \
             mend it:\n{}",
            printer::print(&look)
        );
    }
}

fn finished(out: &mut String, call: &CallRecord, report: &CallReport, shown: &Shown<'_>) {
    let max_bytes = shown.max_bytes;
    let line = match report.outcome {
        Outcome::Done if report.succeeded() => "done",
        Outcome::Done => "done, and it reports a FAILURE",
        Outcome::Failed => "FAILED",
        Outcome::NotStarted => "not carried out (nothing happened)",
        Outcome::Unknown => "outcome UNKNOWN: it may or may not have happened",
    };
    out.push_str(line);
    out.push('\n');
    if let Some(error) = &report.error {
        let shown = head_and_tail(error, max_bytes);
        let _ = match shown.contains(char::is_control) {
            // What a computer says is data: it may begin no line of its own.
            true => writeln!(out, "error:\n{}", fenced(&shown, "")),
            false => writeln!(out, "error: {shown}"),
        };
    }
    match &report.result {
        Some(Value::Object(fields)) => {
            let long = shown.handle.and(recall::text_of(call));
            object(out, fields, shown, long.as_deref());
        }
        Some(Value::Null) | None => {}
        Some(other) => {
            let _ = writeln!(
                out,
                "{}",
                fenced(&head_and_tail(&told_json(other), max_bytes), "json")
            );
        }
    }
    let said = call.args.get("content").and_then(Value::as_str);
    for file in report.kept_files() {
        let there = file.get("content").and_then(Value::as_str);
        let path = file.get("path").and_then(Value::as_str);
        let edit = said
            .zip(there)
            .and_then(|(said, there)| likely_edit(said, there));
        if let Some(((search, replace), path)) = edit.zip(path) {
            let args = json!({"path": path, "edits": [{"search": search, "replace": replace}]});
            let _ = writeln!(out, "If this line alone was meant: fs_patch {args}");
        }
    }
    if report.truncated {
        out.push_str("(the result was too large and was cut on the computer)\n");
    }
}

/// `long` is the text of which the rest can be had.
fn object(out: &mut String, fields: &Map<String, Value>, shown: &Shown<'_>, long: Option<&str>) {
    let max_bytes = shown.max_bytes;
    let has_text = TEXT_FIELDS.iter().any(|name| fields.contains_key(*name));
    let mut rest = Map::new();
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| {
        SHOWN_FIRST
            .iter()
            .position(|first| first == name)
            .unwrap_or(SHOWN_FIRST.len())
    });
    for (name, value) in fields {
        match value {
            // `write_and_run` reports the two parts apart.
            Value::Object(part) if name == "write" || name == "run" => {
                let success = part.get("success") == Some(&Value::Bool(true));
                let _ = writeln!(out, "{name}: {}", if success { "ok" } else { "FAILED" });
                object(out, part, shown, long);
            }
            Value::String(_) if name == "content" && shown.content.is_some() => {
                let _ = writeln!(
                    out,
                    "content: {}",
                    shown.content.as_deref().unwrap_or_default()
                );
            }
            Value::String(text) if TEXT_FIELDS.contains(&name.as_str()) => {
                let rest = |offset| {
                    let handle = shown.handle.filter(|_| long == Some(text.as_str()));
                    handle.map(|handle| handle.words(offset))
                };
                let text = if text.is_empty() {
                    "(nothing)".to_owned()
                } else {
                    let cut = said_lines::cut(text, max_bytes, &shown.words, rest);
                    let cut = match name == "output" {
                        true => with_repeats_counted(&cut),
                        false => cut,
                    };
                    format!("\n{}", fenced(&cut, ""))
                };
                let _ = writeln!(out, "{name}: {text}");
            }
            // Said already, or of no use to a planner.
            _ if matches!(name.as_str(), "success" | "duration_ms") => {}
            // A text that was cut shows it, and of a list the whole result can be had again.
            Value::Bool(false) if has_text && name == "truncated" => {}
            Value::Null => {}
            _ => {
                rest.insert(name.clone(), value.clone());
            }
        }
    }
    if !rest.is_empty() {
        let json = told_json(&Value::Object(rest));
        let handle = shown.handle.filter(|_| long == Some(json.as_str()));
        let more = |offset| handle.map(|handle| handle.words(offset));
        let cut = cut_middle(&json, max_bytes, more);
        let _ = match cut.contains('\n') {
            // Where it was cut, a line begins with whatever stood there.
            true => writeln!(out, "{}", fenced(&cut, "")),
            false => writeln!(out, "{cut}"),
        };
    }
}
