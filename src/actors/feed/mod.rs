//! The feed: tells what was committed to whoever listens.
//!
//! Nobody can slow it down: a subscriber whose channel is full is dropped, sees its channel closed after
//! what it still holds, and must read the journal again.

pub mod messages;

use crate::metrics::Metrics;
use actix::{Actor, Context, Handler, MessageResult};
use messages::{Committed, CommittedAll, Subscribe, Whose};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// The largest capacity that a subscriber gets.
const MAX_CAPACITY: usize = 4096;

/// The feed actor. Its mailbox takes facts of the journal by `do_send`; it does nothing slow, so the mailbox
/// stays short.
#[derive(Default)]
pub struct Feed {
    subscribers: Vec<(mpsc::Sender<Committed>, Whose)>,
    metrics: Arc<Metrics>,
}

impl Feed {
    /// A feed that counts who listens.
    pub fn measured(metrics: Arc<Metrics>) -> Self {
        Feed {
            subscribers: Vec::new(),
            metrics,
        }
    }
}

impl Actor for Feed {
    type Context = Context<Self>;
}

impl Handler<Subscribe> for Feed {
    type Result = MessageResult<Subscribe>;

    fn handle(&mut self, message: Subscribe, _: &mut Self::Context) -> Self::Result {
        let (subscriber, events) = mpsc::channel(message.capacity.clamp(1, MAX_CAPACITY));
        self.subscribers.retain(|(known, _)| !known.is_closed());
        self.subscribers.push((subscriber, message.whose));
        self.metrics.subscribers(self.subscribers.len());
        MessageResult(events)
    }
}

impl Handler<CommittedAll> for Feed {
    type Result = ();

    fn handle(&mut self, CommittedAll(all): CommittedAll, _: &mut Self::Context) {
        let before = self.subscribers.len();
        let mut slow = 0;
        for committed in all {
            self.subscribers.retain(|(subscriber, whose)| {
                if !whose.includes(&committed.summary.task_id) {
                    return !subscriber.is_closed();
                }
                let sent = subscriber.try_send(committed.clone());
                slow += usize::from(matches!(sent, Err(TrySendError::Full(_))));
                sent.is_ok()
            });
        }
        if self.subscribers.len() < before {
            self.metrics.subscribers(self.subscribers.len());
            self.metrics.feed_drops(slow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::StoredEvent;
    use crate::domain::ids::TaskId;
    use crate::store::fixtures::{Author, noted};

    fn committed(seq: u64) -> Committed {
        let append = Author::new("A").append(vec![crate::store::fixtures::created("dig")]);
        let event = StoredEvent {
            task_id: append.task_id,
            seq,
            at_ms: 0,
            generation: append.generation,
            event: noted("x"),
        };
        Committed {
            upto: crate::store::Place::behind(seq, &event),
            events: vec![event].into(),
            summary: append.summary,
        }
    }

    #[actix::test]
    async fn every_subscriber_hears_everything_in_order() {
        let feed = Feed::default().start();
        let mut ears = [
            feed.send(Subscribe::to_all(8)).await.unwrap(),
            feed.send(Subscribe::to_all(8)).await.unwrap(),
        ];
        for seq in 1..=3 {
            feed.send(CommittedAll(vec![committed(seq)])).await.unwrap();
        }
        for ear in &mut ears {
            for seq in 1..=3 {
                assert_eq!(ear.recv().await.unwrap().events[0].seq, seq);
            }
        }
    }

    #[actix::test]
    async fn who_says_whose_hears_no_others_from_then_on() {
        let feed = Feed::default().start();
        let whose = Whose::default();
        let listen = Subscribe {
            capacity: 8,
            whose: whose.clone(),
        };
        let mut ear = feed.send(listen).await.unwrap();
        let other = |seq| {
            let mut committed = committed(seq);
            let mut summary = (*committed.summary).clone();
            summary.task_id = TaskId::from_unique("B").unwrap();
            committed.summary = summary.into();
            committed
        };
        feed.send(CommittedAll(vec![other(1)])).await.unwrap();
        whose.only(&committed(1).summary.task_id);
        for seq in 2..=3 {
            feed.send(CommittedAll(vec![other(seq)])).await.unwrap();
            feed.send(CommittedAll(vec![committed(seq)])).await.unwrap();
        }
        drop(feed);
        let mut heard = Vec::new();
        while let Some(committed) = ear.recv().await {
            let id = committed.summary.task_id.as_str().to_owned();
            heard.push((id, committed.events[0].seq));
        }
        let own = committed(1).summary.task_id.as_str().to_owned();
        let expected = [("tsk_B".to_owned(), 1), (own.clone(), 2), (own, 3)];
        assert_eq!(heard, expected);
    }

    #[actix::test]
    async fn a_slow_subscriber_is_dropped_after_what_it_holds_and_disturbs_nobody() {
        let feed = Feed::default().start();
        let mut slow = feed.send(Subscribe::to_all(2)).await.unwrap();
        let mut quick = feed.send(Subscribe::to_all(8)).await.unwrap();
        for seq in 1..=5 {
            feed.send(CommittedAll(vec![committed(seq)])).await.unwrap();
        }
        let held: Vec<u64> = [slow.recv().await, slow.recv().await]
            .into_iter()
            .flatten()
            .map(|c| c.events[0].seq)
            .collect();
        assert_eq!(held, [1, 2]);
        assert!(slow.recv().await.is_none(), "the channel is closed");
        for seq in 1..=5 {
            assert_eq!(quick.recv().await.unwrap().events[0].seq, seq);
        }
    }
}
