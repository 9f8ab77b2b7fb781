//! The dashboard, the alerts and the scrape settings under `docker/` name metrics and labels that exist.

use super::names::{ALL, MetricType, Name};
use serde_json::Value;
use std::collections::BTreeSet;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/");

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}{name}")).unwrap()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The queries of the dashboard and of the alerts.
fn queries() -> Vec<String> {
    let board: Value = serde_json::from_str(&read("grafana/dashboards/ccfleet.json")).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let mut queries: Vec<String> = targets
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect();
    assert!(queries.len() > 40, "{} queries", queries.len());
    let alerts = read("alerts.yml");
    let alerts = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "));
    let before = queries.len();
    queries.extend(alerts.map(str::to_owned));
    assert!(queries.len() >= before + 10);
    queries
}

/// Metrics that a query names, each with what stands before and behind it.
fn named(query: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = query[at..].find(is_word).map(|start| at + start) {
        let rest = &query[start..];
        let end = start + rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &query[start..end];
        if word.starts_with("ccfleet_") || word.starts_with("process_") {
            found.push((&query[..start], word, &query[end..]));
        }
        at = end;
    }
    found
}

/// The metric behind a name in a query, and whether it is one that only grows.
fn known(word: &str) -> Option<(&'static Name, bool)> {
    let find = |name: &str| ALL.iter().copied().find(|known| known.name == name);
    if let Some(name) = find(word) {
        let histogram = name.kind == MetricType::Histogram;
        return (!histogram).then_some((name, name.kind == MetricType::Counter));
    }
    let parts = ["_bucket", "_sum", "_count"].iter();
    let stem = parts.filter_map(|part| word.strip_suffix(part)).next()?;
    let name = find(stem)?;
    (name.kind == MetricType::Histogram).then_some((name, true))
}

/// The labels in the braces that follow a metric.
fn selected(behind: &str) -> Vec<&str> {
    let Some(braces) = behind
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'))
    else {
        return Vec::new();
    };
    let parts = braces.0.split(',');
    parts
        .map(|part| part.trim())
        .map(|part| &part[..part.find(|c| !is_word(c)).unwrap_or(part.len())])
        .collect()
}

/// The labels that a query groups by.
fn grouped(query: &str) -> Vec<&str> {
    let groups = query.split(" by (").skip(1);
    let groups = groups.filter_map(|rest| rest.split_once(')'));
    groups
        .flat_map(|(labels, _)| labels.split(','))
        .map(str::trim)
        .collect()
}

#[test]
fn every_query_asks_for_metrics_and_labels_that_exist() {
    for query in queries() {
        let mut labels: BTreeSet<&str> = ["le", "job", "instance"].into();
        for (before, word, behind) in named(&query) {
            let (name, grows) = known(word).unwrap_or_else(|| panic!("{word} in {query}"));
            labels.extend(name.labels);
            for label in selected(behind) {
                let exists = label == "job" || name.labels.contains(&label);
                assert!(exists, "{word} has no label {label}: {query}");
            }
            let rated = before.ends_with("rate(") || before.ends_with("increase(");
            assert_eq!(grows, rated, "{word} as a rate: {query}");
        }
        for label in grouped(&query) {
            assert!(labels.contains(label), "nothing there has {label}: {query}");
        }
    }
}

#[test]
fn what_matters_most_is_on_the_dashboard() {
    let all = queries().join("\n");
    let shown: BTreeSet<&str> = named(&all)
        .iter()
        .filter_map(|(_, word, _)| Some(known(word)?.0.name))
        .collect();
    let aside = [
        "ccfleet_build_info",
        "ccfleet_uptime_seconds",
        "process_start_time_seconds",
    ];
    let left = ALL.iter().filter(|name| !shown.contains(name.name));
    let left: Vec<&str> = left.map(|name| name.name).collect();
    assert!(left.len() < ALL.len() / 3, "{left:?}");
    assert!(aside.iter().all(|name| left.contains(name)));
}

#[test]
fn the_panels_of_the_dashboard_do_not_overlap() {
    let board: Value = serde_json::from_str(&read("grafana/dashboards/ccfleet.json")).unwrap();
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in board["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()));
        let place = |of: &str| panel["gridPos"][of].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{}", panel["title"]);
            }
        }
    }
}

#[test]
fn prometheus_asks_at_the_address_that_answers() {
    let settings = read("prometheus.yml");
    for line in [
        "metrics_path: /metrics",
        "job_name: ccfleet",
        "type: Bearer",
    ] {
        assert!(settings.contains(line), "{line}");
    }
}
