//! What is counted of events once they are durable: every committed event comes by here exactly once.
//!
//! Of an event this costs a look into one or two small maps. Deciding, dispatching and committing wait for none of it.

use super::labels::{Bounded, Buckets, Counters, Histograms, Value, counter};
use super::names;
use crate::domain::call::{CallReport, Outcome};
use crate::domain::chat::{ChatAnswer, Role};
use crate::domain::decision::Decision;
use crate::domain::episodes::EpisodeEnd;
use crate::domain::event::{StoredEvent, TaskCreated, TaskEvent};
use crate::domain::ids::CallId;
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::tool::EffectClass;
use crate::domain::wakes::WakeCause;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Kinds, models and codes that are told apart.
const MOST_VALUES: usize = 64;

/// A call takes milliseconds where its computer is at hand, and up to minutes where a turtle walks.
const CALL_BUCKETS: Buckets = Buckets(&[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
]);

/// Local models answer within seconds or minutes.
const MODEL_BUCKETS: Buckets = Buckets(&[
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
]);

/// Tasks take seconds to days.
const TASK_BUCKETS: Buckets = Buckets(&[
    0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0, 604800.0,
]);

const EFFECTS: [EffectClass; 3] = [
    EffectClass::Read,
    EffectClass::Idempotent,
    EffectClass::Effect,
];

const OUTCOMES: [Outcome; 4] = [
    Outcome::Done,
    Outcome::Failed,
    Outcome::NotStarted,
    Outcome::Unknown,
];

fn every_call() -> impl Iterator<Item = [Value; 2]> {
    let rows =
        |outcome: Outcome| EFFECTS.map(|effect| [outcome.as_str().into(), effect.as_str().into()]);
    OUTCOMES.into_iter().flat_map(rows)
}

/// A call whose intent is durable and whose outcome is not.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    effect: EffectClass,
    /// None for a call of an earlier run of the server.
    since: Option<Instant>,
}

/// Counters that follow from events.
#[derive(Debug)]
pub(super) struct Tally {
    open: Mutex<HashMap<CallId, OpenCall>>,
    values: Values,
    events: Counters<1>,
    intended: Counters<1>,
    calls: Counters<2>,
    late: Counters<1>,
    not_placed: Counters<1>,
    call_seconds: Histograms<1>,
    tool_seconds: Histograms<1>,
    started: Counters<2>,
    ended: Counters<2>,
    failures: Counters<1>,
    task_seconds: Histograms<1>,
    resumed: Counter,
    wakes: Counters<1>,
    episodes: Counters<1>,
    decisions: Counters<1>,
    blocks: Counters<1>,
    questions: Counters<1>,
    model_requests: Counters<2>,
    model_tokens: Counters<3>,
    model_seconds: Histograms<2>,
    model_errors: Counters<2>,
}

/// What others choose, bounded.
#[derive(Debug)]
struct Values {
    kinds: Bounded,
    strategies: Bounded,
    models: Bounded,
    model_codes: Bounded,
    task_codes: Bounded,
}

