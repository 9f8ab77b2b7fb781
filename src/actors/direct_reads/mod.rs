//! Direct calls to `read` tools: made at once, answered, and journalled after that, each with its whole task as one event.
//!
//! A `read` call changes nothing and may be made again, so nothing of it has to be durable before it leaves, nor before it is
//! answered (design, section 8: what is promised is promised of effects). What is lost with a crash is that it was made. Whatever is
//! not as simple as that (a key, another effect class, a computer that is away or stopped, arguments that do not suit) is a task like
//! any other, and its refusal is that task's.
//!
//! One actor on each thread of the fleet, so that a call changes threads as little as a task's. Reads that are not durable yet are
//! bounded; beyond that a read waits for the journal before it is made, and becomes a task if the journal does not come along.

mod reader;
mod unwritten;

use super::journal::messages::AppendEvents;
use super::registry::router::{Lane, Router};
use super::supervisor::messages::StartTask;
use crate::config::kinds::{Kinds, LiveKinds};
use crate::domain::call::{Address, CallReport, Target};
use crate::domain::decision::{Decision, Inputs};
use crate::domain::event::TaskEvent;
use crate::domain::ids::{BlobHash, CallId, Generation, TaskId};
use crate::domain::profile::Profile;
use crate::domain::task::TaskState;
use crate::domain::tool::EffectClass;
use crate::strategy;
use actix::prelude::*;
use reader::{Begun, GiveUp, GivenUp, Make, Reader};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};
use unwritten::Unwritten;

/// Reads that are under way or not durable yet.
const MOST: usize = 512;

/// How long a read waits for the journal to come along before it is made a task instead, and whoever asks for one that was made.
const JOURNAL_WITHIN: Duration = Duration::from_secs(1);

/// The generation of a task that is never started again.
const ONLY: Generation = Generation(1);

/// What they need of the others.
pub struct DirectReadsDeps {
    pub router: Router,
    pub kinds: LiveKinds,
    pub journal: Recipient<AppendEvents>,
    /// Letters and digits that were never given before.
    pub unique: fn() -> String,
    /// Milliseconds since the Unix epoch.
    pub clock: fn() -> i64,
}

/// Makes direct reads. Cheap to clone.
#[derive(Clone)]
pub struct DirectReads(Arc<Shared>);

struct Shared {
    deps: DirectReadsDeps,
    /// By the fleet's threads; one alone where there are none.
    readers: Vec<Addr<Reader>>,
    unwritten: Arc<Unwritten>,
    pinned: Mutex<Option<Pinned>>,
}

/// The kind of one-call tasks as it stands, and as it is pinned.
#[derive(Clone)]
struct Pinned {
    of: Arc<Kinds>,
    profile: Arc<Profile>,
    hash: BlobHash,
    text: Arc<str>,
}

/// A read that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadMade {
    pub task_id: TaskId,
    pub call_id: CallId,
    /// None if its time was over first. Then it was told to stop.
    pub report: Option<Arc<CallReport>>,
}

/// What becomes of the wish for a direct call.
#[derive(Debug, Clone, PartialEq)]
pub enum DirectRead {
    Made(ReadMade),
    /// It never left, and its time is over.
    TooLate,
    /// It is none for here; nothing has happened.
    NotHere,
}

/// How long its actor may take to say what became of a read that is given up.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(5);

/// What becomes of a read for which nobody waits any longer. An actor that does not say leaves it open.
async fn given_up(reader: &Addr<Reader>, call_id: CallId) -> GivenUp {
    let told = timeout(GIVEN_UP_WITHIN, reader.send(GiveUp { call_id })).await;
    told.ok().and_then(Result::ok).unwrap_or(GivenUp::Left)
}

impl DirectReads {
    /// Starts an actor on each thread of the fleet.
    pub fn start(deps: DirectReadsDeps) -> Self {
        let shards = deps.router.shards().clone();
        let mut readers: Vec<Addr<Reader>> = Vec::new();
        for arbiter in (0..shards.count()).filter_map(|number| shards.get(number)) {
            let journal = deps.journal.clone();
            readers.push(Reader::start_in_arbiter(arbiter, move |_| {
                Reader::new(journal)
            }));
        }
        if readers.is_empty() {
            readers.push(Reader::new(deps.journal.clone()).start());
        }
        DirectReads(Arc::new(Shared {
            deps,
            readers,
            unwritten: Unwritten::new(MOST),
            pinned: Mutex::default(),
        }))
    }

    /// Makes the call that the task would make, if that is a read which can leave at once, and waits for its end until `deadline`.
    pub async fn read(&self, request: &StartTask, deadline: Instant) -> DirectRead {
        let made = self.try_read(request, deadline).await;
        made.unwrap_or(DirectRead::NotHere)
    }

