//! What every prompt shows of a task, however old it is (source document 000, memory upgrade): the master plan, the
//! version of each file, what fails and where, planned tests, people's answers. Taken from the state, so no
//! compaction can lose it.

use super::plan::{self, PlanItem};
use crate::domain::call::CallReport;
use crate::domain::directive::Action;
use crate::domain::files;
use crate::domain::fold::{on_computer, run_label, run_on};
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::task::{CallEnd, CallRecord, Step, TaskState, TestRun};
use crate::strategy::directive::printer::then_line;
use crate::strategy::guards::failure_text;
use crate::strategy::text::{fenced, head_and_tail};
use serde::Serialize;
use serde_json::Value;

/// The pinned items, as the template `shared/pins` shows them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Pins {
    pub plan: Vec<PlanItem>,
    /// The files that the task knows, those seen last at the end.
    pub files: Vec<FilePin>,
    /// How many more there are.
    pub more_files: usize,
    /// Programs that ran since the last change of a file, those that ran last at the end.
    pub tests: Vec<TestPin>,
    /// How many more there are.
    pub more_tests: usize,
    /// The newest run that was well before that change: the last known good state.
    pub last_good: Option<TestRun>,
    /// Tests that were announced or failed and have not run well since.
    pub planned_tests: Vec<String>,
    /// How many more there are.
    pub more_planned: usize,
    pub failure: Option<FailurePin>,
    /// What files held before this task changed them, while the last run failed.
    pub replaced: Vec<ReplacedPin>,
    pub answers: Vec<AnswerPin>,
}

/// A file as last seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilePin {
    pub path: String,
    pub bytes: usize,
    pub hash: String,
    /// The hash as prompts show it.
    pub version: String,
    pub step: u32,
}

/// A program that ran, as it ended last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestPin {
    pub what: String,
    pub success: bool,
    pub step: u32,
    /// How often it ran.
    pub times: usize,
}

/// The newest failure that nothing has shown to be mended.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FailurePin {
    pub text: String,
    /// `file:line`, and the line itself where the file is known.
    pub line: Option<String>,
    /// Only where a compaction took the result that holds it.
    pub trace: Option<String>,
}

/// A file as the task found it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplacedPin {
    pub path: String,
    /// In fences.
    pub content: String,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerPin {
    pub question: String,
    pub answer: String,
    pub by: String,
}

/// Files that are named; of more the number is told.
const MOST_FILES: usize = 30;
/// Programs that are named, of those that ran and of those to be run; a task that only watches runs one every minute for days.
const MOST_TESTS: usize = 8;
/// Runs since the last change that are looked at.
const RECENT_RUNS: usize = 200;
/// Bytes of a failure's text and of its trace.
const FAILURE_BYTES: usize = 600;
const TRACE_BYTES: usize = 800;
/// Files that are shown as the task found them. Longer ones are not: a piece of one helps nobody, and the tail is read anew each
/// turn.
const MOST_REPLACED: usize = 2;
const REPLACED_BYTES: usize = 400;
/// Characters of a hash that tell versions of a file apart.
const SHOWN_HASH: usize = 6;

impl Pins {
    /// All that is pinned now.
    pub fn of(state: &TaskState, profile: &Profile) -> Self {
        let mut files: Vec<FilePin> = state
            .files
            .iter()
            .map(|(path, file)| FilePin {
                path: path.clone(),
                bytes: file.bytes,
                version: version(&file.hash),
                hash: file.hash.clone(),
                step: file.step,
            })
            .collect();
        files.sort_by_key(|file| file.step);
        let (before, since) = state
            .tests
            .split_at(state.tests_before_change.min(state.tests.len()));
        let more_files = files.len().saturating_sub(MOST_FILES);
        let (mut tests, mut planned) = (by_program(since), planned_tests(state));
        let more_tests = tests.len().saturating_sub(MOST_TESTS);
        let more_planned = planned.len().saturating_sub(MOST_TESTS);
        Pins {
            plan: plan::newest(state, &profile.templates),
            files: files.split_off(more_files),
            more_files,
            tests: tests.split_off(more_tests),
            more_tests,
            last_good: before.iter().rev().find(|test| test.success).cloned(),
            planned_tests: planned.split_off(more_planned),
            more_planned,
            failure: failure(state),
            replaced: match since.last() {
                Some(run) if !run.success => replaced(state),
                _ => Vec::new(),
            },
            answers: answers(state),
        }
    }
}

