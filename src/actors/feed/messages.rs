//! What may be sent to the feed.

use crate::domain::event::StoredEvent;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskSummary;
use crate::store::Place;
use actix::Message;
use std::sync::{Arc, OnceLock};

/// What one transaction committed, in its order. A fact from the journal.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct CommittedAll(pub Vec<Committed>);

/// Events that were just committed, with the task as it stands after them.
#[derive(Debug, Clone)]
pub struct Committed {
    pub events: Arc<Vec<StoredEvent>>,
    pub summary: Arc<TaskSummary>,
    /// Behind the last of them in the order of all commits.
    pub upto: Place,
}

/// Listen to what is committed from now on. The receiver's capacity is the subscriber's bound: one
/// that lags behind is dropped and sees the channel closed, and must read the journal again.
#[derive(Debug, Message)]
#[rtype(result = "tokio::sync::mpsc::Receiver<Committed>")]
pub struct Subscribe {
    /// How many batches may wait.
    pub capacity: usize,
    /// Whose commits.
    pub whose: Whose,
}

impl Subscribe {
    /// Everybody's commits.
    pub fn to_all(capacity: usize) -> Self {
        let whose = Whose::default();
        Subscribe { capacity, whose }
    }
}

/// Whose commits a subscriber hears: everybody's, until it says whose.
#[derive(Debug, Clone, Default)]
pub struct Whose(Arc<OnceLock<TaskId>>);

impl Whose {
    /// From now on only those of this task. Said once; who listens to one task goes on with it.
    pub fn only(&self, task_id: &TaskId) {
        let _ = self.0.set(task_id.clone());
    }

    /// Whether what was committed of this task is to be heard.
    pub fn includes(&self, task_id: &TaskId) -> bool {
        self.0.get().is_none_or(|only| only == task_id)
    }
}
