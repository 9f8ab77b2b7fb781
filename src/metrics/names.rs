//! Every metric that `/metrics` tells, by name. `docs/metrics.md` is made from this list.
//!
//! Labels take few values: classes, states and codes of ours, roles, and names of models and kinds, of which a bounded
//! number is told apart. Ids of tasks, calls and computers and names of tools are never labels: they grow without bound,
//! and computers choose them.

/// What a metric counts like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// It only grows, from 0 at the start of the server.
    Counter,
    /// How it is now.
    Gauge,
    /// How often which sizes came, with their sum.
    Histogram,
}

impl MetricType {
    /// The word of both text formats.
    pub fn as_str(self) -> &'static str {
        match self {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    /// As it is queried; counters end in `_total`.
    pub name: &'static str,
    pub kind: MetricType,
    pub labels: &'static [&'static str],
    help: &'static [&'static str],
}

impl Name {
    /// What it tells, in one line without a full stop at its end.
    pub fn help(&self) -> String {
        let lines: Vec<&str> = self.help.iter().map(|line| line.trim()).collect();
        lines.join(" ").trim_end_matches('.').to_owned()
    }

    /// The name without the ending that the encoder adds to counters.
    pub(super) fn stem(&self) -> &'static str {
        self.name.strip_suffix("_total").unwrap_or(self.name)
    }
}

/// The metric of this name.
pub fn find(name: &str) -> Option<&'static Name> {
    ALL.iter().copied().find(|known| known.name == name)
}