/// A hash as far as it is shown: a model has no use for the rest, and digits cost a token each.
fn version(hash: &str) -> String {
    let (_, digits) = hash.rsplit_once(':').unwrap_or(("", hash));
    digits.chars().take(SHOWN_HASH).collect()
}

fn answers(state: &TaskState) -> Vec<AnswerPin> {
    let asked = state.steps.iter().filter_map(|step| step.question.as_ref());
    asked
        .filter_map(|asked| {
            let answer = asked.answer.as_ref()?;
            Some(AnswerPin {
                question: asked.question.question.clone(),
                answer: answer.answer.clone(),
                by: shown_by(&answer.by, answer.authenticated),
            })
        })
        .collect()
}

/// An answer typed at a computer is from somebody who proved nothing.
pub fn shown_by(by: &str, authenticated: bool) -> String {
    if authenticated {
        by.to_owned()
    } else {
        format!("somebody at {by} (not authenticated)")
    }
}

fn by_program(runs: &[TestRun]) -> Vec<TestPin> {
    let mut pins: Vec<TestPin> = Vec::new();
    for run in &runs[runs.len().saturating_sub(RECENT_RUNS)..] {
        let former = pins.iter().position(|pin| pin.what == run.what);
        let times = former.map_or(0, |at| pins.remove(at).times);
        pins.push(TestPin {
            what: run.what.clone(),
            success: run.success,
            step: run.step,
            times: times + 1,
        });
    }
    pins
}

/// Tests whose last run failed, and THEN items that were left out, as far as they have not run well since.
fn planned_tests(state: &TaskState) -> Vec<String> {
    let home = state.home();
    let mut planned: Vec<String> = Vec::new();
    let mut plan = |what: String, add: bool| {
        planned.retain(|known| *known != what);
        if add {
            planned.push(what);
        }
    };
    for step in &state.steps {
        for call in step.calls.iter().filter(|call| !call.is_open()) {
            if runs(call) {
                plan(format!("RUN {}", run_on(home, call)), !step.passed(call));
            }
        }
        for item in left_then(step, home) {
            plan(item, true);
        }
    }
    planned
}

fn runs(call: &CallRecord) -> bool {
    matches!(call.tool.as_str(), "run_program" | "write_and_run")
}

/// THEN items that were left out because one before them failed.
pub fn left_then(step: &Step, home: Option<&ClientId>) -> Vec<String> {
    let directive = step
        .reading
        .as_ref()
        .and_then(|reading| reading.directive());
    let on = directive.and_then(|d| d.on.as_ref());
    let Some(Action::WriteFile { then, .. }) = directive.map(|d| &d.action) else {
        return Vec::new();
    };
    if step.calls.is_empty() || !step.closed {
        return Vec::new();
    }
    let left = then.iter().skip(step.then_done());
    left.map(|item| on_computer(then_line(item), home, on))
        .collect()
}

/// The newest failed call. A failed run stays pinned until the same run succeeds, another failure until something
/// else was done.
fn failure(state: &TaskState) -> Option<FailurePin> {
    let home = state.home();
    let mut newer: Vec<(&Step, &CallRecord)> = Vec::new();
    let steps = state.steps.iter();
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
    // Until then it stands in the step's own result, word for word.
    let compacted = state.compaction.as_ref();
    let is_gone = compacted.is_some_and(|facts| step.number <= facts.upto_step);
    FailurePin {
        line: at.map(|(file, line)| with_source(state, call, &file, line)),
        trace: trace
            .filter(|trace| is_gone && !text.contains(trace.trim()))
            .map(|trace| head_and_tail(trace, TRACE_BYTES)),
        text: head_and_tail(&text, FAILURE_BYTES),
    }
}

