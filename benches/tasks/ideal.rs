//! The schedule of a server that costs nothing: the same tasks, the same model, the same computers, and no time in between.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is scheduled, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub tasks: usize,
    pub computers: usize,
    /// Calls of a task, one after the other; before each of them and after the last one the model is asked.
    pub calls: usize,
    pub model_ms: u64,
    /// Calls that the model's server takes at a time.
    pub slots: usize,
    pub call_ms: u64,
}

/// A resource that takes so many at a time, first come first served.
struct Place {
    free: usize,
    waiting: VecDeque<usize>,
}

impl Place {
    fn of(free: usize) -> Self {
        Place {
            free,
            waiting: VecDeque::new(),
        }
    }

    /// True if `task` begins now, else it waits.
    fn enter(&mut self, task: usize) -> bool {
        let begins = self.free > 0;
        match begins {
            true => self.free -= 1,
            false => self.waiting.push_back(task),
        }
        begins
    }

    /// Who begins now because somebody left.
    fn leave(&mut self) -> Option<usize> {
        let next = self.waiting.pop_front();
        self.free += usize::from(next.is_none());
        next
    }
}

impl Work {
    /// When the last task has ended: every resource works on whatever waits for it, without a pause.
    pub fn ends_after_ms(self) -> u64 {
        let mut model = Place::of(self.slots);
        let mut computers: Vec<Place> = (0..self.computers).map(|_| Place::of(1)).collect();
        // Ends of what is under way: when, whose, and whether it was the model.
        let mut ends = BinaryHeap::new();
        let mut asked = vec![0; self.tasks];
        for task in 0..self.tasks {
            if model.enter(task) {
                ends.push(Reverse((self.model_ms, task, true)));
            }
        }
        let mut now = 0;
        while let Some(Reverse((at, task, was_model))) = ends.pop() {
            now = at;
            let computer = &mut computers[task % self.computers];
            if was_model {
                asked[task] += 1;
                if let Some(next) = model.leave() {
                    ends.push(Reverse((now + self.model_ms, next, true)));
                }
                if asked[task] <= self.calls && computer.enter(task) {
                    ends.push(Reverse((now + self.call_ms, task, false)));
                }
            } else {
                if let Some(next) = computer.leave() {
                    ends.push(Reverse((now + self.call_ms, next, false)));
                }
                if model.enter(task) {
                    ends.push(Reverse((now + self.model_ms, task, true)));
                }
            }
        }
        now
    }

    /// What no schedule can go below: the model's whole work, a computer's, and that of one task.
    pub fn bound_ms(self) -> u64 {
        let answers = (self.tasks * (self.calls + 1)) as u64;
        let model = answers.div_ceil(self.slots as u64) * self.model_ms;
        let of_one = self.tasks.div_ceil(self.computers) * self.calls;
        let computer = of_one as u64 * self.call_ms;
        let task = self.model_ms * (self.calls as u64 + 1) + self.call_ms * self.calls as u64;
        model.max(computer).max(task)
    }
}
