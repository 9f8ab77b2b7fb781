use super::messages::*;
use super::*;
use crate::actors::feed::Feed;
use crate::actors::feed::messages::Subscribe;
use crate::domain::task::TaskStatus;
use crate::store::Append;
use crate::store::fixtures::{Author, completed, computer, created, noted, task};
use crate::store::sqlite;
use futures_util::future::join_all;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// What happens to a transaction in a test.
enum Fate {
    Commit,
    Fail,
    Panic,
}

/// A real store whose transactions each wait for their fate, and are counted.
struct Gated {
    inner: Box<dyn JournalStore>,
    fate: Mutex<Receiver<Fate>>,
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl JournalStore for Gated {
    fn write(&mut self, batch: &[Write]) -> Result<Vec<Written>, StoreError> {
        self.sizes.lock().unwrap().push(batch.len());
        // A test that ended lets everything through.
        let fate = self.fate.lock().unwrap().recv().unwrap_or(Fate::Commit);
        match fate {
            Fate::Commit => self.inner.write(batch),
            Fate::Panic => panic!("a bug in the store (part of a test)"),
            Fate::Fail => Err(StoreError::Storage {
                attempt: "write to the journal".into(),
                reason: "disk full".into(),
            }),
        }
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }
}

struct Bench {
    journal: Addr<Journal>,
    reader: JournalReader,
    feed: Addr<Feed>,
    fate: Sender<Fate>,
    sizes: Arc<Mutex<Vec<usize>>>,
    folder: tempfile::TempDir,
}

/// A journal that does not try again by itself while the test runs.
fn bench() -> Bench {
    bench_that_retries(Duration::from_secs(3600))
}

fn bench_that_retries(retry_after: Duration) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let open = sqlite::open(folder.path()).unwrap();
    let (fate, receiver) = channel();
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let gated = OpenStore {
        writer: Box::new(Gated {
            inner: open.writer,
            fate: Mutex::new(receiver),
            sizes: sizes.clone(),
        }),
        ..open
    };
    let feed = Feed::default().start();
    let (journal, reader) = Journal::start_with(
        gated,
        feed.clone().recipient(),
        Arc::default(),
        retry_after,
        Checkpoints::every(10),
        own_thread(),
    );
    Bench {
        journal,
        reader,
        feed,
        fate,
        sizes,
        folder,
    }
}

impl Bench {
    /// Waits until so many transactions have begun; the last one waits for its fate.
    async fn begun(&self, transactions: usize) {
        while self.sizes.lock().unwrap().len() < transactions {
            tokio::task::yield_now().await;
        }
    }
}

fn message(append: Append) -> AppendEvents {
    append.into()
}

fn create(name: &str) -> AppendEvents {
    message(Author::new(name).append(vec![created("dig")]))
}

#[actix::test]
async fn appends_that_come_while_a_transaction_runs_share_the_next_one() {
    let bench = bench();
    let first = bench.journal.send(create("FIRST"));
    bench.begun(1).await;
    let names: Vec<String> = (0..99).map(|index| format!("T{index}")).collect();
    let sends = names.iter().map(|name| bench.journal.send(create(name)));
    let sends: Vec<_> = std::iter::once(first).chain(sends).collect();
    bench.fate.send(Fate::Commit).unwrap();
    bench.fate.send(Fate::Commit).unwrap();
    for answer in join_all(sends).await {
        assert_eq!(answer.unwrap().unwrap().len(), 1);
    }
    assert_eq!(*bench.sizes.lock().unwrap(), [1, 99]);
    let health = bench.journal.send(ObserveJournal).await.unwrap();
    assert_eq!((health.transactions, health.entries), (2, 100));
}

#[actix::test]
async fn an_answer_comes_only_after_the_commit_and_before_it_nothing_can_be_read() {
    let bench = bench();
    let mut answer = Box::pin(bench.journal.send(create("A")));
    assert!(futures_util::poll!(&mut answer).is_pending());
    bench.begun(1).await;
    let nothing = bench.reader.task(task("A")).await;
    assert_eq!(nothing, Err(JournalError::NoTask(task("A"))));
    bench.fate.send(Fate::Commit).unwrap();
    answer.await.unwrap().unwrap();
    assert!(bench.reader.task(task("A")).await.is_ok());
}

