//! Cancelling a task for which no actor lives: it sleeps, or ended early and rests before its next start or was given up.

use super::messages::{CancelTask, NoSuchTask};
use super::{Past, Supervisor};
use crate::actors::computer::messages::TaskNotice;
use crate::actors::journal::messages::{AppendEvents, JournalError, LoadTask};
use crate::domain::event::TaskEvent;
use crate::domain::task::{TaskState, TaskSummary};
use crate::store::Append;
use actix::prelude::*;
use std::sync::Arc;

type Answer = ResponseActFuture<Supervisor, Result<bool, NoSuchTask>>;

impl Supervisor {
    /// Writes the cancellation down; the next start of the task only winds it down.
    pub(super) fn cancel_in_journal(
        &mut self,
        cancel: CancelTask,
        ctx: &mut Context<Self>,
    ) -> Answer {
        let task_id = cancel.task_id.clone();
        // Nobody answers for it later, so its calls are wound down by one more start.
        let given_up = !self.resting.contains(&task_id);
        let (load, journal) = (self.load.clone(), self.journal().clone());
        let clock = self.deps.clock;
        let written = async move { write_down(load, journal, clock, cancel).await };
        let address = ctx.address();
        Box::pin(
            written
                .into_actor(self)
                .map(move |written, supervisor, ctx| match written {
                    Ok(Written::Ended) => Ok(false),
                    Ok(Written::Cancelled { summary }) => {
                        supervisor.never_wakes(&task_id);
                        supervisor.end_children_of(&task_id, ctx);
                        let open_calls = summary.open_calls > 0;
                        supervisor.tell_computer(summary);
                        if given_up && open_calls {
                            supervisor.restart(task_id, Past::default(), ctx);
                        }
                        Ok(true)
                    }
                    // It was started meanwhile, and its actor takes the cancellation.
                    Ok(Written::Elsewhere(cancel)) => {
                        address.do_send(cancel);
                        Ok(true)
                    }
                    Err(error) => Err(error),
                }),
        )
    }
}

impl Supervisor {
    /// As its actor would.
    fn tell_computer(&self, summary: Arc<TaskSummary>) {
        let home = summary.client_id.as_ref();
        if let Some(lane) = home.and_then(|id| self.deps.router.lane(id)) {
            lane.notice.do_send(TaskNotice { summary });
        }
    }
}

enum Written {
    Ended,
    Cancelled { summary: Arc<TaskSummary> },
    Elsewhere(CancelTask),
}

async fn write_down(
    load: Recipient<LoadTask>,
    journal: Recipient<AppendEvents>,
    clock: fn() -> i64,
    cancel: CancelTask,
) -> Result<Written, NoSuchTask> {
    let task_id = cancel.task_id.clone();
    let loaded = load
        .send(LoadTask {
            task_id: task_id.clone(),
        })
        .await;
    let Ok(Ok(loaded)) = loaded else {
        return Err(NoSuchTask(task_id));
    };
    let mut state = TaskState::new(task_id);
    state.apply_all(&loaded.events);
    if state.status.is_final() {
        return Ok(Written::Ended);
    }
    let cancelled = TaskEvent::TaskCancelled {
        reason: cancel.reason.clone(),
        by: cancel.by.clone(),
    };
    let generation = state.generation;
    let append = Append::behind(&mut state, generation, clock(), vec![cancelled]);
    let stored = journal.send(append.into()).await;
    match stored {
        Ok(Ok(_)) => Ok(Written::Cancelled {
            summary: state.summary().into(),
        }),
        Ok(Err(JournalError::Sequence { .. } | JournalError::Fenced { .. })) => {
            Ok(Written::Elsewhere(cancel))
        }
        _ => Ok(Written::Ended),
    }
}
