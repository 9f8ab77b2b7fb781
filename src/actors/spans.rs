//! Spans of a task: task → step → model call or tool call, in the names of OpenTelemetry's conventions for generative AI.
//!
//! A span is held by whoever knows when it ends: the task's actor holds those of the task, its steps and its tool calls; that
//! of a model call travels with the consult. Ids are fields, so that what another actor logs of the same call is found.
//! Nobody listens to them unless `log.spans` is set; then a span costs what its line does, otherwise next to nothing.

use crate::domain::call::CallReport;
use crate::domain::chat::{ChatAnswer, ChatFailure, Message, Role};
use crate::domain::event::CallIntended;
use crate::domain::ids::{CallId, Generation};
use crate::domain::task::TaskState;
use crate::domain::track::Track;
use std::collections::{BTreeMap, HashMap};
use tracing::Span;
use tracing::field::Empty;

/// What filters call these spans.
pub const SPANS: &str = "ccfleet::trace";

/// What filters call prompts and answers.
pub const PROMPTS: &str = "ccfleet::prompts";

/// The spans of one task.
pub(in crate::actors) struct TaskSpans {
    task: Span,
    /// The step that each track is in.
    steps: BTreeMap<Track, (u32, Span)>,
    calls: HashMap<CallId, Span>,
}

impl TaskSpans {
    /// From here the task runs, until this is dropped.
    pub(in crate::actors) fn of(state: &TaskState, generation: Generation) -> Self {
        let created = state.created.as_ref();
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let task = tracing::info_span!(
            target: SPANS, parent: None, "invoke_agent",
            "gen_ai.operation.name" = "invoke_agent",
            "gen_ai.agent.name" = created.map(|c| c.kind.as_str()),
            "gen_ai.conversation.id" = state.task_id.as_str(),
            task_id = state.task_id.as_str(),
            parent_task_id = created.and_then(|c| c.parent.as_ref()).map(|id| id.as_str()),
            client_id = created.and_then(|c| c.client_id.as_ref()).map(|id| id.as_str()),
            strategy = text(created.map(|c| c.strategy.as_str())),
            generation = generation.0,
            episode = state.episodes.number,
            status = Empty,
            "error.type" = Empty,
        );
        TaskSpans {
            task,
            steps: BTreeMap::new(),
            calls: HashMap::new(),
        }
    }

    /// The span of the step that a track is in; the one of its former step ends.
    fn step(&mut self, state: &TaskState, track: Track) -> Span {
        if self.task.is_disabled() {
            return Span::none();
        }
        let current = state.current_step_on(track);
        let number = current.map_or(state.usage.steps, |step| step.number);
        if let Some((known, span)) = self.steps.get(&track)
            && *known == number
        {
            return span.clone();
        }
        let span = tracing::info_span!(
            target: SPANS, parent: &self.task, "step",
            task_id = state.task_id.as_str(), step = number, track = ?track,
        );
        self.steps.insert(track, (number, span.clone()));
        span
    }

    /// Steps end with what the state says of them.
    pub(in crate::actors) fn end_steps(&mut self, state: &TaskState) {
        let goes_on = |track: &Track, number: u32| {
            let current = state.current_step_on(*track);
            current.is_some_and(|step| step.number == number)
        };
        self.steps
            .retain(|track, (number, _)| goes_on(track, *number));
    }

    /// A model is asked.
    pub(in crate::actors) fn asks(
        &mut self,
        state: &TaskState,
        consult: u64,
        role: Role,
        log_prompts: bool,
    ) -> ModelSpan {
        let found = state.open_consult(consult);
        let step = self.step(state, found.map(|(track, _)| track).unwrap_or_default());
        let span = tracing::info_span!(
            target: SPANS, parent: &step, "chat",
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = Empty,
            "gen_ai.request.model" = Empty,
            "gen_ai.response.model" = Empty,
            "gen_ai.response.finish_reasons" = Empty,
            "gen_ai.usage.input_tokens" = Empty,
            "gen_ai.usage.output_tokens" = Empty,
            "gen_ai.usage.cache_read.input_tokens" = Empty,
            "gen_ai.conversation.id" = state.task_id.as_str(),
            task_id = state.task_id.as_str(),
            role = role.as_str(),
            consult,
            duration_ms = Empty,
            "error.type" = Empty,
        );
        ModelSpan { span, log_prompts }
    }

