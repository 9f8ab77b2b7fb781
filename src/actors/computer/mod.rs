//! One computer: its lane, and what its tasks and people tell it. Lives across connections.
//!
//! A shell around [`lane::Lane`]: every message becomes a method of the lane, and the acts that come back are
//! carried out. It waits for nobody. The mailbox holds 256 messages; a task that finds it full is told "busy".

mod calls;
pub mod lane;
mod late;
pub mod link;
pub mod messages;
mod notices;
pub mod view;

use crate::actors::connection::messages::{ConnectionLink, ToClient};
use crate::actors::counts::FleetCounts;
use crate::actors::journal::messages::NoticeDelivered;
use crate::actors::registry::index::ToolIndex;
use crate::actors::registry::messages::{Registration, ToolsChanged};
use crate::actors::supervisor::messages::LateResult;
use crate::wire::frames::ServerMessage;
use actix::prelude::*;
use lane::{Act, Lane, LaneLimits, Link, Note, Reply};
use late::LateQueue;
use link::{Attach, ChangeTools, ConnectionFact, Detach, FromConnection};
use messages::{CallFact, QuestionDelivered, ToolsTold};
use notices::Notices;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use view::ComputerCell;

const MAILBOX: usize = 256;

impl Reply for Recipient<CallFact> {
    fn is_alive(&self) -> bool {
        self.connected()
    }
}

/// Where late results go: the supervisor, which starts after the computers. Filled once.
pub type LateDesk = Arc<OnceLock<Recipient<LateResult>>>;

/// Whom a computer tells what.
#[derive(Clone)]
pub struct ComputerLinks {
    /// Where it writes what tools it has.
    pub index: ToolIndex,
    pub tools_changed: Recipient<ToolsChanged>,
    pub notice_delivered: Option<Recipient<NoticeDelivered>>,
    pub late: LateDesk,
    pub counts: Arc<FleetCounts>,
}

/// The actor.
pub struct Computer {
    cell: Arc<ComputerCell>,
    lane: Lane<Recipient<CallFact>>,
    connection: Option<ConnectionLink>,
    notices: Notices,
    links: ComputerLinks,
    started: Instant,
    timer: Option<(Duration, SpawnHandle)>,
    late: LateQueue,
}

impl Computer {
    /// The computer as the journal knows it; `stored_seq` is the highest number whose result is stored.
    pub fn new(
        cell: Arc<ComputerCell>,
        stored_seq: u64,
        last_boot: Option<String>,
        limits: LaneLimits,
        links: ComputerLinks,
    ) -> Self {
        let client_id = cell.client_id().clone();
        let mut lane = Lane::new(client_id, cell.high_seq(), stored_seq, limits);
        lane.set_last_boot(last_boot);
        lane.set_tools(cell.tools(), Duration::ZERO, &mut Vec::new());
        Computer {
            cell,
            lane,
            connection: None,
            notices: Notices::default(),
            links,
            started: Instant::now(),
            timer: None,
            late: LateQueue::default(),
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Lets the lane do something, carries out what it wants, and shows how it stands.
    fn with_lane<F, T>(&mut self, ctx: &mut Context<Self>, step: F) -> T
    where
        F: FnOnce(
            &mut Lane<Recipient<CallFact>>,
            Duration,
            &mut Vec<Act<Recipient<CallFact>>>,
        ) -> T,
    {
        let now = self.now();
        let mut acts = Vec::new();
        let said = step(&mut self.lane, now, &mut acts);
        for act in acts {
            match act {
                Act::Tell { to, fact } => to.do_send(fact),
                Act::Send(message) => self.send(message),
                Act::Late { call_id, report } => self.pass_on(call_id, report, ctx),
                Act::Note(note) => self.note(&note),
            }
        }
        self.cell.publish(&self.lane, now_ms());
        self.arm(ctx);
        said
    }

    /// A fact for the connection, whose outbox is what bounds it; the lane has at most three calls out.
    fn send(&self, message: ServerMessage) {
        if let Some(connection) = &self.connection {
            connection.out.do_send(ToClient(message));
        }
    }

    fn note(&mut self, note: &Note) {
        let computer = self.cell.client_id();
        match note {
            Note::Stray(call_id) => {
                self.links.counts.strays.one();
                tracing::debug!(%computer, call = %call_id, "an answer to no open call is dropped");
            }
            other => tracing::warn!(%computer, note = ?other, "the lane noticed something"),
        }
    }

    fn arm(&mut self, ctx: &mut Context<Self>) {
        let Some(at) = self.lane.next_deadline() else {
            return;
        };
        // One that is armed too early looks at the clock and arms again: cheaper than to move it with every call.
        if self.timer.is_some_and(|(armed, _)| armed <= at) {
            return;
        }
        if let Some((_, handle)) = self.timer.take() {
            ctx.cancel_future(handle);
        }
        let wait = at.saturating_sub(self.now());
        let handle = ctx.run_later(wait, |computer, ctx| {
            computer.timer = None;
            computer.with_lane(ctx, |lane, now, acts| lane.tick(now, acts));
        });
        self.timer = Some((at, handle));
    }

    fn is_current(&self, connection: crate::actors::connection::messages::ConnectionId) -> bool {
        self.connection.as_ref().is_some_and(|c| c.id == connection)
    }

    fn set_registration(&mut self, registration: Registration, ctx: &mut Context<Self>) {
        self.links.index.register(&self.cell, registration);
        self.show_tools(ctx);
    }

    fn show_tools(&mut self, ctx: &mut Context<Self>) {
        let tools = self.cell.tools();
        self.with_lane(ctx, |lane, now, acts| lane.set_tools(tools, now, acts));
    }

    fn tell_registry(&self) {
        self.links.tools_changed.do_send(ToolsChanged {
            client_id: self.cell.client_id().clone(),
        });
    }

    fn tell_questions_shown(&self) {
        for (question_id, to) in self.notices.askers() {
            to.do_send(QuestionDelivered {
                question_id: question_id.clone(),
            });
        }
    }
}

impl Actor for Computer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.cell.forget_promises();
        self.cell.publish(&self.lane, now_ms());
    }
}

