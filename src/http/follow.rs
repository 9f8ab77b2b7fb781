//! Following one task over the feed, for handlers that wait for it.

use super::{Api, Problem, ask};
use crate::actors::feed::messages::{Committed, Subscribe, Whose};
use crate::actors::journal::BATCH;
use crate::domain::event::StoredEvent;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskSummary;
use std::sync::Arc;
use tokio::sync::mpsc::Receiver;

/// Batches that may wait for a handler; one that lags reads the journal again.
const CAPACITY: usize = 2 * BATCH;

/// What was committed of a task, and the task after it.
pub(super) struct News {
    pub(super) events: Arc<Vec<StoredEvent>>,
    pub(super) summary: Arc<TaskSummary>,
}

/// Hears what is committed of one task from when it was made on: everybody's commits until it is told which task. Made before
/// the task or before the first look at it, it misses nothing.
pub(super) struct Ear {
    feed: Receiver<Committed>,
    whose: Whose,
    /// Something may have been missed, and the journal was not looked at since.
    missed: bool,
}

impl Ear {
    /// Begins to listen.
    ///
    /// # Errors
    /// The server is stopping.
    pub(super) async fn listen(api: &Api) -> Result<Self, Problem> {
        let whose = Whose::default();
        let feed = subscribe(api, &whose).await?;
        Ok(Ear {
            feed,
            whose,
            missed: false,
        })
    }

    /// What is committed next of this task; an ear follows one task, and hears no other from now on. One that was too slow hears how the task stands, without the events between.
    /// May be given up while it waits, and asked again: nothing is lost by it.
    ///
    /// # Errors
    /// The server is stopping, or the journal cannot be read.
    pub(super) async fn next(&mut self, api: &Api, task_id: &TaskId) -> Result<News, Problem> {
        self.whose.only(task_id);
        loop {
            if self.missed {
                let summary = Arc::new(api.journal.task(task_id.clone()).await?);
                self.missed = false;
                let events = Arc::default();
                return Ok(News { events, summary });
            }
            match self.feed.recv().await {
                Some(news) if news.summary.task_id == *task_id => {
                    let (events, summary) = (news.events, news.summary);
                    return Ok(News { events, summary });
                }
                Some(_) => {}
                None => {
                    // Too slow: listen again, then look at what was missed.
                    self.feed = subscribe(api, &self.whose).await?;
                    self.missed = true;
                }
            }
        }
    }

    /// Returns when this task has ended.
    ///
    /// # Errors
    /// As [`Ear::next`].
    pub(super) async fn until_the_end(
        &mut self,
        api: &Api,
        task_id: &TaskId,
    ) -> Result<(), Problem> {
        while !self.next(api, task_id).await?.summary.status.is_final() {}
        Ok(())
    }

    /// The same for a short task: answers all of its events, if every one of them was heard.
    ///
    /// # Errors
    /// As [`Ear::next`].
    pub(super) async fn events_to_the_end(
        &mut self,
        api: &Api,
        task_id: &TaskId,
    ) -> Result<Option<Vec<StoredEvent>>, Problem> {
        let mut heard: Vec<StoredEvent> = Vec::new();
        loop {
            let news = self.next(api, task_id).await?;
            heard.extend(news.events.iter().cloned());
            if news.summary.status.is_final() {
                let is_next = |(at, event): (u64, &StoredEvent)| event.seq == at;
                let whole = !news.events.is_empty() && (1..).zip(&heard).all(is_next);
                return Ok(whole.then_some(heard));
            }
        }
    }
}

async fn subscribe(api: &Api, whose: &Whose) -> Result<Receiver<Committed>, Problem> {
    let listen = Subscribe {
        capacity: CAPACITY,
        whose: whose.clone(),
    };
    ask(&api.subscribe, listen).await
}
