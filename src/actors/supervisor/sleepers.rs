//! Tasks that sleep: no actor lives for them, and nothing of them is kept but what wakes them. Wake times are moments in
//! UTC; the timer in between is monotonic and short, so that a clock that was moved is noticed.

use super::messages::{WakeError, WakeTask};
use crate::domain::ids::TaskId;
use crate::domain::wakes::{Asleep, MOST_KEPT, Wake, WakeCause};
use crate::strategy::episodes::NotWoken;
use std::collections::{BTreeSet, HashMap};
use tokio::sync::oneshot;

/// Who asked for a wake learns whether it is durable.
pub(super) type Reply = oneshot::Sender<Result<(), WakeError>>;

/// What a task is to be woken with.
#[derive(Default)]
pub(super) struct Calls {
    pub wakes: Vec<Wake>,
    pub replies: Vec<Reply>,
}

impl Calls {
    /// Takes a wake; one too many is refused.
    pub fn take(&mut self, wake: Wake, reply: Option<Reply>) {
        if self.wakes.len() >= MOST_KEPT {
            if let Some(reply) = reply {
                // Whoever asked may have given up.
                let _ = reply.send(Err(NotWoken::TooMany.into()));
            }
            return;
        }
        self.wakes.push(wake);
        self.replies.extend(reply);
    }

    pub fn answer(self, with: &Result<(), WakeError>) {
        for reply in self.replies {
            let _ = reply.send(with.clone());
        }
    }
}

struct Sleeper {
    asleep: Asleep,
    /// When it is to be looked at, milliseconds since the Unix epoch.
    due_ms: Option<i64>,
    calls: Calls,
}

/// The tasks that sleep.
#[derive(Default)]
pub(super) struct Sleepers {
    by_id: HashMap<TaskId, Sleeper>,
    due: BTreeSet<(i64, TaskId)>,
    last_look_ms: i64,
}

impl Sleepers {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn contains(&self, task_id: &TaskId) -> bool {
        self.by_id.contains_key(task_id)
    }

    pub fn insert(&mut self, task_id: TaskId, asleep: Asleep) {
        let due_ms = asleep.wake_at_ms;
        self.put(task_id, asleep, due_ms, Calls::default());
    }

    /// Back to sleep: a time of its schedule that came is tried again at `due_ms`.
    pub fn put_back(&mut self, task_id: TaskId, asleep: Asleep, due_ms: i64) {
        let due_ms = asleep.wake_at_ms.map(|time| time.max(due_ms));
        self.put(task_id, asleep, due_ms, Calls::default());
    }

    /// Back to sleep, to be woken at once with the same.
    pub fn again(&mut self, task_id: TaskId, asleep: Asleep, now_ms: i64, mut calls: Calls) {
        // A time of its schedule is still due, and comes by itself.
        let called = |wake: &Wake| !matches!(wake.cause, WakeCause::Schedule { .. });
        calls.wakes.retain(called);
        self.put(task_id, asleep, Some(now_ms), calls);
    }

    fn put(&mut self, task_id: TaskId, asleep: Asleep, due_ms: Option<i64>, calls: Calls) {
        self.remove(&task_id);
        if let Some(due_ms) = due_ms {
            self.due.insert((due_ms, task_id.clone()));
        }
        let sleeper = Sleeper {
            asleep,
            due_ms,
            calls,
        };
        self.by_id.insert(task_id, sleeper);
    }

    /// Forgets a task; whoever called it is told that it has ended.
    pub fn remove(&mut self, task_id: &TaskId) {
        if let Some(gone) = self.take(task_id) {
            gone.calls.answer(&Err(NotWoken::Ended.into()));
        }
    }

    fn take(&mut self, task_id: &TaskId) -> Option<Sleeper> {
        let sleeper = self.by_id.remove(task_id)?;
        if let Some(due_ms) = sleeper.due_ms {
            self.due.remove(&(due_ms, task_id.clone()));
        }
        Some(sleeper)
    }

    /// Calls a task that sleeps; it is due now.
    pub fn call(&mut self, task_id: &TaskId, wake: Wake, reply: Option<Reply>) {
        let now_ms = wake.at_ms;
        if let Some(mut sleeper) = self.take(task_id) {
            sleeper.calls.take(wake, reply);
            let due_ms = sleeper.due_ms.map_or(now_ms, |due| due.min(now_ms));
            self.put(task_id.clone(), sleeper.asleep, Some(due_ms), sleeper.calls);
        }
    }

    /// The tasks that wait for an event of this name.
    pub fn waiting_for(&self, name: &str) -> Vec<TaskId> {
        let waits = |s: &(&TaskId, &Sleeper)| s.1.asleep.wakes.waits_for(name);
        let waiting = self.by_id.iter().filter(waits);
        waiting.map(|(id, _)| id.clone()).collect()
    }

    /// Takes out at most `most` tasks that are due, with what wakes them.
    pub fn due(&mut self, now_ms: i64, most: usize) -> Vec<(TaskId, Asleep, Calls)> {
        if now_ms < self.last_look_ms {
            self.clock_moved_back(now_ms);
        }
        self.last_look_ms = now_ms;
        let due = self.due.iter().take_while(|(due_ms, _)| *due_ms <= now_ms);
        let due: Vec<TaskId> = due.take(most).map(|(_, id)| id.clone()).collect();
        due.into_iter()
            .filter_map(|id| {
                let sleeper = self.take(&id)?;
                let mut calls = sleeper.calls;
                let time = sleeper.asleep.wake_at_ms.filter(|time| *time <= now_ms);
                if let Some(due_ms) = time
                    && calls.wakes.len() < MOST_KEPT
                {
                    let cause = WakeCause::Schedule { due_ms };
                    calls.wakes.insert(
                        0,
                        Wake {
                            at_ms: now_ms,
                            cause,
                        },
                    );
                }
                Some((id, sleeper.asleep, calls))
            })
            .collect()
    }

