//! Who calls: each slot keeps one call under way and plays a task's part in it.
//!
//! For every call it finds the computer's lane by the tool's bare name, checks the arguments against the tool's
//! schema, asks for a turn, (journals the intent,) dispatches, (journals the outcome,) and confirms.

use crate::tools::{self, Tool};
use actix::prelude::*;
use ccfleet::actors::computer::messages::{CallFact, CallNews, Dispatch, OutcomeStored, PlaceCall};
use ccfleet::actors::journal::Journal;
use ccfleet::actors::journal::messages::AppendEvents;
use ccfleet::actors::registry::router::{Lane, Router};
use ccfleet::domain::call::{CallReport, Outcome, Target, args_hash};
use ccfleet::domain::event::{StoredEvent, TaskCreated, TaskEvent};
use ccfleet::domain::ids::{BlobHash, CallId, ClientId, Generation, TaskId};
use ccfleet::domain::profile::Budgets;
use ccfleet::domain::task::{TaskState, TaskSummary};
use ccfleet::store::Append;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::oneshot;

const PROFILE: &str = r#"{"kind":"bench"}"#;

/// What all slots share.
pub struct Plan {
    pub router: Router,
    /// By the thread that they are at home on.
    pub computers: Vec<Vec<ClientId>>,
    pub in_flight: usize,
    /// Whether calls that end are counted.
    pub counts: AtomicBool,
    /// Whether no further call is to begin.
    pub ends: AtomicBool,
}

/// What a slot has to show for itself.
#[derive(Default)]
pub struct Tally {
    /// How long each counted call took, from routing to its outcome.
    pub nanos: Vec<u32>,
    pub failed: u64,
}

/// One call at a time. As a task lives where its computer is at home, so does a slot: it goes through the computers of
/// its thread. Where there are fewer slots than threads, a slot moves on to the next thread after each round.
pub struct Slot {
    plan: Arc<Plan>,
    /// Where it lives.
    shard: usize,
    /// Among the slots of its thread.
    index: usize,
    tools: Vec<Tool>,
    task_id: TaskId,
    made: u64,
    lane: Option<Lane>,
    began: Instant,
    args: Arc<Value>,
    tally: Tally,
    done: Option<oneshot::Sender<Tally>>,
    pen: Option<Pen>,
    me: Option<Recipient<CallFact>>,
}

/// The slot's task in the journal.
struct Pen {
    journal: Recipient<AppendEvents>,
    summary: TaskSummary,
    written: u64,
}

impl Slot {
    /// Starts slot `index`; its tally comes when the plan ends.
    pub fn start_one(
        plan: Arc<Plan>,
        index: usize,
        journal: Option<&Addr<Journal>>,
    ) -> oneshot::Receiver<Tally> {
        static TASKS: AtomicU64 = AtomicU64::new(1);
        let number = TASKS.fetch_add(1, Ordering::Relaxed);
        let task_id = TaskId::from_unique(&format!("01HZX4W1V7{number:016}")).expect("digits");
        let (done, tally) = oneshot::channel();
        let pen = journal.map(|journal| Pen {
            journal: journal.clone().recipient(),
            summary: TaskState::new(task_id.clone()).summary(),
            written: 0,
        });
        let shards = plan.computers.len();
        let slot = Slot {
            plan,
            shard: index % shards,
            index: index / shards,
            tools: tools::tools(),
            task_id,
            made: 0,
            lane: None,
            began: Instant::now(),
            args: Arc::default(),
            tally: Tally::default(),
            done: Some(done),
            pen,
            me: None,
        };
        slot.go_home();
        tally
    }

    fn go_home(self) {
        let shards = self.plan.router.shards().clone();
        let home = shards.get(self.shard).expect("a thread");
        Slot::start_in_arbiter(home, move |_| self);
    }

    /// What goes on elsewhere.
    fn moved(&mut self) -> Slot {
        Slot {
            plan: self.plan.clone(),
            shard: (self.shard + 1) % self.plan.computers.len(),
            index: self.index,
            tools: std::mem::take(&mut self.tools),
            task_id: self.task_id.clone(),
            made: self.made,
            lane: None,
            began: self.began,
            args: self.args.clone(),
            tally: std::mem::take(&mut self.tally),
            done: self.done.take(),
            pen: self.pen.take(),
            me: None,
        }
    }

    fn tool(&self) -> &Tool {
        &self.tools[(self.index + self.made as usize) % self.tools.len()]
    }

    /// The computer of the next call; none where its thread has no more of this round.
    fn computer(&self) -> Option<&ClientId> {
        let computers = &self.plan.computers[self.shard];
        let shards = self.plan.computers.len();
        let beside = self.plan.in_flight.div_ceil(shards);
        let at = self.index + self.made as usize * beside;
        let round_ends = self.plan.in_flight < shards && at.is_multiple_of(computers.len());
        (self.lane.is_none() || !round_ends).then(|| &computers[at % computers.len()])
    }

    fn next(&mut self, ctx: &mut Context<Self>) {
        if self.plan.ends.load(Ordering::Relaxed) {
            if let Some(done) = self.done.take() {
                let _ = done.send(std::mem::take(&mut self.tally));
            }
            ctx.stop();
            return;
        }
        self.made += 1;
        self.began = Instant::now();
        let Some(home) = self.computer() else {
            self.moved().go_home();
            return ctx.stop();
        };
        let tool = self.tool();
        let (name, args) = (tool.name, tool.args.clone());
        let lane = self.plan.router.route(&Target::Any, Some(home), name);
        let lane = lane.expect("the computer has the tool");
        check(&lane, name, &args);
        lane.place.do_send(PlaceCall {
            task_id: self.task_id.clone(),
            generation: Generation(1),
            call_id: self.call_id(),
            tool: name.to_owned(),
            args: args.clone(),
            timeout_ms: None,
            reply_to: self.me.clone().expect("started"),
        });
        self.args = args;
        self.lane = Some(lane);
    }

