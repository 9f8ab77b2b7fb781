//! Who calls: each slot keeps one call under way and plays a task's part in it.
//!
//! For every call it finds the computer's lane by the tool's bare name, checks the arguments against the tool's
//! schema, asks for a turn, (journals the intent,) dispatches, (journals the outcome,) and confirms.

use crate::tools::Tool;
use actix::prelude::*;
use ccfleet::actors::computer::messages::{CallFact, CallNews, Dispatch, OutcomeStored, PlaceCall};
use ccfleet::actors::journal::Journal;
use ccfleet::actors::journal::messages::AppendEvents;
use ccfleet::actors::registry::router::{Lane, Router};
use ccfleet::domain::call::{CallReport, Outcome, Target, args_hash};
use ccfleet::domain::event::{TaskCreated, TaskEvent};
use ccfleet::domain::ids::{BlobHash, CallId, ClientId, Generation, TaskId};
use ccfleet::domain::profile::Budgets;
use ccfleet::domain::task::{TaskState, TaskSummary};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::oneshot;

const PROFILE: &str = r#"{"kind":"bench"}"#;

/// What all slots share.
pub struct Plan {
    pub router: Router,
    pub computers: Vec<ClientId>,
    pub tools: Vec<Tool>,
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

/// One call at a time.
pub struct Slot {
    plan: Arc<Plan>,
    index: usize,
    task_id: TaskId,
    made: u64,
    lane: Option<Lane>,
    began: Instant,
    args: Value,
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
        let slot = Slot {
            plan,
            index,
            task_id,
            made: 0,
            lane: None,
            began: Instant::now(),
            args: Value::Null,
            tally: Tally::default(),
            done: Some(done),
            pen,
            me: None,
        };
        slot.start();
        tally
    }

    fn tool(&self) -> &Tool {
        let tools = &self.plan.tools;
        &tools[(self.index + self.made as usize) % tools.len()]
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
        let at = self.index + self.made as usize * self.plan.in_flight;
        let home = &self.plan.computers[at % self.plan.computers.len()];
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

    fn settled(&mut self, call_id: CallId, report: CallReport, ctx: &mut Context<Self>) {
        if report.outcome != Outcome::Done || report.result.is_none() {
            self.tally.failed += 1;
        } else if self.plan.counts.load(Ordering::Relaxed) {
            let nanos = self.began.elapsed().as_nanos();
            self.tally
                .nanos
                .push(u32::try_from(nanos).unwrap_or(u32::MAX));
        }
        let finished = TaskEvent::CallFinished {
            call_id: call_id.clone(),
            report,
        };
        self.journalled(finished, ctx, move |slot, ctx| {
            if let Some(lane) = &slot.lane {
                lane.stored.do_send(OutcomeStored { call_id });
            }
            slot.next(ctx);
        });
    }

    /// Goes on once the event is durable; at once without a journal.
    fn journalled<F>(&mut self, event: TaskEvent, ctx: &mut Context<Self>, then: F)
    where
        F: FnOnce(&mut Self, &mut Context<Self>) + 'static,
    {
        let Some(pen) = &mut self.pen else {
            return then(self, ctx);
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
        let append = AppendEvents {
            task_id: self.summary.task_id.clone(),
            generation: Generation(1),
            expected_seq: self.written,
            at_ms: 1_700_000_000_000,
            blobs: first
                .then(|| (BlobHash::of(PROFILE), PROFILE.to_owned()))
                .into_iter()
                .collect(),
            summary: self.summary.clone(),
            idempotency_key: None,
            tools: Vec::new(),
            events,
        };
        self.written += append.events.len() as u64;
        append
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
        },
        call: None,
        parent: None,
    }))
}

fn check(lane: &Lane, tool: &str, args: &Value) {
    let tools = lane.view.tools();
    let schema = tools
        .active(tool)
        .and_then(|tool| tool.args_schema.as_ref());
    assert!(
        schema.expect("the tool has a schema").accepts(args),
        "the arguments fit"
    );
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
                    "tool_rev": tool_rev, "effect": effect, "args": self.args, "args_hash": args_hash(&self.args),
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