    /// The same; none if it is none for here.
    async fn try_read(&self, request: &StartTask, deadline: Instant) -> Option<DirectRead> {
        let call = request.call.as_ref()?;
        let address = Address::parse(&call.command).ok()?;
        // Looked at first: what is none for here mostly is none by its tool.
        let lane = self.lane_of(request, &address.target, &address.tool, &call.args)?;
        let room = self.0.unwritten.room(JOURNAL_WITHIN).await?;
        let begun = self.begin(request)?;
        let made = &begun.call;
        // Arguments that had to be mended may be another owner's. A computer that went away meanwhile says so itself.
        let lane = match made.args == call.args {
            true => lane,
            false => self.lane_of(request, &made.target, &made.tool, &made.args)?,
        };
        let number = self.0.deps.router.shards().number_of(&lane.client_id);
        let reader = self.0.readers.get(number)?;
        let (task_id, call_id) = (begun.task_id.clone(), made.call_id.clone());
        let (reply, mut answer) = oneshot::channel();
        let make = Make {
            begun,
            lane,
            reply,
            place: self.0.unwritten.enter(task_id.clone(), room),
        };
        reader.try_send(make).ok()?;
        let report = match timeout_at(deadline, &mut answer).await {
            Ok(answered) => Some(answered.ok()??),
            Err(_) => match given_up(reader, call_id.clone()).await {
                GivenUp::NeverLeft => return Some(DirectRead::TooLate),
                GivenUp::Left => None,
                // It was answered meanwhile, or let go.
                GivenUp::Ended => match answer.try_recv().ok().flatten() {
                    Some(report) => Some(report),
                    None => return Some(DirectRead::TooLate),
                },
            },
        };
        Some(DirectRead::Made(ReadMade {
            task_id,
            call_id,
            report,
        }))
    }

    /// Returns when what was made under this id is durable, or the journal does not come along; at once for what is none of these.
    pub async fn written(&self, task_id: &TaskId) {
        self.0.unwritten.written(task_id, JOURNAL_WITHIN).await;
    }

    /// The lane of a computer that can take the call now, if it is to a `read` tool.
    fn lane_of(
        &self,
        request: &StartTask,
        target: &Target,
        tool: &str,
        args: &Value,
    ) -> Option<Lane> {
        let router = self.router(request.confined_to.as_deref());
        let home = request.client_id.as_ref();
        let lane = router.route_call(target, home, tool, Some(args)).ok()?;
        let tools = lane.view.tools();
        let tool = tools.active(tool)?;
        (tool.effect == EffectClass::Read && lane.view.can_take()).then_some(lane)
    }

    fn router(&self, owner: Option<&str>) -> Router {
        self.0.deps.router.of_owner(owner)
    }

    /// What the task would decide: the call, or nothing where it would not call.
    fn begin(&self, request: &StartTask) -> Option<Begun> {
        let deps = &self.0.deps;
        let pinned = self.pinned()?;
        let (profile, began_ms) = (pinned.profile, (deps.clock)());
        let request = request.clone();
        let kind = profile.kind.clone();
        let created = request.created(&profile, pinned.hash.clone(), kind, profile.budgets);
        let task_id = TaskId::from_unique(&(deps.unique)()).ok()?;
        let mut state = TaskState::new(task_id.clone());
        let begins = TaskEvent::TaskCreated(Box::new(created));
        state.apply_next(ONLY, began_ms, vec![begins]);
        let owner = state.created.as_ref()?.confined_to.as_deref();
        let wants = strategy::wants(&state, &profile);
        let inputs = Inputs {
            now_ms: began_ms,
            fleet: self.router(owner).fleet_view(state.home(), &wants),
            ..Inputs::default()
        };
        let decided = strategy::decide(&state, &profile, &inputs)?;
        let Decision::Call { mut calls, .. } = decided.decision else {
            return None;
        };
        Some(Begun {
            call: calls.pop().filter(|_| calls.is_empty())?,
            created: state.created.take()?,
            task_id,
            began_ms,
            profile: (pinned.hash, pinned.text),
            clock: deps.clock,
        })
    }

    fn pinned(&self) -> Option<Pinned> {
        let kinds = self.0.deps.kinds.current();
        let mut known = self.0.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pinned) = known.as_ref()
            && Arc::ptr_eq(&pinned.of, &kinds)
        {
            return Some(pinned.clone());
        }
        let (profile, is_known) = kinds.resolve(Some(strategy::call::NAME));
        let text = serde_json::to_string(profile).ok().filter(|_| is_known)?;
        let pinned = Pinned {
            profile: Arc::new(profile.clone()),
            hash: BlobHash::of(&text),
            text: text.into(),
            of: kinds,
        };
        *known = Some(pinned.clone());
        Some(pinned)
    }
}
