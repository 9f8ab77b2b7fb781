//! Ways to a lane: directly on its own thread, by its mailbox from others.

use crate::actors::backlog::{Backlog, Weighed};
use crate::actors::computer::messages::{MAX_NOTICES_BETWEEN_THREADS, TaskNotice};
use crate::actors::computer::shell::{Delivery, Shell};
use crate::actors::counts::FleetCounts;
use crate::actors::near::{Near, NearKey};
use actix::prelude::{Message, Recipient, SendError};
use std::sync::Arc;

/// A way to a lane for one kind of message: directly from its own thread, by its mailbox from others.
#[derive(Clone)]
pub struct Port<M>
where
    M: Message<Result = ()> + Send,
{
    mailbox: Recipient<M>,
    key: Option<NearKey>,
}

impl<M> From<Recipient<M>> for Port<M>
where
    M: Message<Result = ()> + Send,
{
    /// By the mailbox only.
    fn from(mailbox: Recipient<M>) -> Self {
        Port { mailbox, key: None }
    }
}

impl<M> Port<M>
where
    M: Message<Result = ()> + Send + 'static,
    Delivery: From<M>,
{
    /// `key` is what the lane is found by on its thread.
    pub fn new(mailbox: Recipient<M>, key: NearKey) -> Self {
        let key = Some(key);
        Port { mailbox, key }
    }

    /// Sends a fact; nobody learns of it if the lane has failed.
    pub fn do_send(&self, message: M) {
        match near(self.key) {
            Some(near) => drop(near.deliver(message.into())),
            None => self.mailbox.do_send(message),
        }
    }

    /// Sends if there is room.
    ///
    /// # Errors
    /// The mailbox is full, or the lane has failed.
    pub fn try_send(&self, message: M) -> Result<(), SendError<M>> {
        match near(self.key) {
            Some(near) => {
                drop(near.deliver(message.into()));
                Ok(())
            }
            None => self.mailbox.try_send(message),
        }
    }

    /// Whether the lane lives.
    pub fn connected(&self) -> bool {
        self.mailbox.connected()
    }
}

/// As [`Port`], for notices of tasks, of which any number may come: from another thread only so many bytes wait.
#[derive(Clone)]
pub struct NoticePort {
    backlog: Backlog<TaskNotice>,
    key: Option<NearKey>,
    counts: Arc<FleetCounts>,
}

impl NoticePort {
    /// `key` is what the lane is found by on its thread; none = by the mailbox only.
    pub fn new(
        mailbox: Recipient<Weighed<TaskNotice>>,
        key: Option<NearKey>,
        counts: Arc<FleetCounts>,
    ) -> Self {
        NoticePort {
            backlog: Backlog::new(mailbox, MAX_NOTICES_BETWEEN_THREADS),
            key,
            counts,
        }
    }

    /// Sends a fact. Where there is no room for it, a task that goes on is not told, and the end of one is told later, from
    /// the journal.
    pub fn do_send(&self, notice: TaskNotice) {
        if let Some(near) = near(self.key) {
            drop(near.deliver(notice.into()));
        } else if notice.summary.status.is_final() {
            self.backlog.send_or_fetch(notice);
        } else if self.backlog.send(notice).is_err() {
            self.counts.updates_dropped.one();
        }
    }

    /// Bytes that are on their way to the lane.
    pub fn waiting(&self) -> usize {
        self.backlog.bytes()
    }
}

fn near(key: Option<NearKey>) -> Option<Near<Shell>> {
    key.and_then(Near::find).filter(|near| !near.is_closed())
}
