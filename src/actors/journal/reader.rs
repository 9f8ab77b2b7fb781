//! Reading beside the writer: a handle that clones cheaply and never waits for a transaction.

use super::batch::refused;
use super::messages::{JournalError, LoadedTask, StandingTask};
use crate::domain::credential::TokenRecord;
use crate::domain::ids::{BlobHash, CallId, ClientId, TaskId};
use crate::domain::task::{TaskStatus, TaskSummary};
use crate::domain::tool::EffectClass;
use crate::domain::wakes::Asleep;
use crate::store::{
    CommittedPage, Epoch, EventPage, Identity, JournalReads, Journalled, KnownComputer, Lane,
    Place, StoreError, TaskPage, TaskQuery,
};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// How many undelivered notices are read at once.
const NOTICES: usize = 100;

/// Reads the journal on a thread for blocking work. One read at a time; each is short.
#[derive(Clone)]
pub struct JournalReader {
    /// None after [`JournalReader::close`]. Reads wait for it before they have a thread: with a thread for each that waits the
    /// pool kept some sixty for good, which took their turns at the journal's commits, too, and each holds memory of its own.
    reads: Arc<Mutex<Option<Box<dyn JournalReads>>>>,
    identity: Identity,
    epoch: Epoch,
}

impl JournalReader {
    pub(super) fn new(reads: Box<dyn JournalReads>, identity: Identity) -> Self {
        JournalReader {
            reads: Arc::new(Mutex::new(Some(reads))),
            epoch: Epoch::from(identity.journal_epoch),
            identity,
        }
    }

    /// Who this journal is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The journal's epoch as it is now; that of [`JournalReader::identity`] is the one of the start.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// Which computers are stopped, as it was kept last.
    pub async fn stops(&self) -> Result<Option<String>, JournalError> {
        self.read(|reads| reads.stops()).await
    }

    /// How long servers have run on this journal, as it was kept last, in milliseconds.
    pub async fn up_ms(&self) -> Result<i64, JournalError> {
        self.read(|reads| reads.up_ms()).await
    }

    /// Where the order of all commits ends.
    pub async fn head(&self) -> Result<Place, JournalError> {
        self.read(|reads| reads.head()).await
    }

    /// As [`JournalReads::committed_after`].
    pub async fn committed_after(
        &self,
        after: Place,
        limit: usize,
        wanted: impl Fn(&TaskSummary) -> bool + Send + 'static,
    ) -> Result<Option<CommittedPage>, JournalError> {
        self.read(move |reads| reads.committed_after(after, limit, &wanted))
            .await
    }

    /// Lets go of the file; later reads answer `Unavailable`.
    pub(super) async fn close(&self) {
        *self.reads.lock().await = None;
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn JournalReads) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let reads = self.reads.clone();
        // In a task of its own, which ends with whoever waits for it: a turn that came to a future which nobody polls just then would
        // keep all others waiting, and for ever where its owner waits for one of them.
        let mut turn = JoinSet::new();
        turn.spawn(async move {
            let reads = reads.lock_owned().await;
            // Reading changes nothing, so a read that panics leaves nothing half done.
            let work = tokio::task::spawn_blocking(move || match reads.as_deref() {
                Some(reads) => read(reads).map_err(|error| refused(&error)),
                None => Err(JournalError::Unavailable),
            });
            work.await
        });
        match turn.join_next().await {
            Some(Ok(Ok(read))) => read,
            _ => Err(JournalError::Unavailable),
        }
    }

    /// A task's journal from the beginning.
    pub async fn load_task(&self, task_id: TaskId) -> Result<LoadedTask, JournalError> {
        let id = task_id.clone();
        let journalled = self.read(move |reads| reads.load_task(&id)).await?;
        loaded(journalled, task_id)
    }

    /// As much of a task's journal as it takes to go on.
    pub async fn load_last_episode(&self, task_id: TaskId) -> Result<LoadedTask, JournalError> {
        let id = task_id.clone();
        let journalled = self.read(move |reads| reads.load_last_episode(&id)).await?;
        loaded(journalled, task_id)
    }

    /// Where a task stands, by its newest checkpoint and the events since.
    pub async fn standing(&self, task_id: TaskId) -> Result<StandingTask, JournalError> {
        let id = task_id.clone();
        let standing = self.read(move |reads| reads.standing(&id)).await?;
        let standing = standing.ok_or(JournalError::NoTask(task_id))?;
        Ok(StandingTask {
            state: standing.state,
            profile: standing.profile.unwrap_or_default(),
        })
    }

    /// As [`super::messages::UnfinishedTasks`].
    pub async fn unfinished_tasks(&self) -> Result<Vec<TaskId>, JournalError> {
        self.read(|reads| reads.unfinished_tasks()).await
    }

    /// As [`super::messages::SleepingTasks`].
    pub async fn sleeping_tasks(&self) -> Result<Vec<(TaskId, Asleep)>, JournalError> {
        self.read(|reads| reads.sleeping_tasks()).await
    }

    /// How many tasks have not ended, by status.
    pub async fn open_tasks(&self) -> Result<Vec<(TaskStatus, u64)>, JournalError> {
        self.read(|reads| reads.open_tasks()).await
    }

    /// Calls that were intended and have no outcome yet.
    pub async fn open_calls(&self) -> Result<Vec<(CallId, EffectClass)>, JournalError> {
        self.read(|reads| reads.open_calls()).await
    }

    pub async fn task(&self, task_id: TaskId) -> Result<TaskSummary, JournalError> {
        let id = task_id.clone();
        let task = self.read(move |reads| reads.task(&id)).await?;
        task.ok_or(JournalError::NoTask(task_id))
    }

    /// Tasks, newest first.
    pub async fn tasks(&self, query: TaskQuery) -> Result<TaskPage, JournalError> {
        self.read(move |reads| reads.tasks(&query)).await
    }

    /// Up to `limit` events with positions greater than `after`.
    pub async fn events(
        &self,
        task_id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<EventPage, JournalError> {
        let id = task_id.clone();
        let page = self.read(move |reads| reads.events(&id, after, limit));
        page.await?.ok_or(JournalError::NoTask(task_id))
    }

    pub async fn blob(&self, hash: BlobHash) -> Result<Option<String>, JournalError> {
        self.read(move |reads| reads.blob(&hash)).await
    }

    /// Every computer that was ever saved, by name.
    pub async fn computers(&self) -> Result<Vec<KnownComputer>, JournalError> {
        self.read(|reads| reads.computers()).await
    }

    /// Every token that is kept.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, JournalError> {
        self.read(|reads| reads.tokens()).await
    }

    pub async fn lane(&self, client_id: ClientId) -> Result<Lane, JournalError> {
        self.read(move |reads| reads.lane(&client_id)).await
    }

    /// Whether a call's result is stored, so that its computer may forget the receipt.
    pub async fn has_result(&self, call_id: CallId) -> Result<bool, JournalError> {
        self.read(move |reads| reads.has_result(&call_id)).await
    }

    /// As [`super::messages::UndeliveredNotices`].
    pub async fn undelivered_notices(
        &self,
        client_id: ClientId,
    ) -> Result<Vec<TaskSummary>, JournalError> {
        self.read(move |reads| reads.undelivered_notices(&client_id, NOTICES))
            .await
    }
}

