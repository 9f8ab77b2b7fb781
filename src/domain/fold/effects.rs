//! What a finished call says about files and tests: the books from which pins, proof and facts are made.

use crate::domain::call::{CallReport, Outcome};
use crate::domain::files::{self, Drift, Sight, from_root, own_hash};
use crate::domain::ids::{CallId, ClientId};
use crate::domain::task::{CallRecord, TaskState, TestRun};
use crate::domain::tool::EffectClass;
use serde_json::Value;

/// What a finished call says about files and tests.
#[derive(Default)]
pub(super) struct Effects {
    files: Vec<Sight>,
    /// A folder that was listed: a known file in it that was not listed is gone.
    listed: Option<String>,
    /// Files and folders of which nothing is known any more.
    gone: Vec<String>,
    /// The task itself may have changed any file there.
    anything: bool,
    changed: bool,
    /// A program ran; whether it ran well.
    test: Option<bool>,
}

/// Reads the effects of the core tools (source document 001 §7) out of a call. A test is a program that ran; other
/// tools prove nothing, and what they changed nobody knows.
pub(super) fn effects_of(call: &CallRecord, report: &CallReport) -> Effects {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    let mut effects = Effects::default();
    let ran = matches!(report.outcome, Outcome::Done | Outcome::Failed);
    let may_have_run = ran || report.outcome == Outcome::Unknown;
    // The tools that write files do all or nothing.
    let may_have_changed = may_have_run && report.outcome != Outcome::Failed;
    match call.tool.as_str() {
        "fs_list" => listed(&mut effects, report),
        "fs_read" => effects.files.extend(read(text("path"), report)),
        "fs_write" | "write_and_run" | "fs_write_many" if report.kept_a_file() => {
            effects
                .files
                .extend(report.kept_files().into_iter().filter_map(kept));
        }
        "fs_write" | "write_and_run" => {
            effects.changed = may_have_changed;
            let result = report.result.as_ref();
            let wrote = report.outcome == Outcome::Done
                && result.and_then(|r| r.pointer("/write/success")) != Some(&Value::Bool(false));
            if let (Some(path), Some(content), true) = (text("path"), text("content"), wrote) {
                effects.files.push(written(path, content, report));
            }
            let started = result.is_some_and(|r| r.get("run").is_some_and(|r| !r.is_null()));
            effects.anything = may_have_run && (started || !wrote);
            if call.tool == "write_and_run" && ran && started {
                effects.test = Some(report.succeeded());
            }
        }
        "fs_write_many" | "fs_patch" => {
            effects.changed = may_have_changed;
            effects.anything = may_have_run && !report.succeeded();
            changed_files(&mut effects, report);
        }
        // Of a copy that failed there is nothing, and of one that was there already nothing new.
        "fs_copy" if report.outcome == Outcome::Failed => {}
        "fs_copy" if field(report, "/there_already") == Some(&Value::Bool(true)) => {}
        "fs_delete" | "fs_move" | "fs_copy" => {
            effects.changed = may_have_run;
            let from = text("from").filter(|_| call.tool != "fs_copy");
            let others = [text("path"), from, text("to")];
            effects
                .gone
                .extend(others.into_iter().flatten().map(from_root));
        }
        "shell_exec" if text("command").is_some_and(|c| is_one_of(LOOKING, c)) => {}
        "shell_exec" if text("command").is_some_and(|c| is_one_of(MOVING, c)) => {
            effects.changed = may_have_run;
            effects.anything = may_have_run;
        }
        "run_program" | "shell_exec" => {
            effects.anything = may_have_run;
            if ran {
                effects.test = Some(report.succeeded());
            }
        }
        _ => {
            let effect = call.intended.as_ref().map(|intended| intended.effect);
            effects.anything = may_have_run && effect != Some(EffectClass::Read);
        }
    }
    effects
}

fn field<'a>(report: &'a CallReport, at: &str) -> Option<&'a Value> {
    report.result.as_ref()?.pointer(at)
}

