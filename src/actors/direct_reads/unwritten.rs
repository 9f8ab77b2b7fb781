//! Which reads are not durable yet: they are bounded, and whoever asks for one of them waits until it is.

use crate::domain::ids::TaskId;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Shared by all threads.
pub(super) struct Unwritten {
    room: Arc<Semaphore>,
    tasks: Mutex<HashSet<TaskId>>,
    /// One of them became durable.
    less: Notify,
}

/// The place of one; given back when it is durable, or never will be.
pub(super) struct Place {
    unwritten: Arc<Unwritten>,
    task_id: TaskId,
    _room: OwnedSemaphorePermit,
}

impl Unwritten {
    /// So many at most.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Unwritten {
            room: Arc::new(Semaphore::new(most)),
            tasks: Mutex::default(),
            less: Notify::new(),
        })
    }

    // Whoever panicked while holding the lock left a whole set behind.
    fn tasks(&self) -> MutexGuard<'_, HashSet<TaskId>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more; none if there was none for so long.
    pub(super) async fn room(&self, within: Duration) -> Option<OwnedSemaphorePermit> {
        let room = timeout(within, self.room.clone().acquire_owned());
        room.await.ok()?.ok()
    }

    pub(super) fn enter(self: &Arc<Self>, task_id: TaskId, room: OwnedSemaphorePermit) -> Place {
        self.tasks().insert(task_id.clone());
        Place {
            unwritten: self.clone(),
            task_id,
            _room: room,
        }
    }

    /// Waits until this one is durable, if it is among them; not longer than that.
    pub(super) async fn written(&self, task_id: &TaskId, within: Duration) {
        let gone = async {
            loop {
                let mut less = std::pin::pin!(self.less.notified());
                // Before the look, so that nothing is missed after it.
                less.as_mut().enable();
                if !self.tasks().contains(task_id) {
                    return;
                }
                less.await;
            }
        };
        let _ = timeout(within, gone).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.unwritten.tasks().remove(&self.task_id);
        self.unwritten.less.notify_waiters();
    }
}
