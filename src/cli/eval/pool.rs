//! Runs many jobs: some threads, each with an actor system and a slot of its own.

use super::run::{Job, Record, run};
use super::slot::{ModelChoice, Slot};
use super::suite::Suite;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;

/// Records that may wait for the table.
const CAPACITY: usize = 64;

/// How far the threads are to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    No,
    /// Begin no further run.
    NoFurther,
    /// Leave also the run that is under way: a real model may take half an hour for it.
    Now,
}

/// What all threads share.
struct Shared {
    suite: Arc<Suite>,
    jobs: Mutex<VecDeque<Job>>,
    model: ModelChoice,
    /// New computers for every run, because the model may do anything to them.
    always_fresh: bool,
    dir: PathBuf,
    slots: AtomicUsize,
    stopping: watch::Receiver<Stopping>,
}

/// Jobs that are being run.
pub struct Pool {
    records: Receiver<Result<Record, String>>,
    stopping: watch::Sender<Stopping>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads. Their servers live in folders below `dir`.
    pub fn start(
        suite: Arc<Suite>,
        jobs: Vec<Job>,
        model: ModelChoice,
        dir: PathBuf,
        threads: usize,
    ) -> std::io::Result<Self> {
        let (stopping, told) = watch::channel(Stopping::No);
        let (sender, records) = channel(CAPACITY);
        let shared = Arc::new(Shared {
            suite,
            jobs: Mutex::new(jobs.into()),
            always_fresh: matches!(model, ModelChoice::Served { .. }),
            model,
            dir,
            slots: AtomicUsize::new(0),
            stopping: told,
        });
        let begin = |at: usize| {
            let (shared, sender) = (shared.clone(), sender.clone());
            std::thread::Builder::new()
                .name(format!("eval-{at}"))
                .spawn(move || actix::System::new().block_on(work(&shared, &sender)))
        };
        let threads = (0..threads).map(begin).collect::<Result<_, _>>()?;
        Ok(Pool {
            records,
            stopping,
            threads,
        })
    }

    /// The next run that has ended; none when all have.
    pub async fn next(&mut self) -> Option<Result<Record, String>> {
        self.records.recv().await
    }

    /// Begins no further run.
    pub fn stop(&self) {
        self.stopping.send_replace(Stopping::NoFurther);
    }

    /// Leaves what is being run, and waits until every thread has put its server away.
    pub async fn join(mut self) {
        self.stopping.send_replace(Stopping::Now);
        // Whoever still has something to say would wait for ever for a place.
        self.records.close();
        let threads = std::mem::take(&mut self.threads);
        let joined = tokio::task::spawn_blocking(|| {
            for thread in threads {
                // A thread that panicked has said so on standard error.
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }
}

async fn work(shared: &Shared, sender: &Sender<Result<Record, String>>) {
    let mut slot = None;
    while let Some(job) = shared.next() {
        let fresh = job.task.fresh || shared.always_fresh;
        let result = tokio::select! {
            result = one(shared, &job, &mut slot, fresh) => result,
            () = shared.is_left() => break,
        };
        // Nothing is known of a slot in which something went wrong, and the next task wants other computers.
        let spoilt = result
            .as_ref()
            .map_or(true, |r| r.ending == super::run::Ending::Unclear);
        if fresh || spoilt {
            close(&mut slot).await;
        }
        if sender.send(result).await.is_err() {
            break;
        }
    }
    close(&mut slot).await;
}

async fn one(
    shared: &Shared,
    job: &Job,
    slot: &mut Option<Slot>,
    fresh: bool,
) -> Result<Record, String> {
    if fresh {
        close(slot).await;
    }
    let slot = match slot {
        Some(slot) => slot,
        None => {
            let number = shared.slots.fetch_add(1, Ordering::Relaxed);
            let dir = shared.dir.join(format!("slot-{number}"));
            slot.insert(Slot::open(&shared.suite, dir, &shared.model).await?)
        }
    };
    run(&shared.suite, job, slot).await
}

async fn close(slot: &mut Option<Slot>) {
    if let Some(slot) = slot.take() {
        slot.close().await;
    }
}

impl Shared {
    fn next(&self) -> Option<Job> {
        if *self.stopping.borrow() != Stopping::No {
            return None;
        }
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.pop_front()
    }

    /// Ends when the run that is under way is to be left.
    async fn is_left(&self) {
        let mut stopping = self.stopping.clone();
        // Whoever cannot tell any more has left.
        let _ = stopping
            .wait_for(|stopping| *stopping == Stopping::Now)
            .await;
    }
}