/// What `fs_list` tells of the files of one folder.
fn listed(effects: &mut Effects, report: &CallReport) {
    let Some(folder) = field(report, "/path").and_then(Value::as_str) else {
        return;
    };
    let Some(entries) = field(report, "/entries").and_then(Value::as_array) else {
        return;
    };
    if report.truncated {
        return;
    }
    effects.listed = Some(from_root(folder));
    for entry in entries {
        let name = entry.get("name").and_then(Value::as_str);
        let size = entry.get("size").and_then(Value::as_u64);
        let is_dir = entry.get("is_dir") == Some(&Value::Bool(true));
        if let (Some(name), Some(size), false) = (name, size, is_dir) {
            effects.files.push(Sight {
                path: from_root(&format!("{folder}/{name}")),
                bytes: size as usize,
                hash: None,
                written: false,
            });
        }
    }
}

/// What `fs_read` tells of its file: size and hash of the whole, also where only a piece was read; with an older
/// library the content itself, if it is whole.
fn read(path: Option<&str>, report: &CallReport) -> Option<Sight> {
    let path = from_root(path?);
    let hash = field(report, "/hash").and_then(Value::as_str);
    let bytes = field(report, "/bytes").and_then(Value::as_u64);
    if let (Some(hash), Some(bytes)) = (hash, bytes) {
        return Some(Sight {
            path,
            bytes: bytes as usize,
            hash: Some(hash.to_owned()),
            written: false,
        });
    }
    let content = field(report, "/content").and_then(Value::as_str)?;
    let whole = !report.truncated && field(report, "/truncated") != Some(&Value::Bool(true));
    whole.then(|| Sight {
        path,
        bytes: content.len(),
        hash: Some(own_hash(content)),
        written: false,
    })
}

/// What a write tells of a file that it left as it was.
fn kept(file: &Value) -> Option<Sight> {
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    let bytes = file.get("bytes").and_then(Value::as_u64)?;
    Some(Sight {
        path: from_root(text("path")?),
        bytes: bytes as usize,
        hash: Some(text("hash")?.to_owned()),
        written: false,
    })
}

fn written(path: &str, content: &str, report: &CallReport) -> Sight {
    let told = field(report, "/hash").or(field(report, "/write/hash"));
    let hash = told.and_then(Value::as_str);
    Sight {
        path: from_root(path),
        bytes: content.len(),
        hash: Some(hash.map_or_else(|| own_hash(content), str::to_owned)),
        written: true,
    }
}

/// The files that `fs_patch` and `fs_write_many` report as written.
fn changed_files(effects: &mut Effects, report: &CallReport) {
    let Some(result) = report.result.as_ref().filter(|_| report.succeeded()) else {
        return;
    };
    let many = result.get("files").and_then(Value::as_array);
    let one = many.is_none().then_some(result);
    for file in many.into_iter().flatten().chain(one) {
        let text = |key: &str| file.get(key).and_then(Value::as_str);
        let bytes = file.get("bytes").and_then(Value::as_u64);
        if let (Some(path), Some(bytes), Some(hash)) = (text("path"), bytes, text("hash")) {
            effects.files.push(Sight {
                path: from_root(path),
                bytes: bytes as usize,
                hash: Some(hash.to_owned()),
                written: true,
            });
        }
    }
}

impl TaskState {
    /// Takes what a call that has ended showed into the books.
    pub(super) fn record_effects(&mut self, call: &CallRecord, effects: Effects) {
        let step = self.usage.steps;
        let home = self.home().cloned();
        let on = call.intended.as_ref().map(|intended| &intended.client_id);
        let key = |path: &str| files::key(home.as_ref(), on, path);
        let mut drifts: Vec<Drift> = Vec::new();
        if let Some(folder) = &effects.listed {
            let below = key(folder.trim_end_matches('/'));
            let seen: Vec<String> = effects.files.iter().map(|sight| key(&sight.path)).collect();
            let missing = |path: &&String| {
                let inside = path
                    .strip_prefix(&below)
                    .and_then(|rest| rest.strip_prefix('/'));
                inside.is_some_and(|name| !name.contains('/')) && !seen.contains(path)
            };
            let missing: Vec<String> = self.files.keys().filter(missing).cloned().collect();
            drifts.extend(
                missing
                    .iter()
                    .filter_map(|path| files::missed(&mut self.files, path)),
            );
        }
        for sight in &effects.files {
            drifts.extend(files::see(&mut self.files, &key(&sight.path), sight, step));
        }
        for path in &effects.gone {
            let gone = key(path);
            let below = format!("{gone}/");
            self.files
                .retain(|path, _| *path != gone && !path.starts_with(&below));
        }
        if effects.anything {
            let prefix = key("");
            files::doubt(&mut self.files, |path| match prefix.as_str() {
                "" => path.starts_with('/'),
                prefix => path.starts_with(prefix),
            });
        }
        for drift in drifts {
            let code = if drift.foreign { DRIFT } else { "file_changed" };
            self.note(code, drift.message.clone());
            if drift.foreign {
                self.drift.get_or_insert(drift.message);
            }
        }
        if effects.changed && !call.rewrote_the_same() {
            self.tests_before_change = self.tests.len();
        }
        if let Some(ran) = effects.test.filter(|_| !call.found_no_program()) {
            self.tests.push(TestRun {
                what: run_on(home.as_ref(), call),
                success: ran && !self.missed_its_expectation(&call.call_id),
                step,
            });
        }
    }