/// The files that the task changed after it had seen them whole, as it saw them first, those that were changed last.
fn replaced(state: &TaskState) -> Vec<ReplacedPin> {
    let home = state.home();
    // Of each file its first content, and whether the task has changed it; none of one that it made itself.
    let mut found: Vec<(String, Option<&str>, bool)> = Vec::new();
    for call in state.calls().filter(|call| !call.is_open()) {
        let seen = content_in(call);
        let patched = call.args.get("path").and_then(Value::as_str);
        let patched = patched.filter(|_| call.tool == "fs_patch" && call.succeeded());
        let Some(path) = seen
            .as_ref()
            .map(|(path, _)| path.clone())
            .or(patched.map(files::from_root))
        else {
            continue;
        };
        let key = files::key(home, computer(call), &path);
        let changes = call.tool != "fs_read" && !call.kept_a_file();
        let at = found.iter().position(|(known, ..)| *known == key);
        let mut entry = match at {
            Some(at) => found.remove(at),
            None => (
                key,
                seen.map(|(_, content)| content).filter(|_| !changes),
                false,
            ),
        };
        entry.2 |= changes;
        found.push(entry);
    }
    let changed = found.into_iter().filter(|(.., changed)| *changed);
    let known = changed.filter_map(|(path, content, _)| Some((path, content?)));
    let mut pins: Vec<ReplacedPin> = known
        .filter(|(_, content)| !content.trim().is_empty() && content.len() <= REPLACED_BYTES)
        .map(|(path, content)| ReplacedPin {
            path,
            content: fenced(content, ""),
        })
        .collect();
    pins.drain(..pins.len().saturating_sub(MOST_REPLACED));
    pins
}

fn trace_of(call: &CallRecord) -> Option<&str> {
    let CallEnd::Finished(report) = &call.end else {
        return None;
    };
    let result = report.result.as_ref()?;
    ["/traceback", "/run/traceback"]
        .iter()
        .find_map(|at| result.pointer(at)?.as_str())
        .filter(|trace| !trace.is_empty())
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
    let known = content_of(state, call, file);
    let source = known.and_then(|content| content.lines().nth(line.saturating_sub(1)));
    match source.map(str::trim).filter(|source| !source.is_empty()) {
        Some(source) => {
            let source: String = source.chars().take(160).collect();
            format!("{file}:{line}: {source}")
        }
        None => format!("{file}:{line}"),
    }
}

/// The last whole content of a file that a failing call names: errors name files without their folder at times.
fn content_of<'a>(state: &'a TaskState, failed: &CallRecord, file: &str) -> Option<&'a str> {
    let wanted = files::from_root(file);
    state
        .calls()
        .rev()
        .filter(|call| computer(call) == computer(failed))
        .filter_map(content_in)
        .find(|(path, _)| *path == wanted || path.ends_with(&wanted))
        .map(|(_, content)| content)
}

fn computer(call: &CallRecord) -> Option<&ClientId> {
    call.intended.as_ref().map(|intended| &intended.client_id)
}

