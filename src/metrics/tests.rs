use super::names::{ALL, MetricType};
use super::*;
use crate::domain::call::{NoRoute, NoRouteReason, Outcome};
use crate::domain::chat::{ChatAnswer, ChatFailure, Role, StopReason, Usage};
use crate::domain::decision::{Decision, Guard, Inputs};
use crate::domain::episodes::{EpisodeEnd, EpisodeEnded};
use crate::domain::event::TaskEvent;
use crate::domain::task::TaskStatus;
use crate::domain::wakes::{Wake, WakeCause};
use crate::store::fixtures::{
    Author, call, client, completed, created, decided, finished, intended,
};
use serde_json::{Value, json};
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
    metrics.committed(&append.events, &append.summary);
}

/// An event of each sort whose labels are not known before one came.
fn one_of_each(metrics: &Metrics) {
    let mut author = Author::new("EACH");
    let (id, turtle) = (call("EACH"), client("turtle-1"));
    let carried = json!({
        "usage": {"steps": 1, "calls": 1, "model_calls": 1, "executor_model_calls": 0, "questions": 0,
                  "tokens_in": 1, "tokens_out": 1, "tokens_cached": 0},
        "awake_ms": 1, "failures": 0, "past": [],
    });
    let events = vec![
        created("dig"),
        TaskEvent::Decided {
            decision: Box::new(Decision::Block {
                guard: Guard::Tool,
                evidence: "no such tool".to_owned(),
            }),
            inputs: Inputs::default().journalled().0,
            track: Default::default(),
        },
        answered("qwen3:8b"),
        TaskEvent::ModelFailed {
            consult: 2,
            role: Role::Executor,
            failure: ChatFailure {
                code: "model_unreachable".to_owned(),
                message: "away".to_owned(),
                hint: "start it".to_owned(),
                retryable: true,
            },
        },
        TaskEvent::CallNotPlaced {
            call_id: call("OTHER"),
            no_route: NoRoute {
                reason: NoRouteReason::Offline,
                message: "away".to_owned(),
            },
        },
        intended(&id, &turtle, Some(1)),
        finished(&id, Outcome::Done),
        TaskEvent::EpisodeEnded(Box::new(EpisodeEnded {
            episode: 1,
            end: EpisodeEnd::Failed {
                code: "budget".to_owned(),
                error: "too many steps".to_owned(),
                details: Value::Null,
            },
            carried: serde_json::from_value(carried).unwrap(),
        })),
        TaskEvent::EpisodeStarted {
            episode: 2,
            wakes: vec![Wake {
                at_ms: 1,
                cause: WakeCause::Schedule { due_ms: 1 },
            }],
        },
        TaskEvent::TaskFailed {
            code: "budget".to_owned(),
            error: "too many steps".to_owned(),
            details: Value::Null,
        },
    ];
    commit(metrics, &mut author, events);
}

#[track_caller]
fn says(text: &str, line: &str) {
    assert!(
        text.lines().any(|l| l == line),
        "no line `{line}` in\n{text}"
    );
}

#[test]
fn every_metric_is_told_with_its_type_and_its_help() {
    let metrics = Metrics::default();
    one_of_each(&metrics);
    let text = metrics.render(whole(), Format::Prometheus);
    let words = |word: &str| -> BTreeSet<(String, String)> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(word));
        let pairs = lines.filter_map(|line| line.split_once(' '));
        pairs
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
            .collect()
    };
    let types = ALL.iter();
    let types = types.map(|name| (name.name.to_owned(), name.kind.as_str().to_owned()));
    assert_eq!(words("# TYPE "), types.collect());
    let helps = ALL.iter();
    let helps = helps.map(|name| (name.name.to_owned(), format!("{}.", name.help())));
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
