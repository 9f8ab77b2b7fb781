//! What waits between threads for one computer, counted in bytes before it is queued.
//!
//! A mailbox takes facts without a bound. What is meant for a computer goes straight to its outbox where everything is on
//! one thread, and the outbox has a bound; from another thread it waits in a mailbox first, and counts here until it
//! was handled, or its mailbox is gone.

use actix::{Message, Recipient};
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The least that a number, a name or a mark counts: about what a value takes in memory.
const PIECE: usize = 16;

/// What has a weight.
pub trait Weigh {
    /// About how many bytes it takes in memory.
    fn weight(&self) -> usize;
}

/// About how many bytes a value takes in memory, told by its JSON.
pub fn weight_of(value: &impl Serialize) -> usize {
    struct Scale(usize);

    impl io::Write for Scale {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0 += piece.len().max(PIECE);
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut scale = Scale(0);
    // What cannot be written has weighed what came before it; nothing that is sent here is of that kind.
    let _ = serde_json::to_writer(&mut scale, value);
    scale.0
}

#[derive(Debug)]
struct Waiting {
    bytes: AtomicUsize,
    max: usize,
    /// Something was refused that has to be fetched when there is room.
    missed: AtomicBool,
}

impl Waiting {
    /// Counts so many bytes, if there is room for them. What waits alone may have any size: else it would never pass.
    fn hold(self: &Arc<Self>, bytes: usize, is_bounded: bool) -> Option<Held> {
        let more = |waiting: usize| {
            let fits = !is_bounded || waiting == 0 || waiting + bytes <= self.max;
            fits.then_some(waiting + bytes)
        };
        let order = Ordering::SeqCst;
        self.bytes.fetch_update(order, order, more).ok()?;
        Some(Held {
            waiting: self.clone(),
            bytes,
        })
    }
}

/// Room that a message takes up; its drop gives it back.
#[derive(Debug)]
pub struct Held {
    waiting: Arc<Waiting>,
    bytes: usize,
}

impl Held {
    /// Gives the room back. True if something was missed meanwhile and there is room to fetch it; told once.
    pub fn release(self) -> bool {
        let waiting = self.waiting.clone();
        drop(self);
        let has_room = waiting.bytes.load(Ordering::SeqCst) <= waiting.max / 2;
        has_room && waiting.missed.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.waiting.bytes.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// A message, and the room that it takes up until it is handled.
#[derive(Debug)]
pub struct Weighed<M>(pub M, pub Held);

impl<M: 'static> Message for Weighed<M> {
    type Result = ();
}

/// A way into a mailbox on another thread, with a bound. Clones share it.
#[derive(Debug)]
pub struct Backlog<M: Send + 'static> {
    mailbox: Recipient<Weighed<M>>,
    waiting: Arc<Waiting>,
}

impl<M: Send + 'static> Clone for Backlog<M> {
    fn clone(&self) -> Self {
        Backlog {
            mailbox: self.mailbox.clone(),
            waiting: self.waiting.clone(),
        }
    }
}

