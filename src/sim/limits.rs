//! How long a program may run without yielding, and how a running one is stopped from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the hook inside of Lua is to do; the numbers are known to `bios/sandbox.lua`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Go on.
    Fine = 0,
    /// Raise `Too long without yielding`, once.
    Complain = 1,
    /// Raise at every instruction until nothing is left: the computer stops.
    Stop = 2,
}

/// The clock of one computer's current slice.
pub(crate) struct Limits {
    origin: Instant,
    started_ms: AtomicU64,
    complained: AtomicBool,
    overrun: AtomicBool,
    abort: AtomicBool,
    soft: Duration,
    hard: Duration,
}

impl Limits {
    /// `soft` without yielding gives the error, `hard` more after it stops the computer.
    pub(crate) fn new(soft: Duration, hard: Duration) -> Limits {
        Limits {
            origin: Instant::now(),
            started_ms: AtomicU64::new(0),
            complained: AtomicBool::new(false),
            overrun: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            soft,
            hard,
        }
    }

    /// The program is about to be resumed.
    pub(crate) fn begin(&self) {
        self.started_ms
            .store(self.origin.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.complained.store(false, Ordering::Relaxed);
    }

    /// The computer starts anew.
    pub(crate) fn reset(&self) {
        self.abort.store(false, Ordering::Relaxed);
        self.overrun.store(false, Ordering::Relaxed);
    }

    /// Somebody wants the computer off: a running program ends at its next check.
    pub(crate) fn abort(&self) {
        self.abort.store(true, Ordering::Relaxed);
    }

    /// True if the program was stopped because it ran too long.
    pub(crate) fn overran(&self) -> bool {
        self.overrun.load(Ordering::Relaxed)
    }

    /// Asked by the hook every few thousand instructions.
    pub(crate) fn check(&self) -> Verdict {
        if self.abort.load(Ordering::Relaxed) || self.overran() {
            return Verdict::Stop;
        }
        let now = self.origin.elapsed().as_millis() as u64;
        let ran =
            Duration::from_millis(now.saturating_sub(self.started_ms.load(Ordering::Relaxed)));
        if ran > self.soft + self.hard {
            self.overrun.store(true, Ordering::Relaxed);
            Verdict::Stop
        } else if ran > self.soft && !self.complained.swap(true, Ordering::Relaxed) {
            Verdict::Complain
        } else {
            Verdict::Fine
        }
    }
}