macro_rules! metrics {
    ($($(#[doc = $help:literal])+ $konst:ident: $kind:ident $name:literal [$($label:literal),*];)+) => {
        $($(#[doc = $help])+ pub const $konst: Name = Name {
            name: $name,
            kind: MetricType::$kind,
            labels: &[$($label),*],
            help: &[$($help),+],
        };)+

        /// All of them, in the order in which they are told.
        pub const ALL: &[&Name] = &[$(&$konst),+];
    };
}

metrics! {
    /// Always 1; the version of the program is a label.
    BUILD_INFO: Gauge "ccfleet_build_info" ["version"];
    /// Seconds since the server started.
    UPTIME: Gauge "ccfleet_uptime_seconds" [];
    /// 1 while new work is taken, else 0.
    READY: Gauge "ccfleet_ready" [];

    /// Calls of tools whose intent is durable, so that they may leave.
    CALLS_INTENDED: Counter "ccfleet_calls_intended_total" ["effect"];
    /// Calls that came to an outcome, by their first one. `unknown`: nobody can tell whether the tool ran.
    CALLS: Counter "ccfleet_calls_total" ["outcome", "effect"];
    /// Calls of unknown outcome that turned out later after all.
    CALLS_LATE: Counter "ccfleet_calls_late_total" ["outcome"];
    /// Calls that nobody could take.
    CALLS_NOT_PLACED: Counter "ccfleet_calls_not_placed_total" ["reason"];
    /// Calls that may have left and have no outcome yet.
    CALLS_OPEN: Gauge "ccfleet_calls_open" [];
    /// From the durable intent to the durable outcome, of calls of this run of the server.
    CALL_SECONDS: Histogram "ccfleet_call_seconds" ["effect"];
    /// How long the tool itself ran, as its computer measured it.
    CALL_TOOL_SECONDS: Histogram "ccfleet_call_tool_seconds" ["effect"];

    /// Tasks that have not ended, by status.
    TASKS: Gauge "ccfleet_tasks" ["status"];
    /// Tasks that were made.
    TASKS_STARTED: Counter "ccfleet_tasks_started_total" ["kind", "strategy"];
    /// Tasks that ended.
    TASKS_ENDED: Counter "ccfleet_tasks_ended_total" ["status", "strategy"];
    /// Tasks that failed, by the code of the error.
    TASK_FAILURES: Counter "ccfleet_task_failures_total" ["code"];
    /// From the making of a task to its end.
    TASK_SECONDS: Histogram "ccfleet_task_seconds" ["status"];
    /// Tasks whose actor was started again, after a restart of the server, a failure or a sleep.
    TASKS_RESUMED: Counter "ccfleet_tasks_resumed_total" [];
    /// What woke tasks that live on.
    WAKES: Counter "ccfleet_wakes_total" ["cause"];
    /// Episodes of tasks that live on, by how they ended.
    EPISODES_ENDED: Counter "ccfleet_episodes_ended_total" ["status"];
    /// What the strategies decided.
    DECISIONS: Counter "ccfleet_decisions_total" ["decision"];
    /// Moves that a guard sent back.
    BLOCKS: Counter "ccfleet_blocks_total" ["guard"];
    /// Questions to people: asked, answered and expired ones. Approvals are questions.
    QUESTIONS: Counter "ccfleet_questions_total" ["what"];
    /// Questions that wait for an answer, approvals included.
    QUESTIONS_OPEN: Gauge "ccfleet_questions_open" [];

    /// Calls of models that were answered.
    MODEL_REQUESTS: Counter "ccfleet_model_requests_total" ["role", "model"];
    /// Tokens as the model servers count them: `in` (with the cached ones), `cached` (the part of `in` that came from the
    /// prompt cache) and `out`.
    MODEL_TOKENS: Counter "ccfleet_model_tokens_total" ["role", "model", "type"];
    /// From sending a request to the last byte of its answer.
    MODEL_SECONDS: Histogram "ccfleet_model_seconds" ["role", "model"];
    /// Calls of models that gave no answer.
    MODEL_ERRORS: Counter "ccfleet_model_errors_total" ["role", "code"];
    /// Calls that wait for a slot of the model server.
    MODEL_WAITING: Gauge "ccfleet_model_waiting" ["server"];
    /// Calls that the model server works on.
    MODEL_RUNNING: Gauge "ccfleet_model_running" ["server"];
    /// The circuit breaker of a model server: 1 for the state it is in, 0 for the others.
    MODEL_BREAKER: Gauge "ccfleet_model_breaker" ["server", "state"];

    /// Computers that are known, by state.
    COMPUTERS: Gauge "ccfleet_computers" ["state"];
    /// Computers that are connected, by kind.
    COMPUTERS_ONLINE: Gauge "ccfleet_computers_online" ["kind"];
    /// Calls that wait or run on computers, all lanes together.
    LANE_CALLS: Gauge "ccfleet_lane_calls" [];
    /// Calls that wait or run on the computer that has most of them.
    LANE_CALLS_MAX: Gauge "ccfleet_lane_calls_max" [];

    /// WebSockets that were accepted.
    LINK_CONNECTIONS: Counter "ccfleet_link_connections_total" [];
    /// Handshakes and registrations that were refused.
    LINK_REFUSED: Counter "ccfleet_link_refused_total" [];
    /// Connections that were closed because three pings were lost.
    LINK_LOST: Counter "ccfleet_link_lost_total" [];
    /// Connections that were closed because their computer did not read.
    LINK_SLOW_READERS: Counter "ccfleet_link_slow_readers_total" [];
    /// Connections that were closed because of too much bad input.
    LINK_TOO_MANY_ERRORS: Counter "ccfleet_link_too_many_errors_total" [];
    /// Messages from computers.
    LINK_MESSAGES: Counter "ccfleet_link_messages_total" [];
    /// Messages that could not be read, or asked for what may not be.
    LINK_BAD_MESSAGES: Counter "ccfleet_link_bad_messages_total" [];
    /// Results and receipts of calls that are not open, or not this computer's.
    LINK_STRAYS: Counter "ccfleet_link_strays_total" [];
    /// Messages to computers that were too large and could not be shortened.
    LINK_UNDELIVERABLE: Counter "ccfleet_link_undeliverable_total" [];
    /// Updates of tasks that were not told because too much waited for their computer.
    LINK_UPDATES_DROPPED: Counter "ccfleet_link_updates_dropped_total" [];
    /// Messages in chunks that were refused, or whose rest did not come in time.
    LINK_CHUNKS_DROPPED: Counter "ccfleet_link_chunks_dropped_total" [];
    /// Tools that were refused.
    LINK_TOOLS_REFUSED: Counter "ccfleet_link_tools_refused_total" [];
    /// Requests, events and registrations beyond the rate.
    LINK_OVER_RATE: Counter "ccfleet_link_over_rate_total" [];
    /// Events of the world that were taken.
    LINK_WORLD_EVENTS: Counter "ccfleet_link_world_events_total" [];

    /// Events that became durable.
    JOURNAL_EVENTS: Counter "ccfleet_journal_events_total" ["event"];
    /// Entries of transactions that were committed; those that were refused one by one are among them.
    JOURNAL_ENTRIES: Counter "ccfleet_journal_entries_total" [];
    /// Transactions, by whether they were committed (`ok`) or could not be written (`failed`).
    JOURNAL_COMMITS: Counter "ccfleet_journal_commits_total" ["result"];
    /// How long a transaction took, the sync to disk included.
    JOURNAL_COMMIT_SECONDS: Histogram "ccfleet_journal_commit_seconds" [];
    /// The journal's lag: from an entry's arrival to its answer, the wait for the transaction before included.
    JOURNAL_LAG_SECONDS: Histogram "ccfleet_journal_lag_seconds" [];
    /// Entries that wait for the next transaction.
    JOURNAL_QUEUE: Gauge "ccfleet_journal_queue" [];
    /// 0 from a write that did not work until one that does, else 1.
    JOURNAL_WRITABLE: Gauge "ccfleet_journal_writable" [];
    /// Size of the journal's files.
    JOURNAL_BYTES: Gauge "ccfleet_journal_bytes" [];
    /// What is free on the disk of the data folder.
    DISK_FREE: Gauge "ccfleet_disk_free_bytes" [];

    /// Those who listen to what is committed: live pages, waiting programs.
    FEED_SUBSCRIBERS: Gauge "ccfleet_feed_subscribers" [];
    /// Listeners that were dropped because they did not keep up; they read the journal again.
    FEED_DROPS: Counter "ccfleet_feed_drops_total" [];

    /// Memory of the process that is in RAM. Like all of `process_`, on Linux only.
    PROCESS_MEMORY: Gauge "process_resident_memory_bytes" [];
    /// Processor time of the process, user and system.
    PROCESS_CPU: Counter "process_cpu_seconds_total" [];
    /// File descriptors that are open.
    PROCESS_FDS: Gauge "process_open_fds" [];
    /// File descriptors that may be open at most.
    PROCESS_MAX_FDS: Gauge "process_max_fds" [];
    /// When the process started, in seconds since the Unix epoch.
    PROCESS_START: Gauge "process_start_time_seconds" [];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_follow_the_rules_of_prometheus() {
        let distinct: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(distinct.len(), ALL.len());
        for metric in ALL {
            let name = metric.name;
            let counter = metric.kind == MetricType::Counter;
            assert_eq!(name.ends_with("_total"), counter, "{name}");
            assert!(name.starts_with("ccfleet_") || name.starts_with("process_"));
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            if metric.kind == MetricType::Histogram {
                assert!(name.ends_with("_seconds"), "{name} names its unit");
            }
            assert!(metric.help().len() > 10, "{name} says what it tells");
        }
    }

    #[test]
    fn no_label_names_what_grows_without_bound() {
        let bounded = [
            "cause", "code", "decision", "effect", "event", "guard", "kind", "model", "outcome",
            "reason", "result", "role", "server", "state", "status", "strategy", "type", "version",
            "what",
        ];
        for metric in ALL {
            for label in metric.labels {
                assert!(bounded.contains(label), "{}: {label}", metric.name);
            }
        }
    }
}
