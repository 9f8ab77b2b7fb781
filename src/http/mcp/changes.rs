//! Looking out for tools and resources that come, change or go.
//!
//! Once a second everything is compared with how it was, so a fleet that comes back all at once is one notice. Nothing
//! is looked at while nobody listens.

use crate::domain::ids::{ClientId, TaskId};
use crate::domain::toolbox::Toolbox;
use crate::http::Api;
use crate::store::TaskQuery;
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// How often it is looked, and so the shortest time between two notices.
const EVERY: Duration = Duration::from_secs(1);

/// How many tasks the list of resources names.
pub(super) const TASKS: usize = 20;

/// How often each list has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) tools: u64,
    pub(super) resources: u64,
}

/// What the lists are made of.
#[derive(PartialEq)]
struct Seen {
    computers: Vec<(ClientId, bool, Toolbox)>,
    tasks: Vec<TaskId>,
}

/// Counts changes for whoever listens.
pub(super) struct Changes {
    api: Api,
    counts: watch::Sender<Counts>,
    /// None while nobody listens.
    seen: Mutex<Option<Seen>>,
}

impl Changes {
    pub(super) fn new(api: Api) -> Self {
        Changes {
            api,
            counts: watch::Sender::default(),
            seen: Mutex::default(),
        }
    }

    /// Hears of every change from now on.
    pub(super) async fn listen(&self) -> watch::Receiver<Counts> {
        let mut seen = self.seen.lock().await;
        let listener = self.counts.subscribe();
        if seen.is_none() {
            *seen = Some(self.look().await);
        }
        listener
    }

    /// Looks, for ever.
    pub(super) async fn watch(&self) {
        loop {
            tokio::time::sleep(EVERY).await;
            let mut seen = self.seen.lock().await;
            if self.counts.receiver_count() == 0 {
                *seen = None;
                continue;
            }
            let now = self.look().await;
            if let Some(before) = seen.replace(now)
                && let Some(now) = &*seen
            {
                self.count(&before, now);
            }
        }
    }

    fn count(&self, before: &Seen, now: &Seen) {
        let ids = |seen: &Seen| -> Vec<ClientId> {
            let computers = seen.computers.iter();
            computers.map(|(id, _, _)| id.clone()).collect()
        };
        let tools = before.computers != now.computers;
        let resources = before.tasks != now.tasks || ids(before) != ids(now);
        if tools || resources {
            self.counts.send_modify(|counts| {
                counts.tools += u64::from(tools);
                counts.resources += u64::from(resources);
            });
        }
    }

    async fn look(&self) -> Seen {
        let cells = self.api.router.index().computers();
        let computers = cells
            .iter()
            .map(|cell| (cell.client_id().clone(), cell.is_online(), cell.tools()));
        let computers = computers.collect();
        let query = TaskQuery {
            limit: TASKS,
            ..TaskQuery::default()
        };
        // A journal that cannot be read has no news.
        let page = self.api.journal.tasks(query).await;
        let tasks = page.map(|page| page.tasks).unwrap_or_default();
        let tasks = tasks.into_iter().map(|task| task.task_id).collect();
        Seen { computers, tasks }
    }
}
