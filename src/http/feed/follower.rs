//! History and what is committed now, joined: from a cursor on every event once and in order.

use super::super::{Api, Problem, ask};
use super::Filter;
use crate::actors::feed::messages::{Committed, Subscribe};
use crate::actors::journal::{BATCH, JournalReader};
use crate::store::{CommittedEvent, Place};
use actix::Recipient;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc::Receiver;

/// Appends that may wait for a follower; one that lags behind more reads them from the journal instead. A whole transaction's come
/// at once, and the next one may be there before it has looked.
pub(super) const CAPACITY: usize = 2 * BATCH;

/// Appends that are read from the journal at once.
const PAGE: usize = 100;

/// Where a follower begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// With what is committed from now on.
    Now,
    Behind(Place),
    /// It showed a cursor that cannot be one.
    Unknown,
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    Event(Box<CommittedEvent>),
    /// Nothing for this follower up to here.
    Passed(Place),
    /// What it missed is not all kept, or its cursor is none of this journal; it goes on from here.
    Reset(Place),
    /// The server stops.
    Over,
}

pub(super) struct Follower {
    journal: JournalReader,
    subscribe: Recipient<Subscribe>,
    filter: Arc<Filter>,
    /// Behind what was told.
    at: Place,
    /// Behind what was read; what is ready lies between the two.
    read_to: Place,
    ready: VecDeque<CommittedEvent>,
    reset: bool,
    live: Option<Receiver<Committed>>,
    /// The journal may hold more that was not read.
    behind: bool,
}

impl Follower {
    /// # Errors
    /// The journal cannot be read.
    pub(super) async fn new(api: &Api, filter: Filter, start: Start) -> Result<Self, Problem> {
        let at = match start {
            Start::Behind(place) => place,
            Start::Now | Start::Unknown => api.journal.head().await?,
        };
        Ok(Follower {
            journal: api.journal.clone(),
            subscribe: api.subscribe.clone(),
            filter: Arc::new(filter),
            at,
            read_to: at,
            ready: VecDeque::new(),
            reset: start == Start::Unknown,
            live: None,
            behind: true,
        })
    }

    /// Behind what was told.
    pub(super) fn at(&self) -> Place {
        self.at
    }

    /// Waits for the next thing to tell.
    pub(super) async fn next(&mut self) -> Told {
        loop {
            if self.reset {
                self.reset = false;
                return Told::Reset(self.at);
            }
            if let Some(event) = self.ready.pop_front() {
                self.at = event.place;
                return Told::Event(Box::new(event));
            }
            if self.at != self.read_to {
                self.at = self.read_to;
                return Told::Passed(self.at);
            }
            if self.read_on().await.is_err() {
                return Told::Over;
            }
        }
    }

    /// One look into the journal, or one piece of news. It listens first and reads then, so that nothing falls between.
    async fn read_on(&mut self) -> Result<(), Problem> {
        let live = match &mut self.live {
            Some(live) => live,
            none => {
                let capacity = CAPACITY;
                self.behind = true;
                none.insert(ask(&self.subscribe, Subscribe::to_all(capacity)).await?)
            }
        };
        if self.behind {
            return self.read_page().await;
        }
        match live.recv().await {
            Some(news) => self.hear(news),
            // Too slow, and dropped: from here on out of the journal.
            None => self.live = None,
        }
        Ok(())
    }

    async fn read_page(&mut self) -> Result<(), Problem> {
        let filter = Arc::clone(&self.filter);
        let wanted = move |task: &_| filter.wants(task);
        let page = self.journal.committed_after(self.at, PAGE, wanted).await?;
        let Some(page) = page else {
            self.at = self.journal.head().await?;
            self.read_to = self.at;
            self.reset = true;
            return Ok(());
        };
        self.behind = page.more;
        self.read_to = page.upto;
        self.ready = page.events.into();
        Ok(())
    }

    fn hear(&mut self, news: Committed) {
        let first = news.upto.pos.saturating_sub(news.events.len() as u64);
        if news.upto.pos <= self.at.pos {
            return;
        }
        if first > self.at.pos {
            self.behind = true;
            return;
        }
        self.read_to = news.upto;
        if !self.filter.wants(&news.summary) {
            return;
        }
        let events = (first + 1..).zip(news.events.iter());
        let new = events.filter(|(pos, _)| *pos > self.at.pos);
        self.ready.extend(new.map(|(pos, event)| CommittedEvent {
            place: news.upto.at(pos),
            event: event.clone(),
            task: Arc::clone(&news.summary),
        }));
    }
}
