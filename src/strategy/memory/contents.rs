//! Whole contents of files that a task's calls wrote or showed.

use crate::domain::call::{CallReport, Outcome};
use crate::domain::files;
use crate::domain::ids::ClientId;
use crate::domain::task::{CallRecord, TaskState};
use serde_json::Value;
use std::borrow::Cow;

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
    report.result.as_ref().and_then(write_in) == Some(&Value::Bool(true))
}

/// Whether the file was written, as the result of a call tells that also ran it.
fn write_in(result: &Value) -> Option<&Value> {
    result.pointer("/write/success")
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

/// The files that a call wrote, or may have written, as it names them.
pub fn written_by(call: &CallRecord) -> Vec<&str> {
    let landed = call.report().is_some_and(|report| match report.outcome {
        Outcome::Done => report.result.as_ref().and_then(write_in) != Some(&Value::Bool(false)),
        // It has to be looked at.
        Outcome::Unknown => true,
        Outcome::Failed | Outcome::NotStarted => false,
    });
    if !landed || call.kept_a_file() {
        return Vec::new();
    }
    let one = |name: &str| call.args.get(name).and_then(Value::as_str);
    match call.tool.as_str() {
        "fs_write" | "write_and_run" | "fs_patch" => one("path").into_iter().collect(),
        "fs_move" | "fs_copy" => one("to").into_iter().collect(),
        "fs_write_many" => {
            let files = call.args.get("files").and_then(Value::as_array);
            let files = files.into_iter().flatten();
            let paths = files.filter_map(|file| file.get("path")?.as_str());
            paths.collect()
        }
        _ => Vec::new(),
    }
}

/// The file or folder that a call took away, as it names it.
pub fn taken_by(call: &CallRecord) -> Option<&str> {
    let name = match call.tool.as_str() {
        "fs_delete" => "path",
        "fs_move" => "from",
        _ => return None,
    };
    let path = call.args.get(name)?.as_str()?;
    (call.outcome() == Some(Outcome::Done)).then_some(path)
}

/// Whether a call may have left another file here than there was, or none.
fn replaced(call: &CallRecord, path: &str) -> bool {
    let is_taken = |taken: &str| {
        let taken = files::from_root(taken);
        let inside = path.strip_prefix(&taken);
        inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut written = written_by(call).into_iter();
    written.any(|written| files::from_root(written) == path) || taken_by(call).is_some_and(is_taken)
}

/// What a file holds now as far as the task's calls tell; none if it was patched, moved, deleted or written over since it was seen whole.
pub fn known<'a>(state: &'a TaskState, on: Option<&ClientId>, path: &str) -> Option<&'a str> {
    let on = on.or(state.home());
    let calls = state.calls().rev().filter(|call| computer(call) == on);
    for call in calls {
        if let Some((_, content)) = content_in(call).filter(|(of, _)| of == path) {
            return Some(content);
        }
        if replaced(call, path) {
            return None;
        }
    }
    None
}

/// The same of a file that was only patched since, as far as the edits tell what they made of it.
pub fn after_patches<'a>(
    state: &'a TaskState,
    on: Option<&ClientId>,
    path: &str,
) -> Option<Cow<'a, str>> {
    let on = on.or(state.home());
    let calls = state.calls().rev().filter(|call| computer(call) == on);
    let mut patches: Vec<&CallRecord> = Vec::new();
    for call in calls {
        if let Some((_, content)) = content_in(call).filter(|(of, _)| of == path) {
            let mut content = Cow::Borrowed(content);
            for patch in patches.iter().rev() {
                content = Cow::Owned(edited(&content, patch)?);
            }
            return Some(content);
        }
        if replaced(call, path) {
            let is_patch = call.tool == "fs_patch" && call.succeeded();
            patches.push(Some(call).filter(|_| is_patch)?);
        }
    }
    None
}

