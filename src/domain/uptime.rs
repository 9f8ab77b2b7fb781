//! Time that counts only while the server is up (design section 5, "Settled where the documents disagree").
//!
//! A task's times are moments of the wall clock. Each start of the server moves those from which something counts by the
//! time in which no server ran: then what has passed since them is what the server saw pass. How long it ran in all its
//! runs stands in the events, so the fold needs no clock, and a wall clock that was moved meanwhile changes nothing.

use super::decision::WaitReason;
use super::task::{Open, TaskState};
use serde::{Deserialize, Serialize};

/// One moment by two clocks, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Since the Unix epoch.
    pub at_ms: i64,
    /// That servers had run on this journal, all runs together.
    pub up_ms: i64,
}

impl TaskState {
    /// The server that goes on with the task was started, or the task's actor was.
    pub(in crate::domain) fn server_started(&mut self, now: Option<Seen>) {
        let Some(now) = now else {
            // A journal of before this was written down: what is waited for begins anew.
            let at_ms = self.updated_at_ms;
            if self.offline_since_ms.is_some() {
                self.offline_since_ms = Some(at_ms);
            }
            return;
        };
        let Some(former) = self.seen.replace(now) else {
            return self.server_started(None);
        };
        // What a crash kept from being written down is not known to have been.
        let ran = now.up_ms.saturating_sub(former.up_ms).max(0);
        let passed = now.at_ms.saturating_sub(former.at_ms);
        self.time_was_lost(passed.saturating_sub(ran));
    }

    fn time_was_lost(&mut self, ms: i64) {
        let later = |at: &mut i64| *at = at.saturating_add(ms);
        self.started_at_ms.iter_mut().for_each(later);
        self.woken
            .iter_mut()
            .for_each(|woken| later(&mut woken.at_ms));
        self.offline_since_ms.iter_mut().for_each(later);
        self.away_since_ms.iter_mut().for_each(later);
        self.away.values_mut().for_each(later);
        for open in self.open.values_mut() {
            if let Open::Wait {
                reason: WaitReason::ComputerOffline,
                until_ms,
                since_ms,
                ..
            } = open
            {
                until_ms.iter_mut().for_each(later);
                later(since_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::event::{StoredEvent, TaskEvent};
    use crate::domain::ids::{CallId, Generation, TaskId};
    use crate::domain::task::TaskState;
    use proptest::prelude::*;

    fn start(state: &mut TaskState, at_ms: i64, up_ms: i64) {
        let seq = state.last_seq + 1;
        let event = TaskEvent::GenerationStarted {
            generation: Generation(seq),
            reason: "the server was started".into(),
            salt: None,
            up_ms: Some(up_ms),
        };
        let task_id = state.task_id.clone();
        state.apply(&StoredEvent {
            task_id,
            seq,
            at_ms,
            generation: Generation(seq),
            event,
        });
    }

    fn fresh() -> TaskState {
        TaskState::new(TaskId::from_unique("01HZX4W1V7Y6T5S4R3Q2P1N0M9").unwrap())
    }

    proptest! {
        /// Runs of the server with pauses between them, by a clock that people move in the pauses.
        #[test]
        fn what_counts_is_what_the_server_saw_pass_whatever_the_clock_does(
            runs in prop::collection::vec((0..1_000_000i64, -9_000_000..9_000_000i64), 1..12)
        ) {
            let mut state = fresh();
            let (mut at, mut up) = (50_000_000i64, 700i64);
            start(&mut state, at, up);
            state.started_at_ms = Some(at);
            state.offline_since_ms = Some(at);
            let mut ran = 0;
            for (run, pause) in runs {
                ran += run;
                at += run + pause;
                up += run;
                start(&mut state, at, up);
                prop_assert_eq!(at - state.started_at_ms.unwrap(), ran);
                prop_assert_eq!(at - state.offline_since_ms.unwrap(), ran);
            }
        }
    }

    #[test]
    fn each_call_that_waits_has_waited_as_long_as_the_server_saw_it() {
        let mut state = fresh();
        start(&mut state, 1_000, 500);
        let id = |index| CallId::derive(&state.task_id, Generation(1), 3, index);
        let (a, b) = (id(0), id(1));
        let since = [(a.clone(), 1_100), (b.clone(), 1_900)].into();
        let event = TaskEvent::CallsAway { since };
        state.apply_next(Generation(1), 2_000, vec![event]);
        // It ran for a second, and was away for five.
        start(&mut state, 7_000, 1_500);
        assert_eq!(state.away, [(a, 6_100), (b, 6_900)].into());
    }

    #[test]
    fn what_a_crash_forgot_makes_nothing_longer() {
        let mut state = fresh();
        start(&mut state, 1_000, 500);
        state.started_at_ms = Some(1_000);
        // The last 200 ms that it ran were not written down.
        start(&mut state, 9_000, 300);
        assert_eq!(state.started_at_ms, Some(9_000));
        start(&mut state, 9_100, 400);
        assert_eq!(state.started_at_ms, Some(9_000));
    }
}
