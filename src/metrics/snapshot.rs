//! What is looked up when somebody asks, because it is a state and no history.

use super::labels::{Labels, Value, labels};
use super::names::{self, Name};
use super::process::Process;
use crate::domain::task::TaskStatus;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// How the server is now. What could not be learned is `None` and is not told.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub uptime: Duration,
    pub ready: bool,
    /// Tasks that have not ended, by status.
    pub tasks: Option<Vec<(TaskStatus, u64)>>,
    /// Every state of computers, with how many are in it.
    pub computers: Vec<(&'static str, u64)>,
    /// Computers that are connected, by kind.
    pub online: Vec<(&'static str, u64)>,
    /// Calls that wait or run, of each computer.
    pub lanes: Vec<usize>,
    pub models: Option<Vec<ModelServer>>,
    pub journal: Option<JournalState>,
    /// Bytes of the journal's files.
    pub journal_bytes: Option<u64>,
    /// Bytes.
    pub disk_free: Option<u64>,
    pub subscribers: u64,
    /// Counters that others keep.
    pub counts: Vec<(&'static Name, u64)>,
    pub process: Option<Process>,
}

/// A model server.
#[derive(Debug, Clone)]
pub struct ModelServer {
    pub name: String,
    pub waiting: usize,
    pub running: usize,
    /// One of [`BREAKER_STATES`].
    pub breaker: &'static str,
}

/// What a circuit breaker can be.
pub const BREAKER_STATES: [&str; 3] = ["closed", "open", "half_open"];

/// The journal.
#[derive(Debug, Clone, Copy)]
pub struct JournalState {
    pub queued: usize,
    pub writable: bool,
}

/// Registers what a snapshot tells.
struct Sheet(Registry);

impl Sheet {
    fn gauge(&mut self, of: &Name, value: f64) {
        self.0
            .register(of.stem(), of.help(), ConstGauge::<f64>::new(value));
    }

    fn count(&mut self, of: &Name, value: u64) {
        self.0
            .register(of.stem(), of.help(), ConstCounter::<u64>::new(value));
    }

    fn gauges<const N: usize>(
        &mut self,
        of: &Name,
        rows: impl IntoIterator<Item = ([Value; N], u64)>,
    ) {
        let family: Family<Labels<N>, Gauge<f64, AtomicU64>> = Family::default();
        for (values, value) in rows {
            family.get_or_create(&labels(of, values)).set(value as f64);
        }
        self.0.register(of.stem(), of.help(), family);
    }
}

impl Snapshot {
    /// All of it, to be written down once.
    pub(super) fn registry(&self, open_calls: usize) -> Registry {
        let mut sheet = Sheet(Registry::default());
        let version = env!("CARGO_PKG_VERSION");
        sheet.gauges(&names::BUILD_INFO, [([version.into()], 1)]);
        sheet.gauge(&names::UPTIME, self.uptime.as_secs_f64());
        sheet.gauge(&names::READY, f64::from(self.ready));
        sheet.gauge(&names::CALLS_OPEN, open_calls as f64);
        self.tasks(&mut sheet);
        self.models(&mut sheet);
        self.fleet(&mut sheet);
        self.journal(&mut sheet);
        self.process(&mut sheet);
        sheet.0
    }

    fn tasks(&self, sheet: &mut Sheet) {
        let Some(tasks) = &self.tasks else { return };
        let count = |status: TaskStatus| {
            let of_it = tasks.iter().filter(|(known, _)| *known == status);
            of_it.map(|(_, count)| count).sum::<u64>()
        };
        let rows = TaskStatus::OPEN.map(|status| ([status.as_str().into()], count(status)));
        sheet.gauges(&names::TASKS, rows);
        // A task asks one question at a time.
        let open = count(TaskStatus::WaitingForUser);
        sheet.gauge(&names::QUESTIONS_OPEN, open as f64);
    }

    fn models(&self, sheet: &mut Sheet) {
        let Some(servers) = &self.models else { return };
        let name = |server: &ModelServer| Value::Owned(server.name.clone());
        let rows = |of: fn(&ModelServer) -> usize| {
            let rows = servers.iter();
            rows.map(move |server| ([name(server)], of(server) as u64))
        };
        sheet.gauges(&names::MODEL_WAITING, rows(|server| server.waiting));
        sheet.gauges(&names::MODEL_RUNNING, rows(|server| server.running));
        let breakers = servers.iter().flat_map(|server| {
            let row = move |state: &'static str| {
                let labels = [name(server), state.into()];
                (labels, u64::from(server.breaker == state))
            };
            BREAKER_STATES.map(row)
        });
        sheet.gauges(&names::MODEL_BREAKER, breakers);
    }

    fn fleet(&self, sheet: &mut Sheet) {
        let rows = |of: &[(&'static str, u64)]| {
            let rows = of
                .iter()
                .map(|(word, count)| ([Value::from(*word)], *count));
            rows.collect::<Vec<_>>()
        };
        sheet.gauges(&names::COMPUTERS, rows(&self.computers));
        sheet.gauges(&names::COMPUTERS_ONLINE, rows(&self.online));
        let calls: usize = self.lanes.iter().sum();
        sheet.gauge(&names::LANE_CALLS, calls as f64);
        let most = self.lanes.iter().max().copied().unwrap_or_default();
        sheet.gauge(&names::LANE_CALLS_MAX, most as f64);
        for (name, count) in &self.counts {
            sheet.count(name, *count);
        }
        sheet.gauge(&names::FEED_SUBSCRIBERS, self.subscribers as f64);
    }

    fn journal(&self, sheet: &mut Sheet) {
        if let Some(journal) = self.journal {
            sheet.gauge(&names::JOURNAL_QUEUE, journal.queued as f64);
            sheet.gauge(&names::JOURNAL_WRITABLE, f64::from(journal.writable));
        }
        if let Some(bytes) = self.journal_bytes {
            sheet.gauge(&names::JOURNAL_BYTES, bytes as f64);
        }
        if let Some(free) = self.disk_free {
            sheet.gauge(&names::DISK_FREE, free as f64);
        }
    }

    fn process(&self, sheet: &mut Sheet) {
        let Some(process) = self.process else { return };
        sheet.gauge(&names::PROCESS_MEMORY, process.resident_bytes as f64);
        let cpu = ConstCounter::<f64>::new(process.cpu_seconds);
        let of = &names::PROCESS_CPU;
        sheet.0.register(of.stem(), of.help(), cpu);
        sheet.gauge(&names::PROCESS_FDS, process.open_fds as f64);
        if let Some(most) = process.max_fds {
            sheet.gauge(&names::PROCESS_MAX_FDS, most as f64);
        }
        sheet.gauge(&names::PROCESS_START, process.started_s);
    }
}
