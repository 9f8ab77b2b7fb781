//! The generic probe (source document 004): what happened, whatever the goal is. Files written and what became of them,
//! programs run, recent errors. All of it is read out of the task's own calls; nothing is asked that was not seen.

use super::check::rooted;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::fold::run_label;
use crate::domain::ids::ClientId;
use crate::domain::task::{CallEnd, CallRecord, TaskState};
use crate::strategy::guards::failure_text;
use crate::strategy::memory::contents;
use crate::strategy::paths::file_name;
use crate::strategy::words::stated;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Commands and errors that are shown; older ones are left out.
const RECENT_COMMANDS: usize = 5;
const RECENT_ERRORS: usize = 3;

/// What the calls of a task tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Facts {
    /// In the order in which they were first written.
    pub files: Vec<FileFact>,
    /// `run /a.lua x -> ok`, the newest last.
    pub commands: Vec<String>,
    /// What failed and has not succeeded since, the newest last.
    pub errors: Vec<String>,
    /// What each error is about.
    #[serde(skip)]
    about: Vec<About>,
}

/// What a call is about: its computer, its tool (those that write files are one) and its file or command.
type About = (Option<ClientId>, &'static str, String);

/// A file that the task wrote, or looked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileFact {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<ClientId>,
    /// From the root.
    pub path: String,
    pub state: FileState,
    /// The step that wrote it last; none if it was only looked for.
    pub written_in: Option<u32>,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Written, and not looked at since.
    Written,
    Exists,
    Missing,
}

/// Gathers the facts. `wanted` are files that are of interest although nobody may have written them.
pub fn gather(state: &TaskState, wanted: &[(Option<ClientId>, String)]) -> Facts {
    let mut facts = Facts::default();
    for step in &state.steps {
        for call in step.calls.iter().filter(|call| !call.is_open()) {
            // That there is no such file yet is no error of anybody.
            if step.looks_first() && !call.succeeded() {
                continue;
            }
            facts.take(state, call, step.number, wanted);
        }
    }
    let (commands, errors) = (facts.commands.len(), facts.errors.len());
    facts
        .commands
        .drain(..commands.saturating_sub(RECENT_COMMANDS));
    facts.errors.drain(..errors.saturating_sub(RECENT_ERRORS));
    facts
}

impl Facts {
    /// Files in one state, as they are shown: with the computer, if it is another one than `home`.
    pub fn named(&self, state: FileState, home: Option<&ClientId>) -> Vec<String> {
        let fitting = self.files.iter().filter(|file| file.state == state);
        fitting.map(|file| file.shown(home)).collect()
    }

    pub fn file(&self, on: Option<&ClientId>, path: &str) -> Option<&FileFact> {
        let path = rooted(path);
        let mut files = self.files.iter();
        files.find(|file| file.path == path && file.is_on(on))
    }

    fn take(
        &mut self,
        state: &TaskState,
        call: &CallRecord,
        step: u32,
        wanted: &[(Option<ClientId>, String)],
    ) {
        let CallEnd::Finished(report) = &call.end else {
            self.failed(call, None);
            return;
        };
        let on = call
            .intended
            .as_ref()
            .map(|intended| intended.client_id.clone());
        match call.succeeded() {
            true => self.mended(&about(call, on.clone())),
            false => self.failed(call, on.clone()),
        }
        if let Some(mut end) = run_end(call, report) {
            if stated::is_unlike(state, call) {
                end = "printed something else than the goal says".to_owned();
            }
            self.commands.push(format!("{} -> {end}", run_label(call)));
        }
        for path in contents::written_by(call) {
            self.note(&on, path, FileState::Written, Some(step));
        }
        if let Some(path) = contents::taken_by(call).map(rooted) {
            let inside = format!("{}/", path.trim_end_matches('/'));
            let stays = |file: &FileFact| file.path != path && !file.path.starts_with(&inside);
            self.files.retain(|file| stays(file) || file.on != on);
        }
        self.looked(call, report, &on, wanted);
    }

    fn failed(&mut self, call: &CallRecord, on: Option<ClientId>) {
        let error = failure_text(call);
        if self.errors.last() != Some(&error) {
            self.errors.push(error);
            self.about.push(about(call, on));
        }
    }

    /// What was done after all is no error any more: small models mend it again and again.
    fn mended(&mut self, done: &About) {
        let still = |at: usize| self.about[at] != *done;
        let kept: Vec<usize> = (0..self.errors.len()).filter(|at| still(*at)).collect();
        self.errors = kept.iter().map(|at| self.errors[*at].clone()).collect();
        self.about = kept.iter().map(|at| self.about[*at].clone()).collect();
    }

