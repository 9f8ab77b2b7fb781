//! The order of waiting calls: fair between tasks, and without needless model swaps. Pure.

use std::collections::VecDeque;

use crate::domain::ids::TaskId;

/// What the queue must know of a waiting call.
pub(super) trait Waiting {
    fn task_id(&self) -> &TaskId;
    fn model(&self) -> &str;
}

/// Waiting calls, at most `capacity`.
///
/// Tasks take turns; within a task calls keep their order. Among the tasks, one whose next call is
/// for the model used last goes first, at most `batch` times in a row while another model is waited
/// for. A task that was served goes to the back, so every task comes to the front after at most as
/// many turns as there are tasks, and a model's turn after at most `batch` more.
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// Whose turn it is, first to last; never an empty entry.
    tasks: VecDeque<(TaskId, VecDeque<T>)>,
    capacity: usize,
    batch: usize,
    last_model: Option<String>,
    /// Calls granted in a row to `last_model`.
    streak: usize,
}

impl<T: Waiting> Queue<T> {
    pub fn new(capacity: usize, batch: usize) -> Self {
        Queue {
            tasks: VecDeque::new(),
            capacity,
            batch,
            last_model: None,
            streak: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.tasks.iter().map(|(_, calls)| calls.len()).sum()
    }

    pub fn last_model(&self) -> Option<&str> {
        self.last_model.as_deref()
    }

    /// All waiting calls, in the order of turns.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.tasks.iter().flat_map(|(_, calls)| calls)
    }

    /// Adds a call, or gives it back if the queue is full.
    pub fn push(&mut self, call: T) -> Result<(), T> {
        if self.len() >= self.capacity {
            return Err(call);
        }
        let of_task = self.tasks.iter_mut().find(|(id, _)| id == call.task_id());
        match of_task {
            Some((_, calls)) => calls.push_back(call),
            None => {
                let task_id = call.task_id().clone();
                self.tasks.push_back((task_id, VecDeque::from([call])));
            }
        }
        Ok(())
    }

    /// Takes the call whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let at = self.next_turn()?;
        let (task_id, mut calls) = self.tasks.remove(at)?;
        let call = calls.pop_front()?;
        if !calls.is_empty() {
            self.tasks.push_back((task_id, calls));
        }
        if self.last_model.as_deref() == Some(call.model()) {
            self.streak += 1;
        } else {
            self.last_model = Some(call.model().to_owned());
            self.streak = 1;
        }
        Some(call)
    }

    /// The position of the task whose turn it is.
    fn next_turn(&self) -> Option<usize> {
        if self.tasks.is_empty() {
            return None;
        }
        let wants_same_model = self.streak < self.batch;
        let preferred = self.tasks.iter().position(|(_, calls)| {
            let same = calls.front().map(Waiting::model) == self.last_model.as_deref();
            same == wants_same_model
        });
        Some(preferred.unwrap_or(0))
    }

    /// Removes and returns the calls for which `leaves` holds.
    pub fn take(&mut self, mut leaves: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        // Asked at every arrival and every grant, and mostly nobody leaves.
        if !self.iter().any(&mut leaves) {
            return taken;
        }
        for (_, calls) in &mut self.tasks {
            let (gone, kept): (VecDeque<T>, VecDeque<T>) = calls.drain(..).partition(&mut leaves);
            *calls = kept;
            taken.extend(gone);
        }
        self.tasks.retain(|(_, calls)| !calls.is_empty());
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Call(TaskId, String, usize);

    impl Waiting for Call {
        fn task_id(&self) -> &TaskId {
            &self.0
        }
        fn model(&self) -> &str {
            &self.1
        }
    }

    fn call(task: &str, model: &str, n: usize) -> Call {
        Call(TaskId::from_unique(task).expect("id"), model.into(), n)
    }

    fn order(queue: &mut Queue<Call>) -> Vec<usize> {
        std::iter::from_fn(|| queue.pop()).map(|c| c.2).collect()
    }

    #[test]
    fn tasks_take_turns_and_calls_of_one_task_keep_their_order() {
        let mut queue = Queue::new(10, 8);
        for (n, task) in ["a", "a", "a", "b", "c"].into_iter().enumerate() {
            queue.push(call(task, "m", n)).expect("room");
        }
        assert_eq!(order(&mut queue), [0, 3, 4, 1, 2]);
    }

    #[test]
    fn the_loaded_model_is_preferred_up_to_the_batch() {
        let mut queue = Queue::new(20, 2);
        let calls = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x"), ("e", "y")];
        for (n, (task, model)) in calls.into_iter().enumerate() {
            queue.push(call(task, model, n)).expect("room");
        }
        // x, x (batch over), y, y, x
        assert_eq!(order(&mut queue), [0, 2, 1, 4, 3]);
    }

    #[test]
    fn a_full_queue_gives_the_call_back() {
        let mut queue = Queue::new(1, 8);
        queue.push(call("a", "m", 0)).expect("room");
        assert_eq!(queue.push(call("b", "m", 1)), Err(call("b", "m", 1)));
    }

    #[test]
    fn taken_calls_are_gone_and_the_others_stay() {
        let mut queue = Queue::new(10, 8);
        for (n, task) in ["a", "b", "a"].into_iter().enumerate() {
            queue.push(call(task, "m", n)).expect("room");
        }
        let a = TaskId::from_unique("a").expect("id");
        assert_eq!(queue.take(|c| c.0 == a).len(), 2);
        assert_eq!(order(&mut queue), [1]);
        assert_eq!(queue.len(), 0);
    }

    proptest! {
        #[test]
        fn nobody_starves_while_others_keep_coming(
            models in prop::collection::vec(0usize..3, 2..6), batch in 1usize..4,
        ) {
            // Every task always has a further call; the last task's call must still come.
            let mut queue = Queue::new(1000, batch);
            for (task, model) in models.iter().enumerate() {
                queue.push(call(&format!("t{task}"), &format!("m{model}"), task)).expect("room");
            }
            let waiting_for = models.len() - 1;
            let bound = (models.len() + 1) * (batch + 1) * 2;
            let mut turns = 0;
            loop {
                let served = queue.pop().expect("never empty");
                turns += 1;
                if served.2 == waiting_for {
                    break;
                }
                prop_assert!(turns <= bound, "not served in {bound} turns");
                queue.push(served).expect("room");
            }
        }
    }
}
