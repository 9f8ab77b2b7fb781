//! The circuit breaker of one model server. Pure: the clock comes from outside.

use std::time::Duration;

use tokio::time::Instant;

use super::messages::BreakerReport;

/// Whether a call may go to the server now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Go,
    /// Others wait until the probe that is under way has ended.
    Hold,
    /// Fail at once.
    Refuse {
        probe_in: Duration,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    Probing,
}

/// Opens after `threshold` failures to reach the server in a row; after `cooldown` one call goes
/// through, and its end closes the breaker or opens it again.
#[derive(Debug)]
pub(super) struct Breaker {
    threshold: u32,
    cooldown: Duration,
    state: State,
}

impl Breaker {
    pub fn new(threshold: u32, cooldown: Duration) -> Self {
        Breaker {
            threshold,
            cooldown,
            state: State::Closed { failures: 0 },
        }
    }

    /// What would happen to a call now.
    pub fn admission(&self, now: Instant) -> Admission {
        match self.state {
            State::Closed { .. } => Admission::Go,
            State::Open { until } if now >= until => Admission::Go,
            State::Open { until } => Admission::Refuse {
                probe_in: until - now,
            },
            State::Probing => Admission::Hold,
        }
    }

    /// A call goes to the server. Returns whether it is the probe of an open breaker.
    pub fn started(&mut self) -> bool {
        let is_probe = matches!(self.state, State::Open { .. });
        if is_probe {
            self.state = State::Probing;
        }
        is_probe
    }

    /// The server answered, if only with an error.
    pub fn reached(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// The server could not be reached, `times` times.
    pub fn unreachable(&mut self, times: u32, now: Instant) {
        let failures = match self.state {
            State::Closed { failures } => failures.saturating_add(times),
            State::Open { .. } | State::Probing => self.threshold,
        };
        self.state = if failures >= self.threshold {
            State::Open {
                until: now + self.cooldown,
            }
        } else {
            State::Closed { failures }
        };
    }

    /// A call was cancelled before it said anything about the server; if it was the probe, the next
    /// one may try at once.
    pub fn undecided(&mut self, was_probe: bool, now: Instant) {
        if was_probe && self.state == State::Probing {
            self.state = State::Open { until: now };
        }
    }

    pub fn report(&self, now: Instant) -> BreakerReport {
        match self.state {
            State::Closed { failures } => BreakerReport::Closed { failures },
            State::Open { until } => BreakerReport::Open {
                probe_in_ms: until.saturating_duration_since(now).as_millis() as u64,
            },
            State::Probing => BreakerReport::HalfOpen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOLDOWN: Duration = Duration::from_secs(10);

    #[test]
    fn it_opens_after_failures_in_a_row_and_only_then() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, COOLDOWN);
        breaker.unreachable(2, now);
        breaker.reached();
        breaker.unreachable(2, now);
        assert_eq!(breaker.admission(now), Admission::Go);
        breaker.unreachable(1, now);
        assert_eq!(
            breaker.admission(now),
            Admission::Refuse { probe_in: COOLDOWN }
        );
    }

    #[test]
    fn one_probe_goes_through_and_decides() {
        let start = Instant::now();
        let mut breaker = Breaker::new(1, COOLDOWN);
        breaker.unreachable(1, start);
        let later = start + COOLDOWN;
        assert_eq!(breaker.admission(later), Admission::Go);
        assert!(breaker.started());
        assert_eq!(breaker.admission(later), Admission::Hold);
        breaker.unreachable(1, later);
        assert!(matches!(breaker.admission(later), Admission::Refuse { .. }));
        assert!(breaker.started());
        breaker.reached();
        assert_eq!(breaker.admission(later), Admission::Go);
        assert!(!breaker.started());
    }

    #[test]
    fn a_cancelled_probe_leaves_room_for_the_next() {
        let now = Instant::now();
        let mut breaker = Breaker::new(1, COOLDOWN);
        breaker.unreachable(1, now);
        let was_probe = breaker.started();
        breaker.undecided(was_probe, now);
        assert_eq!(breaker.admission(now), Admission::Go);
    }
}
