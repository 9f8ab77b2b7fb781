//! The body of the feed: one piece of text after the other, made when the client takes it.

use super::super::door::Shown;
use super::super::{Api, Stage};
use super::follower::{Follower, Told};
use super::samples::Open;
use super::seats::Seat;
use super::{Filter, frames};
use crate::actors::deltas::AnswerPiece;
use crate::domain::ids::{ClientId, TaskId};
use crate::store::Place;
use actix_web::web::Bytes;
use futures_util::Stream;
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::unfold;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often a comment is sent.
pub(super) const BEAT: Duration = Duration::from_secs(15);

/// How often computers and questions are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Pieces of answers that are told together.
const TOGETHER: usize = 256;

/// Tasks of which it is remembered whether the client sees them.
const REMEMBERED: usize = 1024;

/// One client's feed.
pub(super) struct Feeding {
    api: Api,
    filter: Filter,
    /// The follower on its way to its next event: no other news may cut its reading short.
    next: BoxFuture<'static, (Follower, Told)>,
    /// A cursor that the client does not have yet.
    untold: Option<Place>,
    pieces: Option<Receiver<Arc<AnswerPiece>>>,
    /// Whether the client sees a task's pieces.
    shown: HashMap<TaskId, bool>,
    look: Interval,
    beat: Interval,
    computers: Option<BTreeMap<ClientId, Arc<str>>>,
    open: Option<Open>,
    /// With what the client came in.
    shown_at_door: Shown,
    _seat: Seat,
}

fn on_its_way(mut follower: Follower) -> BoxFuture<'static, (Follower, Told)> {
    Box::pin(async move {
        let told = follower.next().await;
        (follower, told)
    })
}

fn every(period: Duration) -> Interval {
    let mut interval = interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

impl Feeding {
    pub(super) fn new(
        api: Api,
        filter: Filter,
        follower: Follower,
        tokens: bool,
        shown_at_door: Shown,
        seat: Seat,
    ) -> Self {
        Feeding {
            pieces: tokens.then(|| api.deltas.watch()),
            untold: Some(follower.at()),
            next: on_its_way(follower),
            shown: HashMap::new(),
            look: every(LOOK),
            // The first one is at once, and tells the cursor to begin with.
            beat: every(BEAT),
            computers: None,
            open: None,
            api,
            filter,
            shown_at_door,
            _seat: seat,
        }
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        unfold(self, |mut feeding| async move {
            let text = feeding.piece().await?;
            Some((Ok(Bytes::from(text)), feeding))
        })
    }

    /// The next text; none at the end.
    async fn piece(&mut self) -> Option<String> {
        loop {
            let text = tokio::select! {
                biased;
                () = self.api.stage.reaches(Stage::Stopping) => return None,
                // Before any event: the client has a cursor from the beginning.
                _ = self.beat.tick() => Some(frames::beat(self.untold.take())),
                (follower, told) = &mut self.next => {
                    self.next = on_its_way(follower);
                    self.told(told)?
                }
                piece = next_piece(&mut self.pieces) => self.answer(piece).await,
                _ = self.look.tick() => {
                    // A token that was revoked tells its bearer nothing more.
                    if !self.api.door.stands(&self.shown_at_door) {
                        return None;
                    }
                    self.looked().await
                }
            };
            if let Some(text) = text {
                return Some(text);
            }
        }
    }

    /// What it says to the client, if anything; none at the end.
    fn told(&mut self, told: Told) -> Option<Option<String>> {
        match told {
            Told::Over => None,
            Told::Passed(place) => {
                self.untold = Some(place);
                Some(None)
            }
            Told::Event(committed) => {
                self.untold = None;
                Some(Some(frames::event(&committed)))
            }
            Told::Reset(place) => {
                self.untold = None;
                Some(Some(frames::reset(place)))
            }
        }
    }

    /// A piece of an answer, with all others that are there; neighbours of one answer become one.
    async fn answer(&mut self, first: Arc<AnswerPiece>) -> Option<String> {
        let mut pieces = vec![AnswerPiece::clone(&first)];
        let mut more = 0;
        while let Some(Ok(piece)) = self.pieces.as_mut().map(Receiver::try_recv) {
            match pieces.last_mut().filter(|last| last.is_of(&piece)) {
                Some(last) => last.text.push_str(&piece.text),
                None => pieces.push(AnswerPiece::clone(&piece)),
            }
            more += 1;
            if more >= TOGETHER {
                break;
            }
        }
        let mut text = String::new();
        for piece in &pieces {
            if self.shows(&piece.task_id).await {
                text.push_str(&frames::tokens(piece));
            }
        }
        (!text.is_empty()).then_some(text)
    }

    async fn shows(&mut self, task_id: &TaskId) -> bool {
        if let Some(shown) = self.shown.get(task_id) {
            return *shown;
        }
        // What cannot be looked up is not shown, and looked up again.
        let Ok(task) = self.api.journal.task(task_id.clone()).await else {
            return false;
        };
        if self.shown.len() >= REMEMBERED {
            self.shown.clear();
        }
        let shown = self.filter.wants(&task);
        self.shown.insert(task_id.clone(), shown);
        shown
    }

    /// Computers and questions, if they changed.
    async fn looked(&mut self) -> Option<String> {
        let sample = self.api.samples.look(&self.api).await;
        let caller = &self.filter.caller;
        let is_first = self.computers.is_none();
        let told = self.computers.get_or_insert_default();
        let (changed, gone) = sample.changes(caller, told);
        let mut text = String::new();
        if is_first || !changed.is_empty() || !gone.is_empty() {
            text.push_str(&frames::computers(&changed, &gone));
        }
        let open = sample.open_for(caller);
        if self.open.replace(open) != Some(open) {
            text.push_str(&frames::questions(open));
        }
        (!text.is_empty()).then_some(text)
    }
}

/// The next piece of any answer; what was missed by lagging is gone.
async fn next_piece(pieces: &mut Option<Receiver<Arc<AnswerPiece>>>) -> Arc<AnswerPiece> {
    let Some(watched) = pieces else {
        return pending().await;
    };
    loop {
        match watched.recv().await {
            Ok(piece) => return piece,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return pending().await,
        }
    }
}
