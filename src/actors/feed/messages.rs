//! What may be sent to the feed.

use crate::domain::event::StoredEvent;
use crate::domain::task::TaskSummary;
use crate::store::Place;
use actix::Message;
use std::sync::Arc;

/// Events that were just committed, with the task as it stands after them. A fact from the journal.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct Committed {
    pub events: Arc<Vec<StoredEvent>>,
    pub summary: Arc<TaskSummary>,
    /// Behind the last of them in the order of all commits.
    pub upto: Place,
}

/// Listen to everything that is committed from now on. The receiver's capacity is the subscriber's bound: one
/// that lags behind is dropped and sees the channel closed, and must read the journal again.
#[derive(Debug, Message)]
#[rtype(result = "tokio::sync::mpsc::Receiver<Committed>")]
pub struct Subscribe {
    /// How many batches may wait.
    pub capacity: usize,
}
