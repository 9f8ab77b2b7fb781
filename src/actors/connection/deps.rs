//! Whom a connection talks to, and what all of them share.

use super::admit::TokenGate;
use super::asks::TasksOf;
use crate::actors::counts::FleetCounts;
use crate::actors::registry::messages::{ClientGone, RegisterComputer, ResumeCalls, StopCalls};
use crate::actors::shards::Shards;
use crate::actors::supervisor::messages::{AnswerQuestion, CancelTask, StartTask, WorldEvent};
use crate::domain::ids::{ClientId, TaskId};
use crate::store::Epoch;
use crate::wire::MAX_FRAME_BYTES;
use crate::wire::api::TaskBody;
use crate::wire::chunks::ChunkBudget;
use crate::wire::frames::outgoing::Library;
use actix::Recipient;
use futures_util::future::BoxFuture;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Times, bounds and names that every connection shares.
#[derive(Debug, Clone)]
pub struct ConnectionSettings {
    pub heartbeat: Duration,
    pub program_ping: Duration,
    /// How long a client may say nothing at all.
    pub hello_deadline: Duration,
    pub window: usize,
    pub max_frame_bytes: usize,
    /// Bytes of one message that goes to a computer in chunks.
    pub max_to_computer: usize,
    /// Bytes of one message that comes from a computer in chunks.
    pub max_from_computer: usize,
    /// New connections from one address in a second; 0 = no limit.
    pub new_per_second: u32,
    pub server_id: String,
    pub journal_epoch: Epoch,
    pub library: Library,
}

impl ConnectionSettings {
    /// The values of the wire contract.
    pub fn new(server_id: String, journal_epoch: impl Into<Epoch>, library: Library) -> Self {
        ConnectionSettings {
            heartbeat: Duration::from_secs(15),
            program_ping: Duration::from_secs(30),
            hello_deadline: Duration::from_secs(60),
            window: 8,
            max_frame_bytes: MAX_FRAME_BYTES,
            max_to_computer: 512 * 1024,
            max_from_computer: 1024 * 1024,
            new_per_second: 50,
            server_id,
            journal_epoch: journal_epoch.into(),
            library,
        }
    }
}

/// Where tasks are created, cancelled and answered. The supervisor starts after the first connection may come.
#[derive(Clone)]
pub struct TaskDesk {
    pub start: Recipient<StartTask>,
    pub cancel: Recipient<CancelTask>,
    pub answer: Recipient<AnswerQuestion>,
    pub event: Recipient<WorldEvent>,
}

/// Where calls are stopped and let go on.
#[derive(Clone)]
pub struct StopDesk {
    pub stop: Recipient<StopCalls>,
    pub resume: Recipient<ResumeCalls>,
}

/// Tells to which computer a task belongs; none if there is no such task or it belongs to none.
pub type TaskLookup = Arc<dyn Fn(TaskId) -> BoxFuture<'static, Option<ClientId>> + Send + Sync>;

/// Tells which task has a call under way on a computer; none if no call is.
pub type CallerLookup = Arc<dyn Fn(&ClientId) -> Option<TaskId> + Send + Sync>;

/// Gives a computer's tasks as its people are shown them, newest first; the error is for people.
pub type TaskLister =
    Arc<dyn Fn(TasksOf) -> BoxFuture<'static, Result<Vec<TaskBody>, String>> + Send + Sync>;

/// Whom a connection talks to, and what it shares with the others.
#[derive(Clone)]
pub struct ConnectionDeps {
    pub settings: Arc<ConnectionSettings>,
    pub register: Recipient<RegisterComputer>,
    pub gone: Recipient<ClientGone>,
    pub tasks: Arc<OnceLock<TaskDesk>>,
    pub find_task: Option<TaskLookup>,
    pub list_tasks: Option<TaskLister>,
    pub caller: Option<CallerLookup>,
    /// None where nobody can stop calls.
    pub stops: Option<StopDesk>,
    /// What all connections together may keep of messages that are not complete.
    pub chunk_budget: Arc<ChunkBudget>,
    pub counts: Arc<FleetCounts>,
    /// Where computers are at home.
    pub shards: Shards,
    pub tokens: TokenGate,
}

impl ConnectionDeps {
    /// A server without tasks, whose computers can register and be called.
    pub fn new(
        settings: ConnectionSettings,
        register: Recipient<RegisterComputer>,
        gone: Recipient<ClientGone>,
    ) -> Self {
        ConnectionDeps {
            settings: Arc::new(settings),
            register,
            gone,
            tasks: Arc::default(),
            find_task: None,
            list_tasks: None,
            caller: None,
            stops: None,
            chunk_budget: Arc::default(),
            counts: Arc::default(),
            shards: Shards::default(),
            tokens: TokenGate::default(),
        }
    }
}
