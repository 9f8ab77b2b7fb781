//! The feed: tells what was committed to whoever listens.
//!
//! Nobody can slow it down: a subscriber whose channel is full is dropped, sees its channel closed after
//! what it still holds, and must read the journal again.

pub mod messages;

use crate::metrics::Metrics;
use actix::{Actor, Context, Handler, MessageResult};
use messages::{Committed, Subscribe};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// The largest capacity that a subscriber gets.
const MAX_CAPACITY: usize = 4096;

/// The feed actor. Its mailbox takes facts of the journal by `do_send`; it does nothing slow, so the mailbox
/// stays short.
#[derive(Default)]
pub struct Feed {
    subscribers: Vec<mpsc::Sender<Committed>>,
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
        self.subscribers.retain(|known| !known.is_closed());
        self.subscribers.push(subscriber);
        self.metrics.subscribers(self.subscribers.len());
        MessageResult(events)
    }
}

impl Handler<Committed> for Feed {
    type Result = ();

    fn handle(&mut self, message: Committed, _: &mut Self::Context) {
        let before = self.subscribers.len();
        let mut slow = 0;
        self.subscribers.retain(|subscriber| {
            let sent = subscriber.try_send(message.clone());
            slow += usize::from(matches!(sent, Err(TrySendError::Full(_))));
            sent.is_ok()
        });
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
            summary: append.summary.into(),
        }
    }

    #[actix::test]
    async fn every_subscriber_hears_everything_in_order() {
        let feed = Feed::default().start();
        let mut ears = [
            feed.send(Subscribe { capacity: 8 }).await.unwrap(),
            feed.send(Subscribe { capacity: 8 }).await.unwrap(),
        ];
        for seq in 1..=3 {
            feed.send(committed(seq)).await.unwrap();
        }
        for ear in &mut ears {
            for seq in 1..=3 {
                assert_eq!(ear.recv().await.unwrap().events[0].seq, seq);
            }
        }
    }

    #[actix::test]
    async fn a_slow_subscriber_is_dropped_after_what_it_holds_and_disturbs_nobody() {
        let feed = Feed::default().start();
        let mut slow = feed.send(Subscribe { capacity: 2 }).await.unwrap();
        let mut quick = feed.send(Subscribe { capacity: 8 }).await.unwrap();
        for seq in 1..=5 {
            feed.send(committed(seq)).await.unwrap();
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
