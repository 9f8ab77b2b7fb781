//! Who comes too often: wrong tokens make an address wait longer and longer, and nobody asks faster than the limit. What is
//! remembered has bounds.

use crate::actors::connection::guard::Rate;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong tokens that cost nothing: people mistype.
const FREE: u32 = 5;
/// The longest wait after a wrong token. Short enough that who shares the address of a guesser is not shut out for good.
const LONGEST: Duration = Duration::from_secs(60);
/// After so long without a wrong token an address begins anew.
const FORGIVEN: Duration = Duration::from_secs(15 * 60);
/// Addresses, and askers, that are remembered.
const REMEMBERED: usize = 4096;

/// Wrong tokens by address.
#[derive(Debug, Default)]
pub struct Failures(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    failed: HashMap<IpAddr, Failed>,
    /// Tokens that were right from an address, and when last: they are let in while the address waits. Who sits behind the
    /// same proxy or router as a guesser goes on working.
    right: HashMap<(IpAddr, String), Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    count: u32,
    last: Instant,
    until: Instant,
}

impl Failures {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        // Whoever panicked while holding it left a whole map behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a token from this address is not looked at; none if it is.
    pub fn wait(&self, address: IpAddr, token_id: &str, now: Instant) -> Option<Duration> {
        let seen = self.seen();
        let failed = seen.failed.get(&network(address))?;
        let left = failed.until.checked_duration_since(now)?;
        let known = !token_id.is_empty()
            && seen
                .right
                .contains_key(&(network(address), token_id.to_owned()));
        (!left.is_zero() && !known).then_some(left)
    }

    /// Notes a wrong token: each makes the next wait twice as long.
    pub fn failed(&self, address: IpAddr, now: Instant) {
        let mut seen = self.seen();
        let forgotten = |failed: &Failed| now.saturating_duration_since(failed.last) > FORGIVEN;
        make_room(
            &mut seen.failed,
            |failed| !forgotten(failed),
            |failed| failed.last,
        );
        let failed = seen.failed.entry(network(address)).or_insert(Failed {
            count: 0,
            last: now,
            until: now,
        });
        if forgotten(failed) {
            failed.count = 0;
        }
        failed.count = failed.count.saturating_add(1);
        failed.last = now;
        failed.until = now + delay(failed.count);
    }

    /// Notes a right token.
    pub fn succeeded(&self, address: IpAddr, token_id: &str, now: Instant) {
        let mut seen = self.seen();
        make_room(&mut seen.right, |_| true, |at| *at);
        seen.right
            .insert((network(address), token_id.to_owned()), now);
    }
}

/// What so many wrong tokens cost.
fn delay(count: u32) -> Duration {
    match count.checked_sub(FREE) {
        None | Some(0) => Duration::ZERO,
        Some(over) => Duration::from_secs(1 << (over - 1).min(6)).min(LONGEST),
    }
}

/// Who has one IPv6 address has 2^64 of them.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => ip.into(),
            None => {
                let [a, b, c, d, ..] = ip.segments();
                IpAddr::from([a, b, c, d, 0, 0, 0, 0])
            }
        },
    }
}

/// Lets go of what need not be kept, and then of the oldest, until one more fits.
fn make_room<K: Hash + Eq + Clone, V>(
    map: &mut HashMap<K, V>,
    keep: impl Fn(&V) -> bool,
    age: impl Fn(&V) -> Instant,
) {
    if map.len() < REMEMBERED {
        return;
    }
    map.retain(|_, value| keep(value));
    // A quarter at once, so that a flood does not sort the map at each step.
    if map.len() >= REMEMBERED {
        let mut ages: Vec<Instant> = map.values().map(&age).collect();
        let (_, middle, _) = ages.select_nth_unstable(REMEMBERED / 4);
        let oldest = *middle;
        map.retain(|_, value| age(value) > oldest);
    }
}

/// Requests by who sends them: a person's name, or an address.
#[derive(Debug)]
pub struct Rates {
    per_second: u32,
    burst: u32,
    began: Instant,
    askers: Mutex<HashMap<String, (Rate, Instant)>>,
}

impl Rates {
    /// So many a second, and so many at once; 0 a second = no limit.
    pub fn new(per_second: u32, burst: u32) -> Self {
        Rates {
            per_second,
            burst,
            began: Instant::now(),
            askers: Mutex::default(),
        }
    }

    /// Notes a request; how long to wait if it is one too many.
    pub fn over(&self, asker: &str, now: Instant) -> Option<Duration> {
        if self.per_second == 0 {
            return None;
        }
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut askers, |_| true, |(_, last)| *last);
        let fresh = || (Rate::new(self.per_second, self.burst), now);
        let (rate, last) = askers.entry(asker.to_owned()).or_insert_with(fresh);
        *last = now;
        let since = now.saturating_duration_since(self.began);
        (!rate.take(since)).then(|| Duration::from_secs(1) / self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const TWO: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn each_wrong_token_after_the_fifth_makes_its_address_wait_twice_as_long_up_to_a_minute() {
        let (failures, now) = (Failures::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..14 {
            failures.failed(ONE, now);
            waits.push(failures.wait(ONE, "", now).map_or(0, |wait| wait.as_secs()));
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(failures.wait(TWO, "", now), None);
        assert_eq!(failures.wait(ONE, "", now + LONGEST), None);
        let later = now + FORGIVEN + LONGEST;
        failures.failed(ONE, later);
        assert_eq!(failures.wait(ONE, "", later), None);
    }

    #[test]
    fn who_was_right_from_an_address_is_not_shut_out_by_a_guesser_beside_it() {
        let (failures, now) = (Failures::default(), Instant::now());
        failures.succeeded(ONE, "tok_1", now);
        (0..9).for_each(|_| failures.failed(ONE, now));
        assert_eq!(failures.wait(ONE, "tok_1", now), None);
        for other in ["tok_2", ""] {
            assert!(failures.wait(ONE, other, now).is_some(), "{other}");
        }
    }

    #[test]
    fn all_addresses_of_one_ipv6_network_wait_together() {
        let (failures, now) = (Failures::default(), Instant::now());
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        (0..9u16).for_each(|n| failures.failed(at(&format!("2001:db8::{n:x}")), now));
        assert!(failures.wait(at("2001:db8::ffff"), "", now).is_some());
        assert_eq!(failures.wait(at("2001:db9::1"), "", now), None);
    }

    #[test]
    fn a_flood_of_addresses_and_names_takes_little_room() {
        let (failures, now) = (Failures::default(), Instant::now());
        let rates = Rates::new(1, 1);
        for n in 0..20_000u32 {
            let address = IpAddr::from(n.to_be_bytes());
            failures.failed(address, now + Duration::from_millis(n.into()));
            failures.succeeded(address, "tok", now + Duration::from_millis(n.into()));
            rates.over(&address.to_string(), now + Duration::from_millis(n.into()));
        }
        let seen = failures.seen();
        let asking = rates.askers.lock().unwrap().len();
        for count in [seen.failed.len(), seen.right.len(), asking] {
            assert!((1..=REMEMBERED).contains(&count), "{count}");
        }
    }

    #[test]
    fn one_asker_over_its_rate_waits_and_another_does_not() {
        let (rates, now) = (Rates::new(10, 3), Instant::now());
        let taken = (0..9).filter(|_| rates.over("ada", now).is_none()).count();
        assert_eq!(taken, 3);
        assert_eq!(rates.over("ben", now), None);
        assert_eq!(rates.over("ada", now + Duration::from_millis(150)), None);
        let free = Rates::new(0, 1);
        assert!((0..99).all(|_| free.over("ada", now).is_none()));
    }
}
