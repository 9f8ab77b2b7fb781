use super::names::{ALL, MetricType};
use super::*;
use crate::domain::call::Outcome;
use crate::domain::chat::{ChatAnswer, Role, StopReason, Usage};
use crate::domain::event::TaskEvent;
use crate::domain::task::TaskStatus;
use crate::store::fixtures::{
    Author, call, client, completed, created, decided, finished, intended,
};
use std::collections::BTreeSet;

/// A snapshot in which nothing is unknown.
fn whole() -> Snapshot {
    let counts = ALL.iter().copied();
    let counts = counts.filter(|name| name.name.starts_with("ccfleet_link_"));
    Snapshot {
        tasks: Some(vec![
            (TaskStatus::Running, 3),
            (TaskStatus::WaitingForUser, 1),
        ]),
        computers: vec![("ready", 2), ("offline", 1)],
        online: vec![("turtle", 2)],
        lanes: vec![1, 4],
        models: Some(vec![ModelServer {
            name: "Ollama at http://127.0.0.1:11434".to_owned(),
            waiting: 5,
            running: 1,
            breaker: "half_open",
        }]),
        journal: Some(JournalState {
            queued: 6,
            writable: true,
        }),
        journal_bytes: Some(4096),
        disk_free: Some(1 << 40),
        counts: counts.map(|name| (name, 1)).collect(),
        process: Some(Process {
            resident_bytes: 1 << 24,
            cpu_seconds: 1.5,
            open_fds: 12,
            max_fds: Some(1024),
            started_s: 1.7e9,
        }),
        ..Snapshot::default()
    }
}

fn answered(model: &str) -> TaskEvent {
    TaskEvent::ModelAnswered {
        consult: 2,
        role: Role::Planner,
        answer: ChatAnswer {
            content: "hello".to_owned(),
            thinking: String::new(),
            tool_calls: Vec::new(),
            stop: StopReason::Stop,
            model: model.to_owned(),
            usage: Usage {
                tokens_in: Some(100),
                tokens_out: Some(7),
                tokens_cached: Some(60),
            },
            duration_ms: 1500,
        },
    }
}

/// Takes events for committed.
fn commit(metrics: &Metrics, author: &mut Author, events: Vec<TaskEvent>) {
    let append = author.append(events);
    let numbered = append.events.iter().zip(append.expected_seq + 1..);
    let stored: Vec<_> = numbered
        .map(|(event, seq)| StoredEvent {
            task_id: append.task_id.clone(),
            seq,
            at_ms: append.at_ms,
            generation: append.generation,
            event: event.clone(),
        })
        .collect();
    metrics.committed(&stored, &append.summary);
}

#[track_caller]
fn says(text: &str, line: &str) {
    assert!(
        text.lines().any(|l| l == line),
        "no line `{line}` in\n{text}"
    );
}

/// A family with labels is told from its first value on: those that need a rare event are not among these.
#[test]
fn every_metric_that_is_told_has_the_type_and_the_help_of_its_row() {
    let metrics = Metrics::default();
    let mut author = Author::new("A");
    let (id, turtle) = (call("A"), client("turtle-1"));
    let asked = vec![created("dig"), decided(&[(id.clone(), "turtle-1")])];
    commit(&metrics, &mut author, asked);
    commit(&metrics, &mut author, vec![intended(&id, &turtle, Some(1))]);
    commit(&metrics, &mut author, vec![finished(&id, Outcome::Done)]);
    commit(&metrics, &mut author, vec![answered("qwen3:8b")]);
    commit(&metrics, &mut author, vec![completed("dug")]);
    let text = metrics.render(whole(), Format::Prometheus);
    let words = |word: &str| -> BTreeSet<(String, String)> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(word));
        let pairs = lines.filter_map(|line| line.split_once(' '));
        pairs
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
            .collect()
    };
    let rare = [
        "ccfleet_blocks_total",
        "ccfleet_calls_not_placed_total",
        "ccfleet_episodes_ended_total",
        "ccfleet_model_errors_total",
        "ccfleet_task_failures_total",
        "ccfleet_wakes_total",
    ];
    let told = || ALL.iter().filter(|name| !rare.contains(&name.name));
    let types = told().map(|name| (name.name.to_owned(), name.kind.as_str().to_owned()));
    assert_eq!(words("# TYPE "), types.collect());
    let helps = told().map(|name| (name.name.to_owned(), format!("{}.", name.help())));
    assert_eq!(words("# HELP "), helps.collect());
}

#[test]
fn a_call_counts_once_by_its_first_outcome_and_again_only_as_a_late_one() {
    let metrics = Metrics::default();
    let mut author = Author::new("A");
    let (id, turtle) = (call("A"), client("turtle-1"));
    let asked = vec![created("dig"), decided(&[(id.clone(), "turtle-1")])];
    commit(&metrics, &mut author, asked);
    commit(&metrics, &mut author, vec![intended(&id, &turtle, Some(1))]);
    let open = metrics.render(whole(), Format::Prometheus);
    says(&open, "ccfleet_calls_open 1.0");
    says(&open, "ccfleet_calls_intended_total{effect=\"effect\"} 1");
    commit(&metrics, &mut author, vec![finished(&id, Outcome::Unknown)]);
    commit(&metrics, &mut author, vec![finished(&id, Outcome::Done)]);
    let text = metrics.render(whole(), Format::Prometheus);
    says(&text, "ccfleet_calls_open 0.0");
    says(
        &text,
        "ccfleet_calls_total{outcome=\"unknown\",effect=\"effect\"} 1",
    );
    says(
        &text,
        "ccfleet_calls_total{outcome=\"done\",effect=\"effect\"} 0",
    );
    says(&text, "ccfleet_calls_late_total{outcome=\"done\"} 1");
    says(&text, "ccfleet_call_seconds_count{effect=\"effect\"} 1");
    says(
        &text,
        "ccfleet_call_tool_seconds_bucket{le=\"0.01\",effect=\"effect\"} 1",
    );
    says(&text, "ccfleet_decisions_total{decision=\"call\"} 1");
    says(
        &text,
        "ccfleet_journal_events_total{event=\"call_finished\"} 2",
    );
}

