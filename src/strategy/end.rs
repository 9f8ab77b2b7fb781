//! How a task ends well: what stands against its end, and the proof that its kind demands.

use super::memory::pins::runs;
use super::turn::Turn;
use crate::domain::decision::{Decision, Guard};
use crate::domain::directive::{StrictRequest, TaskResult, TranslatedBy};
use crate::domain::fold::run_on;
use crate::domain::task::{CallRecord, TestRun};
use serde_json::json;

impl<'a> Turn<'a> {
    /// Ends the task as its model wants it, or sends the end back.
    pub(super) fn end(
        &self,
        request: StrictRequest,
        by: TranslatedBy,
        result: TaskResult,
    ) -> Decision {
        let objection = self.given_up(&result);
        let objection = objection.or_else(|| self.unchanged(&result));
        let objection = objection.or_else(|| self.untouched(&result));
        let objection = objection.or_else(|| self.unmended());
        let objection = objection.or_else(|| self.unused_tool());
        let objection = objection.or_else(|| self.unvisited());
        let objection = objection.or_else(|| self.unasked());
        objection.unwrap_or_else(|| self.finish(request, by, result))
    }

    pub(super) fn tests_since_change(&self) -> &[TestRun] {
        &self.state.tests[self.state.tests_before_change.min(self.state.tests.len())..]
    }

    /// The newest call of a run that is named so.
    pub(super) fn call_of(&self, what: &str) -> Option<&'a CallRecord> {
        let home = self.state.home();
        let is_it =
            |call: &&CallRecord| runs(call) && !call.is_open() && run_on(home, call) == what;
        self.state.calls().rev().find(is_it)
    }

    /// Whether the kind's demand for proof is met, if it makes one.
    pub fn may_end(&self) -> bool {
        let last = self.tests_since_change().last();
        !self.profile.demand_proof
            || (last.is_some_and(|test| test.success) && self.unmade_run().is_none())
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
    /// is made: it shows who wants to end how it stands.
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
        if let Some(unlike) = self.unlike_stated() {
            return self.block(Guard::Proof, unlike);
        }
        if !result.details.is_object() {
            result.details = json!({});
        }
        if let Some(details) = result.details.as_object_mut() {
            let proof = self.tests_since_change();
            details.insert("tests_run".to_owned(), json!(proof));
        }
        Decision::Finish {
            request,
            translated_by: by,
            result,
        }
    }
}