#[actix::test]
async fn the_feed_is_told_of_each_committed_append_and_of_no_refused_one() {
    let bench = bench();
    drop(bench.fate);
    let mut ear = bench.feed.send(Subscribe::to_all(8)).await.unwrap();
    let mut author = Author::new("A");
    let first = message(author.append(vec![created("dig")]));
    let stale = first.clone();
    bench.journal.send(first).await.unwrap().unwrap();
    assert_eq!(
        bench.journal.send(stale).await.unwrap(),
        Err(JournalError::Sequence {
            expected: 0,
            found: 1
        })
    );
    let end = message(author.append(vec![noted("x"), completed("dug")]));
    bench.journal.send(end).await.unwrap().unwrap();
    assert_eq!(ear.recv().await.unwrap().events.len(), 1);
    let last = ear.recv().await.unwrap();
    assert_eq!(
        last.events.iter().map(|e| e.seq).collect::<Vec<_>>(),
        [2, 3]
    );
    assert_eq!(last.summary.status, TaskStatus::Completed);
}

#[actix::test]
async fn a_store_that_cannot_write_is_told_to_the_asker_shown_and_tried_again() {
    let bench = bench();
    bench.fate.send(Fate::Fail).unwrap();
    let error = bench.journal.send(create("A")).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("disk full"), "{error}");
    let health = bench.journal.send(ObserveJournal).await.unwrap();
    assert!(!health.writable);
    assert!(health.error.unwrap().contains("disk full"));

    bench.fate.send(Fate::Panic).unwrap();
    let error = bench.journal.send(create("A")).await.unwrap().unwrap_err();
    assert!(matches!(error, JournalError::Storage(_)), "{error}");

    bench.fate.send(Fate::Commit).unwrap();
    bench.journal.send(create("A")).await.unwrap().unwrap();
    assert!(bench.journal.send(ObserveJournal).await.unwrap().writable);
}

#[actix::test]
async fn a_degraded_journal_heals_although_nobody_writes() {
    let bench = bench_that_retries(Duration::from_millis(1));
    bench.fate.send(Fate::Fail).unwrap();
    bench.journal.send(create("A")).await.unwrap().unwrap_err();
    bench.fate.send(Fate::Fail).unwrap();
    bench.fate.send(Fate::Commit).unwrap();
    while !bench.journal.send(ObserveJournal).await.unwrap().writable {
        tokio::task::yield_now().await;
    }
    assert_eq!(*bench.sizes.lock().unwrap(), [1, 1, 1]);
}

#[actix::test]
async fn after_every_so_many_events_a_checkpoint_is_kept_that_is_what_the_events_come_to() {
    let bench = bench();
    drop(bench.fate);
    let mut author = Author::new("A");
    let first = message(author.append(vec![created("dig"), noted("1")]));
    bench.journal.send(first).await.unwrap().unwrap();
    // Its turn comes with the tenth event.
    let events = vec![noted("more"); 9];
    let more = message(author.append(events));
    bench.journal.send(more).await.unwrap().unwrap();
    while bench.journal.send(ObserveJournal).await.unwrap().entries < 3 {}
    let asked = LoadState { task_id: task("A") };
    let standing = bench.journal.send(asked).await.unwrap().unwrap();
    assert_eq!(&*standing.state, author.state());
    assert_eq!(standing.profile, crate::store::fixtures::PROFILE);
    let (counts, problems) = sqlite::transfer::check(bench.folder.path()).unwrap();
    assert_eq!((counts.checkpoints.all, problems), (1, vec![]));
    // An ended task needs none.
    let end = message(author.append(vec![completed("dug")]));
    bench.journal.send(end).await.unwrap().unwrap();
    bench.journal.send(Flush).await.unwrap().unwrap();
    let (counts, _) = sqlite::transfer::check(bench.folder.path()).unwrap();
    assert_eq!(counts.checkpoints.all, 0);
    let missing = LoadState { task_id: task("B") };
    let missing = bench.journal.send(missing).await.unwrap();
    assert_eq!(missing.unwrap_err(), JournalError::NoTask(task("B")));
}

