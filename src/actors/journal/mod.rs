//! The journal: the one writer of what is durable.
//!
//! It has a thread of its own and writes on it, so that a commit changes threads twice: there, and back to who asked. Nothing else
//! may run there.
//!
//! Group commit: while a transaction is on its way to the disk, what comes meanwhile waits in the mailbox and goes into
//! the next one, so a busy fleet pays for one sync a batch instead of one an append. Answers are given after
//! the commit; then the feed is told. If the store cannot write, the askers get the error, the actor lives
//! on and shows itself as not writable, and tries again by itself and with the next entry.
//!
//! Full queue: refused with `Unavailable`. The mailbox holds as much again; senders use `send`.

mod batch;
mod checkpoints;
mod handlers;
pub mod messages;
mod reader;
#[cfg(test)]
mod tests;

pub use reader::JournalReader;

use crate::actors::feed::messages::{Committed, CommittedAll};
use crate::metrics::Metrics;
use crate::store::{JournalStore, OpenStore, Place, StoreError, Write, Written};
use actix::{
    Actor, ActorFutureExt, Addr, Arbiter, ArbiterHandle, AsyncContext, Context, Recipient,
    WrapFuture,
};
use batch::{Asker, Pending, Queued, Reply, To};
use checkpoints::Checkpoints;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Entries that wait for the next transaction; more are refused.
pub const QUEUE: usize = 1024;

/// Entries of one transaction.
pub const BATCH: usize = 256;

/// How long a store that could not write is left alone before it is tried again unasked.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The journal actor.
pub struct Journal {
    /// None once it was let go.
    store: Option<Box<dyn JournalStore>>,
    /// Its own thread, which ends with it; none if it shares one.
    thread: Option<ArbiterHandle>,
    reader: JournalReader,
    feed: Recipient<CommittedAll>,
    queue: VecDeque<Pending>,
    /// The next transaction begins as soon as the mailbox is empty.
    is_due: bool,
    /// Those who wait until the queue is empty.
    idle: Vec<oneshot::Sender<()>>,
    closing: bool,
    error: Option<String>,
    transactions: u64,
    entries: u64,
    metrics: Arc<Metrics>,
    retry_after: Duration,
    checkpoints: Checkpoints,
}

impl Journal {
    /// Starts the journal on an open store, on the thread that asks. Whatever is committed is told to `feed`.
    pub fn start(store: OpenStore, feed: Recipient<CommittedAll>) -> (Addr<Self>, JournalReader) {
        let none = Checkpoints::every(0);
        Self::start_with(store, feed, Arc::default(), RETRY_AFTER, none, None)
    }

    /// As [`Journal::start`], on a thread of its own if the system gives one, counting what it does and what is committed, and
    /// keeping a checkpoint of a task after every so many of its events (0 = never).
    pub fn measured(
        store: OpenStore,
        feed: Recipient<CommittedAll>,
        metrics: Arc<Metrics>,
        checkpoint_every: u64,
    ) -> (Addr<Self>, JournalReader) {
        let checkpoints = Checkpoints::every(checkpoint_every);
        let thread = own_thread();
        Self::start_with(store, feed, metrics, RETRY_AFTER, checkpoints, thread)
    }

    fn start_with(
        store: OpenStore,
        feed: Recipient<CommittedAll>,
        metrics: Arc<Metrics>,
        retry_after: Duration,
        checkpoints: Checkpoints,
        thread: Option<ArbiterHandle>,
    ) -> (Addr<Self>, JournalReader) {
        let reader = JournalReader::new(store.reads, store.identity);
        let (known, own) = (reader.clone(), thread.clone());
        // Made where it runs: who waits for what is not sent to other threads.
        let make = move |_: &mut Context<Self>| Journal {
            store: Some(store.writer),
            thread: own,
            reader: known,
            feed,
            queue: VecDeque::new(),
            is_due: false,
            idle: Vec::new(),
            closing: false,
            error: None,
            transactions: 0,
            entries: 0,
            metrics,
            retry_after,
            checkpoints,
        };
        let addr = match &thread {
            Some(thread) => Actor::start_in_arbiter(thread, make),
            None => Actor::create(make),
        };
        (addr, reader)
    }

    /// Queues an entry for the next transaction.
    fn enqueue<T>(
        &mut self,
        entry: Write,
        to: impl FnOnce(Asker<T>) -> To,
        ctx: &mut Context<Self>,
    ) -> Queued<T> {
        if self.closing || self.queue.len() >= QUEUE {
            return Queued::Refused;
        }
        let asker = Asker::unknown();
        self.queue.push_back(Pending::new(entry, to(asker.clone())));
        self.write_soon(ctx);
        Queued::Waits(asker)
    }

