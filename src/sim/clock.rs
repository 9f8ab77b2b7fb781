//! The game's clock: one tick every 50 ms for the whole fleet, and the timers that hang on it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use super::computer::Computer;

/// Length of a tick.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Which event a timer ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    Timer,
    Alarm,
    /// A pause of the game ends.
    Thaw,
    /// A computer that crashed comes back.
    PowerOn,
    /// A full disk has room again.
    DiskFree,
}

struct Entry {
    computer: Weak<Computer>,
    session: u64,
    id: u32,
    kind: TimerKind,
}

/// Counts ticks and knows what is due when.
#[derive(Default)]
pub(crate) struct Clock {
    now: AtomicU64,
    due: Mutex<BTreeMap<u64, Vec<Entry>>>,
}

impl Clock {
    /// Ticks since the fleet started.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Notes a timer and returns the tick at which it is due.
    pub(crate) fn add(
        &self,
        ticks: u64,
        computer: Weak<Computer>,
        session: u64,
        id: u32,
        kind: TimerKind,
    ) -> u64 {
        let at = self.now().saturating_add(ticks.max(1));
        self.lock().entry(at).or_default().push(Entry {
            computer,
            session,
            id,
            kind,
        });
        at
    }

    /// Forgets a timer that is due at tick `at`.
    pub(crate) fn remove(&self, at: u64, computer: &Weak<Computer>, session: u64, id: u32) {
        if let Some(entries) = self.lock().get_mut(&at) {
            entries.retain(|e| {
                !(e.id == id && e.session == session && Weak::ptr_eq(&e.computer, computer))
            });
        }
    }

    /// One tick passes: timers that are due turn into events, or are lost if a queue is full.
    pub(crate) fn advance(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        let due = {
            let mut all = self.lock();
            let later = all.split_off(&(now + 1));
            std::mem::replace(&mut *all, later)
        };
        for entry in due.into_values().flatten() {
            if let Some(computer) = entry.computer.upgrade() {
                computer.fire_timer(entry.session, entry.id, entry.kind);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Vec<Entry>>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds to ticks as ComputerCraft does it: to the nearest tick, and at least one.
pub(crate) fn ticks(seconds: f64) -> u64 {
    (seconds / TICK.as_secs_f64()).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn timers_are_rounded_to_the_nearest_tick_but_never_to_none() {
        let expected = [
            (-1.0, 1),
            (0.0, 1),
            (0.01, 1),
            (0.05, 1),
            (0.06, 1),
            (0.12, 2),
            (0.13, 3),
            (1.0, 20),
        ];
        for (seconds, want) in expected {
            assert_eq!(ticks(seconds), want, "{seconds} s");
        }
    }
}
