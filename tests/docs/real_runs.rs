//! The table of runs with a real model in `docs/evaluation.md` is made from the runs that were kept.

use super::{compare, pages::read, sources};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- real runs: made by a test; CCFLEET_BLESS=1 cargo test --test tidy the_table_of_real_runs -->\n";
const END: &str = "<!-- end of real runs -->\n";
const RUNS: &str = "docs/evaluation/qwen2.5-coder-1.5b.jsonl";
const STRATEGIES: [&str; 5] = ["direct", "directive", "plan", "numbered", "goals"];

/// How a run came out, in the order of the sums below the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    Right,
    /// It did not end well, and the computers are as they should be.
    ComputersRight,
    Failed,
    FalseClaim,
}

fn came(run: &Value) -> Came {
    match (run["ending"] == "done", run["problem"].is_null()) {
        (true, true) => Came::Right,
        (true, false) => Came::FalseClaim,
        (false, true) => Came::ComputersRight,
        (false, false) => Came::Failed,
    }
}

fn cell(run: &Value) -> String {
    let (steps, seconds) = (&run["steps"], run["took_s"].as_f64().unwrap().round());
    let ending = match (&run["ending"]["failed"], run["ending"].as_str()) {
        (Value::String(code), _) => format!("`{code}`"),
        (_, Some("unclear")) => "out of time".to_owned(),
        (_, Some("done")) => String::new(),
        (_, other) => panic!("an ending of which the page says nothing: {other:?}"),
    };
    let words = match came(run) {
        Came::Right => "**right**".to_owned(),
        Came::FalseClaim => "false claim".to_owned(),
        Came::ComputersRight => format!("{ending}, computers right"),
        Came::Failed => ending,
    };
    format!("{words}, {steps} st., {seconds} s")
}

/// All tasks of the suite, in its order.
fn tasks() -> Vec<String> {
    let mut files = sources("config/eval", "toml");
    files.sort();
    let texts = files.iter().map(|(_, text)| text.as_str());
    let parsed: Vec<toml::Table> = texts.map(|text| text.parse().unwrap()).collect();
    let tasks = parsed
        .iter()
        .filter_map(|file| file.get("tasks")?.as_array());
    let named = tasks
        .flatten()
        .map(|task| task["name"].as_str().unwrap().to_owned());
    named.collect()
}

fn table() -> String {
    let mut runs: BTreeMap<(String, String), Value> = BTreeMap::new();
    for line in read(RUNS).lines() {
        let run: Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| run[key].as_str().unwrap().to_owned();
        let again = runs.insert((word("task"), word("strategy")), run.clone());
        assert!(again.is_none(), "two runs of one task are kept: {line}");
    }
    let tasks = tasks();
    let known = |task: &String| tasks.contains(task);
    assert!(
        runs.keys().all(|(task, _)| known(task)),
        "a run is of no task of the suite"
    );
    let mut table = format!(
        "| task | {} |\n|{}\n",
        STRATEGIES.map(|name| format!("`{name}`")).join(" | "),
        " --- |".repeat(STRATEGIES.len() + 1)
    );
    let run_of = |task: &str, strategy: &str| runs.get(&(task.to_owned(), strategy.to_owned()));
    for task in &tasks {
        let cells = STRATEGIES.map(|strategy| run_of(task, strategy).map(cell).unwrap_or_default());
        let _ = writeln!(table, "| {task} | {} |", cells.join(" | "));
    }
    let sums = STRATEGIES.map(|strategy| {
        let came: Vec<Came> = tasks
            .iter()
            .filter_map(|task| run_of(task, strategy))
            .map(came)
            .collect();
        let count = |what: Came| came.iter().filter(|came| **came == what).count();
        let (right, all) = (count(Came::Right), came.len());
        let rest = format!(
            "{} more with the computers right, {} false",
            count(Came::ComputersRight),
            count(Came::FalseClaim)
        );
        format!("**{right} of {all}**; {rest}")
    });
    let _ = writeln!(table, "| **right** | {} |", sums.join(" | "));
    table
}

#[test]
fn the_table_of_real_runs_is_what_was_kept() {
    let page = read("docs/evaluation.md");
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}{}{END}{after}", table());
    compare("docs/evaluation.md", &wanted, "the_table_of_real_runs");
}