/// The path and whole content that a call wrote or read, or that it was shown and left alone.
pub fn content_in(call: &CallRecord) -> Option<(String, &str)> {
    let path = call.args.get("path").and_then(Value::as_str)?;
    let kept = call
        .report()
        .map(CallReport::kept_files)
        .unwrap_or_default();
    if let Some(file) = kept.first() {
        let whole = file.get("truncated") == Some(&Value::Bool(false));
        let content = file.get("content").and_then(Value::as_str);
        return Some((files::from_root(path), content.filter(|_| whole)?));
    }
    let content = match call.tool.as_str() {
        "fs_write" if call.succeeded() => call.args.get("content").and_then(Value::as_str)?,
        "write_and_run" => {
            let CallEnd::Finished(report) = &call.end else {
                return None;
            };
            let wrote = report.result.as_ref()?.pointer("/write/success");
            if wrote != Some(&Value::Bool(true)) && !call.succeeded() {
                return None;
            }
            call.args.get("content").and_then(Value::as_str)?
        }
        "fs_read" if call.succeeded() => whole_read(call)?,
        _ => return None,
    };
    Some((files::from_root(path), content))
}

fn whole_read(call: &CallRecord) -> Option<&str> {
    let CallEnd::Finished(report) = &call.end else {
        return None;
    };
    let result = report.result.as_ref()?;
    let cut = report.truncated || result.get("truncated") == Some(&Value::Bool(true));
    let skipped = call.args.get("offset").and_then(Value::as_u64).unwrap_or(0) > 0;
    let content = result.get("content").and_then(Value::as_str)?;
    (!cut && !skipped).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::{CallReport, Outcome};
    use crate::strategy::drive::{Drive, profile_of};
    use crate::strategy::guards::tests::open_call;
    use proptest::prelude::*;
    use serde_json::json;

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
    fn while_a_run_fails_a_file_is_shown_as_the_task_found_it() {
        let mut drive = Drive::new(profile_of("direct"), "Mend /a.lua");
        drive
            .files
            .insert("/a.lua".into(), "return 1 -- found".into());
        let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
        let a = json!({"path": "/a.lua"});
        let write = |content: &str| call("fs_write", json!({"path": "/a.lua", "content": content}));
        let own = call("fs_write", json!({"path": "/b.lua", "content": "error()"}));
        let own_again = call("fs_write", json!({"path": "/b.lua", "content": "error(1)"}));
        drive.say(&[
            &call("fs_read", a.clone()),
            &write("error(1)"),
            &own,
            &own_again,
        ]);
        assert!(!drive.shown().contains("before you changed it"));
        drive.say(&[&call("run_program", a.clone())]);
        let shown = drive.shown();
        let found = "- /a.lua as it was before you changed it:\n```\nreturn 1 -- found\n```";
        assert_eq!(shown.matches(found).count(), 1, "{shown}");
        // What the task made itself was never otherwise.
        assert!(!shown.contains("/b.lua as it was"), "{shown}");
        drive.say(&[&write("print(2)"), &call("run_program", a)]);
        assert!(!drive.shown().contains("before you changed it"));
    }

    #[test]
    fn a_program_that_runs_again_and_again_is_named_once_and_of_many_the_last_ones() {
        let run = |what: String, success: bool| TestRun {
            what,
            success,
            step: 1,
        };
        let mut runs = vec![run("/a.lua".into(), true), run("/b.lua".into(), true)];
        runs.extend((0..40).map(|_| run("/a.lua".into(), false)));
        let pins = by_program(&runs);
        let told: Vec<_> = pins
            .iter()
            .map(|pin| (pin.what.as_str(), pin.success, pin.times))
            .collect();
        assert_eq!(told, [("/b.lua", true, 1), ("/a.lua", false, 41)]);
        let mut drive = Drive::new(profile_of("direct"), "Watch");
        drive.bench.state.tests = (0..50).map(|n| run(format!("/{n}.lua"), true)).collect();
        let pins = Pins::of(&drive.bench.state, &drive.bench.profile);
        assert_eq!(
            (pins.tests.len(), pins.more_tests),
            (MOST_TESTS, 50 - MOST_TESTS)
        );
        assert_eq!(pins.tests.last().unwrap().what, "/49.lua");
    }

    proptest! {
        #[test]
        fn looking_for_a_line_in_noise_never_panics(text in "(:|[0-9]{1,3}|a.lua|\\PC){0,40}") {
            let _ = place(&text);
        }
    }
}
