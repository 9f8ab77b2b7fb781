//! One transaction: who waits for what, and the blocking call itself.

use super::Journal;
use super::messages::JournalError;
use crate::domain::event::StoredEvent;
use crate::store::{JournalStore, Refusal, StoreError, Write, Written};
use actix::dev::{MessageResponse, OneshotSender};
use actix::{Context, Message};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) type Answer = Result<Arc<Vec<StoredEvent>>, JournalError>;

/// An entry and who waits for its answer; nobody waits for a probe.
pub(super) struct Pending {
    entry: Write,
    reply: Reply,
}

pub(super) struct Reply {
    to: To,
    since: Instant,
}

/// Who waits.
pub(super) enum To {
    Nobody,
    /// For the events as they were written.
    Events(Asker<Arc<Vec<StoredEvent>>>),
    /// For no more than that it is durable.
    Done(Asker<()>),
}

/// Where an answer goes. Actix tells it when the message is handled, before anything is written: what is written comes behind the
/// mailbox. So an answer goes there straight from the transaction, without a future of its own that waits for it.
pub struct Asker<T>(Rc<Cell<Option<Sender<T>>>>);

type Sender<T> = OneshotSender<Result<T, JournalError>>;

/// What a handler gives back for an entry.
pub enum Queued<T> {
    Waits(Asker<T>),
    Refused,
}

impl<T> Asker<T> {
    pub(super) fn unknown() -> Self {
        Asker(Rc::default())
    }

    /// Somebody who no longer waits is no error: what was written stays written.
    fn tell(self, answer: Result<T, JournalError>) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(answer);
        }
    }
}

impl<T> Clone for Asker<T> {
    fn clone(&self) -> Self {
        Asker(self.0.clone())
    }
}

impl<T, M> MessageResponse<Journal, M> for Queued<T>
where
    T: 'static,
    M: Message<Result = Result<T, JournalError>>,
{
    fn handle(self, _: &mut Context<Journal>, sender: Option<OneshotSender<M::Result>>) {
        match self {
            Queued::Waits(asker) => asker.0.set(sender),
            Queued::Refused => {
                if let Some(sender) = sender {
                    let _ = sender.send(Err(JournalError::Unavailable));
                }
            }
        }
    }
}

impl Pending {
    pub(super) fn new(entry: Write, to: To) -> Self {
        let since = Instant::now();
        Pending {
            entry,
            reply: Reply { to, since },
        }
    }

    pub(super) fn split(self) -> (Write, Reply) {
        (self.entry, self.reply)
    }
}

impl Reply {
    /// How long ago the entry came.
    pub(super) fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    pub(super) fn give(self, answer: Answer) {
        match self.to {
            To::Nobody => {}
            To::Events(asker) => asker.tell(answer),
            To::Done(asker) => asker.tell(answer.map(|_| ())),
        }
    }
}

/// Blocking. A panic in the store becomes an error, so that the journal lives on: a transaction that was
/// unwound is rolled back.
pub(super) fn run(
    store: &mut Box<dyn JournalStore>,
    entries: &[Write],
) -> Result<Vec<Written>, StoreError> {
    catch_unwind(AssertUnwindSafe(|| store.write(entries))).unwrap_or_else(|_| {
        Err(StoreError::Storage {
            attempt: "write to the journal".into(),
            reason: "the store panicked".into(),
        })
    })
}

pub(super) fn refusal(refusal: Refusal) -> JournalError {
    match refusal {
        Refusal::Sequence { expected, found } => JournalError::Sequence { expected, found },
        Refusal::Fenced { ours, found } => JournalError::Fenced { ours, found },
        Refusal::Duplicate { existing } => JournalError::Duplicate { existing },
    }
}

pub(super) fn refused(error: &StoreError) -> JournalError {
    match error {
        StoreError::UnknownEvent { .. } => JournalError::UnknownEvent(error.to_string()),
        StoreError::Damaged { .. }
        | StoreError::DamagedTask { .. }
        | StoreError::Missing { .. }
        | StoreError::OlderSchema { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::Storage { .. } => JournalError::Storage(error.to_string()),
    }
}
