//! When checkpoints are made: after every so many events of a task, one at a time, beside everything else. The task itself knows
//! nothing of it: its state is folded from what is durable, from the former checkpoint on.

use super::batch::{Pending, To};
use super::{Journal, QUEUE};
use crate::actors::feed::messages::Committed;
use crate::domain::ids::TaskId;
use crate::store::Write;
use crate::store::checkpoint::Checkpoint;
use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use std::collections::BTreeSet;

/// Tasks that wait for their checkpoint; of more none is made before their next turn.
const MOST_WAITING: usize = 1024;

pub(super) struct Checkpoints {
    /// Events between two of one task; 0 = none is ever made.
    every: u64,
    waiting: BTreeSet<TaskId>,
    /// One is being made.
    busy: bool,
}

impl Checkpoints {
    pub(super) fn every(events: u64) -> Self {
        Checkpoints {
            every: events,
            waiting: BTreeSet::new(),
            busy: false,
        }
    }

    /// Events of a task were committed: it may be its turn.
    pub(super) fn note(&mut self, committed: &Committed) {
        let (Some(first), Some(last)) = (committed.events.first(), committed.events.last()) else {
            return;
        };
        let turns = |seq: u64| seq.checked_div(self.every).unwrap_or(0);
        let goes_on = !committed.summary.status.is_final() && committed.summary.asleep.is_none();
        let due = turns(last.seq) > turns(first.seq.saturating_sub(1));
        if due && goes_on && self.waiting.len() < MOST_WAITING {
            self.waiting.insert(last.task_id.clone());
        }
    }
}

impl Journal {
    /// Makes the next checkpoint, if a task waits for one. One that cannot be made now is made at the task's next turn.
    pub(super) fn next_checkpoint(&mut self, ctx: &mut Context<Self>) {
        if self.checkpoints.busy || self.closing {
            return;
        }
        let Some(task_id) = self.checkpoints.waiting.pop_first() else {
            return;
        };
        self.checkpoints.busy = true;
        let reader = self.reader.clone();
        let made = async move {
            let standing = reader.standing(task_id).await.ok()?;
            let packed = tokio::task::spawn_blocking(move || Checkpoint::of(&standing.state));
            packed.await.ok()?.ok()
        };
        ctx.spawn(made.into_actor(self).map(|made, journal, ctx| {
            journal.checkpoints.busy = false;
            if let Some(checkpoint) = made
                && !journal.closing
                && journal.queue.len() < QUEUE
            {
                let entry = Write::Checkpoint(Box::new(checkpoint));
                journal.queue.push_back(Pending::new(entry, To::Nobody));
                journal.write_soon(ctx);
            }
            journal.next_checkpoint(ctx);
        }));
    }
}
