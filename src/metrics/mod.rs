//! What the server counts, and how it is told to Prometheus.
//!
//! Counters follow from committed events ([`Metrics::committed`]), from the journal's own work and from the feed; states are
//! looked up when somebody asks ([`Snapshot`]). Nothing here is global: the composition root makes one [`Metrics`] and
//! hands it on. Counters begin at 0 with every start, as Prometheus expects of them.

#[cfg(test)]
mod docker_tests;
mod labels;
pub mod names;
#[cfg(test)]
mod page;
mod process;
mod snapshot;
mod tally;
#[cfg(test)]
mod tests;

pub use process::{Process, bytes_of, disk_free};
pub use snapshot::{BREAKER_STATES, JournalState, ModelServer, Snapshot};

use crate::domain::event::StoredEvent;
use crate::domain::ids::CallId;
use crate::domain::task::TaskSummary;
use crate::domain::tool::EffectClass;
use labels::{Buckets, Counters, counter, histogram};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tally::Tally;

/// From a fast disk's sync to one that is stuck.
const COMMIT_BUCKETS: Buckets = Buckets(&[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
]);

/// The counters of one server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    tally: Tally,
    commits: Counters<1>,
    entries: Counter,
    commit_seconds: Histogram,
    lag_seconds: Histogram,
    feed_drops: Counter,
    subscribers: AtomicU64,
}

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// What an `Accept` header asks for; OpenMetrics only if it is named.
    pub fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Format::OpenMetrics,
            false => Format::Prometheus,
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        Metrics {
            tally: Tally::new(&mut registry),
            commits: Counters::new(&names::JOURNAL_COMMITS, &mut registry)
                .with_zeros(["ok", "failed"].map(|result| [result.into()])),
            entries: counter(&names::JOURNAL_ENTRIES, &mut registry),
            commit_seconds: histogram(
                &names::JOURNAL_COMMIT_SECONDS,
                COMMIT_BUCKETS,
                &mut registry,
            ),
            lag_seconds: histogram(&names::JOURNAL_LAG_SECONDS, COMMIT_BUCKETS, &mut registry),
            feed_drops: counter(&names::FEED_DROPS, &mut registry),
            subscribers: AtomicU64::new(0),
            registry,
        }
    }
}

impl Metrics {
    /// Calls of an earlier run of the server that have no outcome yet. To be told before anything is committed: an
    /// outcome of a call that is not known to be open counts as a late one.
    pub fn remember(&self, open: impl IntoIterator<Item = (CallId, EffectClass)>) {
        self.tally.remember(open);
    }

    /// Events of one task became durable; `summary` is the task after them.
    pub fn committed(&self, events: &[StoredEvent], summary: &TaskSummary) {
        self.tally.committed(events, summary);
    }

    /// A transaction with so many entries ended, after this long.
    pub fn transaction(&self, entries: usize, took: Duration, written: bool) {
        self.commit_seconds.observe(took.as_secs_f64());
        if written {
            self.commits.one(["ok".into()]);
            self.entries.inc_by(entries as u64);
        } else {
            self.commits.one(["failed".into()]);
        }
    }

    /// An entry was answered, so long after it came.
    pub fn lagged(&self, behind: Duration) {
        self.lag_seconds.observe(behind.as_secs_f64());
    }

    /// So many listen to the feed now.
    pub fn subscribers(&self, count: usize) {
        self.subscribers.store(count as u64, Ordering::Relaxed);
    }

    /// So many that listened did not keep up.
    pub fn feed_drops(&self, count: usize) {
        self.feed_drops.inc_by(count as u64);
    }

    /// Everything as text.
    pub fn render(&self, mut now: Snapshot, format: Format) -> String {
        now.subscribers = self.subscribers.load(Ordering::Relaxed);
        let states = now.registry(self.tally.open_calls());
        let mut text = String::with_capacity(32 * 1024);
        // Writing to a text cannot fail.
        let _ = text::encode_registry(&mut text, &states);
        let _ = text::encode(&mut text, &self.registry);
        match format {
            Format::OpenMetrics => text,
            Format::Prometheus => classic(&text),
        }
    }
}

/// OpenMetrics in the older words: there a counter is described under its whole name, and nothing marks the end.
fn classic(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF") {
        let described = ["# HELP ", "# TYPE "].iter().find_map(|word| {
            let (stem, rest) = line.strip_prefix(word)?.split_once(' ')?;
            let counter = names::find(&format!("{stem}_total"))?;
            Some((word, counter.name, rest))
        });
        // Writing to a text cannot fail.
        let _ = match described {
            Some((word, name, rest)) => writeln!(text, "{word}{name} {rest}"),
            None => writeln!(text, "{line}"),
        };
    }
    text
}
