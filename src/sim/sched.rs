//! The threads that run Lua.
//!
//! Computers that have something to do wait in one line; a few workers take them from the front, run one slice
//! each and put them back at the end if there is more. A program that never yields keeps its worker until the
//! seven-second rule stops it; so that the others do not wait for it, [`Workers::relieve`] adds a worker
//! whenever the line has not moved for a tick.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::computer::Computer;

/// Workers that always run.
const BASE_WORKERS: usize = 2;
/// Most workers, however many computers loop at once.
const MAX_WORKERS: usize = 64;
/// How long an extra worker waits for more before it leaves.
const EXTRA_IDLE: Duration = Duration::from_secs(2);
/// Stack of a worker: Lua's C functions nest at most 200 deep.
const STACK_BYTES: usize = 4 << 20;

#[derive(Default)]
struct State {
    line: VecDeque<Arc<Computer>>,
    workers: usize,
    idle: usize,
    moved: bool,
    stopping: bool,
}

/// The line and its workers.
#[derive(Default)]
pub(crate) struct Workers {
    state: Mutex<State>,
    wake: Condvar,
}

impl Workers {
    /// Starts the workers that always run.
    pub(crate) fn start(self: &Arc<Workers>) -> std::io::Result<()> {
        for _ in 0..BASE_WORKERS {
            self.add_worker()?;
        }
        Ok(())
    }

    /// Puts a computer at the end of the line. The computer sees to it that it stands there only once.
    pub(crate) fn enqueue(&self, computer: Arc<Computer>) {
        let mut state = self.lock();
        if !state.stopping {
            state.line.push_back(computer);
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Called every tick: adds a worker if computers wait and none of them was taken since the last call.
    pub(crate) fn relieve(self: &Arc<Workers>) {
        let stuck = {
            let mut state = self.lock();
            let stuck = !state.line.is_empty() && !state.moved && state.idle == 0;
            state.moved = false;
            stuck && !state.stopping && state.workers < MAX_WORKERS
        };
        if stuck && let Err(error) = self.add_worker() {
            tracing::warn!(%error, "no further thread for simulated computers");
        }
    }

    /// Lets every worker finish its slice and leave; returns false if one did not within `limit`.
    pub(crate) fn stop(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        state.stopping = true;
        let line = std::mem::take(&mut state.line);
        self.wake.notify_all();
        while state.workers > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .wake
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        drop(state);
        drop(line);
        true
    }

    fn add_worker(self: &Arc<Workers>) -> std::io::Result<()> {
        let workers = self.clone();
        self.lock().workers += 1;
        let spawned = std::thread::Builder::new()
            .name("sim-lua".into())
            .stack_size(STACK_BYTES)
            .spawn(move || workers.work());
        if spawned.is_err() {
            self.lock().workers -= 1;
        }
        spawned.map(drop)
    }

    fn work(&self) {
        while let Some(computer) = self.take() {
            // A fault of ours in one computer must not take the worker of all others with it.
            match std::panic::catch_unwind(AssertUnwindSafe(|| computer.run_slice())) {
                Ok(true) => self.enqueue(computer),
                Ok(false) => {}
                Err(_) => tracing::error!(
                    computer = computer.id(),
                    "a simulated computer broke and stands still"
                ),
            }
        }
        // `take` counted this worker out already.
        self.wake.notify_all();
    }

    fn take(&self) -> Option<Arc<Computer>> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                state.workers -= 1;
                return None;
            }
            if let Some(computer) = state.line.pop_front() {
                state.moved = true;
                return Some(computer);
            }
            state.idle += 1;
            let (next, waited) = self
                .wake
                .wait_timeout(state, EXTRA_IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.idle -= 1;
            if waited.timed_out() && state.line.is_empty() && state.workers > BASE_WORKERS {
                state.workers -= 1;
                return None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
