//! How a journalled decision changes a task's state.

use crate::domain::chat::Role;
use crate::domain::decision::{Consult, Decision, PlannedCall, Question, WaitReason};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::event::StoredEvent;
use crate::domain::task::{
    Blocked, CallEnd, CallRecord, ExecutorTry, Open, QuestionRecord, Step, TaskState,
};

impl TaskState {
    pub(super) fn decided(&mut self, stored: &StoredEvent, decision: &Decision) {
        let seq = stored.seq;
        self.started_at_ms.get_or_insert(stored.at_ms);
        match decision {
            Decision::Consult(consult) => self.consulting(seq, consult),
            Decision::Call {
                request,
                translated_by,
                calls,
            } => {
                self.calling(seq, request, *translated_by, calls);
            }
            Decision::Ask {
                request,
                translated_by,
                question,
            } => {
                self.asking(seq, request, *translated_by, question);
            }
            Decision::Block { guard, evidence } => {
                let blocked = Blocked {
                    guard: *guard,
                    evidence: evidence.clone(),
                };
                match self.open_step() {
                    Some(step) => {
                        step.blocked = Some(blocked);
                        step.closed = true;
                    }
                    None => self.note(guard.as_str(), evidence.clone()),
                }
                self.bounces = self.bounces.saturating_add(1);
            }
            Decision::Wait { reason, until_ms } => {
                self.open = Open::Wait {
                    seq,
                    reason: *reason,
                    until_ms: *until_ms,
                };
                self.wait = Some(*reason);
                match reason {
                    WaitReason::Model => self.failures_waited_out = self.model_failures,
                    WaitReason::ComputerOffline => {
                        self.offline_since_ms.get_or_insert(stored.at_ms);
                    }
                    _ => {}
                }
            }
            Decision::Finish {
                request,
                translated_by,
                ..
            } => {
                if let Some(step) = self.open_step() {
                    step.request = Some(request.clone());
                    step.translated_by = Some(*translated_by);
                    step.closed = true;
                }
            }
            // The closing event follows in the same append.
            Decision::Fail { .. } => {}
            Decision::Rest => {}
        }
    }

    fn consulting(&mut self, seq: u64, consult: &Consult) {
        let conversation = self.conversations.entry(consult.role).or_default();
        conversation.prompt = consult.prompt.apply(&conversation.prompt);
        self.open = Open::Consult {
            seq,
            role: consult.role,
            contract: consult.contract,
            format: consult.format.clone(),
        };
        match consult.role {
            // A planner that is asked again after a model failure stays in its step.
            Role::Planner if self.current_step().is_none() => {
                self.usage.steps = self.usage.steps.saturating_add(1);
                self.steps.push(Step::new(self.usage.steps));
            }
            Role::Planner => {}
            Role::Executor => {
                if let Some(step) = self.open_step() {
                    // A try that the model failed to answer is made again.
                    step.executor.retain(|attempt| attempt.answer.is_some());
                    step.executor.push(ExecutorTry {
                        consult: seq,
                        answer: None,
                        request: None,
                        problems: Vec::new(),
                    });
                }
            }
        }
    }

    fn calling(
        &mut self,
        seq: u64,
        request: &StrictRequest,
        translated_by: TranslatedBy,
        calls: &[PlannedCall],
    ) {
        if self.current_step().is_none() {
            // Strategies without a planner (a direct call) have no step yet.
            self.usage.steps = self.usage.steps.saturating_add(1);
            self.steps.push(Step::new(self.usage.steps));
        }
        self.usage.calls = self.usage.calls.saturating_add(calls.len() as u32);
        let Some(step) = self.open_step() else { return };
        if step.request.is_none() {
            step.request = Some(request.clone());
            step.translated_by = Some(translated_by);
        }
        step.calls.extend(calls.iter().map(|call| CallRecord {
            call_id: call.call_id.clone(),
            target: call.target.clone(),
            tool: call.tool.clone(),
            args: call.args.clone(),
            timeout_ms: call.timeout_ms,
            request: request.clone(),
            intended: None,
            end: CallEnd::Open,
        }));
        self.open = Open::Calls { seq };
    }

    fn asking(
        &mut self,
        seq: u64,
        request: &StrictRequest,
        translated_by: TranslatedBy,
        question: &Question,
    ) {
        self.usage.questions = self.usage.questions.saturating_add(1);
        self.wait = Some(WaitReason::Answer);
        self.open = Open::Question {
            seq,
            question: question.clone(),
            delivered: false,
        };
        let Some(step) = self.open_step() else { return };
        step.request = Some(request.clone());
        step.translated_by = Some(translated_by);
        step.question = Some(QuestionRecord {
            question: question.clone(),
            answer: None,
            expired: false,
        });
    }
}
