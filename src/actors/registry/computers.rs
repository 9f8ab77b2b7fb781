//! Starting computers, and what the journal keeps of them.

use super::failed::Failures;
use super::messages::Registration;
use super::router::{Lane, LaneParts, NoticePort, Port};
use super::{Entry, LOCAL_OWNER, Registry};
use crate::actors::computer::messages::{StopLane, TaskNotice};
use crate::actors::computer::view::ComputerCell;
use crate::actors::computer::{Beginning, Computer, ComputerLinks, now_ms};
use crate::actors::journal::messages::{SaveComputer, UndeliveredNotices};
use crate::actors::near::NearKey;
use crate::domain::ids::ClientId;
use crate::store::{ComputerRecord, KnownComputer};
use actix::prelude::*;
use std::sync::Arc;

impl Registry {
    fn start_computer(
        &mut self,
        cell: Arc<ComputerCell>,
        stored_seq: u64,
        last_boot: Option<String>,
        ctx: &mut Context<Self>,
    ) -> (Addr<Computer>, NearKey) {
        let links = ComputerLinks {
            index: self.router.index().clone(),
            tools_changed: ctx.address().recipient(),
            notices_missed: ctx.address().recipient(),
            lane_failed: ctx.address().recipient(),
            notice_delivered: self.links.delivered.clone(),
            late: self.links.late.clone(),
            counts: self.links.counts.clone(),
        };
        let (view, counts) = (cell.clone(), self.links.counts.clone());
        let key = NearKey::next();
        let begin = Beginning {
            cell,
            key,
            stored_seq,
            last_boot,
            limits: self.limits,
        };
        let addr = match self.shards.home_of(view.client_id()) {
            Some(home) => {
                Computer::start_in_arbiter(home, move |ctx| Computer::new(begin, links, ctx))
            }
            None => Computer::open(begin, links),
        };
        if self.links.stops.is_stopped(view.client_id()) {
            addr.do_send(StopLane);
        }
        self.router.insert(Lane::new(LaneParts {
            client_id: view.client_id().clone(),
            place: Port::new(addr.clone().recipient(), key),
            adopt: Port::new(addr.clone().recipient(), key),
            dispatch: Port::new(addr.clone().recipient(), key),
            stored: Port::new(addr.clone().recipient(), key),
            cancel: Port::new(addr.clone().recipient(), key),
            notice: NoticePort::new(addr.clone().recipient(), Some(key), counts),
            question: addr.clone().recipient(),
            queue: addr.clone().recipient(),
            tools: addr.clone().recipient(),
            view,
        }));
        (addr, key)
    }

    pub(super) fn start_known(&mut self, known: KnownComputer, ctx: &mut Context<Self>) {
        let record = known.record;
        let registration = serde_json::from_value(record.registration).unwrap_or_else(|error| {
            tracing::warn!(computer = %record.client_id, %error, "what is kept of a computer cannot be read");
            Registration::default()
        });
        let client_id = record.client_id;
        let high_seq = known.lane.high_seq;
        let cell = ComputerCell::new(client_id.clone(), record.owner, registration, high_seq);
        cell.set_records(known.tools);
        cell.set_last_seen(record.last_seen_ms);
        let cell = Arc::new(cell);
        let last_boot = record.boot_id;
        let (addr, key) =
            self.start_computer(cell.clone(), known.lane.stored_seq, last_boot.clone(), ctx);
        self.entries.insert(
            client_id,
            Entry {
                addr,
                key,
                cell,
                secret_hash: record.secret_hash,
                last_boot,
                epoch: 0,
                current: None,
                failures: Failures::default(),
            },
        );
    }

    /// The computer's entry, with a lane that lives.
    pub(super) fn ensure_computer(&mut self, client_id: &ClientId, ctx: &mut Context<Self>) {
        match self.entries.get(client_id) {
            Some(entry) if entry.addr.connected() => {}
            Some(entry) => {
                tracing::error!(computer = %client_id, "the lane failed and is started again");
                let (cell, boot) = (entry.cell.clone(), entry.last_boot.clone());
                // What the lane had shown outlives it: without it a restored computer would not be noticed.
                let stored_seq = cell.proven_seq();
                let (addr, key) = self.start_computer(cell, stored_seq, boot, ctx);
                if let Some(entry) = self.entries.get_mut(client_id) {
                    entry.addr = addr;
                    entry.key = key;
                }
            }
            None => {
                let owner = LOCAL_OWNER.to_owned();
                let cell = ComputerCell::new(client_id.clone(), owner, Registration::default(), 0);
                let cell = Arc::new(cell);
                let (addr, key) = self.start_computer(cell.clone(), 0, None, ctx);
                let entry = Entry {
                    addr,
                    key,
                    cell,
                    secret_hash: None,
                    last_boot: None,
                    epoch: 0,
                    current: None,
                    failures: Failures::default(),
                };
                self.entries.insert(client_id.clone(), entry);
            }
        }
    }

    /// Fetches the ends of tasks that the computer was not told of.
    pub(super) fn bring_notices(&self, client_id: &ClientId, addr: Addr<Computer>) {
        let Some(undelivered) = self.links.undelivered.clone() else {
            return;
        };
        let ask = UndeliveredNotices {
            client_id: client_id.clone(),
        };
        // Beside the registry: a context polls all that it has spawned whenever it wakes, and thousands may come at once.
        actix_rt::spawn(async move {
            match undelivered.send(ask).await {
                Ok(Ok(notices)) => {
                    for summary in notices {
                        // One at a time, so that they do not pile up on the way. Of a lane that failed the next one asks.
                        if addr
                            .send(TaskNotice {
                                summary: summary.into(),
                            })
                            .await
                            .is_err()
                        {
                            return;
                        }
                    }
                }
                Ok(Err(error)) => tracing::warn!(%error, "undelivered notices cannot be read"),
                Err(_) => {}
            }
        });
    }

    pub(super) fn save(&self, client_id: &ClientId) {
        let (Some(save), Some(entry)) = (&self.links.save, self.entries.get(client_id)) else {
            return;
        };
        let registration = serde_json::to_value(&*entry.cell.registration()).unwrap_or_default();
        let record = ComputerRecord {
            client_id: client_id.clone(),
            boot_id: entry.last_boot.clone(),
            secret_hash: entry.secret_hash.clone(),
            owner: entry.cell.owner().to_string(),
            registration,
            last_seen_ms: now_ms(),
        };
        let saved = save.send(SaveComputer { record });
        actix_rt::spawn(async move {
            if let Ok(Err(error)) = saved.await {
                tracing::warn!(%error, "a computer could not be written down");
            }
        });
    }
}
