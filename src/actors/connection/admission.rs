//! How many connections one address may open.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Addresses that are remembered; beyond it those that were quiet for a second are forgotten.
const MAX_ADDRESSES: usize = 4096;
const ONE_SECOND: Duration = Duration::from_secs(1);

/// Counts new connections by address.
#[derive(Debug, Default)]
pub struct Admission {
    addresses: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Admission {
    /// Notes a new connection; returns whether its address opened more than `per_second` in this second.
    pub fn is_over(&self, address: IpAddr, per_second: u32, now: Instant) -> bool {
        if per_second == 0 {
            return false;
        }
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_recent = |since: Instant| now.saturating_duration_since(since) < ONE_SECOND;
        if addresses.len() >= MAX_ADDRESSES {
            addresses.retain(|_, (since, _)| is_recent(*since));
        }
        let (since, count) = addresses.entry(address).or_insert((now, 0));
        if !is_recent(*since) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifty_first_connection_within_a_second_is_over_and_others_are_not_concerned() {
        let admission = Admission::default();
        let now = Instant::now();
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        assert!((0..50).all(|_| !admission.is_over(one, 50, now)));
        assert!(admission.is_over(one, 50, now));
        assert!(!admission.is_over(two, 50, now));
        assert!(!admission.is_over(one, 50, now + ONE_SECOND));
    }
}