#[test]
fn a_call_of_an_earlier_run_counts_with_its_effect_class_and_has_no_latency() {
    let metrics = Metrics::default();
    let id = call("A");
    metrics.remember([(id.clone(), EffectClass::Idempotent)]);
    let mut author = Author::new("A");
    commit(
        &metrics,
        &mut author,
        vec![created("dig"), finished(&id, Outcome::Failed)],
    );
    let text = metrics.render(whole(), Format::Prometheus);
    says(
        &text,
        "ccfleet_calls_total{outcome=\"failed\",effect=\"idempotent\"} 1",
    );
    assert!(!text.contains("ccfleet_call_seconds_count{effect=\"idempotent\"}"));
}

#[test]
fn models_and_tasks_are_counted_with_tokens_seconds_and_ages() {
    let metrics = Metrics::default();
    let mut author = Author::new("A");
    commit(&metrics, &mut author, vec![created("dig")]);
    for model in ["qwen3:8b", "qwen3:8b", "an \"odd\" name"] {
        commit(&metrics, &mut author, vec![answered(model)]);
    }
    author.now_ms += 2_500;
    commit(&metrics, &mut author, vec![completed("dug")]);
    let text = metrics.render(whole(), Format::Prometheus);
    let of = "role=\"planner\",model=\"qwen3:8b\"";
    says(&text, &format!("ccfleet_model_requests_total{{{of}}} 2"));
    says(
        &text,
        &format!("ccfleet_model_tokens_total{{{of},type=\"in\"}} 200"),
    );
    says(
        &text,
        &format!("ccfleet_model_tokens_total{{{of},type=\"cached\"}} 120"),
    );
    says(
        &text,
        &format!("ccfleet_model_tokens_total{{{of},type=\"out\"}} 14"),
    );
    says(&text, &format!("ccfleet_model_seconds_sum{{{of}}} 3.0"));
    assert!(text.contains("model=\"an \\\"odd\\\" name\""), "{text}");
    says(
        &text,
        "ccfleet_tasks_started_total{kind=\"code_job\",strategy=\"directive\"} 1",
    );
    says(
        &text,
        "ccfleet_tasks_ended_total{status=\"completed\",strategy=\"directive\"} 1",
    );
    says(&text, "ccfleet_task_seconds_sum{status=\"completed\"} 2.5");
}

#[test]
fn states_are_told_as_they_are_now() {
    let text = Metrics::default().render(whole(), Format::Prometheus);
    says(&text, "ccfleet_tasks{status=\"running\"} 3.0");
    says(&text, "ccfleet_tasks{status=\"queued\"} 0.0");
    says(&text, "ccfleet_questions_open 1.0");
    says(&text, "ccfleet_lane_calls 5.0");
    says(&text, "ccfleet_lane_calls_max 4.0");
    let server = "server=\"Ollama at http://127.0.0.1:11434\"";
    says(&text, &format!("ccfleet_model_waiting{{{server}}} 5.0"));
    says(
        &text,
        &format!("ccfleet_model_breaker{{{server},state=\"half_open\"}} 1.0"),
    );
    says(
        &text,
        &format!("ccfleet_model_breaker{{{server},state=\"open\"}} 0.0"),
    );
    says(&text, "process_cpu_seconds_total 1.5");
}

#[test]
fn what_cannot_be_learned_is_left_out_and_the_rest_is_told() {
    let text = Metrics::default().render(Snapshot::default(), Format::Prometheus);
    says(&text, "ccfleet_ready 0.0");
    for silent in ["ccfleet_tasks{", "ccfleet_journal_queue", "process_"] {
        assert!(!text.contains(silent), "{silent} in\n{text}");
    }
}

#[test]
fn each_format_is_told_in_its_own_words() {
    let metrics = Metrics::default();
    let open = metrics.render(whole(), Format::OpenMetrics);
    says(&open, "# TYPE ccfleet_journal_entries counter");
    says(&open, "ccfleet_journal_entries_total 0");
    assert!(open.ends_with("# EOF\n"));
    let classic = metrics.render(whole(), Format::Prometheus);
    says(&classic, "# TYPE ccfleet_journal_entries_total counter");
    says(&classic, "ccfleet_journal_entries_total 0");
    assert!(!classic.contains("# EOF"));
    let samples = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(samples(&open), samples(&classic));
    let asked = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    assert_eq!(Format::accepted(asked), Format::OpenMetrics);
    assert_eq!(Format::accepted("*/*"), Format::Prometheus);
}

#[test]
fn counters_are_whole_names_and_others_are_not_cut() {
    for name in ALL {
        let counter = name.kind == MetricType::Counter;
        assert_eq!(name.stem() != name.name, counter, "{}", name.name);
    }
}