    /// A tool is called.
    pub(in crate::actors) fn calls(&mut self, state: &TaskState, call: &CallIntended) {
        let holds = |step: &&crate::domain::task::Step| {
            step.calls.iter().any(|known| known.call_id == call.call_id)
        };
        let track = state.steps.iter().rev().find(holds).map(|step| step.track);
        let step = self.step(state, track.unwrap_or_default());
        if self.task.is_disabled() {
            return;
        }
        let span = tracing::info_span!(
            target: SPANS, parent: &step, "execute_tool",
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = call.tool.as_str(),
            "gen_ai.tool.type" = "function",
            "gen_ai.tool.call.id" = call.call_id.as_str(),
            task_id = state.task_id.as_str(),
            call_id = call.call_id.as_str(),
            client_id = call.client_id.as_str(),
            effect = call.effect.as_str(),
            outcome = Empty,
            duration_ms = Empty,
            "error.type" = Empty,
        );
        self.calls.insert(call.call_id.clone(), span);
    }

    /// A call has its outcome.
    pub(in crate::actors) fn settled(&mut self, call_id: &CallId, report: &CallReport) {
        let Some(span) = self.calls.remove(call_id) else {
            return;
        };
        span.record("outcome", report.outcome.as_str());
        if let Some(ran) = report.duration_ms {
            span.record("duration_ms", ran);
        }
        // The code is the computer's own word; only the outcome is one of a few.
        if !report.succeeded() {
            span.record("error.type", report.outcome.as_str());
        }
    }

    /// The actor of the task ends.
    pub(in crate::actors) fn end(&mut self, state: &TaskState) {
        self.calls.clear();
        self.steps.clear();
        self.task.record("status", state.status.as_str());
        if let Some(error) = &state.error {
            self.task.record("error.type", error.code.as_str());
        }
    }
}

/// The span of one model call.
#[derive(Debug, Clone)]
pub struct ModelSpan {
    span: Span,
    log_prompts: bool,
}

impl Default for ModelSpan {
    /// Nobody listens.
    fn default() -> Self {
        ModelSpan {
            span: Span::none(),
            log_prompts: false,
        }
    }
}

impl ModelSpan {
    /// What the call's work is done in.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// The request leaves.
    pub fn requested(&self, provider: &str, model: &str, messages: &[Message]) {
        self.span.record("gen_ai.provider.name", provider);
        self.span.record("gen_ai.request.model", model);
        if self.log_prompts {
            let messages = serde_json::to_string(messages).unwrap_or_default();
            tracing::info!(target: PROMPTS, parent: &self.span,
                messages, "a prompt");
        }
    }

    /// The model answered.
    pub fn answered(&self, answer: &ChatAnswer) {
        let span = &self.span;
        span.record("gen_ai.response.model", answer.model.as_str());
        span.record(
            "gen_ai.response.finish_reasons",
            tracing::field::debug(answer.stop),
        );
        span.record("duration_ms", answer.duration_ms);
        let counts = [
            ("gen_ai.usage.input_tokens", answer.usage.tokens_in),
            ("gen_ai.usage.output_tokens", answer.usage.tokens_out),
            (
                "gen_ai.usage.cache_read.input_tokens",
                answer.usage.tokens_cached,
            ),
        ];
        for (field, count) in counts {
            if let Some(count) = count {
                span.record(field, count);
            }
        }
        if self.log_prompts {
            let answer = serde_json::to_string(answer).unwrap_or_default();
            tracing::info!(target: PROMPTS, parent: span,
                answer, "an answer");
        }
    }

    /// It did not. The message may hold parts of an answer, so only the code is told.
    pub fn failed(&self, failure: &ChatFailure) {
        self.span.record("error.type", failure.code.as_str());
    }
}
