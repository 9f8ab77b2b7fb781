//! How long servers have run on this journal: what counts for a task only while the server is up is measured by it.

use super::Supervisor;
use crate::actors::journal::messages::KeepUptime;
use actix::prelude::*;
use std::time::Duration;
use tokio::time::Instant;

/// It is written down so often: a crash loses no more than that.
const EVERY: Duration = Duration::from_secs(15);

/// The time of all runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uptime {
    /// Of the former runs, in milliseconds.
    before_ms: i64,
    since: Instant,
}

impl Uptime {
    pub fn new() -> Self {
        Uptime {
            before_ms: 0,
            since: Instant::now(),
        }
    }

    /// The journal told how long the former runs were.
    pub fn begin_after(&mut self, before_ms: i64) {
        self.before_ms = before_ms;
    }

    /// In milliseconds.
    pub fn ms(&self) -> i64 {
        let run = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.before_ms.saturating_add(run)
    }
}

impl Supervisor {
    /// Writes it down now and then.
    pub(super) fn keep_uptime(&self, ctx: &mut Context<Self>) {
        ctx.run_interval(EVERY, |supervisor, _ctx| {
            // One that cannot be written is followed by the next.
            supervisor.uptime_kept.do_send(KeepUptime {
                up_ms: supervisor.uptime.ms(),
            });
        });
    }
}