/// What the edits of a patch made of a content; none where a text stands in several places, or the computer counts other bytes.
fn edited(content: &str, patch: &CallRecord) -> Option<String> {
    let mut content = content.to_owned();
    let edits = patch.args.get("edits")?.as_array()?;
    for edit in edits {
        let text = |name: &str| edit.get(name)?.as_str();
        let (search, replace) = (text("search")?, text("replace")?);
        let places = content.matches(search).count();
        let is_certain = places == 1 || (places > 1 && edit.get("all") == Some(&Value::Bool(true)));
        content = is_certain.then(|| content.replace(search, replace))?;
    }
    let bytes = patch.report()?.result.as_ref()?.get("bytes")?.as_u64()?;
    (bytes == content.len() as u64).then_some(content)
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
    use crate::domain::fixtures::open_call;
    use crate::domain::task::CallEnd;
    use crate::strategy::drive::{Drive, call as called, carry_out, done, profile_of};
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

    #[test]
    fn a_file_that_was_patched_holds_what_its_edits_made_of_it() {
        let known = |patches: &[(Value, usize)]| {
            let mut drive = Drive::new(profile_of("direct"), "In /a.cfg x shall be 2.");
            drive.files.insert("/a.cfg".into(), "x=1\ny=1\n".into());
            drive.say(&[&called("fs_read", json!({"path": "/a.cfg"}))]);
            let mut state = drive.state().clone();
            let read = state.calls().last().unwrap().clone();
            for (edits, bytes) in patches {
                let mut patch = open_call("fs_patch", json!({"path": "/a.cfg", "edits": edits}));
                patch.intended = read.intended.clone();
                patch.end = CallEnd::Finished(done(json!({"path": "/a.cfg", "bytes": bytes})));
                state.steps.last_mut().unwrap().calls.push(patch);
            }
            after_patches(&state, None, "/a.cfg").map(Cow::into_owned)
        };
        let edit = |search: &str, replace: &str| json!({"search": search, "replace": replace});
        let all = json!([{"search": "1", "replace": "23", "all": true}]);
        let is = |content: &str| Some(content.to_owned());
        assert_eq!(known(&[]), is("x=1\ny=1\n"));
        let two = [
            (json!([edit("x=1", "x=12")]), 9),
            (json!([edit("x=12", "x=3"), edit("y", "z")]), 8),
        ];
        assert_eq!(known(&two[..1]), is("x=12\ny=1\n"));
        assert_eq!(known(&two), is("x=3\nz=1\n"));
        assert_eq!(known(&[(all, 10)]), is("x=23\ny=23\n"));
        // Two places, none, other bytes, or a diff.
        for (edits, bytes) in [
            (json!([edit("1", "2")]), 8),
            (json!([edit("q", "2")]), 8),
            (json!([edit("x", "z")]), 9),
            (Value::Null, 8),
        ] {
            assert_eq!(known(&[(edits, bytes)]), None);
        }
    }

    #[test]
    fn what_was_copied_over_moved_away_or_deleted_is_not_known_any_more() {
        for (tool, args, is_known) in [
            (
                "fs_copy",
                json!({"from": "/b.cfg", "to": "old/a.cfg"}),
                false,
            ),
            (
                "fs_move",
                json!({"from": "/old/a.cfg", "to": "/c.cfg"}),
                false,
            ),
            ("fs_delete", json!({"path": "/old"}), false),
            ("fs_delete", json!({"path": "/o"}), true),
            (
                "fs_copy",
                json!({"from": "/old/a.cfg", "to": "/c.cfg"}),
                true,
            ),
        ] {
            let mut drive = Drive::new(profile_of("direct"), "Copy, move and delete files.");
            let changing = ["fs_copy", "fs_move", "fs_delete"].map(|name| {
                let tool = json!({"name": name, "effect": "idempotent", "description": name});
                serde_json::from_value(tool).unwrap()
            });
            drive.add_tools(changing.to_vec());
            drive.files.insert("/old/a.cfg".into(), "depth=12".into());
            let read = called("fs_read", json!({"path": "/old/a.cfg"}));
            drive.say_with(&[&read, &called(tool, args)], |files, call| {
                match call.tool == "fs_read" {
                    true => carry_out(files, call),
                    false => done(json!({"success": true})),
                }
            });
            assert_eq!(
                drive.state().calls().count(),
                2,
                "{tool}: {}",
                drive.shown()
            );
            let content = is_known.then_some("depth=12");
            assert_eq!(known(drive.state(), None, "/old/a.cfg"), content, "{tool}");
        }
    }
}
