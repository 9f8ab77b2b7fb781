//! What others ask of the journal: what is to be written goes into its queue, what is to be read is read beside it.

use super::Journal;
use super::batch::{Queued, To};
use super::messages::*;
use crate::domain::event::StoredEvent;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskSummary;
use crate::domain::wakes::Asleep;
use crate::store::{KnownComputer, Write};
use actix::{AsyncContext, Handler, Message, MessageResult, ResponseFuture};
use std::sync::Arc;

impl Handler<AppendEvents> for Journal {
    type Result = Queued<Arc<Vec<StoredEvent>>>;

    fn handle(&mut self, message: AppendEvents, ctx: &mut Self::Context) -> Self::Result {
        self.enqueue(Write::Append(message.0), To::Events, ctx)
    }
}

impl Handler<SaveComputer> for Journal {
    type Result = Queued<()>;

    fn handle(&mut self, message: SaveComputer, ctx: &mut Self::Context) -> Self::Result {
        self.enqueue(Write::SaveComputer(message.record), To::Done, ctx)
    }
}

impl Handler<KeepSystem> for Journal {
    type Result = Queued<()>;

    fn handle(&mut self, message: KeepSystem, ctx: &mut Self::Context) -> Self::Result {
        self.enqueue(Write::System(message.change), To::Done, ctx)
    }
}

impl Handler<NoticeDelivered> for Journal {
    type Result = Queued<()>;

    fn handle(&mut self, message: NoticeDelivered, ctx: &mut Self::Context) -> Self::Result {
        self.enqueue(Write::NoticeDelivered(message.task_id), To::Done, ctx)
    }
}

impl Handler<Quarantine> for Journal {
    type Result = Queued<()>;

    fn handle(&mut self, message: Quarantine, ctx: &mut Self::Context) -> Self::Result {
        let Quarantine { task_id, reason } = message;
        self.enqueue(Write::Quarantine { task_id, reason }, To::Done, ctx)
    }
}

impl Handler<Flush> for Journal {
    type Result = ResponseFuture<Result<(), JournalError>>;

    fn handle(&mut self, _: Flush, ctx: &mut Self::Context) -> Self::Result {
        let idle = self.when_idle(ctx);
        Box::pin(async move { idle.await.map_err(|_| JournalError::Unavailable) })
    }
}

impl Handler<CloseJournal> for Journal {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: CloseJournal, ctx: &mut Self::Context) -> Self::Result {
        self.closing = true;
        let idle = self.when_idle(ctx);
        let (reader, journal) = (self.reader.clone(), ctx.address());
        Box::pin(async move {
            // Closed without an answer means that nothing is left to wait for.
            let _ = idle.await;
            reader.close().await;
            let _ = journal.send(LetGo).await;
        })
    }
}

/// To itself: everything is written, drop the store.
#[derive(Message)]
#[rtype(result = "()")]
struct LetGo;

impl Handler<LetGo> for Journal {
    type Result = ();

    fn handle(&mut self, _: LetGo, _: &mut Self::Context) {
        self.store = None;
    }
}

impl Handler<ObserveJournal> for Journal {
    type Result = MessageResult<ObserveJournal>;

    fn handle(&mut self, _: ObserveJournal, _: &mut Self::Context) -> Self::Result {
        MessageResult(JournalHealth {
            writable: self.error.is_none() && !self.closing,
            error: self.error.clone(),
            queued: self.queue.len(),
            transactions: self.transactions,
            entries: self.entries,
        })
    }
}

impl Handler<LoadTask> for Journal {
    type Result = ResponseFuture<Result<LoadedTask, JournalError>>;

    fn handle(&mut self, message: LoadTask, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.load_last_episode(message.task_id).await })
    }
}

impl Handler<LoadState> for Journal {
    type Result = ResponseFuture<Result<StandingTask, JournalError>>;

    fn handle(&mut self, message: LoadState, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.standing(message.task_id).await })
    }
}

impl Handler<UnfinishedTasks> for Journal {
    type Result = ResponseFuture<Result<Vec<TaskId>, JournalError>>;

    fn handle(&mut self, _: UnfinishedTasks, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.unfinished_tasks().await })
    }
}

impl Handler<UptimeSoFar> for Journal {
    type Result = ResponseFuture<Result<i64, JournalError>>;

    fn handle(&mut self, _: UptimeSoFar, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.up_ms().await })
    }
}

impl Handler<KeepUptime> for Journal {
    type Result = Queued<()>;

    fn handle(&mut self, message: KeepUptime, ctx: &mut Self::Context) -> Self::Result {
        self.enqueue(Write::Uptime(message.up_ms), To::Done, ctx)
    }
}

impl Handler<ArchiveEpisodes> for Journal {
    type Result = Queued<()>;

    fn handle(&mut self, message: ArchiveEpisodes, ctx: &mut Self::Context) -> Self::Result {
        let entry = Write::Archive {
            task_id: message.task_id,
            rule: message.rule,
            now_ms: message.now_ms,
        };
        self.enqueue(entry, To::Done, ctx)
    }
}

impl Handler<SleepingTasks> for Journal {
    type Result = ResponseFuture<Result<Vec<(TaskId, Asleep)>, JournalError>>;

    fn handle(&mut self, _: SleepingTasks, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.sleeping_tasks().await })
    }
}

impl Handler<KnownComputers> for Journal {
    type Result = ResponseFuture<Result<Vec<KnownComputer>, JournalError>>;

    fn handle(&mut self, _: KnownComputers, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.computers().await })
    }
}

impl Handler<UndeliveredNotices> for Journal {
    type Result = ResponseFuture<Result<Vec<TaskSummary>, JournalError>>;

    fn handle(&mut self, message: UndeliveredNotices, _: &mut Self::Context) -> Self::Result {
        let reader = self.reader.clone();
        Box::pin(async move { reader.undelivered_notices(message.client_id).await })
    }
}
