//! Blows: what is done to computers, wires and disks, and what a death explains.

use super::{Run, unreadable};
use crate::cli::Failure;
use crate::cli::torture::computers::{Computer, next_boot};
use crate::cli::torture::looks::{self, OpenCall};
use crate::cli::torture::plan::Trouble;
use crate::cli::torture::stage;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

impl Run {
    pub(super) async fn look_at_computers(&mut self) -> Result<(), Failure> {
        for number in 0..self.computers.len() {
            let Some(computer) = self.computers.get_mut(number) else {
                continue;
            };
            let died = computer.look();
            if died {
                let at = computer.armed();
                let place = at.map_or("by itself", |(point, _)| point.name());
                let open = self.computer_is_dead(number)?;
                self.stage.note(&stage::name(number));
                self.count_kill(&format!("computer {place}"), open);
            }
            if self.computers.get(number).is_some_and(Computer::is_due) {
                let armed = next_boot(&mut self.plan, self.is_over);
                if let Some(computer) = self.computers.get_mut(number) {
                    computer.revive(&self.stage, armed)?;
                }
            }
        }
        Ok(())
    }

    /// Notes which calls its death explains; answers how many.
    fn computer_is_dead(&mut self, number: usize) -> Result<usize, Failure> {
        let name = stage::name(number);
        let open = self.open_calls()?;
        let own: Vec<String> = open
            .into_iter()
            .filter(|call| call.client_id == name)
            .map(|call| call.call_id)
            .collect();
        let count = own.len();
        self.explained.extend(own);
        Ok(count)
    }

    /// What is open for a computer until its next start is connected was meant for the one that died: also what a busy
    /// server commits a good while later.
    pub(super) fn explain_deaths(&mut self) -> Result<(), Failure> {
        let away = self.computers.iter().enumerate();
        let away = away.filter(|(_, computer)| !computer.is_up());
        let away: Vec<String> = away.map(|(number, _)| stage::name(number)).collect();
        if away.is_empty() {
            return Ok(());
        }
        let open = self.open_calls()?.into_iter();
        let explained = open.filter(|call| away.contains(&call.client_id));
        self.explained.extend(explained.map(|call| call.call_id));
        Ok(())
    }

    fn open_calls(&self) -> Result<Vec<OpenCall>, Failure> {
        looks::open_calls(&self.stage.data()).map_err(unreadable)
    }

    pub(super) async fn kill_computer(&mut self, number: usize) -> Result<(), Failure> {
        let killed = self.computers.get_mut(number).is_some_and(Computer::kill);
        if killed {
            let open = self.computer_is_dead(number)?;
            self.stage.note(&stage::name(number));
            self.count_kill("computer at any moment", open);
        }
        Ok(())
    }

    pub(super) fn count_kill(&mut self, what: &str, open: usize) {
        self.tally.kills += 1;
        self.tally.kills_in_flight += u64::from(open > 0);
        *self.tally.deaths.entry(what.to_owned()).or_default() += 1;
        self.kills.store(self.tally.kills, Ordering::Relaxed);
        self.stage
            .note(&format!("{what}: killed with {open} calls in flight"));
    }

    pub(super) fn trouble(&mut self, trouble: Trouble) {
        let computer = |run: &mut Run, number: usize, act: &dyn Fn(&mut Computer) -> bool| {
            run.computers.get_mut(number).is_some_and(act)
        };
        let (name, done) = match trouble {
            Trouble::Cut(number) => (
                "connection cut",
                computer(self, number, &|c| {
                    c.wire.cut();
                    true
                }),
            ),
            Trouble::Hold(number, time) => (
                "connection held",
                computer(self, number, &|c| {
                    c.wire.hold(time);
                    true
                }),
            ),
            Trouble::ComputerDiskFull(number, time) => (
                "computer's disk full",
                computer(self, number, &|c| c.fill_disk(time)),
            ),
            Trouble::ServerDiskFull(time) => {
                let filled = self.server.as_ref().is_some_and(|s| s.fill_disk(true));
                if filled {
                    self.server_disk_full = Some(Instant::now() + time);
                }
                ("server's disk full", filled)
            }
        };
        if done {
            *self.tally.troubles.entry(name).or_default() += 1;
            self.stage.note(&format!("{trouble:?}"));
        }
    }
}