    fn missed_its_expectation(&self, call_id: &CallId) -> bool {
        self.steps.iter().rev().any(|step| {
            let mut calls = step.calls.iter().filter(|call| call.call_id == *call_id);
            calls.any(|call| step.missed(call).is_some())
        })
    }
}

/// The code of a note, and of a failure, that tells of a file which somebody else changed.
pub const DRIFT: &str = "workspace_drift";

/// CraftOS programs that only look, or only move files about: running one proves nothing of what was written.
const LOOKING: &[&str] = &["cd", "clear", "dir", "id", "label", "list", "ls", "type"];
const MOVING: &[&str] = &[
    "copy", "cp", "delete", "mkdir", "move", "mv", "rename", "rm",
];

fn is_one_of(programs: &[&str], command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    programs.contains(&program)
}

/// How a run is named in lists of tests: its command line, and its computer unless that is the task's own. The same
/// program on another computer is another test.
pub fn run_on(home: Option<&ClientId>, call: &CallRecord) -> String {
    let label = run_label(call);
    let on = call.intended.as_ref().map(|intended| &intended.client_id);
    on_computer(label, home, on)
}

/// What happens on a computer, with its name unless it is the task's own.
pub fn on_computer(what: String, home: Option<&ClientId>, on: Option<&ClientId>) -> String {
    match on {
        Some(on) if home.is_some_and(|home| home != on) => format!("{what} on {on}"),
        _ => what,
    }
}

/// What a call ran: the command line, or the tool.
pub fn run_label(call: &CallRecord) -> String {
    run_label_of(&call.tool, &call.args)
}

/// The same for a call that is not made yet.
pub fn run_label_of(tool: &str, args: &Value) -> String {
    if let Some(command) = args.get("command").and_then(Value::as_str) {
        return command.to_owned();
    }
    let Some(path) = args.get("path").and_then(Value::as_str) else {
        return tool.to_owned();
    };
    let args = args.get("args").and_then(Value::as_array);
    let words = args.into_iter().flatten().filter_map(Value::as_str);
    std::iter::once(path)
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::files::see;
    use crate::domain::fixtures::open_call;
    use crate::domain::ids::TaskId;
    use serde_json::json;

    /// The files that a task knows after one call, where it knew `/a`, `/b` and `/dir/x`.
    fn known_after(tool: &str, args: Value) -> Vec<String> {
        let task_id = TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap();
        let mut state = TaskState::new(task_id);
        for path in ["/a", "/b", "/dir/x"] {
            let sight = Sight {
                path: path.into(),
                bytes: 1,
                hash: Some("sha256:1".into()),
                written: false,
            };
            see(&mut state.files, path, &sight, 1);
        }
        let call = open_call(tool, args);
        let report = CallReport {
            outcome: Outcome::Done,
            ..CallReport::without_answer(Outcome::Done, "", "")
        };
        let effects = effects_of(&call, &report);
        assert!(effects.changed);
        state.record_effects(&call, effects);
        state.files.keys().cloned().collect()
    }

    #[test]
    fn what_is_moved_copied_over_or_deleted_is_not_known_any_more() {
        let paths = |from: &str, to: &str| json!({"from": from, "to": to});
        assert_eq!(known_after("fs_move", paths("a", "/b")), ["/dir/x"]);
        assert_eq!(known_after("fs_copy", paths("a", "/b")), ["/a", "/dir/x"]);
        assert_eq!(
            known_after("fs_delete", json!({"path": "dir"})),
            ["/a", "/b"]
        );
    }
}
