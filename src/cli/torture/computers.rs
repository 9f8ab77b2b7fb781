//! The computers of a run: processes of their own, each on its wire.

use super::plan::Plan;
use super::process::Process;
use super::proxy::Wire;
use super::stage::{Armed, Stage};
use crate::cli::Failure;
use std::time::Duration;
use tokio::time::Instant;

/// How long a computer that was killed stays away.
const AWAY: Duration = Duration::from_millis(120);

/// One computer.
pub struct Computer {
    pub wire: Wire,
    number: usize,
    life: Life,
    /// Until when its disk is full.
    disk_full: Option<Instant>,
    armed: Armed,
}

enum Life {
    /// It runs; whether it was connected since it booted.
    Runs(Process, bool),
    Dead(Instant),
}

impl Computer {
    pub fn new(number: usize, wire: Wire) -> Self {
        Computer {
            wire,
            number,
            life: Life::Dead(Instant::now() - AWAY),
            disk_full: None,
            armed: None,
        }
    }

    pub fn is_dead(&self) -> bool {
        matches!(self.life, Life::Dead(_))
    }

    /// Whether it has booted, so that it should be connected where it can be.
    pub fn is_up(&self) -> bool {
        matches!(self.life, Life::Runs(_, true))
    }

    /// Starts it if it is dead for long enough.
    ///
    /// # Errors
    /// The system refuses.
    pub fn revive(&mut self, stage: &Stage, armed: Armed) -> Result<bool, Failure> {
        match self.life {
            Life::Dead(since) if since.elapsed() >= AWAY => {}
            _ => return Ok(false),
        }
        let process = stage.computer(self.number, self.wire.address, armed)?;
        self.life = Life::Runs(process, false);
        self.armed = armed;
        Ok(true)
    }

    /// Whether it should be started now.
    pub fn is_due(&self) -> bool {
        matches!(self.life, Life::Dead(since) if since.elapsed() >= AWAY)
    }

    /// Looks how it is: notes a connection, ends a full disk. True if it has just died by itself.
    pub fn look(&mut self) -> bool {
        let Life::Runs(process, connected) = &mut self.life else {
            return false;
        };
        // What a simulation says of itself is in its log.
        while process.lines.try_recv().is_ok() {}
        *connected |= self.wire.is_talking();
        if self.disk_full.is_some_and(|until| until <= Instant::now()) {
            process.fill_disk(false);
            self.disk_full = None;
        }
        if process.is_dead() {
            self.bury();
            return true;
        }
        false
    }

    /// SIGKILL. False if it was dead already.
    pub fn kill(&mut self) -> bool {
        let Life::Runs(process, _) = &mut self.life else {
            return false;
        };
        process.kill();
        self.bury();
        true
    }

    fn bury(&mut self) {
        self.life = Life::Dead(Instant::now());
        self.disk_full = None;
    }

    /// Where it was to die by itself.
    pub fn armed(&self) -> Armed {
        self.armed
    }

    /// Fills its disk for a while. False where that cannot be done.
    pub fn fill_disk(&mut self, time: Duration) -> bool {
        let Life::Runs(process, _) = &self.life else {
            return false;
        };
        let filled = process.fill_disk(true);
        if filled {
            self.disk_full = Some(Instant::now() + time);
        }
        filled
    }

    /// SIGTERM, which lets it say goodbye.
    pub fn terminate(&self) {
        if let Life::Runs(process, _) = &self.life {
            process.terminate();
        }
    }
}

/// How the next process of a computer dies, while the kills go on.
pub fn next_boot(plan: &mut Plan, is_over: bool) -> Armed {
    if is_over { None } else { plan.boot() }
}
