//! One task: a shell around the pure deciders. It journals what it is about to do, waits for the commit, does
//! it, journals what came of it, folds, and decides again. After a crash the same code goes on from the journal.

mod children;
mod draft;
mod facts;
pub(in crate::actors) mod late;
pub mod messages;
mod perform;
mod sleep;
#[cfg(test)]
pub(in crate::actors) mod tests;
mod waits;

use super::computer::messages::{CancelCall, QuestionNotice, TaskNotice, ToolsTold};
use super::consult::ConsultModel;
use super::gateway::messages::CancelTask as CancelModelCalls;
use super::journal::messages::{AppendEvents, JournalError};
use super::registry::router::{Lane, Router};
use super::spans::TaskSpans;
use super::tool_habits::ToolHabits;
use crate::config::{ProviderKind, Settings, ToolChannel};
use crate::domain::chat::Role;
use crate::domain::decision::{Inputs, RoleLimits};
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::domain::ids::{BlobHash, CallId, ClientId, Generation, QuestionId};
use crate::domain::lifecycle::ToolRecord;
use crate::domain::profile::Profile;
use crate::domain::read::Read;
use crate::domain::task::{CallRecord, TaskState};
use crate::domain::tool::FleetView;
use crate::store::Append;
use crate::strategy;
use actix::prelude::*;
use draft::Draft;
use messages::{FamilyNews, TaskStopped};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use waits::Waits;

/// What every task needs of the others.
#[derive(Clone)]
pub struct TaskDeps {
    pub journal: Recipient<AppendEvents>,
    pub planner: Recipient<ConsultModel>,
    pub executor: Recipient<ConsultModel>,
    pub cancel_model_calls: Recipient<CancelModelCalls>,
    pub router: Router,
    pub supervisor: Recipient<TaskStopped>,
    pub family: Recipient<FamilyNews>,
    pub settings: Arc<Settings>,
    pub tool_habits: ToolHabits,
    /// Milliseconds since the Unix epoch.
    pub clock: fn() -> i64,
}

/// Facts that may wait while the task writes its journal. Senders of facts are bounded by the task's own open
/// calls and consults, so this is never reached in good order.
const MAILBOX: usize = 256;

/// How long a task waits before it tries the journal again.
const JOURNAL_RETRY: Duration = Duration::from_secs(1);

/// The actor of one task.
pub struct Task {
    deps: TaskDeps,
    state: TaskState,
    profile: Arc<Profile>,
    generation: Generation,
    /// The lanes that hold this task's open calls.
    lanes: HashMap<CallId, Lane>,
    timers: Vec<SpawnHandle>,
    /// What open calls wait for.
    waits: Waits,
    spans: TaskSpans,
    /// The supervisor knows that the task has ended.
    told_over: bool,
    finished: bool,
    /// When silence ends the question that is open, in milliseconds since the Unix epoch.
    question_ends: Option<(QuestionId, i64)>,
    /// A decision that is not durable yet and waits for its turn or its answer, with what came before it.
    held: Option<Box<Draft>>,
    /// The fleet as it was journalled last, so that it is written once as long as it looks the same.
    fleet_journalled: Option<(FleetView, BlobHash)>,
}

/// How long a task waits until a computer's tools are shown as a call of its own has told them.
const TOOLS_SHOWN_WITHIN: Duration = Duration::from_secs(2);

/// What is done once events are durable and folded.
type Then = Box<dyn FnOnce(&mut Task, &mut Context<Task>)>;

impl Task {
    /// A task that goes on from `state`, which was folded from its journal.
    pub fn new(
        deps: TaskDeps,
        state: TaskState,
        profile: Arc<Profile>,
        generation: Generation,
    ) -> Self {
        let spans = TaskSpans::of(&state, generation);
        Task {
            deps,
            state,
            profile,
            generation,
            lanes: HashMap::new(),
            timers: Vec::new(),
            waits: Waits::default(),
            spans,
            told_over: false,
            finished: false,
            question_ends: None,
            held: None,
            fleet_journalled: None,
        }
    }

    /// What calls told of tools is durable: their computers' tools are shown in that state once this has ended.
    fn tell_tools(&self, records: Vec<ToolRecord>) -> impl Future<Output = ()> + use<> {
        let mut by_computer: BTreeMap<ClientId, Vec<ToolRecord>> = BTreeMap::new();
        for record in records {
            let records = by_computer.entry(record.client_id.clone()).or_default();
            records.push(record);
        }
        let mut told = Vec::new();
        for (client_id, records) in by_computer {
            if let Some(lane) = self.deps.router.lane(&client_id) {
                let request = lane.tools.send(ToolsTold { records });
                told.push(request.timeout(TOOLS_SHOWN_WITHIN));
            }
        }
        async {
            for shown in told {
                // One that is late shows them later.
                let _ = shown.await;
            }
        }
    }

    /// What deciding at `now_ms` (milliseconds since the Unix epoch) needs beside the state.
    fn inputs(&self, now_ms: i64) -> Inputs {
        let limits = |role: Role| {
            let settings = self.deps.settings.models.role(role);
            let params = &settings.params;
            let own = self.profile.models.get(&role).and_then(|m| m.max_tokens);
            let habits = &self.deps.tool_habits;
            let default = RoleLimits::default();
            RoleLimits {
                num_ctx: params.num_ctx.unwrap_or(default.num_ctx),
                max_tokens: own.or(params.max_tokens).unwrap_or(default.max_tokens),
                native_tools: match settings.tools {
                    ToolChannel::Auto => !habits.writes_text(self.model(role)),
                    ToolChannel::Native => true,
                    ToolChannel::Prompted => false,
                },
            }
        };
        let roles = [Role::Planner, Role::Executor].map(|role| (role, limits(role)));
        Inputs {
            now_ms,
            fleet: self.router().fleet_view(
                self.state.home(),
                &strategy::wants(&self.state, &self.profile),
            ),
            roles: roles.into(),
            offline_timeout_ms: self.deps.settings.calls.offline_timeout.as_millis() as i64,
        }
    }

