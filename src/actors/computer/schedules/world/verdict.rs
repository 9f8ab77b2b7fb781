//! What must hold, at every moment and in the end.

use super::*;

impl World {
    /// `unknown` only where the computer died, was put back or copied, could not be reached in time, or was told to
    /// stop.
    pub(super) fn check_excuse(&self, call_id: &CallId, report: &CallReport) {
        let (faults, since) = self.at_intent[call_id];
        let late = self.server.now >= since + LaneLimits::default().default_timeout;
        let excused = match report.code.as_deref() {
            Some("timeout") => late,
            Some("cancelled") => self.cancelled.contains(call_id),
            Some("stopped") => true,
            _ => self.faults > faults,
        };
        assert!(excused, "{call_id} is unknown without a reason: {report:?}");
        self.check_entries();
    }

    /// Also calls of a journal that is gone.
    pub(super) fn check_entries(&self) {
        let witness = self.witness.lock().unwrap();
        let effects = self.server.placed.iter().filter(|(_, tool)| *tool == "dig");
        for (call_id, _) in effects {
            let entered = witness.entered.get(call_id.as_str()).copied();
            assert!(
                entered.unwrap_or(0) <= 1,
                "{call_id} was entered {entered:?} times"
            );
        }
    }

    /// From now on nothing fails and everybody does their part: everything ends.
    pub fn finish(&mut self, clone_survives: bool) {
        if self.machines[1].is_some() {
            self.power_off(usize::from(!clone_survives));
        }
        self.lag = false;
        self.stopped_at = None;
        for (_, machine) in self.machines.iter().flatten() {
            machine.limit_writes(None);
        }
        for round in 0..1500 {
            // An operator has a look now and then.
            if round % 50 == 0 {
                self.server.resume();
            }
            for (_, machine) in self.machines.iter().flatten() {
                machine.finish_one();
            }
            self.flow();
            self.pass(0.2);
            self.collect();
            if round > 20 && self.is_over() {
                break;
            }
        }
        self.check_end();
    }

    pub(super) fn is_over(&self) -> bool {
        let machines = self.machines.iter().flatten();
        let confirmed = machines.map(|(_, m)| m.unconfirmed()).sum::<usize>() == 0;
        let quiet = self
            .conns
            .iter()
            .all(|c| c.up.is_empty() && c.down.is_empty());
        self.current.is_some() && confirmed && quiet && self.server.is_idle()
    }

    pub(super) fn check_end(&self) {
        let journal = &self.server.journal;
        let open: Vec<&CallId> = journal
            .decided
            .keys()
            .filter(|id| !journal.outcomes.contains_key(*id) && !journal.not_placed.contains(*id))
            .collect();
        assert!(
            open.is_empty(),
            "calls without an end: {open:?} {:#?}",
            self.server.lane
        );
        assert!(self.server.is_idle(), "{:#?}", self.server.lane);
        let held: usize = self
            .machines
            .iter()
            .flatten()
            .map(|(_, m)| m.unconfirmed())
            .sum();
        assert_eq!(held, 0, "results that nobody took: {:#?}", self.server.lane);
        self.check_entries();
        let witness = self.witness.lock().unwrap();
        for (call_id, report) in &journal.outcomes {
            if journal.decided[call_id] != "dig" {
                continue;
            }
            let entered = witness.entered.get(call_id.as_str()).copied().unwrap_or(0);
            let not_done = report.code.as_deref() == Some("verified_not_done");
            match report.outcome {
                Outcome::NotStarted => assert_eq!(entered, 0, "{call_id} had not started"),
                Outcome::Done => assert_eq!(entered, 1, "{call_id} was done"),
                Outcome::Failed if not_done && !self.cloned => assert_eq!(entered, 0, "{call_id}"),
                Outcome::Failed | Outcome::Unknown => {}
            }
        }
    }

    /// How the effects ended.
    pub fn tally(&self) -> BTreeMap<&'static str, usize> {
        let journal = &self.server.journal;
        let mut tally = BTreeMap::new();
        for (call_id, report) in &journal.outcomes {
            if journal.decided[call_id] == "dig" {
                *tally.entry(report.outcome.as_str()).or_default() += 1;
            }
        }
        tally
    }
}
