//! How long a program may run without yielding, and how a running one is stopped from outside.
//!
//! What counts is the time that the program's thread really ran: a host that is busy with other things must not make
//! programs fail that are fast enough. (The mod leaves out the time in which other computers have their turn.)

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time that this thread has run; only differences mean something.
#[cfg(unix)]
fn ran() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Elsewhere time passes whether the thread runs or not.
#[cfg(not(unix))]
fn ran() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed()
}

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
            started_ms: AtomicU64::new(0),
            complained: AtomicBool::new(false),
            overrun: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            soft,
            hard,
        }
    }

    /// The program is about to be resumed, by this thread.
    pub(crate) fn begin(&self) {
        self.started_ms
            .store(ran().as_millis() as u64, Ordering::Relaxed);
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
        let now = ran().as_millis() as u64;
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
