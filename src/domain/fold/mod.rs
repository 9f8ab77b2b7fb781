//! The fold: how each event changes a task's state. It is total and deterministic: any event in any
//! order is taken without panic, and what makes no sense changes nothing but the position.

mod decided;
mod effects;

pub use effects::{DRIFT, run_label};

use super::call::{CallReport, Outcome};
use super::chat::{ChatAnswer, Role};
use super::decision::WaitReason;
use super::directive::{Action, Reading, StrictRequest, ThenItem};
use super::event::{CallIntended, StoredEvent, TaskEvent};
use super::ids::CallId;
use super::task::{
    Answered, CallEnd, CallRecord, Note, Open, Step, TaskError, TaskState, TaskStatus, UserAnswer,
};
use effects::effects_of;
use serde_json::Value;

impl TaskState {
    /// Folds one event. A position that is not the next one is taken as it is: order is the journal's duty.
    pub fn apply(&mut self, stored: &StoredEvent) {
        self.last_seq = stored.seq;
        self.generation = self.generation.max(stored.generation);
        self.updated_at_ms = stored.at_ms;
        if self.status.is_final() && !matches!(stored.event, TaskEvent::CallFinished { .. }) {
            return;
        }
        match &stored.event {
            TaskEvent::TaskCreated(created) => {
                if self.created.is_none() {
                    self.created = Some((**created).clone());
                    self.created_at_ms = stored.at_ms;
                }
            }
            TaskEvent::GenerationStarted {
                generation, salt, ..
            } => {
                self.generation = self.generation.max(*generation);
                if let Some(salt) = salt {
                    self.salt = Some(salt.clone());
                    self.rename_unsent_calls(salt);
                }
                // The time in which no server was there to be connected to does not count.
                if self.offline_since_ms.is_some() {
                    self.offline_since_ms = Some(stored.at_ms);
                }
            }
            TaskEvent::Decided { decision, .. } => self.decided(stored, decision),
            TaskEvent::ModelAnswered {
                consult,
                role,
                answer,
            } => {
                if self.close_consult(*consult, *role) {
                    self.model_answered(*consult, *role, answer);
                }
            }
            TaskEvent::ModelFailed {
                consult,
                role,
                failure,
            } => {
                if self.close_consult(*consult, *role) {
                    self.model_failures = self.model_failures.saturating_add(1);
                    self.last_failure = Some(failure.clone());
                    if failure.code == PROMPT_TOO_LONG {
                        self.prompt_did_not_fit();
                    }
                    self.note(
                        "model_failed",
                        format!("{}: {}", failure.code, failure.message),
                    );
                }
            }
            TaskEvent::DirectiveRead { consult, reading } => self.directive_read(*consult, reading),
            TaskEvent::RequestRead {
                consult,
                request,
                problems,
            } => {
                self.request_read(*consult, request, problems);
            }
            TaskEvent::CallIntended(intended) => self.call_intended(intended),
            TaskEvent::CallFinished { call_id, report } => self.call_finished(call_id, report),
            TaskEvent::CallNotPlaced { call_id, no_route } => {
                self.end_call(call_id, CallEnd::NotPlaced(no_route.clone()));
            }
            TaskEvent::QuestionDelivered { question_id } => {
                if let Open::Question {
                    question,
                    delivered,
                    ..
                } = &mut self.open
                    && question.question_id == *question_id
                {
                    *delivered = true;
                }
            }
            TaskEvent::QuestionAnswered {
                question_id,
                answer,
                by,
                authenticated,
            } => {
                let answer = UserAnswer {
                    answer: answer.clone(),
                    by: by.clone(),
                    authenticated: *authenticated,
                };
                self.close_question(question_id.as_str(), Some(answer));
            }
            TaskEvent::QuestionExpired { question_id } => {
                self.close_question(question_id.as_str(), None);
            }
            TaskEvent::WaitStarted { reason } => self.wait = Some(*reason),
            TaskEvent::WaitEnded { reason } => self.wait_ended(*reason),
            TaskEvent::Noted { code, message } => self.note(code, message.clone()),
            TaskEvent::TaskCompleted { result } => {
                self.result = Some(result.clone());
                self.end(TaskStatus::Completed);
            }
            TaskEvent::TaskFailed {
                code,
                error,
                details,
            } => {
                self.error = Some(TaskError {
                    code: code.clone(),
                    error: error.clone(),
                    details: details.clone(),
                });
                self.end(TaskStatus::Failed);
            }
            TaskEvent::TaskCancelled { reason, .. } => {
                self.error = Some(TaskError {
                    code: "cancelled".into(),
                    error: reason.clone(),
                    details: Value::Null,
                });
                self.end(TaskStatus::Cancelled);
            }
        }
        self.settle_status();
    }

