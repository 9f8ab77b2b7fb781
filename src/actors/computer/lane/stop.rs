//! Stopped by people, or held back because the journal is older than the computer.

use super::*;

/// What a resume changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resumed {
    /// It was stopped, or its effects were held back.
    pub was_stopped: bool,
    /// The lane's number was raised to this one, above all that the computer has seen: the journal has to keep it,
    /// under a new epoch.
    pub raised_to: Option<u64>,
}

impl<R: Reply> Lane<R> {
    /// Dispatches nothing more and asks what runs to end. Reservations keep their place. Returns how many calls
    /// were told to end.
    pub fn stop_calls(&mut self, now: Duration, acts: &mut Vec<Act<R>>) -> usize {
        self.stopped = true;
        let open: Vec<CallId> = self.calls.keys().cloned().collect();
        let told = open
            .iter()
            .filter(|id| self.stop_call(id, now, acts))
            .count();
        self.tell_all_queued(acts);
        told
    }

    /// Stops one call that has its turn; false if it was over or ending already.
    pub(super) fn stop_call(
        &mut self,
        call_id: &CallId,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) -> bool {
        match self.calls.get(call_id).map(|call| &call.stage) {
            Some(Stage::Granted { .. }) => {
                self.give_up_turn(call_id, ErrorCode::Stopped, now, acts);
                true
            }
            Some(Stage::Open(open)) if open.stopping.is_none() => {
                self.stop(call_id, ErrorCode::Stopped, now, acts);
                true
            }
            _ => false,
        }
    }

    /// Dispatches again. `by_operator`: also where the journal is older than the computer; then its numbers go on
    /// above the computer's.
    pub fn resume_calls(
        &mut self,
        by_operator: bool,
        now: Duration,
        acts: &mut Vec<Act<R>>,
    ) -> Resumed {
        let ahead = self.ahead.take_if(|_| by_operator);
        let resumed = Resumed {
            was_stopped: self.stopped || ahead.is_some(),
            raised_to: ahead.map(|ahead| ahead.max(self.high_seq)),
        };
        self.stopped = false;
        self.high_seq = resumed.raised_to.unwrap_or(self.high_seq);
        self.proven_seq = resumed.raised_to.unwrap_or(self.proven_seq);
        self.tell_all_queued(acts);
        self.advance(now, acts);
        resumed
    }

    /// Whether the journal turns out to be older than the computer that connects (design section 8, "Backups and
    /// clones").
    pub(super) fn check_numbers(&mut self, link: &Link, acts: &mut Vec<Act<R>>) {
        let computer = link.high_seq.unwrap_or_default();
        if computer > self.high_seq {
            let granted = self.high_seq;
            acts.push(Act::Note(Note::JournalOlder { computer, granted }));
        } else if link.later_epoch {
            acts.push(Act::Note(Note::EpochOlder));
        } else if link.high_seq.is_some() && computer < self.proven_seq {
            let stored = self.proven_seq;
            acts.push(Act::Note(Note::ComputerRestored { computer, stored }));
        }
        if computer > self.high_seq || link.later_epoch {
            self.ahead = self.ahead.max(Some(computer));
        }
    }
}