impl Tally {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let bounded = || Bounded::new(MOST_VALUES);
        let calls = CALL_BUCKETS;
        Tally {
            open: Mutex::default(),
            values: Values {
                kinds: bounded(),
                strategies: bounded(),
                models: bounded(),
                model_codes: bounded(),
                task_codes: bounded(),
            },
            intended: Counters::new(&names::CALLS_INTENDED, registry)
                .with_zeros(EFFECTS.map(|effect| [effect.as_str().into()])),
            calls: Counters::new(&names::CALLS, registry).with_zeros(every_call()),
            late: Counters::new(&names::CALLS_LATE, registry)
                .with_zeros([Outcome::Done, Outcome::Failed].map(|late| [late.as_str().into()])),
            not_placed: Counters::new(&names::CALLS_NOT_PLACED, registry),
            call_seconds: Histograms::new(&names::CALL_SECONDS, calls, registry),
            tool_seconds: Histograms::new(&names::CALL_TOOL_SECONDS, calls, registry),
            started: Counters::new(&names::TASKS_STARTED, registry),
            ended: Counters::new(&names::TASKS_ENDED, registry),
            failures: Counters::new(&names::TASK_FAILURES, registry),
            task_seconds: Histograms::new(&names::TASK_SECONDS, TASK_BUCKETS, registry),
            resumed: counter(&names::TASKS_RESUMED, registry),
            wakes: Counters::new(&names::WAKES, registry),
            episodes: Counters::new(&names::EPISODES_ENDED, registry),
            decisions: Counters::new(&names::DECISIONS, registry),
            blocks: Counters::new(&names::BLOCKS, registry),
            questions: Counters::new(&names::QUESTIONS, registry)
                .with_zeros(["asked", "answered", "expired"].map(|what| [what.into()])),
            model_requests: Counters::new(&names::MODEL_REQUESTS, registry),
            model_tokens: Counters::new(&names::MODEL_TOKENS, registry),
            model_seconds: Histograms::new(&names::MODEL_SECONDS, MODEL_BUCKETS, registry),
            model_errors: Counters::new(&names::MODEL_ERRORS, registry),
            events: Counters::new(&names::JOURNAL_EVENTS, registry),
        }
    }

    /// Calls of an earlier run that have no outcome yet. To be told before the first event is.
    pub(super) fn remember(&self, calls: impl IntoIterator<Item = (CallId, EffectClass)>) {
        let since = None;
        let calls = calls.into_iter();
        let calls = calls.map(|(id, effect)| (id, OpenCall { effect, since }));
        self.open().extend(calls);
    }

    /// Calls that may have left and have no outcome yet.
    pub(super) fn open_calls(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<CallId, OpenCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in events of one task that became durable, with the task as it stands after them.
    pub(super) fn committed(&self, events: &[StoredEvent], summary: &TaskSummary) {
        for stored in events {
            self.events.one([stored.event.name().into()]);
            self.count(stored, summary);
        }
    }

    fn count(&self, stored: &StoredEvent, summary: &TaskSummary) {
        match &stored.event {
            TaskEvent::TaskCreated(created) => self.begins(created),
            TaskEvent::DirectCallEnded(whole) => {
                let effect = whole.intended.effect;
                self.begins(&whole.created);
                self.intended.one([effect.as_str().into()]);
                self.outcome(effect, &whole.report);
                let took = stored.at_ms.saturating_sub(whole.began_ms).max(0);
                let seconds = Duration::from_millis(took as u64).as_secs_f64();
                self.call_seconds.observe([effect.as_str().into()], seconds);
                self.ended(TaskStatus::Completed, stored, summary);
            }
            TaskEvent::GenerationStarted { .. } => {
                self.resumed.inc();
            }
            TaskEvent::Decided { decision, .. } => self.decided(decision),
            TaskEvent::ModelAnswered { role, answer, .. } => self.model_answered(*role, answer),
            TaskEvent::ModelFailed { role, failure, .. } => {
                let code = self.values.model_codes.value(&failure.code);
                self.model_errors.one([role.as_str().into(), code]);
            }
            TaskEvent::CallIntended(call) => {
                self.intended.one([call.effect.as_str().into()]);
                let since = Some(Instant::now());
                let effect = call.effect;
                let call_id = call.call_id.clone();
                self.open().insert(call_id, OpenCall { effect, since });
            }
            TaskEvent::CallFinished { call_id, report } => self.call_finished(call_id, report),
            TaskEvent::CallNotPlaced { no_route, .. } => {
                self.not_placed.one([no_route.reason.as_str().into()]);
            }
            TaskEvent::QuestionAnswered { .. } => self.questions.one(["answered".into()]),
            TaskEvent::QuestionExpired { .. } => self.questions.one(["expired".into()]),
            TaskEvent::EpisodeEnded(ended) => self.episodes.one([match ended.end {
                EpisodeEnd::Completed { .. } => "completed".into(),
                EpisodeEnd::Failed { .. } => "failed".into(),
            }]),
            TaskEvent::EpisodeStarted { wakes, .. } => {
                for wake in wakes {
                    self.wakes.one([cause(&wake.cause).into()]);
                }
            }
            TaskEvent::TaskCompleted { .. } => self.ended(TaskStatus::Completed, stored, summary),
            TaskEvent::TaskFailed { code, .. } => {
                self.failures.one([self.values.task_codes.value(code)]);
                self.ended(TaskStatus::Failed, stored, summary);
            }
            TaskEvent::TaskCancelled { .. } => self.ended(TaskStatus::Cancelled, stored, summary),
            TaskEvent::Forked(_)
            | TaskEvent::DirectiveRead { .. }
            | TaskEvent::RequestRead { .. }
            | TaskEvent::AnswerRead { .. }
            | TaskEvent::QuestionDelivered { .. }
            | TaskEvent::WaitStarted { .. }
            | TaskEvent::WaitEnded { .. }
            | TaskEvent::CallsAway { .. }
            | TaskEvent::FellAsleep(_)
            | TaskEvent::WakeKept { .. }
            | TaskEvent::Noted { .. } => {}
        }
    }

    fn decided(&self, decision: &Decision) {
        let word = match decision {
            Decision::Consult(_) => "consult",
            Decision::Call { .. } => "call",
            Decision::Ask { .. } => "ask",
            Decision::Block { .. } => "block",
            Decision::Wait { .. } => "wait",
            Decision::Finish { .. } => "finish",
            Decision::Fail { .. } => "fail",
            Decision::Advance { .. } => "advance",
        };
        self.decisions.one([word.into()]);
        match decision {
            Decision::Block { guard, .. } => self.blocks.one([guard.as_str().into()]),
            Decision::Ask { .. } => self.questions.one(["asked".into()]),
            _ => {}
        }
    }

    fn model_answered(&self, role: Role, answer: &ChatAnswer) {
        let labels = || {
            [
                role.as_str().into(),
                self.values.models.value(&answer.model),
            ]
        };
        self.model_requests.one(labels());
        let seconds = Duration::from_millis(answer.duration_ms).as_secs_f64();
        self.model_seconds.observe(labels(), seconds);
        let usage = answer.usage;
        let tokens = [
            ("in", usage.tokens_in),
            ("cached", usage.tokens_cached),
            ("out", usage.tokens_out),
        ];
        for (direction, count) in tokens {
            let [role, model] = labels();
            let count = count.unwrap_or_default();
            self.model_tokens
                .add([role, model, direction.into()], count);
        }
    }

    /// The first outcome of a call closes it; a second one is an `unknown` call that turned out.
    fn call_finished(&self, call_id: &CallId, report: &CallReport) {
        let Some(call) = self.open().remove(call_id) else {
            return self.late.one([report.outcome.as_str().into()]);
        };
        self.outcome(call.effect, report);
        if let Some(since) = call.since {
            let seconds = since.elapsed().as_secs_f64();
            self.call_seconds
                .observe([call.effect.as_str().into()], seconds);
        }
    }

    fn begins(&self, created: &TaskCreated) {
        self.started.one([
            self.values.kinds.value(&created.kind),
            self.values.strategies.value(&created.strategy),
        ]);
    }

    fn outcome(&self, effect: EffectClass, report: &CallReport) {
        let (outcome, effect) = (report.outcome.as_str(), effect.as_str());
        self.calls.one([outcome.into(), effect.into()]);
        if let Some(ran) = report.duration_ms {
            let seconds = Duration::from_millis(ran).as_secs_f64();
            self.tool_seconds.observe([effect.into()], seconds);
        }
    }

    fn ended(&self, status: TaskStatus, stored: &StoredEvent, summary: &TaskSummary) {
        let strategy = self.values.strategies.value(&summary.strategy);
        self.ended.one([status.as_str().into(), strategy]);
        let age = stored.at_ms.saturating_sub(summary.created_at_ms).max(0);
        let seconds = Duration::from_millis(age as u64).as_secs_f64();
        self.task_seconds.observe([status.as_str().into()], seconds);
    }
}

fn cause(cause: &WakeCause) -> &'static str {
    match cause {
        WakeCause::Schedule { .. } => "schedule",
        WakeCause::Event { .. } => "event",
        WakeCause::Asked { .. } => "asked",
    }
}
