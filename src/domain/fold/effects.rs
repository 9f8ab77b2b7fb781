//! What a finished call says about files and tests: the books from which pins, proof and facts are made.

use crate::domain::call::{CallReport, Outcome};
use crate::domain::ids::BlobHash;
use crate::domain::task::{CallRecord, FileRecord};
use serde_json::Value;

/// What a finished call says about files and tests.
#[derive(Default)]
pub(super) struct Effects {
    pub files: Vec<(String, FileRecord)>,
    pub gone: Vec<String>,
    pub changed: bool,
    pub test: Option<(String, bool)>,
}

/// Reads the effects of the core tools (source document 001 §7) out of a call. A test is a program that ran; other
/// tools change nothing that the task keeps books on, and prove nothing.
pub(super) fn effects_of(call: &CallRecord, report: &CallReport) -> Effects {
    let text = |key: &str| {
        call.args
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut effects = Effects::default();
    let ran = matches!(report.outcome, Outcome::Done | Outcome::Failed);
    let may_have_run = ran || report.outcome == Outcome::Unknown;
    match call.tool.as_str() {
        "fs_list" => {}
        "fs_read" => {
            let content = report
                .result
                .as_ref()
                .and_then(|r| r.get("content"))
                .and_then(Value::as_str);
            let whole = !report.truncated
                && report.result.as_ref().and_then(|r| r.get("truncated"))
                    != Some(&Value::Bool(true));
            if let (Some(path), Some(content), true) = (text("path"), content, whole) {
                effects.files.push((path, file_record(content, false)));
            }
        }
        "fs_write" | "write_and_run" => {
            effects.changed = may_have_run;
            let wrote = report.outcome == Outcome::Done
                && report
                    .result
                    .as_ref()
                    .and_then(|r| r.pointer("/write/success"))
                    != Some(&Value::Bool(false));
            if let (Some(path), Some(content), true) = (text("path"), text("content"), wrote) {
                effects
                    .files
                    .push((path.clone(), file_record(&content, true)));
            }
            let started = report
                .result
                .as_ref()
                .is_some_and(|r| r.get("run").is_some_and(|r| !r.is_null()));
            if call.tool == "write_and_run" && ran && started {
                effects.test = Some((run_label(call), report.succeeded()));
            }
        }
        "fs_delete" | "fs_move" => {
            effects.changed = may_have_run;
            effects.gone.extend(text("path").or(text("from")));
        }
        "shell_exec" if text("command").is_some_and(|c| is_one_of(LOOKING, &c)) => {}
        "shell_exec" if text("command").is_some_and(|c| is_one_of(MOVING, &c)) => {
            effects.changed = may_have_run;
        }
        "run_program" | "shell_exec" if ran => {
            effects.test = Some((run_label(call), report.succeeded()));
        }
        _ => {}
    }
    effects
}

/// CraftOS programs that only look, or only move files about: running one proves nothing of what was written.
const LOOKING: &[&str] = &["cd", "clear", "dir", "id", "label", "list", "ls", "type"];
const MOVING: &[&str] = &[
    "copy", "cp", "delete", "mkdir", "move", "mv", "rename", "rm",
];

fn is_one_of(programs: &[&str], command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    programs.contains(&program)
}

fn file_record(content: &str, written: bool) -> FileRecord {
    let hash = BlobHash::of(content).0;
    FileRecord {
        hash: hash[..12].to_owned(),
        bytes: content.len(),
        step: 0,
        written,
    }
}

/// How a run is named in lists of tests: the command line, or the tool.
pub fn run_label(call: &CallRecord) -> String {
    if let Some(command) = call.args.get("command").and_then(Value::as_str) {
        return command.to_owned();
    }
    let Some(path) = call.args.get("path").and_then(Value::as_str) else {
        return call.tool.clone();
    };
    let args = call.args.get("args").and_then(Value::as_array);
    let words = args.into_iter().flatten().filter_map(Value::as_str);
    std::iter::once(path)
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}
