//! How often a client may be wrong, and how often it may come with what costs others work.

use std::collections::VecDeque;
use std::time::Duration;

const MAX_ERRORS: usize = 10;
const WITHIN: Duration = Duration::from_secs(10);

/// Counts bad messages: ten within ten seconds are too many (wire contract, "Bad input").
#[derive(Debug, Default)]
pub struct ErrorCount {
    at: VecDeque<Duration>,
}

impl ErrorCount {
    /// Notes a bad message; returns whether it was one too many.
    pub fn note(&mut self, now: Duration) -> bool {
        self.at.push_back(now);
        while self.at.front().is_some_and(|at| *at + WITHIN < now) {
            self.at.pop_front();
        }
        self.at.len() >= MAX_ERRORS
    }
}

/// So many at once, and then one in each interval.
#[derive(Debug)]
pub struct Rate {
    interval: Duration,
    burst: u32,
    /// When the whole burst may come again.
    full_at: Duration,
}

impl Rate {
    pub fn new(per_second: u32, burst: u32) -> Self {
        Rate {
            interval: Duration::from_secs(1) / per_second.max(1),
            burst: burst.max(1),
            full_at: Duration::ZERO,
        }
    }

    /// Notes one; false if it is one too many.
    pub fn take(&mut self, now: Duration) -> bool {
        let may = self.full_at <= now + self.interval * (self.burst - 1);
        if may {
            self.full_at = self.full_at.max(now) + self.interval;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_in_each_interval() {
        let mut rate = Rate::new(4, 8);
        let now = Duration::from_secs(5);
        let taken = |rate: &mut Rate, now| (0..20).filter(|_| rate.take(now)).count();
        assert_eq!(taken(&mut rate, now), 8);
        assert_eq!(taken(&mut rate, now + Duration::from_millis(500)), 2);
        assert_eq!(taken(&mut rate, now + Duration::from_secs(60)), 8);
    }

    #[test]
    fn the_tenth_error_within_ten_seconds_is_one_too_many() {
        let mut count = ErrorCount::default();
        let noted: Vec<bool> = (0..10)
            .map(|s| count.note(Duration::from_secs(s)))
            .collect();
        assert_eq!(noted, [[false; 9].as_slice(), &[true]].concat());
    }

    #[test]
    fn one_error_every_two_seconds_is_borne_for_ever() {
        let mut count = ErrorCount::default();
        assert!((0..100).all(|s| !count.note(Duration::from_secs(2 * s))));
    }
}