    /// Begins the next transaction with all that waits in the mailbox by then.
    fn write_soon(&mut self, ctx: &mut Context<Self>) {
        if !std::mem::replace(&mut self.is_due, true) {
            // What an actor spawns comes behind its mailbox.
            let begins = std::future::ready(()).into_actor(self);
            ctx.spawn(begins.map(|(), journal, ctx| journal.write(ctx)));
        }
    }

    /// One transaction, with as much of the queue as goes into one.
    fn write(&mut self, ctx: &mut Context<Self>) {
        self.is_due = false;
        let Some(store) = &mut self.store else {
            // Nobody is waited for any more.
            return self.idle.clear();
        };
        let taken = self.queue.len().min(BATCH);
        let (entries, replies): (Vec<Write>, Vec<Reply>) =
            self.queue.drain(..taken).map(Pending::split).unzip();
        if !entries.is_empty() {
            let began = Instant::now();
            let result = batch::run(store, &entries);
            let position = store.position();
            self.metrics
                .transaction(entries.len(), began.elapsed(), result.is_ok());
            self.finish(entries, replies, result, position, ctx);
        }
        if self.queue.is_empty() {
            for waiting in self.idle.drain(..) {
                let _ = waiting.send(());
            }
            return;
        }
        // First the answers, which others on this thread carry.
        self.is_due = true;
        let later = tokio::task::yield_now().into_actor(self);
        ctx.spawn(later.map(|(), journal, ctx| journal.write(ctx)));
    }

    /// The transaction ended: answers, then tells the feed.
    fn finish(
        &mut self,
        entries: Vec<Write>,
        replies: Vec<Reply>,
        result: Result<Vec<Written>, StoreError>,
        position: u64,
        ctx: &mut Context<Self>,
    ) {
        self.transactions += 1;
        let answers = match result {
            Ok(answers) => answers,
            Err(error) => {
                self.degrade(&error, ctx);
                for reply in replies {
                    reply.give(Err(batch::refused(&error)));
                }
                return;
            }
        };
        if self.error.take().is_some() {
            tracing::info!("the journal can be written again");
        }
        self.entries += entries.len() as u64;
        let written = answers.iter().flatten().map(|all| all.len()).sum::<usize>() as u64;
        let mut position = position.saturating_sub(written);
        let mut told = Vec::with_capacity(answers.len());
        for ((entry, reply), answer) in entries.into_iter().zip(replies).zip(answers) {
            if let (Write::System(change), Ok(_)) = (&entry, &answer)
                && let Some(epoch) = change.epoch
            {
                self.reader.epoch().raise(epoch);
            }
            let committed = match (entry, &answer) {
                (Write::Append(append), Ok(events)) => events.last().map(|last| {
                    position += events.len() as u64;
                    Committed {
                        upto: Place::behind(position, last),
                        events: events.clone(),
                        summary: append.summary.clone(),
                    }
                }),
                _ => None,
            };
            self.metrics.lagged(reply.waited());
            reply.give(answer.map_err(batch::refusal));
            if let Some(committed) = committed {
                self.metrics
                    .committed(&committed.events, &committed.summary);
                self.checkpoints.note(&committed);
                told.push(committed);
            }
        }
        if !told.is_empty() {
            // A fact: the feed never blocks, and without one nobody listens.
            self.feed.do_send(CommittedAll(told));
        }
        self.next_checkpoint(ctx);
    }

    fn degrade(&mut self, error: &StoreError, ctx: &mut Context<Self>) {
        let first = self.error.replace(error.to_string()).is_none();
        if first {
            tracing::error!(%error, "the journal cannot be written; tasks stop deciding until it can");
        }
        ctx.run_later(self.retry_after, |journal, ctx| {
            if journal.error.is_some() && journal.queue.is_empty() && !journal.closing {
                journal
                    .queue
                    .push_back(Pending::new(Write::Probe, To::Nobody));
                journal.write_soon(ctx);
            }
        });
    }

    fn when_idle(&mut self, ctx: &mut Context<Self>) -> oneshot::Receiver<()> {
        let (idle, waiting) = oneshot::channel();
        self.idle.push(idle);
        self.write_soon(ctx);
        waiting
    }
}

/// A thread on which nothing else runs, if the system gives one.
fn own_thread() -> Option<ArbiterHandle> {
    let thread = Arbiter::try_new().inspect_err(|error| {
        tracing::warn!(%error, "the system gives no thread for the journal; it shares one");
    });
    thread.ok().map(|thread| thread.handle())
}

impl Actor for Journal {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(QUEUE);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        if let Some(thread) = &self.thread {
            thread.stop();
        }
    }
}