#[actix::test]
async fn a_full_queue_refuses_instead_of_growing() {
    let bench = bench();
    let send = |index: usize| bench.journal.send(create(&format!("T{index}")));
    let mut sends = vec![send(0)];
    bench.begun(1).await;
    sends.extend((1..=QUEUE).map(send));
    bench.fate.send(Fate::Commit).unwrap();
    // All of them are queued by then, and a part is in the second transaction.
    bench.begun(2).await;
    let too_many = 44;
    sends.extend((QUEUE + 1..=QUEUE + BATCH + too_many).map(send));
    drop(bench.fate);
    let answers = join_all(sends).await;
    let refused = answers.iter().filter(|answer| {
        let answer = answer.as_ref().expect("the journal lives");
        assert!(matches!(answer, Ok(_) | Err(JournalError::Unavailable)));
        answer.is_err()
    });
    assert_eq!(refused.count(), too_many);
    assert!(
        bench
            .sizes
            .lock()
            .unwrap()
            .iter()
            .all(|size| *size <= BATCH)
    );
}

#[actix::test]
async fn a_flush_waits_for_everything_that_came_before_it() {
    let bench = bench();
    let append = tokio::spawn(bench.journal.send(create("A")));
    bench.begun(1).await;
    let mut flush = Box::pin(bench.journal.send(Flush));
    assert!(futures_util::poll!(&mut flush).is_pending());
    bench.fate.send(Fate::Commit).unwrap();
    flush.await.unwrap().unwrap();
    assert!(bench.reader.task(task("A")).await.is_ok());
    append.await.unwrap().unwrap().unwrap();
}

#[actix::test]
async fn a_closed_journal_wrote_what_was_queued_takes_nothing_more_and_can_be_opened_again() {
    let bench = bench();
    let first = bench.journal.send(create("A"));
    bench.begun(1).await;
    let others = ["B", "C"].map(|name| bench.journal.send(create(name)));
    let appends = tokio::spawn(join_all(std::iter::once(first).chain(others)));
    drop(bench.fate);
    bench.journal.send(CloseJournal).await.unwrap();
    assert!(
        appends
            .await
            .unwrap()
            .into_iter()
            .all(|answer| answer.unwrap().is_ok())
    );
    assert_eq!(
        bench.journal.send(create("D")).await.unwrap(),
        Err(JournalError::Unavailable)
    );
    assert_eq!(
        bench.reader.unfinished_tasks().await,
        Err(JournalError::Unavailable)
    );
    let again = sqlite::open(bench.folder.path()).unwrap();
    assert_eq!(again.reads.unfinished_tasks().unwrap().len(), 3);
}

#[actix::test]
async fn on_a_thread_that_others_share_it_answers_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite::open(folder.path()).unwrap();
    let (journal, reader) = Journal::start(store, Feed::default().start().recipient());
    let names: Vec<String> = (0..2 * BATCH).map(|index| format!("T{index}")).collect();
    let sends = names.iter().map(|name| journal.send(create(name)));
    for answer in join_all(sends.collect::<Vec<_>>()).await {
        assert_eq!(answer.unwrap().unwrap().len(), 1);
    }
    assert!(reader.task(task("T7")).await.is_ok());
    journal.send(CloseJournal).await.unwrap();
    assert_eq!(
        journal.send(Flush).await.unwrap(),
        Err(JournalError::Unavailable)
    );
}

#[actix::test]
async fn the_journal_answers_what_the_other_actors_ask_of_it() {
    let bench = bench();
    drop(bench.fate);
    let journal = &bench.journal;
    let mut author = Author::new("A");
    journal
        .send(message(author.append(vec![created("dig")])))
        .await
        .unwrap()
        .unwrap();
    let loaded = journal
        .send(LoadTask { task_id: task("A") })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(loaded.events.len(), 1);
    assert_eq!(loaded.profile, crate::store::fixtures::PROFILE);
    assert_eq!(
        journal.send(UnfinishedTasks).await.unwrap().unwrap(),
        [task("A")]
    );
    let missing = journal.send(LoadTask { task_id: task("B") }).await.unwrap();
    assert_eq!(missing.unwrap_err(), JournalError::NoTask(task("B")));

    let record = computer("turtle-1");
    journal
        .send(SaveComputer {
            record: record.clone(),
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        journal.send(KnownComputers).await.unwrap().unwrap()[0].record,
        record
    );

    journal
        .send(message(author.append(vec![completed("dug")])))
        .await
        .unwrap()
        .unwrap();
    let notices = UndeliveredNotices {
        client_id: record.client_id,
    };
    assert_eq!(
        journal.send(notices.clone()).await.unwrap().unwrap().len(),
        1
    );
    journal
        .send(NoticeDelivered { task_id: task("A") })
        .await
        .unwrap()
        .unwrap();
    assert!(journal.send(notices).await.unwrap().unwrap().is_empty());
}
