//! The fold: how each event changes a task's state. It is total and deterministic: any event in any
//! order is taken without panic, and what makes no sense changes nothing but the position.

mod decided;
mod direct;
mod effects;
mod ends;
mod episodes;

pub use decided::TEMPLATE_REFUSED;
pub use effects::{DRIFT, on_computer, run_label, run_label_of, run_on};

use super::chat::{ChatAnswer, Role};
use super::decision::WaitReason;
use super::directive::{Reading, StrictRequest, TaskResult};
use super::event::{CallIntended, StoredEvent, TaskCreated, TaskEvent};
use super::ids::{CallId, Generation};
use super::prompt_echo::echo_at;
use super::read::Read;
use super::task::{
    Answered, CallEnd, CallRecord, Note, Open, Step, TaskError, TaskState, TaskStatus, UserAnswer,
    Woken,
};
use super::tokens::Size;
use super::track::Track;
use super::uptime::Seen;
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
            TaskEvent::TaskCreated(created) => self.begins(stored.at_ms, created),
            TaskEvent::DirectCallEnded(whole) => self.direct_call_ended(stored, whole),
            TaskEvent::Forked(forked) => self.take_over(forked),
            TaskEvent::GenerationStarted {
                generation,
                salt,
                up_ms,
                ..
            } => {
                self.generation = self.generation.max(*generation);
                if let Some(salt) = salt {
                    self.salt = Some(salt.clone());
                    self.rename_unsent_calls(salt);
                }
                let at_ms = stored.at_ms;
                self.server_started(up_ms.map(|up_ms| Seen { at_ms, up_ms }));
            }
            TaskEvent::Decided {
                decision, track, ..
            } => self.decided(stored, *track, decision),
            TaskEvent::ModelAnswered {
                consult,
                role,
                answer,
            } => {
                if let Some(track) = self.close_consult(*consult, *role) {
                    self.model_answered(track, *consult, *role, answer);
                }
            }
            TaskEvent::ModelFailed {
                consult,
                role,
                failure,
            } => {
                if self.close_consult(*consult, *role).is_some() {
                    self.model_failures = self.model_failures.saturating_add(1);
                    if !failure.is_away() && !failure.needs_somebody() {
                        self.model_faults = self.model_faults.saturating_add(1);
                    }
                    self.last_failure = Some(failure.clone());
                    self.failed_role = Some(*role);
                    if failure.code == PROMPT_TOO_LONG {
                        self.prompt_did_not_fit();
                    }
                    self.no_native_tools |= failure.code == TOOLS_UNSUPPORTED;
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
            TaskEvent::AnswerRead { consult, read } => self.answer_read(*consult, read),
            TaskEvent::CallIntended(intended) => self.call_intended(intended),
            TaskEvent::CallFinished { call_id, report } => self.call_finished(call_id, report),
            TaskEvent::CallNotPlaced { call_id, no_route } => {
                self.away_since_ms = None;
                self.end_call(call_id, CallEnd::NotPlaced(no_route.clone()));
            }
            TaskEvent::QuestionDelivered { question_id } => {
                for open in self.open.values_mut() {
                    if let Open::Question {
                        question,
                        delivered,
                        ..
                    } = open
                        && question.question_id == *question_id
                    {
                        *delivered = true;
                    }
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
                self.close_question(question_id, Some(answer));
            }
            TaskEvent::QuestionExpired { question_id } => {
                self.close_question(question_id, None);
            }
            TaskEvent::WaitStarted { reason } => {
                self.wait = Some(*reason);
                if *reason == WaitReason::ComputerOffline {
                    self.away_since_ms.get_or_insert(stored.at_ms);
                } else {
                    self.away_since_ms = None;
                }
            }
            TaskEvent::WaitEnded { reason } => self.wait_ended(*reason),
            TaskEvent::CallsAway { since } => self.away = since.clone(),
            TaskEvent::EpisodeEnded(ended) => self.episode_ended(ended),
            TaskEvent::FellAsleep(sleep) => self.fell_asleep(stored.seq, sleep),
            TaskEvent::EpisodeStarted { episode, wakes } => {
                self.episode_started(stored, *episode, wakes);
            }
            TaskEvent::WakeKept { wake } => self.wake_kept(wake),
            TaskEvent::Noted { code, message } => self.note(code, message.clone()),
            TaskEvent::TaskCompleted { result } => self.completed(result.clone()),
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

    /// Folds events that are about to be journalled behind the last one, and gives them back with their places.
    pub fn apply_next(
        &mut self,
        generation: Generation,
        at_ms: i64,
        events: Vec<TaskEvent>,
    ) -> Vec<StoredEvent> {
        let folded = events.into_iter().map(|event| {
            let stored = StoredEvent {
                task_id: self.task_id.clone(),
                seq: self.last_seq + 1,
                at_ms,
                generation,
                event,
            };
            self.apply(&stored);
            stored
        });
        folded.collect()
    }

    /// Folds many events.
    pub fn apply_all<'a>(&mut self, events: impl IntoIterator<Item = &'a StoredEvent>) {
        for event in events {
            self.apply(event);
        }
    }

    fn begins(&mut self, at_ms: i64, created: &TaskCreated) {
        if self.created.is_none() {
            self.created = Some(created.clone());
            self.created_at_ms = at_ms;
            self.episodes.number = u32::from(created.wakes.is_some());
            self.seen = created.up_ms.map(|up_ms| Seen { at_ms, up_ms });
        }
    }

    fn completed(&mut self, result: TaskResult) {
        self.result = Some(result);
        self.end(TaskStatus::Completed);
    }

    /// The track that waits for this answer, if there is one; it waits no longer.
    fn close_consult(&mut self, consult: u64, of: Role) -> Option<Track> {
        let (track, open) = self.open_consult(consult)?;
        if !matches!(open, Open::Consult { role, .. } if *role == of) {
            return None;
        }
        self.open.remove(&track);
        self.usage.model_calls = self.usage.model_calls.saturating_add(1);
        if of == Role::Executor {
            self.usage.executor_model_calls = self.usage.executor_model_calls.saturating_add(1);
        }
        Some(track)
    }

    fn model_answered(&mut self, track: Track, consult: u64, role: Role, answer: &ChatAnswer) {
        self.model_failures = 0;
        self.model_faults = 0;
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
        let conversation = self.conversations.entry(role).or_default();
        let asked = conversation.prompt.last();
        let echo_at = asked.and_then(|asked| echo_at(&answer.content, &asked.content));
        conversation.answers.push(answer.content.clone());
        if let Some(tokens) = answer.usage.tokens_in {
            let size = Size::of(&conversation.prompt).plus(Size::of_tools(&conversation.tools));
            conversation.ratio = conversation.ratio.corrected(size, tokens);
        }
        let Some(step) = self.open_step_on(track) else {
            return;
        };
        match role {
            Role::Planner => {
                step.planner = Some(Answered {
                    consult,
                    answer: answer.clone(),
                    echo_at,
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
        let asked = |step: &Step| step.planner.as_ref().is_some_and(|p| p.consult == consult);
        if let Some(step) = self.open_step_where(asked) {
            step.reading = Some(reading.clone());
        }
    }

    fn answer_read(&mut self, consult: u64, read: &Read) {
        let of_planner = |step: &Step| step.planner.as_ref().is_some_and(|p| p.consult == consult);
        let of_executor = |step: &Step| step.executor.iter().any(|t| t.consult == consult);
        if let Some(step) = self.open_step_where(of_planner) {
            step.read = Some(read.clone());
            if step.track.is_main() {
                self.work.answer_read(read);
            }
        } else if let Some(step) = self.open_step_where(of_executor) {
            let attempt = step.executor.iter_mut().find(|t| t.consult == consult);
            if let Some(attempt) = attempt {
                attempt.read = Some(read.clone());
            }
        }
    }

    fn request_read(&mut self, consult: u64, request: &Option<StrictRequest>, problems: &[String]) {
        let asked = |step: &Step| step.executor.iter().any(|t| t.consult == consult);
        if let Some(step) = self.open_step_where(asked)
            && let Some(attempt) = step.executor.iter_mut().find(|t| t.consult == consult)
        {
            attempt.request = request.clone();
            attempt.problems = problems.to_vec();
        }
    }

    /// A call that never left gets another id: in a time that this journal has forgotten it may have left after all.
    fn rename_unsent_calls(&mut self, salt: &str) {
        let calls = self.steps.iter_mut().flat_map(|step| &mut step.calls);
        // One that starts a task never leaves, and its task has its name already.
        let unsent = |call: &&mut CallRecord| call.intended.is_none() && call.child.is_none();
        for call in calls.filter(|call| call.is_open()).filter(unsent) {
            let salted = call.call_id.salted(salt);
            let former = std::mem::replace(&mut call.call_id, salted);
            if let Some(since_ms) = self.away.remove(&former) {
                self.away.insert(call.call_id.clone(), since_ms);
            }
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
            self.away_since_ms = None;
            self.wait = None;
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
        if matches!(ended, WaitReason::Schedule | WaitReason::Event) {
            self.woken = Some(Woken {
                at_ms: self.updated_at_ms,
                usage: self.usage,
            });
        }
        if self.wait == Some(ended) {
            self.wait = None;
        }
        if ended == WaitReason::ComputerOffline {
            self.away_since_ms = None;
        }
        self.open
            .retain(|_, open| !matches!(open, Open::Wait { reason, .. } if *reason == ended));
    }

    pub(in crate::domain) fn note(&mut self, code: &str, message: String) {
        let after_step = self.usage.steps;
        self.notes.push(Note {
            after_step,
            code: code.to_owned(),
            message,
        });
    }

    fn end(&mut self, status: TaskStatus) {
        self.status = status;
        self.open.clear();
        self.wait = None;
        for step in &mut self.steps {
            step.closed = true;
        }
    }

    fn settle_status(&mut self) {
        if self.status.is_final() {
            return;
        }
        // Of several tracks the one is shown about which people can do most.
        let status = |(track, open): (&Track, &Open)| match open {
            Open::Question { .. } => (0, TaskStatus::WaitingForUser),
            Open::Calls { .. } if self.only_sleeps(*track) => (4, TaskStatus::Sleeping),
            Open::Calls { .. } => (1, TaskStatus::WaitingForCommand),
            Open::Nothing | Open::Consult { .. } => (2, TaskStatus::Running),
            Open::Wait {
                reason: WaitReason::ComputerOffline,
                ..
            } => (3, TaskStatus::WaitingForCommand),
            Open::Wait { .. } => (4, TaskStatus::Sleeping),
        };
        let shown = self.open.iter().map(status).min_by_key(|(rank, _)| *rank);
        self.status = match shown {
            Some((_, status)) => status,
            None if self.started_at_ms.is_none() => TaskStatus::Queued,
            None => TaskStatus::Running,
        };
    }

    /// A track's step that is not closed yet.
    pub(super) fn open_step_on(&mut self, track: Track) -> Option<&mut Step> {
        let last = self.steps.iter_mut().rev().find(|step| step.track == track);
        last.filter(|step| !step.closed)
    }

    /// The newest open step for which something holds.
    fn open_step_where(&mut self, holds: impl Fn(&Step) -> bool) -> Option<&mut Step> {
        let mut open = self.steps.iter_mut().rev().filter(|step| !step.closed);
        open.find(|step| holds(step))
    }

    fn call_mut(&mut self, call_id: &CallId) -> Option<&mut CallRecord> {
        let calls = self.steps.iter_mut().rev().flat_map(|step| &mut step.calls);
        calls.into_iter().find(|call| &call.call_id == call_id)
    }
}

/// The code of the model failure that asks for a shorter prompt.
pub const PROMPT_TOO_LONG: &str = "prompt_too_long";

/// The code of the model failure that asks for a prompt without native tools.
pub const TOOLS_UNSUPPORTED: &str = "tools_unsupported";

#[cfg(test)]
mod tests;