    /// Folds many events.
    pub fn apply_all<'a>(&mut self, events: impl IntoIterator<Item = &'a StoredEvent>) {
        for event in events {
            self.apply(event);
        }
    }

    /// Whether this was the answer that the task waits for; if so it waits no longer.
    fn close_consult(&mut self, consult: u64, of: Role) -> bool {
        match self.open {
            Open::Consult { seq, role, .. } if seq == consult && role == of => {
                self.open = Open::Nothing;
                self.usage.model_calls = self.usage.model_calls.saturating_add(1);
                if of == Role::Executor {
                    self.usage.executor_model_calls =
                        self.usage.executor_model_calls.saturating_add(1);
                }
                true
            }
            _ => false,
        }
    }

    fn model_answered(&mut self, consult: u64, role: Role, answer: &ChatAnswer) {
        self.model_failures = 0;
        self.failures_waited_out = 0;
        self.last_failure = None;
        self.usage.tokens_in = self
            .usage
            .tokens_in
            .saturating_add(answer.usage.tokens_in.unwrap_or(0));
        self.usage.tokens_out = self
            .usage
            .tokens_out
            .saturating_add(answer.usage.tokens_out.unwrap_or(0));
        self.usage.tokens_cached = self
            .usage
            .tokens_cached
            .saturating_add(answer.usage.tokens_cached.unwrap_or(0));
        self.conversations
            .entry(role)
            .or_default()
            .answers
            .push(answer.content.clone());
        let Some(step) = self.open_step() else { return };
        match role {
            Role::Planner => {
                step.planner = Some(Answered {
                    consult,
                    answer: answer.clone(),
                })
            }
            Role::Executor => {
                if let Some(attempt) = step.executor.iter_mut().find(|t| t.consult == consult) {
                    attempt.answer = Some(answer.clone());
                }
            }
        }
    }

    fn directive_read(&mut self, consult: u64, reading: &Reading) {
        if let Some(step) = self.open_step()
            && step.planner.as_ref().is_some_and(|p| p.consult == consult)
        {
            step.reading = Some(reading.clone());
        }
    }

    fn request_read(&mut self, consult: u64, request: &Option<StrictRequest>, problems: &[String]) {
        if let Some(step) = self.open_step()
            && let Some(attempt) = step.executor.iter_mut().find(|t| t.consult == consult)
        {
            attempt.request = request.clone();
            attempt.problems = problems.to_vec();
        }
    }

    /// A call that never left gets another id: in a time that this journal has forgotten it may have left after all.
    fn rename_unsent_calls(&mut self, salt: &str) {
        let calls = self.steps.iter_mut().flat_map(|step| &mut step.calls);
        for call in calls.filter(|call| call.is_open() && call.intended.is_none()) {
            call.call_id = call.call_id.salted(salt);
        }
    }

    fn call_intended(&mut self, intended: &CallIntended) {
        let client_id = intended.client_id.clone();
        let Some(call) = self.call_mut(&intended.call_id) else {
            return;
        };
        if call.intended.is_none() && call.is_open() {
            call.intended = Some(intended.clone());
            self.sticky.get_or_insert(client_id);
            self.offline_since_ms = None;
            self.wait = None;
        }
    }

    /// An outcome is final, but an unknown one may once become known.
    fn call_finished(&mut self, call_id: &CallId, report: &CallReport) {
        let Some(call) = self.call_mut(call_id) else {
            return;
        };
        match &call.end {
            CallEnd::Open => {
                let effects = effects_of(call, report);
                let called = call.clone();
                self.end_call(call_id, CallEnd::Finished(report.clone()));
                self.record_effects(&called, effects);
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

    fn end_call(&mut self, call_id: &CallId, end: CallEnd) {
        self.wait = None;
        let Some(call) = self.call_mut(call_id) else {
            return;
        };
        if !call.is_open() {
            return;
        }
        call.end = end;
        let Some(step) = self.open_step() else { return };
        if step.calls.iter().all(|call| !call.is_open()) {
            let failed = step.calls.iter().any(|call| !call.succeeded());
            // THEN items go on only while everything succeeds.
            step.closed = failed || step.next_then().is_none();
            self.open = Open::Nothing;
            self.bounces = 0;
        }
    }

    fn close_question(&mut self, question_id: &str, answer: Option<UserAnswer>) {
        match &self.open {
            Open::Question { question, .. } if question.question_id.as_str() == question_id => {}
            _ => return,
        }
        self.open = Open::Nothing;
        self.wait = None;
        self.bounces = 0;
        if let Some(step) = self.open_step() {
            step.closed = true;
            if let Some(record) = &mut step.question {
                record.expired = answer.is_none();
                record.answer = answer;
            }
        }
    }

    /// The next prompt shall have a quarter less than the one that was refused: the estimate was too low for
    /// this model.
    fn prompt_did_not_fit(&mut self) {
        let bytes: usize = self
            .prompt(Role::Planner)
            .iter()
            .map(|m| m.content.len())
            .sum();
        let ceiling = bytes * 3 / 4;
        self.prompt_ceiling = Some(self.prompt_ceiling.map_or(ceiling, |c| c.min(ceiling)));
    }

    fn wait_ended(&mut self, ended: WaitReason) {
        if self.wait == Some(ended) {
            self.wait = None;
        }
        if matches!(self.open, Open::Wait { reason, .. } if reason == ended) {
            self.open = Open::Nothing;
        }
    }

    pub(super) fn note(&mut self, code: &str, message: String) {
        let after_step = self.usage.steps;
        self.notes.push(Note {
            after_step,
            code: code.to_owned(),
            message,
        });
    }

    fn end(&mut self, status: TaskStatus) {
        self.status = status;
        self.open = Open::Nothing;
        self.wait = None;
        if let Some(step) = self.open_step() {
            step.closed = true;
        }
    }

    fn settle_status(&mut self) {
        if self.status.is_final() {
            return;
        }
        self.status = match &self.open {
            Open::Nothing if self.started_at_ms.is_none() => TaskStatus::Queued,
            Open::Calls { .. } => TaskStatus::WaitingForCommand,
            Open::Question { .. } => TaskStatus::WaitingForUser,
            Open::Wait {
                reason: WaitReason::ComputerOffline,
                ..
            } => TaskStatus::WaitingForCommand,
            Open::Wait { .. } => TaskStatus::Sleeping,
            Open::Nothing | Open::Consult { .. } => TaskStatus::Running,
        };
    }

    pub(super) fn open_step(&mut self) -> Option<&mut Step> {
        self.steps.last_mut().filter(|step| !step.closed)
    }

    fn call_mut(&mut self, call_id: &CallId) -> Option<&mut CallRecord> {
        let calls = self.steps.iter_mut().rev().flat_map(|step| &mut step.calls);
        calls.into_iter().find(|call| &call.call_id == call_id)
    }
}

/// The code of the model failure that asks for a shorter prompt.
pub const PROMPT_TOO_LONG: &str = "prompt_too_long";

impl Step {
    pub(super) fn new(number: u32) -> Self {
        Step {
            number,
            planner: None,
            reading: None,
            executor: Vec::new(),
            request: None,
            translated_by: None,
            calls: Vec::new(),
            question: None,
            blocked: None,
            closed: false,
        }
    }

    /// How many THEN items have been begun. The first one may have been fused with the write.
    pub fn then_done(&self) -> usize {
        let fused = self
            .calls
            .first()
            .is_some_and(|call| call.tool == "write_and_run");
        if fused {
            self.calls.len()
        } else {
            self.calls.len().saturating_sub(1)
        }
    }

    /// The THEN item that is to run next.
    pub fn next_then(&self) -> Option<&ThenItem> {
        match &self.reading.as_ref()?.directive()?.action {
            Action::WriteFile { then, .. } => then.get(self.then_done()),
            _ => None,
        }
    }
}