    /// What a look at a file or folder says of the files that are known or wanted.
    fn looked(
        &mut self,
        call: &CallRecord,
        report: &CallReport,
        on: &Option<ClientId>,
        wanted: &[(Option<ClientId>, String)],
    ) {
        let asked = call.args.get("path").and_then(Value::as_str);
        let place = rooted(asked.unwrap_or("/"));
        let no_such = report.outcome == Outcome::Failed
            && report
                .error
                .as_ref()
                .is_some_and(|error| error.contains("no such file"));
        let done = report.outcome == Outcome::Done;
        let mine = wanted.iter().filter(|(of, _)| of.is_none() || of == on);
        let mut known: Vec<String> = mine.map(|(_, path)| rooted(path)).collect();
        known.extend(
            self.files
                .iter()
                .filter(|f| f.on == *on)
                .map(|f| f.path.clone()),
        );
        match call.tool.as_str() {
            "fs_read" if done => self.note(on, &place, FileState::Exists, None),
            "fs_read" if no_such && known.contains(&place) => {
                self.note(on, &place, FileState::Missing, None);
            }
            "fs_list" if done => {
                let names = entries(report);
                for path in known.iter().filter(|path| parent(path) == place) {
                    let name = file_name(path);
                    if names.contains(name) {
                        self.note(on, path, FileState::Exists, None);
                    } else if !report.truncated {
                        self.note(on, path, FileState::Missing, None);
                    }
                }
            }
            "fs_list" if no_such => {
                for path in known.iter().filter(|path| parent(path) == place) {
                    self.note(on, path, FileState::Missing, None);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, on: &Option<ClientId>, path: &str, state: FileState, step: Option<u32>) {
        let path = rooted(path);
        let known = self
            .files
            .iter_mut()
            .find(|f| f.path == path && f.on == *on);
        match known {
            Some(file) => {
                file.state = state;
                file.written_in = step.or(file.written_in);
            }
            None => self.files.push(FileFact {
                on: on.clone(),
                path,
                state,
                written_in: step,
            }),
        }
    }
}

impl FileFact {
    /// Whether it lies on this computer; nothing said means any.
    pub fn is_on(&self, on: Option<&ClientId>) -> bool {
        on.is_none() || self.on.as_ref() == on
    }

    pub fn shown(&self, home: Option<&ClientId>) -> String {
        match &self.on {
            Some(on) if Some(on) != home => format!("{} on {on}", self.path),
            _ => self.path.clone(),
        }
    }
}

/// The folder that a file lies in.
pub fn parent(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
    }
}

fn text<'a>(call: &'a CallRecord, key: &str) -> Option<&'a str> {
    call.args.get(key).and_then(Value::as_str)
}

fn about(call: &CallRecord, on: Option<ClientId>) -> About {
    let tool = match call.tool.as_str() {
        "fs_write" | "fs_write_many" | "fs_patch" => "write",
        "run_program" | "write_and_run" => "run",
        _ => "",
    };
    let what = match tool {
        "write" => text(call, "path").map(rooted).unwrap_or_default(),
        "run" => run_label(call),
        _ => format!("{} {}", call.tool, run_label(call)),
    };
    (on, tool, what)
}

fn entries(report: &CallReport) -> BTreeSet<&str> {
    let listed = report.result.as_ref().and_then(|r| r.get("entries"));
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    listed
        .filter_map(|entry| entry.get("name")?.as_str())
        .collect()
}

/// How a program ended, if the call ran one. Computers have no exit codes: a program ends well or with an error.
fn run_end(call: &CallRecord, report: &CallReport) -> Option<String> {
    let ran = match call.tool.as_str() {
        "run_program" | "shell_exec" => true,
        "write_and_run" => report
            .result
            .as_ref()
            .is_some_and(|r| r.get("run").is_some_and(|run| !run.is_null())),
        _ => false,
    };
    if !ran {
        return None;
    }
    let end = match report.outcome {
        Outcome::Done if report.succeeded() => "ok".to_owned(),
        Outcome::Unknown => "unknown".to_owned(),
        Outcome::NotStarted => return None,
        Outcome::Done | Outcome::Failed => {
            let why = failure_text(call);
            let line = why.lines().next().unwrap_or_default();
            format!("FAILED ({})", line.chars().take(120).collect::<String>())
        }
    };
    Some(end)
}
