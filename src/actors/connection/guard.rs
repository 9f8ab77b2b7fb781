//! How often a client may be wrong.

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

#[cfg(test)]
mod tests {
    use super::*;

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
