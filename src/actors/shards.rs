//! The threads among which computers are divided.
//!
//! Everything that a call passes (the computer's lane, its connection, the tasks at home there) lives on one of them, so
//! that a call changes threads nowhere. Which one is told by the computer's name alone: whoever starts something for a
//! computer starts it there, and nobody has to be asked.

use crate::domain::ids::ClientId;
use actix::{Arbiter, ArbiterHandle};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

/// More threads than this gain nothing: what is left is done elsewhere.
const MOST: usize = 8;

/// The threads; none of them: everything stays on the thread that starts it. Cheap to clone; they end with the last one.
#[derive(Clone, Default)]
pub struct Shards(Arc<Threads>);

#[derive(Default)]
struct Threads {
    shards: Vec<Shard>,
    next: AtomicUsize,
}

struct Shard {
    arbiter: ArbiterHandle,
    thread: ThreadId,
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shards.iter().for_each(|shard| {
            shard.arbiter.stop();
        });
    }
}

impl Shards {
    /// As many threads as the machine has cores.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn start() -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Shards::of_count(cores.min(MOST))
    }

    /// So many threads.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn of_count(count: usize) -> io::Result<Self> {
        let shards: io::Result<Vec<Shard>> = (0..count).map(|_| Shard::start()).collect();
        Ok(Shards(Arc::new(Threads {
            shards: shards?,
            next: AtomicUsize::new(0),
        })))
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.0.shards.len()
    }

    /// Which of them a computer belongs to.
    pub fn number_of(&self, client_id: &ClientId) -> usize {
        // With fixed keys: the answer is the same for everybody.
        let mut hasher = DefaultHasher::new();
        client_id.hash(&mut hasher);
        (hasher.finish() % self.count().max(1) as u64) as usize
    }

    /// The thread of this number.
    pub fn get(&self, number: usize) -> Option<&ArbiterHandle> {
        self.0.shards.get(number).map(|shard| &shard.arbiter)
    }

    /// Where a computer belongs.
    pub fn home_of(&self, client_id: &ClientId) -> Option<&ArbiterHandle> {
        self.get(self.number_of(client_id))
    }

    /// Where a computer belongs, if that is another thread than this one.
    pub fn elsewhere(&self, client_id: &ClientId) -> Option<&ArbiterHandle> {
        let home = self.0.shards.get(self.number_of(client_id))?;
        (home.thread != thread::current().id()).then_some(&home.arbiter)
    }

    /// One thread after the other, for what belongs nowhere yet.
    pub fn in_turn(&self) -> Option<&ArbiterHandle> {
        let turn = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.get(turn % self.count().max(1))
    }
}

impl Shard {
    fn start() -> io::Result<Self> {
        let arbiter = Arbiter::try_new()?.handle();
        let (tell, told) = std::sync::mpsc::channel();
        arbiter.spawn_fn(move || {
            // Whoever asked waits for it.
            let _ = tell.send(thread::current().id());
        });
        let thread = told.recv().map_err(io::Error::other)?;
        Ok(Shard { arbiter, thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(number: u32) -> ClientId {
        ClientId::parse(&format!("turtle-{number}")).unwrap()
    }

    #[actix_rt::test]
    async fn computers_are_divided_evenly_and_each_has_one_home() {
        let shards = Shards::of_count(2).unwrap();
        let mut counts = [0; 2];
        for number in 0..1000 {
            let client_id = named(number);
            counts[shards.number_of(&client_id)] += 1;
            assert_eq!(
                shards.number_of(&client_id),
                shards.number_of(&client_id.clone())
            );
            // This thread is none of them.
            assert!(shards.elsewhere(&client_id).is_some());
        }
        assert!(
            counts.iter().all(|count| (400..600).contains(count)),
            "{counts:?}"
        );
        let (tell, told) = tokio::sync::oneshot::channel();
        let (all, home) = (shards.clone(), named(7));
        shards.home_of(&named(7)).unwrap().spawn_fn(move || {
            let _ = tell.send(all.elsewhere(&home).is_none());
        });
        assert!(told.await.unwrap());
    }

    #[test]
    fn without_threads_everything_is_where_it_was_started() {
        let none = Shards::default();
        assert!(none.home_of(&named(1)).is_none() && none.in_turn().is_none());
        assert!(none.elsewhere(&named(1)).is_none());
    }
}
