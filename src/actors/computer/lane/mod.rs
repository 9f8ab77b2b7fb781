//! One computer's lane as a pure machine: its queue, its turns, its calls in flight and what is asked about them.
//!
//! A call waits in the queue (a reservation in memory), gets a *turn*, and is *open* from the moment its intent is
//! durable until it has an outcome. A turn of an `effect` or `idempotent` call is held until the outcome is
//! durable too, except against the same task, whose next intent cannot be durable before. Methods take the time (since any
//! fixed moment, monotonic) and append to a list of [`Act`]s.
//!
//! Invariants (property tests in `schedules/`): at most one `effect` in flight; a lane number is never used
//! twice; every placed call ends; an `effect` call is sent to one start of the computer's program only, and a
//! second time only after that same start said `not_started` on a connection that came later than the sending.
//! (Another start may run from an older copy of the disk, so its `not_started` proves nothing.)

mod late;
mod memory;
mod open;
mod queue;
mod reconnect;
mod stop;
mod turns;
mod verify;

pub use stop::Resumed;

use crate::domain::call::{CallReport, NoRoute, NoRouteReason, Outcome};
use crate::domain::event::CallIntended;
use crate::domain::ids::{CallId, ClientId, Generation, TaskId};
use crate::domain::text::Text;
use crate::domain::tool::EffectClass;
use crate::domain::toolbox::{Tool, Toolbox};
use crate::wire::codes::ErrorCode;
use crate::wire::frames::ServerMessage;
use memory::Memory;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use turns::Turns;

use super::messages::{CallFact, CallNews, WaitingCall};

/// Somebody who can be told of a call. In tests a number, in the actor a `Recipient`.
pub trait Reply: Clone {
    /// Whether anybody still listens.
    fn is_alive(&self) -> bool;
}

/// What a lane wants done.
#[derive(Debug, Clone)]
pub enum Act<R> {
    /// Tell a task about its call.
    Tell { to: R, fact: CallFact },
    /// Send to the computer; only while a connection is there.
    Send(ServerMessage),
    /// A result came that nobody here can take: its call is not known here, or its task has ended. The journal
    /// knows what it is worth; [`Lane::found_stored`] is the answer.
    Late { call_id: CallId, report: CallReport },
    /// Something people should see in the log.
    Note(Note),
}

/// Something remarkable. None of them changes an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A result or receipt of a call that is not open here.
    Stray(CallId),
    /// The computer has seen higher numbers than the journal ever granted.
    JournalOlder { computer: u64, granted: u64 },
    /// The computer has forgotten numbers whose results are stored: it was restored from a backup.
    ComputerRestored { computer: u64, stored: u64 },
    /// A turn was not used in time.
    TurnLapsed(CallId),
    /// The computer has heard of a later epoch than the journal has.
    EpochOlder,
    /// An outcome was never stored, and its task is gone.
    Abandoned(CallId),
}

/// Bounds and times of a lane.
#[derive(Debug, Clone, Copy)]
pub struct LaneLimits {
    /// Calls that may wait.
    pub queue: usize,
    /// For calls whose tool and request name no time.
    pub default_timeout: Duration,
    /// The longest time that a call may ask for.
    pub max_timeout: Duration,
    /// How long a call that is to stop may take to say how it ended.
    pub cancel_grace: Duration,
}

impl Default for LaneLimits {
    fn default() -> Self {
        LaneLimits {
            queue: 64,
            default_timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(24 * 3600),
            cancel_grace: Duration::from_secs(5),
        }
    }
}

/// `read` calls that may run beside one that changes something.
const MAX_READS: usize = 2;
/// A turn that is not used within this time lapses: its task is gone or the journal is stuck.
const TURN_LAPSES: Duration = Duration::from_secs(60);
/// `call_status` carries no number and may be lost: it is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// How long the turn of a settled call is kept for a task that is gone: it may be started again and adopt it.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// A call that waits for its turn.
#[derive(Debug, Clone)]
pub struct Reservation<R> {
    pub task_id: TaskId,
    pub generation: Generation,
    pub call_id: CallId,
    pub tool: String,
    pub args: Arc<Value>,
    pub timeout_ms: Option<u64>,
    pub reply: R,
    /// Set by [`Lane::place`].
    pub since: Duration,
}