fn loaded(journalled: Option<Journalled>, task_id: TaskId) -> Result<LoadedTask, JournalError> {
    let journalled = journalled.ok_or(JournalError::NoTask(task_id))?;
    Ok(LoadedTask {
        events: journalled.events,
        profile: journalled.profile.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::sync::oneshot;

    /// A read that waits for its gate, and when it has begun.
    fn held(
        reader: &JournalReader,
    ) -> (
        impl Future<Output = Result<u8, JournalError>>,
        oneshot::Receiver<()>,
        mpsc::Sender<()>,
    ) {
        let (begins, has_begun) = oneshot::channel();
        let (go_on, gate) = mpsc::channel();
        let long = reader.read(move |_| {
            let _ = begins.send(());
            let _ = gate.recv();
            Ok(1)
        });
        (long, has_begun, go_on)
    }

    #[test]
    fn a_read_that_waits_for_its_turn_takes_no_thread_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = sqlite::open(folder.path()).unwrap();
        let reader = JournalReader::new(store.reads, store.identity);
        let mut two_threads = tokio::runtime::Builder::new_current_thread();
        two_threads.enable_time().max_blocking_threads(2);
        two_threads.build().unwrap().block_on(async {
            let (long, has_begun, go_on) = held(&reader);
            let waits = reader.read(|_| Ok(2));
            let other = async {
                has_begun.await.unwrap();
                let work = tokio::task::spawn_blocking(|| 3);
                let done = tokio::time::timeout(Duration::from_secs(10), work).await;
                let _ = go_on.send(());
                done.expect("a thread is free").unwrap()
            };
            let (long, waits, other) = tokio::join!(long, waits, other);
            assert_eq!((long.ok(), waits.ok(), other), (Some(1), Some(2), 3));
        });
    }

    #[actix::test]
    async fn a_read_that_nobody_asks_about_any_more_keeps_no_other_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let store = sqlite::open(folder.path()).unwrap();
        let reader = JournalReader::new(store.reads, store.identity);
        let (long, has_begun, go_on) = held(&reader);
        // Somebody who does something else before looking again, as a feed does while it tells of an answer.
        let mut left = Box::pin(reader.read(|_| Ok(2)));
        let other = async {
            has_begun.await.unwrap();
            assert!(futures_util::poll!(&mut left).is_pending());
            tokio::task::yield_now().await;
            go_on.send(()).unwrap();
            tokio::time::timeout(Duration::from_secs(10), reader.read(|_| Ok(3))).await
        };
        let (long, other) = tokio::join!(long, other);
        assert_eq!(long.ok(), Some(1));
        assert_eq!(other.expect("its turn comes").ok(), Some(3));
        assert_eq!(left.await.ok(), Some(2));
    }
}
