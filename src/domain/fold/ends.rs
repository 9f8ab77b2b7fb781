//! How the end of a call or of a question changes a task's state.

use super::effects::effects_of;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::ids::{CallId, QuestionId};
use crate::domain::task::{CallEnd, Open, Step, TaskState, UserAnswer};

impl TaskState {
    /// An outcome is final, but an unknown one may once become known.
    pub(super) fn call_finished(&mut self, call_id: &CallId, report: &CallReport) {
        if self.former_call_ended(call_id, report) {
            return;
        }
        let Some(call) = self.call_mut(call_id) else {
            return;
        };
        match &call.end {
            CallEnd::Open => {
                let effects = effects_of(call, report);
                self.end_call(call_id, CallEnd::Finished(report.clone()));
                if let Some(called) = self.call_mut(call_id).cloned() {
                    self.child_ended(&called, report);
                    self.record_effects(&called, effects);
                }
            }
            CallEnd::Finished(former)
                if former.outcome == Outcome::Unknown
                    && matches!(report.outcome, Outcome::Done | Outcome::Failed) =>
            {
                let told = format!(
                    "the call of {} whose outcome was unknown turned out as {}",
                    call.tool,
                    report.outcome.as_str()
                );
                let effects = effects_of(call, report);
                call.end = CallEnd::Finished(report.clone());
                let called = call.clone();
                self.note("late_outcome", told);
                self.record_effects(&called, effects);
            }
            CallEnd::Finished(_) | CallEnd::NotPlaced(_) => {}
        }
    }

    pub(super) fn end_call(&mut self, call_id: &CallId, end: CallEnd) {
        self.wait = None;
        let Some(call) = self.call_mut(call_id) else {
            return;
        };
        if !call.is_open() {
            return;
        }
        call.end = end;
        let at_ms = self.updated_at_ms;
        let has_it = |step: &Step| step.calls.iter().any(|call| &call.call_id == call_id);
        let Some(place) = self.steps.iter().rposition(|s| !s.closed && has_it(s)) else {
            return;
        };
        let step = &mut self.steps[place];
        if step.calls.iter().all(|call| !call.is_open()) {
            let failed = step.calls.iter().any(|call| !call.succeeded());
            // THEN items go on only while everything succeeds.
            step.closed = failed || step.next_then().is_none();
            self.open.remove(&step.track);
            self.bounces = 0;
            self.work.calls_ended(&self.steps[place], at_ms);
        }
    }

    pub(super) fn close_question(&mut self, question_id: &QuestionId, answer: Option<UserAnswer>) {
        let asks = |open: &Open| matches!(open, Open::Question { question, .. } if question.question_id == *question_id);
        let Some(track) = self.open.iter().find(|(_, open)| asks(open)) else {
            return;
        };
        let track = *track.0;
        self.open.remove(&track);
        self.wait = None;
        self.bounces = 0;
        let Some(step) = self.open_step_on(track) else {
            return;
        };
        let consents = answer.as_ref().is_some_and(UserAnswer::consents);
        let Some(record) = &mut step.question else {
            return;
        };
        record.expired = answer.is_none();
        record.answer = answer;
        // With a person's consent the step goes on to the call that it was asked for.
        let refused = record.question.approval.is_some() && !consents;
        step.closed = record.question.approval.is_none() || refused;
        if refused {
            step.blocked = Some(record.refusal());
        }
    }
}