/// A call that has its turn.
#[derive(Debug)]
struct Call<R> {
    task_id: TaskId,
    generation: Generation,
    tool: Text,
    args: Arc<Value>,
    effect: EffectClass,
    seq: Option<u64>,
    tool_rev: Text,
    timeout: Duration,
    reply: R,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The task journals its intent.
    Granted {
        lapses_at: Duration,
        /// The program start that the turn was granted for.
        boot_id: Text,
    },
    Open(Open),
    /// The task journals the outcome. `tellings` were made and not confirmed.
    Settled {
        report: Arc<CallReport>,
        tellings: u32,
        abandoned_at: Option<Duration>,
        /// The program start that it was sent to.
        boot_id: Option<Text>,
    },
}

/// A call whose intent is durable and that has no outcome yet.
#[derive(Debug)]
struct Open {
    deadline: Duration,
    /// How often it was sent.
    delivery: u32,
    /// The one program start that an `effect` call may be sent to.
    boot_id: Option<Text>,
    place: Place,
    stopping: Option<Stopping>,
}

/// Where an open call is, as far as we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Here: the computer certainly does not have it.
    Here,
    /// Sent on the present connection, or its computer says that it runs.
    Sent,
    /// Sent on an earlier connection; nothing is known since.
    Lost,
    /// The computer was asked what it knows.
    Asked { again_at: Duration },
}

/// A call that is to end.
#[derive(Debug, Clone, Copy)]
struct Stopping {
    until: Duration,
    why: ErrorCode,
}

/// The present connection.
#[derive(Debug, Clone)]
pub struct Link {
    pub boot_id: Text,
    /// The client speaks only document 001: no receipts, nothing is ever sent twice.
    pub legacy: bool,
    /// The highest lane number that the computer has seen from this server.
    pub high_seq: Option<u64>,
    /// It has heard of a later epoch than this journal has: the journal was put back from a backup.
    pub later_epoch: bool,
}

/// What a computer answered about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Receipt {
    NotStarted,
    Started,
    Done(CallReport),
    Unknown,
}

/// Why a message did not leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSent {
    TooLarge(String),
    /// It was taken back from the connection's queue.
    Withdrawn,
}

/// The lane of one computer.
#[derive(Debug)]
pub struct Lane<R> {
    client_id: ClientId,
    limits: LaneLimits,
    tools: Toolbox,
    high_seq: u64,
    /// How far the computer certainly came: a result is stored, or it said so itself.
    proven_seq: u64,
    link: Option<Link>,
    /// The present connection's computer has forgotten what it had certainly done.
    restored: bool,
    responsive: bool,
    last_boot: Option<Text>,
    /// People stopped it: no call is dispatched.
    stopped: bool,
    /// The journal is older than the computer, which came to this number: no effects here before a resume.
    ahead: Option<u64>,
    queue: VecDeque<Reservation<R>>,
    calls: Turns<R>,
    memory: Memory<R>,
}

impl<R: Reply> Lane<R> {
    /// `high_seq` is the highest number that the journal knows, `stored_seq` the highest whose result it has.
    pub fn new(client_id: ClientId, high_seq: u64, stored_seq: u64, limits: LaneLimits) -> Self {
        Lane {
            client_id,
            limits,
            tools: Toolbox::default(),
            high_seq,
            proven_seq: stored_seq,
            link: None,
            restored: false,
            responsive: true,
            last_boot: None,
            stopped: false,
            ahead: None,
            queue: VecDeque::new(),
            calls: Turns::default(),
            memory: Memory::default(),
        }
    }