    fn call_id(&self) -> CallId {
        CallId::derive(&self.task_id, Generation(1), self.made, 0)
    }

    fn dispatch(&self, call_id: CallId) {
        if let Some(lane) = &self.lane {
            lane.dispatch.do_send(Dispatch { call_id });
        }
    }

    fn settled(&mut self, call_id: CallId, report: Arc<CallReport>, ctx: &mut Context<Self>) {
        if report.outcome != Outcome::Done || report.result.is_none() {
            self.tally.failed += 1;
        } else if self.plan.counts.load(Ordering::Relaxed) {
            let nanos = self.began.elapsed().as_nanos();
            self.tally
                .nanos
                .push(u32::try_from(nanos).unwrap_or(u32::MAX));
        }
        if self.pen.is_none() {
            return self.stored(call_id, ctx);
        }
        let finished = TaskEvent::CallFinished {
            call_id: call_id.clone(),
            report: Arc::unwrap_or_clone(report),
        };
        self.journalled(finished, ctx, move |slot, ctx| slot.stored(call_id, ctx));
    }

    fn stored(&mut self, call_id: CallId, ctx: &mut Context<Self>) {
        if let Some(lane) = &self.lane {
            lane.stored.do_send(OutcomeStored { call_id });
        }
        self.next(ctx);
    }

    /// Goes on once the event is durable.
    fn journalled<F>(&mut self, event: TaskEvent, ctx: &mut Context<Self>, then: F)
    where
        F: FnOnce(&mut Self, &mut Context<Self>) + 'static,
    {
        let Some(pen) = &mut self.pen else {
            return;
        };
        let append = pen.append(event);
        let appended = pen.journal.send(append).into_actor(self);
        ctx.spawn(appended.map(|appended, slot, ctx| {
            appended
                .expect("the journal lives")
                .expect("the journal takes it");
            then(slot, ctx);
        }));
    }
}

impl Pen {
    fn append(&mut self, event: TaskEvent) -> AppendEvents {
        let first = self.written == 0;
        let mut events = vec![event];
        if first {
            events.insert(0, created());
        }
        let append = Append {
            task_id: self.summary.task_id.clone(),
            generation: Generation(1),
            expected_seq: self.written,
            at_ms: 1_700_000_000_000,
            blobs: first
                .then(|| (BlobHash::of(PROFILE), PROFILE.into()))
                .into_iter()
                .collect(),
            summary: self.summary.clone().into(),
            idempotency_key: None,
            tools: Vec::new(),
            events: self.placed(events).into(),
        };
        self.written += append.events.len() as u64;
        append.into()
    }

    fn placed(&self, events: Vec<TaskEvent>) -> Vec<StoredEvent> {
        let placed = events.into_iter().zip(self.written + 1..);
        let placed = placed.map(|(event, seq)| StoredEvent {
            task_id: self.summary.task_id.clone(),
            seq,
            at_ms: 1_700_000_000_000,
            generation: Generation(1),
            event,
        });
        placed.collect()
    }
}

fn created() -> TaskEvent {
    TaskEvent::TaskCreated(Box::new(TaskCreated {
        prompt: "bench".into(),
        kind: "bench".into(),
        kind_label: "bench".into(),
        strategy: "call".into(),
        strategy_version: 1,
        profile: BlobHash::of(PROFILE),
        client_id: None,
        owner: "local".into(),
        confined_to: None,
        context: Value::Null,
        allowed_commands: None,
        metadata: Value::Null,
        interactive: false,
        budgets: Budgets {
            steps: 1,
            calls: 1,
            questions: 0,
            wall_time_s: 3600,
            tokens: 0,
            model_failures: 1,
            per_wake: Default::default(),
        },
        call: None,
        parent: None,
        depth: 0,
        may_start_tasks: false,
        wakes: None,
        up_ms: None,
        may_sleep: false,
    }))
}

fn check(lane: &Lane, tool: &str, args: &Value) {
    let accepts = lane.view.with_tools(|tools| {
        let schema = tools.active(tool)?.args_schema.as_ref()?;
        Some(schema.accepts(args))
    });
    assert_eq!(accepts, Some(true), "the arguments fit the tool's schema");
}

impl Actor for Slot {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.me = Some(ctx.address().recipient());
        self.next(ctx);
    }
}

impl Handler<CallFact> for Slot {
    type Result = ();

    fn handle(&mut self, fact: CallFact, ctx: &mut Self::Context) {
        let call_id = fact.call_id;
        match fact.what {
            CallNews::Queued { .. } | CallNews::Away(_) | CallNews::Progress { .. } => {}
            CallNews::TurnGranted {
                client_id,
                seq,
                tool_rev,
                effect,
                timeout_ms,
                ..
            } => {
                if self.pen.is_none() {
                    return self.dispatch(call_id);
                }
                // As it stands in a journal: what the bench does not need may be left out.
                let intended = json!({
                    "call_id": call_id, "client_id": client_id, "seq": seq, "tool": self.tool().name,
                    "tool_rev": tool_rev, "effect": effect, "args": *self.args, "args_hash": args_hash(&self.args),
                    "timeout_ms": timeout_ms,
                });
                let intended = serde_json::from_value(intended).expect("an intent");
                let intended = TaskEvent::CallIntended(intended);
                self.journalled(intended, ctx, |slot, _| slot.dispatch(call_id));
            }
            CallNews::Settled(report) => self.settled(call_id, report, ctx),
            CallNews::NotPlaced(why) => panic!("a call was not placed: {}", why.message),
        }
    }
}