    /// When the next one is due.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }

    fn clock_moved_back(&mut self, now_ms: i64) {
        let ids: Vec<TaskId> = self.by_id.keys().cloned().collect();
        for id in ids {
            if let Some(mut sleeper) = self.take(&id) {
                sleeper.asleep.clock_moved_back(now_ms);
                let called = !sleeper.calls.wakes.is_empty();
                let due_ms = match called {
                    true => Some(now_ms),
                    false => sleeper.asleep.wake_at_ms,
                };
                self.put(id, sleeper.asleep, due_ms, sleeper.calls);
            }
        }
    }
}

impl WakeTask {
    /// As it is journalled.
    pub(super) fn at(&self, at_ms: i64) -> Wake {
        Wake {
            at_ms,
            cause: self.cause.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::schedule::Schedule;
    use crate::domain::wakes::Wakes;
    use serde_json::Value;

    fn id(number: u32) -> TaskId {
        TaskId::from_unique(&format!("S{number}")).unwrap()
    }

    fn every(seconds: u64, wake_at_ms: i64) -> Asleep {
        Asleep {
            from_ms: 0,
            wake_at_ms: Some(wake_at_ms),
            wakes: Wakes {
                schedule: Some(Schedule::of(Some(seconds), None, None, 0).unwrap()),
                ..Wakes::default()
            },
        }
    }

    fn waits(event: &str) -> Asleep {
        Asleep {
            from_ms: 0,
            wake_at_ms: None,
            wakes: Wakes {
                events: vec![event.to_owned()],
                ..Wakes::default()
            },
        }
    }

    fn asked(at_ms: i64) -> Wake {
        let (by, data) = ("ada".to_owned(), Value::Null);
        Wake {
            at_ms,
            cause: WakeCause::Asked { by, data },
        }
    }

    fn due(sleepers: &mut Sleepers, now_ms: i64) -> Vec<(TaskId, usize)> {
        let due = sleepers.due(now_ms, 10);
        due.into_iter()
            .map(|(id, _, calls)| (id, calls.wakes.len()))
            .collect()
    }

    #[test]
    fn each_is_due_at_its_time_and_once_however_many_times_were_missed() {
        let mut sleepers = Sleepers::default();
        sleepers.insert(id(1), every(1, 1_000));
        sleepers.insert(id(2), every(5, 5_000));
        assert_eq!(sleepers.next_due_ms(), Some(1_000));
        assert_eq!(due(&mut sleepers, 999), []);
        assert_eq!(due(&mut sleepers, 4_000), [(id(1), 1)]);
        assert_eq!(due(&mut sleepers, 4_000), []);
        assert_eq!(due(&mut sleepers, 60_000), [(id(2), 1)]);
        assert_eq!(sleepers.len(), 0);
    }

    #[test]
    fn an_event_is_for_those_who_wait_for_it() {
        let mut sleepers = Sleepers::default();
        sleepers.insert(id(1), waits("chest_*"));
        sleepers.insert(id(2), waits("redstone"));
        assert_eq!(sleepers.waiting_for("chest_full"), [id(1)]);
        assert_eq!(sleepers.next_due_ms(), None);
        sleepers.call(&id(1), asked(50), None);
        sleepers.call(&id(1), asked(51), None);
        assert_eq!(due(&mut sleepers, 50), [(id(1), 2)]);
        assert!(sleepers.contains(&id(2)));
    }

    #[test]
    fn a_task_is_called_so_often_and_no_more_until_it_wakes() {
        let mut sleepers = Sleepers::default();
        sleepers.insert(id(1), waits("x"));
        for _ in 0..MOST_KEPT {
            sleepers.call(&id(1), asked(5), None);
        }
        let (reply, mut answer) = oneshot::channel();
        sleepers.call(&id(1), asked(6), Some(reply));
        let refused = answer.try_recv().unwrap().unwrap_err();
        assert_eq!(refused, WakeError::NotWoken(NotWoken::TooMany));
        assert_eq!(due(&mut sleepers, 5), [(id(1), MOST_KEPT)]);
    }

    #[test]
    fn who_called_a_task_that_was_cancelled_is_told() {
        let mut sleepers = Sleepers::default();
        sleepers.insert(id(1), waits("x"));
        let (reply, mut answer) = oneshot::channel();
        sleepers.call(&id(1), asked(6), Some(reply));
        sleepers.remove(&id(1));
        let told = answer.try_recv().unwrap().unwrap_err();
        assert_eq!(told, WakeError::NotWoken(NotWoken::Ended));
        assert_eq!(due(&mut sleepers, 100), []);
    }

    #[test]
    fn a_clock_that_was_moved_back_is_noticed_at_the_next_look() {
        let mut sleepers = Sleepers::default();
        sleepers.insert(id(1), every(3600, 360_003_600_000));
        assert_eq!(due(&mut sleepers, 360_000_000_000), []);
        // A hundred days back.
        assert_eq!(due(&mut sleepers, 1_000), []);
        assert_eq!(sleepers.next_due_ms(), Some(3_600_000));
        assert_eq!(due(&mut sleepers, 3_600_000), [(id(1), 1)]);
    }

    #[test]
    fn a_few_are_woken_at_a_time() {
        let mut sleepers = Sleepers::default();
        for number in 0..5 {
            sleepers.insert(id(number), every(1, 1_000));
        }
        assert_eq!(sleepers.due(9_000, 2).len(), 2);
        assert_eq!(sleepers.due(9_000, 2).len(), 2);
        assert_eq!(sleepers.due(9_000, 2).len(), 1);
    }
}
