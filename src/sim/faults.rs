//! What can be made to go wrong with one computer, for a while.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::clock::TICK;

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The computer's number.
    pub computer: u32,
    /// What happens to it.
    pub kind: FaultKind,
}

/// Kinds of faults. Times are rounded to ticks of 50 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// All its connections break; the computer goes on and may connect again.
    Drop,
    /// The network holds everything back, both ways, and then delivers it in order.
    Hold(Duration),
    /// It does not read from its connections; what it sends still leaves.
    StopReading(Duration),
    /// It switches itself off and on again: what it sent before still leaves.
    Reboot,
    /// It dies (its chunk is unloaded) and comes back after this time.
    Crash(Duration),
    /// The game stands still for it: no program runs, timers stop, the connection stays and pings are answered.
    Pause(Duration),
    /// Its disk has no free byte.
    DiskFull(Duration),
    /// HTTP requests fail, and so do new WebSockets.
    HttpFails(Duration),
}

impl FaultKind {
    /// A word for counting.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Drop => "connection dropped",
            FaultKind::Hold(_) => "delivery held",
            FaultKind::StopReading(_) => "not reading",
            FaultKind::Reboot => "reboot",
            FaultKind::Crash(_) => "crash",
            FaultKind::Pause(_) => "game paused",
            FaultKind::DiskFull(_) => "disk full",
            FaultKind::HttpFails(_) => "HTTP failing",
        }
    }

    /// How long it lasts, if it lasts.
    pub fn lasts(self) -> Option<Duration> {
        match self {
            FaultKind::Drop | FaultKind::Reboot => None,
            FaultKind::Hold(t)
            | FaultKind::StopReading(t)
            | FaultKind::Crash(t)
            | FaultKind::Pause(t)
            | FaultKind::DiskFull(t)
            | FaultKind::HttpFails(t) => Some(t),
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.lasts() {
            Some(time) => write!(f, " for {:.1} s", time.as_secs_f64()),
            None => Ok(()),
        }
    }
}

/// Ticks of a duration, at least one.
pub(crate) fn in_ticks(time: Duration) -> u64 {
    super::clock::ticks(time.as_secs_f64())
}

/// Until which tick each of a computer's troubles lasts; 0 for none.
#[derive(Default)]
pub(crate) struct Faults {
    pause: AtomicU64,
    read: AtomicU64,
    write: AtomicU64,
    http: AtomicU64,
}

/// Which half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Read,
    Write,
}

impl Faults {
    /// Ticks that a pause still lasts.
    pub(crate) fn pause_left(&self, now: u64) -> u64 {
        left(&self.pause, now)
    }

    /// Begins a pause or makes it longer; returns by how many ticks.
    pub(crate) fn pause(&self, now: u64, ticks: u64) -> u64 {
        let before = self.pause_left(now);
        self.pause.fetch_max(now + ticks, Ordering::AcqRel);
        ticks.saturating_sub(before)
    }

    pub(crate) fn hold(&self, half: Half, until: u64) {
        self.half(half).fetch_max(until, Ordering::AcqRel);
    }

    pub(crate) fn fail_http(&self, until: u64) {
        self.http.fetch_max(until, Ordering::AcqRel);
    }

    pub(crate) fn http_fails(&self, now: u64) -> bool {
        left(&self.http, now) > 0
    }

    pub(crate) fn is_held(&self, half: Half, now: u64) -> bool {
        left(self.half(half), now) > 0
    }

    fn half(&self, half: Half) -> &AtomicU64 {
        match half {
            Half::Read => &self.read,
            Half::Write => &self.write,
        }
    }
}

fn left(until: &AtomicU64, now: u64) -> u64 {
    until.load(Ordering::Acquire).saturating_sub(now)
}

/// How often a held connection looks whether it may go on.
pub(crate) const LOOK: Duration = TICK;