impl Handler<Attach> for Computer {
    type Result = ();

    fn handle(&mut self, attach: Attach, ctx: &mut Self::Context) {
        let mut registration = attach.registration;
        let legacy = registration.legacy;
        let renewed = self.is_current(attach.link.id);
        if legacy {
            // It names its tools with its tasks, not here; those of earlier tasks stay.
            registration.tools = self.cell.registration().tools.clone();
        }
        self.connection = Some(attach.link);
        self.set_registration(registration, ctx);
        self.tell_registry();
        if !renewed {
            let link = Link {
                boot_id: attach.boot_id,
                legacy,
                high_seq: attach.high_seq,
                later_epoch: attach.later_epoch,
            };
            self.with_lane(ctx, |lane, now, acts| lane.attach(link, now, acts));
            self.notices
                .again(legacy)
                .into_iter()
                .for_each(|m| self.send(m));
            if !legacy {
                self.tell_questions_shown();
            }
        }
    }
}

impl Handler<Detach> for Computer {
    type Result = ();

    fn handle(&mut self, detach: Detach, ctx: &mut Self::Context) {
        if self.is_current(detach.connection) {
            self.connection = None;
            self.with_lane(ctx, |lane, now, acts| lane.detach(now, acts));
        }
    }
}

impl Handler<FromConnection> for Computer {
    type Result = ();

    fn handle(&mut self, told: FromConnection, ctx: &mut Self::Context) {
        let current = self.is_current(told.connection);
        match told.fact {
            // What an earlier connection of the same computer brought is as true as ever.
            ConnectionFact::Answered {
                call_id, report, ..
            } => {
                self.with_lane(ctx, |lane, now, acts| {
                    lane.answered(&call_id, report, now, acts);
                });
            }
            ConnectionFact::Delivered(task_id) => {
                if self.notices.delivered(&task_id)
                    && let Some(to) = &self.links.notice_delivered
                {
                    to.do_send(NoticeDelivered { task_id });
                }
            }
            _ if !current => {}
            ConnectionFact::Receipt { call_id, receipt } => {
                self.with_lane(ctx, |lane, now, acts| {
                    lane.receipt(&call_id, receipt, now, acts);
                });
            }
            ConnectionFact::Progress {
                call_id,
                message,
                progress,
            } => self.with_lane(ctx, |lane, _, acts| {
                lane.progress(&call_id, message, progress, acts);
            }),
            ConnectionFact::NotSent { call_id, why } => {
                self.with_lane(ctx, |lane, now, acts| {
                    lane.not_sent(&call_id, why, now, acts);
                });
            }
            ConnectionFact::Responsive(responsive) => {
                self.with_lane(ctx, |lane, now, acts| {
                    lane.set_responsive(responsive, now, acts);
                });
            }
        }
    }
}

impl Handler<ToolsTold> for Computer {
    type Result = ();

    fn handle(&mut self, told: ToolsTold, ctx: &mut Self::Context) {
        self.links.index.record(&self.cell, told.records);
        self.show_tools(ctx);
        self.tell_registry();
    }
}

impl Handler<ChangeTools> for Computer {
    type Result = MessageResult<ChangeTools>;

    fn handle(&mut self, change: ChangeTools, ctx: &mut Self::Context) -> Self::Result {
        let mut registration = (*self.cell.registration()).clone();
        registration.tools = registration.tools.changed(change.add, &change.remove);
        self.set_registration(registration, ctx);
        self.tell_registry();
        MessageResult(self.cell.tools())
    }
}

/// Milliseconds since the Unix epoch, for people.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod actor_tests;