    /// The program start that the journal saw last, for calls that are adopted after a restart.
    pub fn set_last_boot(&mut self, boot_id: Option<String>) {
        self.last_boot = boot_id.map(Text::from);
    }

    /// The computer's tools as they are now.
    pub fn set_tools(&mut self, tools: Toolbox, now: Duration, acts: &mut Vec<Act<R>>) {
        self.tools = tools;
        self.advance(now, acts);
    }

    pub fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// Whether calls can be sent now.
    pub fn is_online(&self) -> bool {
        self.link.is_some() && self.responsive
    }

    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    pub fn is_legacy(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.legacy)
    }

    /// Whether effects are held back because the journal is older than the computer.
    pub fn is_behind(&self) -> bool {
        self.ahead.is_some()
    }

    /// Whether people stopped it.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Calls that wait.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// What waits, in order, with how long it has.
    pub fn waiting(&self, now: Duration) -> Vec<WaitingCall> {
        let waiting = self.queue.iter().map(|call| WaitingCall {
            call_id: call.call_id.clone(),
            task_id: call.task_id.clone(),
            tool: call.tool.clone(),
            age_ms: u64::try_from(now.saturating_sub(call.since).as_millis()).unwrap_or(u64::MAX),
        });
        waiting.collect()
    }

    /// Calls that have a turn.
    pub fn running(&self) -> usize {
        self.calls.len()
    }

    /// The call that holds the lane's one place for changes, with its task and tool.
    pub fn current_call(&self) -> Option<(&CallId, &TaskId, &str)> {
        let changing = self
            .calls
            .iter()
            .filter(|(_, call)| call.effect != EffectClass::Read);
        // Beside one that is done its task may have the next.
        let (id, call) = changing.min_by_key(|(_, call)| call.is_known())?;
        Some((id, &call.task_id, &call.tool))
    }

    /// The task that has a call under way: the one that may change something, else one that only looks.
    pub fn caller(&self) -> Option<&TaskId> {
        let first = || self.calls.iter().min_by_key(|(id, _)| *id);
        let changing = self.current_call().map(|(_, task_id, _)| task_id);
        changing.or_else(|| first().map(|(_, call)| &call.task_id))
    }

    pub fn high_seq(&self) -> u64 {
        self.high_seq
    }

    pub fn proven_seq(&self) -> u64 {
        self.proven_seq
    }

    /// When [`Lane::tick`] has something to do if nothing happens before.
    pub fn next_deadline(&self) -> Option<Duration> {
        let calls = self.calls.values().filter_map(Call::due_at).min();
        let verify = self.next_verify_end();
        calls.into_iter().chain(verify).min()
    }
}

impl<R> Call<R> {
    /// Whether its task was told how it ended.
    fn is_known(&self) -> bool {
        matches!(&self.stage, Stage::Settled { report, .. } if report.outcome != Outcome::Unknown)
    }

    fn due_at(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Granted { lapses_at, .. } => Some(*lapses_at),
            Stage::Settled { abandoned_at, .. } => *abandoned_at,
            Stage::Open(open) => {
                let end = open.stopping.map_or(open.deadline, |s| s.until);
                match open.place {
                    Place::Asked { again_at } => Some(end.min(again_at)),
                    _ => Some(end),
                }
            }
        }
    }
}

fn tell<R: Reply>(
    to: &R,
    call_id: &CallId,
    generation: Generation,
    what: CallNews,
    acts: &mut Vec<Act<R>>,
) {
    acts.push(Act::Tell {
        to: to.clone(),
        fact: CallFact {
            call_id: call_id.clone(),
            generation,
            what,
        },
    });
}

fn no_route(reason: NoRouteReason, message: impl Into<String>) -> NoRoute {
    NoRoute {
        reason,
        message: message.into(),
    }
}

fn ended(outcome: Outcome, code: ErrorCode) -> CallReport {
    CallReport::without_answer(outcome, code.as_str(), code.hint())
}

#[cfg(test)]
#[path = "../lane_tests.rs"]
mod tests;