impl<M: Weigh + Send + 'static> Backlog<M> {
    /// At most `max` bytes wait in this mailbox, beside what is sent with [`Backlog::send_anyway`].
    pub fn new(mailbox: Recipient<Weighed<M>>, max: usize) -> Self {
        let waiting = Arc::new(Waiting {
            bytes: AtomicUsize::new(0),
            max,
            missed: AtomicBool::new(false),
        });
        Backlog { mailbox, waiting }
    }

    /// Sends if there is room.
    ///
    /// # Errors
    /// There is none; the message comes back.
    pub fn send(&self, message: M) -> Result<(), M> {
        match self.waiting.hold(message.weight(), true) {
            Some(held) => {
                self.mailbox.do_send(Weighed(message, held));
                Ok(())
            }
            None => Err(message),
        }
    }

    /// Sends what is bounded by something else; it counts all the same.
    pub fn send_anyway(&self, message: M) {
        if let Some(held) = self.waiting.hold(message.weight(), false) {
            self.mailbox.do_send(Weighed(message, held));
        }
    }

    /// Sends what must not be lost, or has it fetched when there is room ([`Held::release`]).
    pub fn send_or_fetch(&self, message: M) {
        if let Err(message) = self.send(message) {
            self.waiting.missed.store(true, Ordering::SeqCst);
            // What made it full may have been handled before the mark was there to be seen: then it fits now. If not,
            // somebody still holds room and will see the mark.
            drop(self.send(message));
        }
    }

    /// Bytes that wait now.
    pub fn bytes(&self) -> usize {
        self.waiting.bytes.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix::prelude::*;
    use serde_json::json;
    use tokio::sync::{mpsc, oneshot};

    struct Letter(usize);

    impl Weigh for Letter {
        fn weight(&self) -> usize {
            self.0
        }
    }

    /// Handles nothing before it is let go.
    struct Sleeper {
        wake: Option<oneshot::Receiver<()>>,
        told: mpsc::UnboundedSender<(usize, bool)>,
    }

    impl Actor for Sleeper {
        type Context = Context<Self>;

        fn started(&mut self, ctx: &mut Self::Context) {
            let wake = self.wake.take().unwrap();
            ctx.wait(wake.into_actor(self).map(|_, _, _| ()));
        }
    }

    impl Handler<Weighed<Letter>> for Sleeper {
        type Result = ();

        fn handle(&mut self, letter: Weighed<Letter>, _: &mut Self::Context) {
            let _ = self.told.send((letter.0.0, letter.1.release()));
        }
    }

    struct Bench {
        backlog: Backlog<Letter>,
        told: mpsc::UnboundedReceiver<(usize, bool)>,
        wake: oneshot::Sender<()>,
    }

    fn asleep(max: usize) -> Bench {
        let (wake, woken) = oneshot::channel();
        let (tell, told) = mpsc::unbounded_channel();
        let sleeper = Sleeper {
            wake: Some(woken),
            told: tell,
        };
        Bench {
            backlog: Backlog::new(sleeper.start().recipient(), max),
            told,
            wake,
        }
    }

    #[actix_rt::test]
    async fn what_waits_stays_below_the_bound_and_its_room_comes_back() {
        let mut bench = asleep(100);
        let taken = (0..1000).filter(|_| bench.backlog.send(Letter(30)).is_ok());
        assert_eq!(taken.count(), 3);
        bench.backlog.send_anyway(Letter(50));
        assert_eq!(bench.backlog.bytes(), 140);
        bench.wake.send(()).unwrap();
        for size in [30, 30, 30, 50] {
            assert_eq!(bench.told.recv().await, Some((size, false)));
        }
        assert_eq!(bench.backlog.bytes(), 0);
        // Alone it may have any size.
        assert!(bench.backlog.send(Letter(500)).is_ok());
        assert!(bench.backlog.send(Letter(1)).is_err());
    }

    #[actix_rt::test]
    async fn what_was_missed_is_told_once_there_is_room_and_only_once() {
        let mut bench = asleep(100);
        bench.backlog.send_or_fetch(Letter(60));
        bench.backlog.send_or_fetch(Letter(40));
        bench.backlog.send_or_fetch(Letter(1));
        bench.backlog.send_or_fetch(Letter(2));
        bench.wake.send(()).unwrap();
        assert_eq!(bench.told.recv().await, Some((60, true)));
        assert_eq!(bench.told.recv().await, Some((40, false)));
    }

    #[actix_rt::test]
    async fn what_is_sent_to_a_mailbox_that_is_gone_takes_no_room() {
        let arbiter = Arbiter::new();
        let (_wake, woken) = oneshot::channel();
        let (tell, _told) = mpsc::unbounded_channel();
        let sleeper = Sleeper {
            wake: Some(woken),
            told: tell,
        };
        let addr = Sleeper::start_in_arbiter(&arbiter.handle(), |_| sleeper);
        let backlog = Backlog::new(addr.recipient(), 100);
        backlog.send_anyway(Letter(70));
        assert_eq!(backlog.bytes(), 70);
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(backlog.bytes(), 0);
        assert!(backlog.send(Letter(500)).is_ok());
        assert_eq!(backlog.bytes(), 0);
    }

    #[test]
    fn small_values_weigh_what_they_take_in_memory() {
        assert!(weight_of(&json!(vec![1; 1000])) > 16_000);
        let text = weight_of(&json!("x".repeat(10_000)));
        assert!((10_000..10_100).contains(&text), "{text}");
    }
}
