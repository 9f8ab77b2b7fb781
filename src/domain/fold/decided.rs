//! How a journalled decision changes a task's state.

use crate::domain::chat::Role;
use crate::domain::decision::{
    Consult, Contract, Decision, PlannedCall, Question, ToolsDelta, WaitReason,
};
use crate::domain::directive::{StrictRequest, TranslatedBy};
use crate::domain::event::StoredEvent;
use crate::domain::memo::Memo;
use crate::domain::task::{
    Blocked, CallEnd, CallRecord, ExecutorTry, Open, QuestionRecord, Step, TaskState,
};
use crate::domain::track::Track;
use crate::domain::work::{Advance, Compaction};

/// The code of the note that a kind's ready decomposition cannot be carried out here.
pub const TEMPLATE_REFUSED: &str = "template_refused";

impl TaskState {
    pub(super) fn decided(&mut self, stored: &StoredEvent, track: Track, decision: &Decision) {
        let seq = stored.seq;
        self.started_at_ms.get_or_insert(stored.at_ms);
        match decision {
            Decision::Consult(consult) => self.consulting(seq, track, consult),
            Decision::Call {
                request,
                translated_by,
                calls,
            } => {
                self.calling(seq, track, request, *translated_by, calls);
                self.translated(track, *translated_by);
            }
            Decision::Ask {
                request,
                translated_by,
                question,
            } => {
                self.asking(seq, track, request, *translated_by, question);
                // What waits for consent is counted when it is done.
                if question.approval.is_none() {
                    self.translated(track, *translated_by);
                }
            }
            Decision::Block { guard, evidence } => {
                let blocked = Blocked {
                    guard: *guard,
                    evidence: evidence.clone(),
                };
                match self.open_step_on(track) {
                    Some(step) => {
                        step.blocked = Some(blocked);
                        step.closed = true;
                        if step.asks_aside() {
                            // A model that could not say it is not what the task waits for.
                            self.last_failure = None;
                        }
                    }
                    None => self.note(guard.as_str(), evidence.clone()),
                }
                self.bounces = self.bounces.saturating_add(1);
            }
            Decision::Wait { reason, until_ms } => {
                let wait = Open::Wait {
                    seq,
                    reason: *reason,
                    until_ms: *until_ms,
                    since_ms: stored.at_ms,
                };
                self.open.insert(track, wait);
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
                self.translated(track, *translated_by);
                if let Some(step) = self.open_step_on(track) {
                    step.request = Some(request.clone());
                    step.translated_by = Some(*translated_by);
                    step.closed = true;
                }
            }
            // The closing event follows in the same append.
            Decision::Fail { .. } => {}
            Decision::Advance { advance } => self.advanced(stored.at_ms, track, advance),
        }
    }

    fn advanced(&mut self, at_ms: i64, track: Track, advance: &Advance) {
        match advance {
            Advance::Compacted {
                upto_step,
                facts,
                by,
            } => {
                self.compaction = Some(Compaction {
                    upto_step: *upto_step,
                    facts: facts.clone(),
                    by: *by,
                });
                // A model that could not sum up is not what the task waits for.
                self.last_failure = None;
            }
            Advance::TemplateRefused { template, problems } => {
                let words = format!(
                    "the ready plan \"{template}\" of this kind of task cannot be carried out here: {}",
                    problems.join("; ")
                );
                self.note(TEMPLATE_REFUSED, words);
            }
            Advance::Recalled { piece } => {
                if let Some(step) = self.open_step_on(track) {
                    step.recalled = Some(*piece);
                }
            }
            _ => {}
        }
        self.work.advance(advance, at_ms);
        if let Some(step) = self.open_step_on(track)
            && advance.closes(step)
        {
            step.closed = true;
            if advance.is_progress() {
                self.bounces = 0;
            }
        }
    }

    /// Counts what an executor would have been asked for: a directive, or a step of a plan, which has a track of its own.
    /// What other strategies do by rule is no translation.
    fn translated(&mut self, track: Track, by: TranslatedBy) {
        let step = self.current_step_on(track);
        let is_directive = step.is_some_and(|step| step.reading.is_some());
        if by == TranslatedBy::Rules && (is_directive || !track.is_main()) {
            let avoided = &mut self.usage.executor_calls_avoided;
            *avoided = avoided.saturating_add(1);
        }
    }

    /// A step for what happens now on a track, if none is open there.
    fn begin_step(&mut self, track: Track) {
        if self.current_step_on(track).is_none() {
            self.usage.steps = self.usage.steps.saturating_add(1);
            self.steps.push(Step::new(self.usage.steps, track));
        }
    }

    fn consulting(&mut self, seq: u64, track: Track, consult: &Consult) {
        let conversation = self.conversations.entry(consult.role).or_default();
        conversation.prompt = consult.prompt.apply(&conversation.prompt);
        if let ToolsDelta::Set(tools) = &consult.tools {
            conversation.tools.clone_from(tools);
        }
        let open = Open::Consult {
            seq,
            role: consult.role,
            contract: consult.contract,
            format: consult.format.clone(),
        };
        self.open.insert(track, open);
        // Who is asked again after a model failure stays in its step.
        self.begin_step(track);
        if let Some(step) = self.open_step_on(track) {
            step.summary_upto = match consult.contract {
                Contract::Summary { upto_step } => Some(upto_step),
                _ => None,
            };
        }
        match consult.role {
            Role::Planner => {}
            Role::Executor => {
                if let Some(step) = self.open_step_on(track) {
                    // A try that the model failed to answer is made again.
                    step.executor.retain(|attempt| attempt.answer.is_some());
                    step.executor.push(ExecutorTry {
                        consult: seq,
                        contract: consult.contract,
                        answer: None,
                        request: None,
                        problems: Vec::new(),
                        read: None,
                    });
                }
            }
        }
    }

    fn calling(
        &mut self,
        seq: u64,
        track: Track,
        request: &StrictRequest,
        translated_by: TranslatedBy,
        calls: &[PlannedCall],
    ) {
        // What comes without a consult (a direct call, a plan's step by rule) has no step yet.
        self.begin_step(track);
        self.usage.calls = self.usage.calls.saturating_add(calls.len() as u32);
        let Some(step) = self.open_step_on(track) else {
            return;
        };
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
            request: call.request.as_ref().unwrap_or(request).clone(),
            child: call.child.clone(),
            until_ms: call.until_ms,
            intended: None,
            end: CallEnd::Open,
            settled: Memo::default(),
        }));
        self.open.insert(track, Open::Calls { seq });
        self.shows_sleep(track);
    }

    fn asking(
        &mut self,
        seq: u64,
        track: Track,
        request: &StrictRequest,
        translated_by: TranslatedBy,
        question: &Question,
    ) {
        if question.approval.is_some() {
            // Not the planner's wish, so not of its budget either.
            self.wait = Some(WaitReason::Approval);
        } else {
            self.usage.questions = self.usage.questions.saturating_add(1);
            self.wait = Some(WaitReason::Answer);
        }
        let open = Open::Question {
            seq,
            question: question.clone(),
            delivered: false,
            asked_ms: self.updated_at_ms,
        };
        self.open.insert(track, open);
        self.begin_step(track);
        let Some(step) = self.open_step_on(track) else {
            return;
        };
        step.request = Some(request.clone());
        step.translated_by = Some(translated_by);
        step.question = Some(QuestionRecord {
            question: question.clone(),
            answer: None,
            expired: false,
        });
    }
}
