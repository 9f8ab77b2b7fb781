//! Whole contents of files that a task's calls wrote or showed.

use crate::domain::call::CallReport;
use crate::domain::files;
use crate::domain::ids::ClientId;
use crate::domain::task::{CallRecord, TaskState};
use serde_json::Value;

/// The path and whole content that a call wrote or read, or that it was shown and left alone.
pub fn content_in(call: &CallRecord) -> Option<(String, &str)> {
    let path = call.args.get("path").and_then(Value::as_str)?;
    let report = call.report()?;
    let content = match report.kept_files().first() {
        Some(kept) => whole_in(kept)?,
        None => match call.tool.as_str() {
            "fs_read" if call.succeeded() => whole_read(call, report)?,
            "fs_write" if call.succeeded() => written(call)?,
            "write_and_run" if call.succeeded() || wrote(report) => written(call)?,
            _ => return None,
        },
    };
    Some((files::from_root(path), content))
}

/// Whether the content of [`content_in`] is the task's own, and no other that it was shown.
pub fn is_own(call: &CallRecord) -> bool {
    call.tool != "fs_read" && !call.kept_a_file()
}

fn written(call: &CallRecord) -> Option<&str> {
    call.args.get("content").and_then(Value::as_str)
}

/// A program may fail after it was written.
fn wrote(report: &CallReport) -> bool {
    let result = report.result.as_ref();
    result.and_then(|result| result.pointer("/write/success")) == Some(&Value::Bool(true))
}

fn whole_in(kept: &Value) -> Option<&str> {
    let whole = kept.get("truncated") == Some(&Value::Bool(false));
    kept.get("content")?.as_str().filter(|_| whole)
}

fn whole_read<'a>(call: &CallRecord, report: &'a CallReport) -> Option<&'a str> {
    let result = report.result.as_ref()?;
    let cut = report.truncated || result.get("truncated") == Some(&Value::Bool(true));
    let skipped = call.args.get("offset").and_then(Value::as_u64).unwrap_or(0) > 0;
    let content = result.get("content").and_then(Value::as_str)?;
    (!cut && !skipped).then_some(content)
}

fn patched(call: &CallRecord) -> Option<String> {
    let patches = call.tool == "fs_patch" && call.succeeded();
    let path = call.args.get("path").filter(|_| patches)?;
    path.as_str().map(files::from_root)
}

fn computer(call: &CallRecord) -> Option<&ClientId> {
    call.intended.as_ref().map(|intended| &intended.client_id)
}

/// What a file holds now as far as the task's calls tell; none if it was only patched since it was seen whole.
pub fn known<'a>(state: &'a TaskState, on: Option<&ClientId>, path: &str) -> Option<&'a str> {
    let on = on.or(state.home());
    let calls = state.calls().rev().filter(|call| computer(call) == on);
    for call in calls {
        if patched(call).as_deref() == Some(path) {
            return None;
        }
        if let Some((_, content)) = content_in(call).filter(|(of, _)| of == path) {
            return Some(content);
        }
    }
    None
}

/// The last whole content of a file that a failing call names: errors name files without their folder at times.
pub fn newest<'a>(state: &'a TaskState, failed: &CallRecord, file: &str) -> Option<&'a str> {
    let wanted = files::from_root(file);
    state
        .calls()
        .rev()
        .filter(|call| computer(call) == computer(failed))
        .filter_map(content_in)
        .find(|(path, _)| *path == wanted || path.ends_with(&wanted))
        .map(|(_, content)| content)
}

/// A file of which the task saw something.
struct Found<'a> {
    key: String,
    /// What it held at first; none if the task made it itself or never saw it whole.
    content: Option<&'a str>,
    changed: bool,
}

/// The files that the task changed after it had seen them whole, by their keys, as it saw them first; those that were changed last
/// are at the end.
pub fn as_found(state: &TaskState) -> Vec<(String, &str)> {
    let mut found: Vec<Found<'_>> = Vec::new();
    for call in state.calls() {
        let seen = content_in(call).map(|(path, content)| (path, Some(content)));
        let Some((path, content)) = seen.or_else(|| Some((patched(call)?, None))) else {
            continue;
        };
        let key = files::key(state.home(), computer(call), &path);
        let own = is_own(call);
        let known = found.iter().position(|file| file.key == key);
        let mut file = match known {
            Some(at) => found.remove(at),
            None => Found {
                key,
                content: content.filter(|_| !own),
                changed: false,
            },
        };
        file.changed |= own;
        found.push(file);
    }
    let changed = found.into_iter().filter(|file| file.changed);
    changed
        .filter_map(|file| Some((file.key, file.content?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::Outcome;
    use crate::domain::fixtures::open_call;
    use crate::domain::task::CallEnd;
    use serde_json::json;

    #[test]
    fn a_file_is_known_from_a_read_that_succeeded_and_from_no_other() {
        let read = |success: bool| {
            let mut call = open_call("fs_read", json!({"path": "a.lua"}));
            call.end = CallEnd::Finished(CallReport {
                result: Some(json!({"success": success, "content": "print(1)"})),
                ..CallReport::without_answer(Outcome::Done, "", "")
            });
            call
        };
        let known = ("/a.lua".to_owned(), "print(1)");
        assert_eq!(content_in(&read(true)), Some(known));
        assert_eq!(content_in(&read(false)), None);
    }
}
