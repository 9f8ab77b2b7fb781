//! Starting a lane again that failed.
//!
//! A lane that fails is a fault of ours: its actor panicked. What it knew is in the journal, in the computer's cell and on
//! the computer. So another one is started, and the connection is closed: the computer comes back within a second and says
//! what it knows, and tasks go to the new lane, as with any registration.

use super::Registry;
use super::messages::LaneFailed;
use crate::actors::connection::messages::CloseConnection;
use crate::wire::codes::{CloseWith, ErrorCode};
use actix::prelude::*;
use std::time::Duration;
use tokio::time::Instant;

/// The first pause before a lane is started again; it doubles with each failure that follows soon.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest is about 25 s.
const MOST_DOUBLINGS: u32 = 8;
/// After so long without a failure the next one counts as the first.
const QUIET: Duration = Duration::from_secs(120);

/// How often a computer's lane failed lately.
#[derive(Debug, Default)]
pub(super) struct Failures {
    count: u32,
    last: Option<Instant>,
}

impl Failures {
    /// Notes one more; returns how long to wait before the lane is started again.
    fn pause(&mut self, now: Instant) -> Duration {
        let quiet = |last: Instant| now.saturating_duration_since(last) >= QUIET;
        if self.last.is_none_or(quiet) {
            self.count = 0;
        }
        self.last = Some(now);
        let pause = FIRST_PAUSE * 2u32.pow(self.count.min(MOST_DOUBLINGS));
        self.count = self.count.saturating_add(1);
        pause
    }
}

impl Handler<LaneFailed> for Registry {
    type Result = ();

    fn handle(&mut self, failed: LaneFailed, ctx: &mut Self::Context) {
        let Some(entry) = self.entries.get_mut(&failed.client_id) else {
            return;
        };
        // A registration may have been first.
        if entry.key != failed.key {
            return;
        }
        let pause = entry.failures.pause(Instant::now());
        tracing::error!(computer = %failed.client_id, ?pause, "a lane failed");
        ctx.run_later(pause, move |registry, ctx| {
            registry.start_again(&failed, ctx)
        });
    }
}

impl Registry {
    fn start_again(&mut self, failed: &LaneFailed, ctx: &mut Context<Self>) {
        let entry = self.entries.get(&failed.client_id);
        if entry.is_none_or(|entry| entry.key != failed.key) {
            return;
        }
        self.ensure_computer(&failed.client_id, ctx);
        let entry = self.entries.get(&failed.client_id);
        if let Some(current) = entry.and_then(|entry| entry.current.as_ref()) {
            current.link.close.do_send(CloseConnection {
                close: CloseWith::TryLater,
                code: ErrorCode::Internal,
            });
        }
    }
}

/// Lets the lane of a computer fail.
#[cfg(test)]
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct BreakLane(pub crate::domain::ids::ClientId);

#[cfg(test)]
impl Handler<BreakLane> for Registry {
    type Result = ();

    fn handle(&mut self, broken: BreakLane, _: &mut Self::Context) {
        if let Some(entry) = self.entries.get(&broken.0) {
            entry.addr.do_send(crate::actors::computer::Break);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_failures_that_follow_soon() {
        let mut failures = Failures::default();
        let start = Instant::now();
        let mut pause_at = |seconds| {
            let pause = failures.pause(start + Duration::from_secs(seconds));
            pause.as_millis()
        };
        assert_eq!([0, 1, 2].map(&mut pause_at), [100, 200, 400]);
        let many: Vec<u128> = (3..20).map(&mut pause_at).collect();
        assert_eq!(many.last(), Some(&25_600));
        assert_eq!(pause_at(19 + 120), 100);
    }
}
