//! What every prompt shows of a task, however old it is (source document 000, memory upgrade): the master plan, the
//! version of each file, what fails and where, planned tests, people's answers. Taken from the state, so no
//! compaction can lose it.

use super::contents;
use super::failure::{self, FailurePin};
use super::plan::{self, PlanItem};
use crate::domain::directive::Action;
use crate::domain::fold::{on_computer, run_on};
use crate::domain::ids::ClientId;
use crate::domain::profile::Profile;
use crate::domain::task::{CallRecord, Step, TaskState, TestRun};
use crate::strategy::directive::printer::then_line;
use crate::strategy::ends::tests_since_change;
use crate::strategy::text::fenced;
use crate::strategy::words::stated;
use serde::Serialize;

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
        let since = tests_since_change(state);
        let before = &state.tests[..state.tests.len() - since.len()];
        let more_files = files.len().saturating_sub(MOST_FILES);
        let (mut tests, mut planned) = (by_program(since), planned_tests(state));
        let more_tests = tests.len().saturating_sub(MOST_TESTS);
        let more_planned = planned.len().saturating_sub(MOST_TESTS);
        let mut failure = failure::newest(state);
        let was_good = |run: &TestRun| run.success && !was_unlike(state, run);
        for unlike in stated::unlike(state) {
            // It ran, and has shown that it is wrong.
            for test in tests.iter_mut().filter(|test| test.what == unlike.run) {
                test.success = false;
            }
            // A call that failed since stands in its step's result, and is not what has to be mended.
            if failure.as_ref().is_none_or(|failure| !failure.of_run) {
                failure = Some(FailurePin::of_run(unlike.words));
            }
        }
        Pins {
            plan: plan::newest(state, &profile.templates),
            files: files.split_off(more_files),
            more_files,
            tests: tests.split_off(more_tests),
            more_tests,
            last_good: before.iter().rev().find(|run| was_good(run)).cloned(),
            planned_tests: planned.split_off(more_planned),
            more_planned,
            failure,
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

/// Programs in the order in which they ran last, each as it ended then.
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

/// Whether a run did not print what the task says of it.
fn was_unlike(state: &TaskState, run: &TestRun) -> bool {
    let step = state.steps.iter().find(|step| step.number == run.step);
    let mut calls = step.into_iter().flat_map(|step| &step.calls);
    calls.any(|call| run_on(state.home(), call) == run.what && stated::is_unlike(state, call))
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

/// Whether it is the run of a program.
pub fn runs(call: &CallRecord) -> bool {
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

/// The short ones of the files that the task changed, as it found them.
fn replaced(state: &TaskState) -> Vec<ReplacedPin> {
    let found = contents::as_found(state).into_iter();
    let mut pins: Vec<ReplacedPin> = found
        .filter(|(_, content)| !content.trim().is_empty() && content.len() <= REPLACED_BYTES)
        .map(|(path, content)| ReplacedPin {
            path,
            content: fenced(content, ""),
        })
        .collect();
    pins.drain(..pins.len().saturating_sub(MOST_REPLACED));
    pins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::drive::{Drive, profile_of};
    use serde_json::{Value, json};

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
    fn a_run_that_printed_something_else_than_the_task_says_was_never_good() {
        let mut drive = Drive::new(profile_of("direct"), "`/a.lua` shall print 9. Write it.");
        let call = |tool: &str, args: Value| json!({"tool": tool, "args": args}).to_string();
        let write = |content: &str| call("fs_write", json!({"path": "/a.lua", "content": content}));
        let run = call("run_program", json!({"path": "/a.lua"}));
        drive.say(&[&write("5"), &run, &write("8")]);
        assert!(
            !drive.shown().contains("ran well before"),
            "{}",
            drive.shown()
        );
        drive.say(&[&write("9"), &run, &write("9 ")]);
        assert!(
            drive
                .shown()
                .contains("ran well before that change: /a.lua")
        );
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
}