    /// The name of the model that answers for a role.
    fn model(&self, role: Role) -> &str {
        let own = self.profile.models.get(&role);
        let own = own.and_then(|choice| choice.model.as_deref());
        own.unwrap_or(&self.deps.settings.models.role(role).model)
    }

    /// Remembers how the model calls tools, if its answer shows it. A scripted one has no habits.
    fn note_habit(&self, role: Role, read: &TaskEvent) {
        let offered = !self.state.native_tools(role).is_empty();
        let scripted = self.deps.settings.models.role(role).provider == ProviderKind::Scripted;
        if let TaskEvent::AnswerRead {
            read: Read::Turn(said),
            ..
        } = read
            && offered
            && !scripted
            && !said.calls.is_empty()
        {
            self.deps.tool_habits.note(self.model(role), said.native);
        }
    }

    /// Finds the computers that this task may use.
    fn router(&self) -> Router {
        let created = self.state.created.as_ref();
        let owner = created.and_then(|created| created.confined_to.as_deref());
        self.deps.router.of_owner(owner)
    }

    fn open_calls(&self) -> Vec<CallRecord> {
        let calls = self.state.all_calls();
        calls.filter(|call| call.is_open()).cloned().collect()
    }

    /// The task is over, or sleeps: stop what still runs, and end once every call has its outcome.
    fn wind_down(&mut self, ctx: &mut Context<Self>) {
        self.drop_timers(ctx);
        self.end_children();
        let task_id = self.state.task_id.clone();
        self.deps
            .cancel_model_calls
            .do_send(CancelModelCalls { task_id });
        self.give_up_former_turns();
        let mut events = Vec::new();
        for call in self.open_calls() {
            if !self.lanes.contains_key(&call.call_id) {
                // Never reserved and never sent: nothing to wait for.
                if call.intended.is_none() {
                    continue;
                }
                events.extend(self.adopt(&call, ctx));
            }
            // Also right after it was adopted: what had not started yet must not start now.
            if let Some(lane) = self.lanes.get(&call.call_id) {
                let call_id = call.call_id.clone();
                lane.cancel.do_send(CancelCall { call_id });
            }
        }
        if !events.is_empty() {
            return self.append(ctx, events, Box::new(Task::wind_down));
        }
        if self.state.is_sealed() || (self.state.is_asleep() && self.state.open_intents() == 0) {
            self.finished = true;
            ctx.stop();
        }
    }

    fn drop_timers(&mut self, ctx: &mut Context<Self>) {
        for timer in self.timers.drain(..).chain(self.waits.drain_timers()) {
            ctx.cancel_future(timer);
        }
    }

    fn open_question(&self) -> Option<QuestionId> {
        let (question, _) = self.state.open_question()?;
        Some(question.question_id.clone())
    }

    /// The question is open no longer: answered (by whom), expired, or its task has ended. Nobody shall be asked it now.
    fn take_question_back(&self, question_id: QuestionId, answer: Option<(String, String)>) {
        let (answer, by) = answer.unzip();
        if let Some(lane) = self.state.home().and_then(|id| self.deps.router.lane(id)) {
            lane.question.do_send(QuestionNotice::Closed {
                question_id,
                answer,
                by,
            });
        }
    }

    /// Tells the computer that the task belongs to how it stands.
    fn notify_computer(&self) {
        let home = self
            .state
            .created
            .as_ref()
            .and_then(|c| c.client_id.as_ref());
        if let Some(lane) = home.and_then(|id| self.deps.router.lane(id)) {
            lane.notice.do_send(TaskNotice {
                summary: self.state.summary().into(),
            });
        }
    }
}

/// Appends until the journal has it. Only a refusal ends this; a journal that cannot write now is tried again.
pub(in crate::actors) async fn commit(
    journal: Recipient<AppendEvents>,
    append: Append,
) -> Result<Arc<Vec<StoredEvent>>, JournalError> {
    let append = AppendEvents::from(append);
    let mut told = false;
    loop {
        let error = match journal.send(append.clone()).await {
            Ok(Ok(events)) => return Ok(events),
            Ok(Err(error @ (JournalError::Storage(_) | JournalError::Unavailable))) => error,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(JournalError::Unavailable),
        };
        if !told {
            tracing::warn!(task = %append.0.task_id, %error, "a task stands still until the journal can write");
            told = true;
        }
        actix_rt::time::sleep(JOURNAL_RETRY).await;
    }
}

impl Actor for Task {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.resume(ctx);
    }

    /// Called after a panic too, which is how the supervisor learns of one.
    fn stopped(&mut self, _ctx: &mut Context<Self>) {
        self.spans.end(&self.state);
        self.deps.supervisor.do_send(TaskStopped {
            task_id: self.state.task_id.clone(),
            generation: self.generation,
            finished: self.finished,
            asleep: self.state.asleep().filter(|_| self.finished).map(Box::new),
        });
    }
}
