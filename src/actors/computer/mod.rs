//! One computer: its lane, and what its tasks and people tell it. Lives across connections.
//!
//! A shell around [`lane::Lane`]: every message becomes a method of the lane, and the acts that come back are
//! carried out. It waits for nobody. The mailbox holds 256 messages; a task that finds it full is told "busy".
//! What a call consists of is also taken directly from tasks and connections of the same thread (`shell.rs`).

mod attached;
mod calls;
pub mod lane;
mod late;
pub mod link;
pub mod messages;
mod notices;
pub mod shell;
mod status;
pub mod view;

use crate::actors::counts::FleetCounts;
use crate::actors::journal::messages::NoticeDelivered;
use crate::actors::near::{Home, NearKey};
use crate::actors::registry::index::ToolIndex;
use crate::actors::registry::messages::{LaneFailed, NoticesMissed, ToolsChanged};
use crate::actors::supervisor::messages::LateResult;
use actix::prelude::*;
use lane::LaneLimits;
use late::LateQueue;
use link::{Attach, ChangeTools, Detach, FromConnection};
use messages::ToolsTold;
use shell::Shell;
use std::sync::{Arc, OnceLock};
use view::ComputerCell;

const MAILBOX: usize = 256;

/// Where late results go: the supervisor, which starts after the computers. Filled once.
pub type LateDesk = Arc<OnceLock<Recipient<LateResult>>>;

/// Whom a computer tells what.
#[derive(Clone)]
pub struct ComputerLinks {
    /// Where it writes what tools it has.
    pub index: ToolIndex,
    pub tools_changed: Recipient<ToolsChanged>,
    pub notices_missed: Recipient<NoticesMissed>,
    pub lane_failed: Recipient<LaneFailed>,
    pub notice_delivered: Option<Recipient<NoticeDelivered>>,
    pub late: LateDesk,
    pub counts: Arc<FleetCounts>,
}

/// The actor.
pub struct Computer {
    shell: Home<Shell>,
    key: NearKey,
    failed: Recipient<LaneFailed>,
    cell: Arc<ComputerCell>,
    late_desk: LateDesk,
    timer: Option<SpawnHandle>,
    late: LateQueue,
}

/// What a computer begins with.
pub struct Beginning {
    pub cell: Arc<ComputerCell>,
    /// By which it is found on its thread.
    pub key: NearKey,
    /// The highest number whose result is stored.
    pub stored_seq: u64,
    pub last_boot: Option<String>,
    pub limits: LaneLimits,
}

impl Computer {
    /// Starts the computer as the journal knows it, on this thread.
    pub fn open(begin: Beginning, links: ComputerLinks) -> Addr<Self> {
        Computer::create(|ctx| Computer::new(begin, links, ctx))
    }

    /// The actor, for whoever starts it.
    pub fn new(begin: Beginning, links: ComputerLinks, ctx: &mut Context<Self>) -> Self {
        let (cell, late_desk) = (begin.cell.clone(), links.late.clone());
        let (key, failed) = (begin.key, links.lane_failed.clone());
        Computer {
            key,
            failed,
            shell: Home::new(key, Shell::new(begin, links, ctx.address().recipient())),
            cell,
            late_desk,
            timer: None,
            late: LateQueue::default(),
        }
    }

    /// Works with the lane, and does what only an actor can. The answer is empty if the lane has failed.
    fn with<T: Default>(
        &mut self,
        ctx: &mut Context<Self>,
        work: impl FnOnce(&mut Shell) -> T,
    ) -> T {
        let done = self.shell.visit(work);
        self.look_after(ctx);
        done.unwrap_or_default()
    }

    /// Does what the lane left to its actor.
    fn look_after(&mut self, ctx: &mut Context<Self>) {
        let Some((lates, arm)) = self.shell.visit(Shell::needs) else {
            // It failed in the middle of a message: as after a panic here, the registry starts another one.
            return ctx.stop();
        };
        for (call_id, report) in lates {
            self.pass_on(call_id, report, ctx);
        }
        if let Some(wait) = arm {
            if let Some(handle) = self.timer.take() {
                ctx.cancel_future(handle);
            }
            self.timer = Some(ctx.run_later(wait, |computer, ctx| {
                computer.timer = None;
                computer.with(ctx, Shell::tick);
            }));
        }
    }
}

impl Actor for Computer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.cell.forget_promises();
        self.with(ctx, Shell::show);
    }

    /// A lane lives as long as the server: this one failed. (Actors hear of their end after a panic too.)
    fn stopped(&mut self, _ctx: &mut Self::Context) {
        self.failed.do_send(LaneFailed {
            client_id: self.cell.client_id().clone(),
            key: self.key,
        });
    }
}

/// Fail as a fault of ours would make it.
#[cfg(test)]
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(in crate::actors) struct Break;

#[cfg(test)]
impl Handler<Break> for Computer {
    type Result = ();

    fn handle(&mut self, _: Break, ctx: &mut Self::Context) {
        self.with(ctx, |_: &mut Shell| -> () {
            panic!("as the test wants it")
        });
    }
}

/// The lane wants something of its actor.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct LookAfter;

impl Handler<LookAfter> for Computer {
    type Result = ();

    fn handle(&mut self, _: LookAfter, ctx: &mut Self::Context) {
        self.look_after(ctx);
    }
}

impl Handler<Attach> for Computer {
    type Result = ();

    fn handle(&mut self, attach: Attach, ctx: &mut Self::Context) {
        self.with(ctx, |shell| shell.attach(attach));
    }
}

impl Handler<Detach> for Computer {
    type Result = ();

    fn handle(&mut self, detach: Detach, ctx: &mut Self::Context) {
        self.with(ctx, |shell| shell.detach(detach.connection));
    }
}

impl Handler<FromConnection> for Computer {
    type Result = ();

    fn handle(&mut self, told: FromConnection, ctx: &mut Self::Context) {
        self.with(ctx, |shell| shell.told(told));
    }
}

impl Handler<ToolsTold> for Computer {
    type Result = ();

    fn handle(&mut self, told: ToolsTold, ctx: &mut Self::Context) {
        self.with(ctx, |shell| shell.tools_told(told.records));
    }
}

impl Handler<ChangeTools> for Computer {
    type Result = MessageResult<ChangeTools>;

    fn handle(&mut self, change: ChangeTools, ctx: &mut Self::Context) -> Self::Result {
        MessageResult(self.with(ctx, |shell| shell.change_tools(change)))
    }
}

pub(crate) use crate::clock::now_ms;

#[cfg(test)]
mod actor_tests;
