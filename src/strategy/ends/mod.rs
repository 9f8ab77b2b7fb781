//! How a task ends well: what stands against its end, and the proof that its kind demands.

pub(super) mod demanded_proof;
mod doubts;
pub(super) mod given_up;
pub(super) mod proved;
pub(super) mod unchanged;
mod undeleted;
pub(super) mod undelivered;
pub(super) mod unmended;
pub(super) mod unread_data;
mod unset_value;
pub(super) mod untouched;
pub(super) mod unused_tools;
pub(super) mod unvisited;

use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::{DOUBTS, StrictRequest, TaskResult, TranslatedBy};
use crate::domain::fold::run_on;
use crate::domain::task::{CallRecord, TaskState, TestRun};
use crate::strategy::guards::check_program::is_called_check;
use crate::strategy::memory::pins::runs;
use crate::strategy::turn::Turn;
use crate::strategy::words::asked_runs::program_of;
use proved::closes_with;
use serde_json::json;
use unchanged::changes;

impl<'a> Turn<'a> {
    /// Ends the task as its model wants it, or sends the end back.
    pub(in crate::strategy) fn end(
        &self,
        request: StrictRequest,
        by: TranslatedBy,
        result: TaskResult,
    ) -> Decision {
        let objections: [&dyn Fn() -> Option<Decision>; 12] = [
            &|| self.given_up(&result),
            &|| self.unchanged(&result),
            &|| self.untouched(&result),
            &|| self.undelivered(),
            &|| self.undeleted(),
            &|| self.unset_value(),
            &|| self.unmended(),
            &|| self.unread_data(),
            &|| self.unused_tool(),
            &|| self.unvisited(),
            &|| self.unasked(),
            &|| self.nothing_done(&result),
        ];
        let objection = objections.iter().find_map(|objects| objects());
        objection.unwrap_or_else(|| self.finish(request, by, result))
    }

    pub(in crate::strategy) fn tests_since_change(&self) -> &'a [TestRun] {
        tests_since_change(self.state)
    }

    /// The newest call of a run that is named so.
    pub(in crate::strategy) fn call_of(&self, what: &str) -> Option<&'a CallRecord> {
        let home = self.state.home();
        let is_it =
            |call: &&CallRecord| runs(call) && !call.is_open() && run_on(home, call) == what;
        self.state.calls().rev().find(is_it)
    }

    /// Whether the kind's demand for proof is met, if it makes one.
    pub fn may_end(&self) -> bool {
        let last = self.tests_since_change().last();
        !self.needs_run() || (last.is_some_and(|test| test.success) && self.unmade_run().is_none())
    }

    /// Why what ran since the last change proves nothing: a test that failed is none.
    fn no_proof(&self) -> String {
        match (self.tests_since_change().last(), self.unmade_run()) {
            (Some(last), Some(run)) if last.success => self.told_unmade(&run),
            (None, _) => {
                let needs =
                    "the end needs a program that ran after the last change: run your tests first";
                match self.proving_call() {
                    Some(call) => format!("{needs}, for example\n{call}"),
                    None => needs.to_owned(),
                }
            }
            (Some(failed), _) => format!(
                "the end needs a program that ran without an error after the last change, but {} failed: mend it, or run a \
                 test that shows that the task is done",
                failed.what
            ),
        }
    }

    /// Ends the task well, if the kind's demand for proof is met. Where nothing but a run of which the task speaks is missing, that run
    /// is made, and a look where there is nothing to run: it shows who wants to end how it stands.
    pub fn finish(
        &self,
        request: StrictRequest,
        by: TranslatedBy,
        mut result: TaskResult,
    ) -> Decision {
        if !self.may_end() {
            let run = self.closing_run();
            return run.unwrap_or_else(|| self.block(Guard::Proof, self.no_proof()));
        }
        if let Some(look) = self.closing_look() {
            return look;
        }
        if let Some(unlike) = self.unlike_stated() {
            return self.block(Guard::Proof, unlike);
        }
        if !result.details.is_object() {
            result.details = json!({});
        }
        if let Some(details) = result.details.as_object_mut() {
            let proof = self.tests_since_change();
            details.insert("tests_run".to_owned(), json!(proof));
            let doubts = self.doubts();
            if !doubts.is_empty() {
                details.insert(DOUBTS.to_owned(), json!(doubts));
            }
        }
        Decision::Finish {
            request,
            translated_by: by,
            result,
        }
    }
}

/// The programs that ran since the last change. What a check said with which the task closes holds no more once a tool has done something
/// since: a task that moves items was checked, moved some back, and was over.
pub(in crate::strategy) fn tests_since_change(state: &TaskState) -> &[TestRun] {
    let ran = state.tests.len();
    let (_, since) = state.tests.split_at(state.tests_before_change.min(ran));
    match since.last().is_some_and(|test| is_outdated(state, test)) {
        true => &[],
        false => since,
    }
}

fn is_outdated(state: &TaskState, test: &TestRun) -> bool {
    let program = program_of(&test.what);
    if !test.success || !is_called_check(&program) {
        return false;
    }
    let newer = state.steps.iter().rev();
    let mut newer = newer.take_while(|step| step.number > test.step);
    let prompt = state.created.as_ref().map(|created| &created.prompt);
    // What a command does stands in the books: most of them only look.
    let does = |call: &CallRecord| changes(call) && call.tool != "shell_exec";
    newer.any(|step| step.calls.iter().any(does))
        && prompt.is_some_and(|prompt| closes_with(prompt, &program))
}

#[cfg(test)]
mod tests;
