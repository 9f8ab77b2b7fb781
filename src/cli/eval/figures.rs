//! The figures of many runs: a row for each contender, as a table and as JSON.

use super::model::slip::Slip;
use super::model::{BASELINE, STRATEGIES};
use super::run::{Ending, Job, Record};
use crate::domain::ids::BlobHash;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A run counts as cheap if it took at most this many times the steps of an error-free one.
pub const MOST_RATIO: f64 = 2.5;
/// Failed runs that are told one by one.
const TOLD: usize = 25;

/// The figures of one contender at one error rate.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub strategy: String,
    pub tasks: usize,
    pub runs: usize,
    /// Share of runs that succeed.
    pub pass_1: f64,
    /// The chance that four runs of one task all succeed, averaged over the tasks; none with fewer than four runs.
    pub pass_4: Option<f64>,
    /// Share of runs that succeed within [`MOST_RATIO`].
    pub cheap: f64,
    /// Mean steps of a run.
    pub steps: f64,
    /// Mean of each run's steps over those of the error-free run of its task.
    pub steps_ratio: f64,
    pub model_calls: f64,
    pub executor_calls: f64,
    pub executor_avoided: f64,
    pub tokens: f64,
    /// Tool calls.
    pub calls: f64,
    /// Milliseconds of a run, checks not counted.
    pub ms: f64,
    pub no_outcome: u32,
    pub false_claims: u32,
    pub duplicate_effects: u32,
    pub repeated_effects: u32,
    /// Runs whose journal does not replay.
    pub replay_differs: u32,
    /// One hash over what all its journals hold, times and ids aside: the same for the same seeds.
    pub journals: String,
    pub guard_trips: BTreeMap<String, u32>,
    pub slips: BTreeMap<Slip, u32>,
    /// Error-free runs that took more rounds than their task allows, for people.
    pub over_bound: Vec<String>,
    /// Error-free runs that did not succeed, for people.
    pub broken: Vec<String>,
}

/// A row for each contender that has runs, in the order of the strategies, the baseline last.
pub fn rows(records: &[Record]) -> Vec<Row> {
    let order = STRATEGIES.iter().chain([&BASELINE]);
    let of = order.map(|name| {
        let own: Vec<&Record> = records
            .iter()
            .filter(|r| r.job.contender == *name)
            .collect();
        row(name, &own)
    });
    of.filter(|row| row.runs > 0).collect()
}

fn row(name: &str, records: &[&Record]) -> Row {
    // Seed 0 is the run that the others are measured by.
    let (clean, runs): (Vec<&Record>, Vec<&Record>) = records.iter().partition(|r| r.job.seed == 0);
    let by_task = tasks_of(&runs);
    let sum = |of: fn(&Record) -> f64| runs.iter().map(|r| of(r)).sum::<f64>();
    let mean = |of: fn(&Record) -> f64| sum(of) / runs.len().max(1) as f64;
    let ratio = |r: &Record| f64::from(r.steps) / f64::from(steps_wanted(&clean, r).max(1));
    let cheap = |r: &&&Record| r.success() && ratio(r) <= MOST_RATIO;
    let share = |count: usize| count as f64 / runs.len().max(1) as f64;
    Row {
        strategy: name.to_owned(),
        tasks: by_task.len(),
        runs: runs.len(),
        pass_1: share(runs.iter().filter(|r| r.success()).count()),
        pass_4: pass_4(&by_task),
        cheap: share(runs.iter().filter(cheap).count()),
        steps: mean(|r| f64::from(r.steps)),
        steps_ratio: runs.iter().map(|r| ratio(r)).sum::<f64>() / runs.len().max(1) as f64,
        model_calls: mean(|r| f64::from(r.model_calls)),
        executor_calls: mean(|r| f64::from(r.executor_calls)),
        executor_avoided: mean(|r| f64::from(r.executor_avoided)),
        tokens: mean(|r| r.tokens as f64),
        calls: mean(|r| f64::from(r.calls)),
        ms: mean(|r| r.took.as_secs_f64() * 1000.0),
        no_outcome: count(&runs, |r| r.ending == Ending::Unclear),
        false_claims: count(&runs, Record::false_claim),
        duplicate_effects: runs.iter().map(|r| r.duplicate_effects).sum(),
        repeated_effects: runs.iter().map(|r| r.repeated_effects).sum(),
        replay_differs: count(&runs, |r| r.replay.is_some()),
        journals: journals(&runs),
        guard_trips: summed(&runs, |r| &r.guard_trips),
        slips: summed(&runs, |r| &r.slips),
        over_bound: clean.iter().filter_map(|r| over_bound(r)).collect(),
        broken: clean.iter().filter_map(|r| failure(r)).collect(),
    }
}

fn journals(runs: &[&Record]) -> String {
    let mut runs: Vec<&Record> = runs.to_vec();
    runs.sort_by_key(|r| (&r.job.task.name, r.job.seed));
    let all: String = runs.iter().map(|r| r.journal.0.as_str()).collect();
    BlobHash::of(&all).0
}

fn count(runs: &[&Record], of: fn(&Record) -> bool) -> u32 {
    runs.iter().filter(|r| of(r)).count() as u32
}

fn summed<K: Ord + Clone>(
    runs: &[&Record],
    of: fn(&Record) -> &BTreeMap<K, u32>,
) -> BTreeMap<K, u32> {
    let mut all = BTreeMap::new();
    for (key, n) in runs.iter().flat_map(|r| of(r)) {
        *all.entry(key.clone()).or_insert(0) += n;
    }
    all
}

/// Runs and successes of each task.
fn tasks_of<'a>(runs: &[&'a Record]) -> BTreeMap<&'a str, (u64, u64)> {
    let mut tasks = BTreeMap::new();
    for run in runs {
        let (all, good) = tasks.entry(run.job.task.name.as_str()).or_insert((0, 0));
        *all += 1;
        *good += u64::from(run.success());
    }
    tasks
}

/// pass^4, unbiased: of all ways to pick four runs of a task, the share in which all four succeed.
fn pass_4(tasks: &BTreeMap<&str, (u64, u64)>) -> Option<f64> {
    let fours = |n: u64| (0..4).map(|i| n.saturating_sub(i) as f64).product::<f64>();
    let enough: Vec<f64> = tasks
        .values()
        .filter(|(all, _)| *all >= 4)
        .map(|(all, good)| fours(*good) / fours(*all))
        .collect();
    (!enough.is_empty()).then(|| enough.iter().sum::<f64>() / enough.len() as f64)
}

/// The steps of the error-free run of the same task, or of the written solution if there is none.
fn steps_wanted(clean: &[&Record], run: &Record) -> u32 {
    let same = clean
        .iter()
        .find(|c| c.job.task.name == run.job.task.name && c.success());
    same.map_or(run.job.task.moves.len() as u32, |c| c.steps)
}

/// Model calls in which a contender only plans: source document 004 does not count them as rounds.
fn planning_calls(contender: &str) -> u32 {
    u32::from(matches!(contender, "plan" | "numbered" | "goals"))
}

fn over_bound(record: &Record) -> Option<String> {
    let most = record.job.task.rounds?;
    let rounds = record
        .model_calls
        .saturating_sub(planning_calls(record.job.contender));
    (rounds > most).then(|| format!("{}: {rounds} rounds, at most {most}", record.job.task.name))
}

/// A run in one line: how it ended, what it cost, and what the computers show.
pub fn in_one_line(record: &Record) -> String {
    let ending = match &record.ending {
        Ending::Done => "says it is done",
        Ending::Failed(code) => code,
        Ending::Unclear => "no outcome",
    };
    let why = record
        .problem
        .as_deref()
        .unwrap_or("the computers are right");
    format!(
        "{} {} seed {}: {ending}, {} steps, {:.0} s; {why}",
        record.job.contender,
        record.job.task.name,
        record.job.seed,
        record.steps,
        record.took.as_secs_f64()
    )
}

fn failure(record: &Record) -> Option<String> {
    (!record.success()).then(|| in_one_line(record))
}

/// A run whose journal does not replay, in one line.
fn unlike(record: &Record) -> Option<String> {
    let Job {
        contender,
        task,
        seed,
        ..
    } = &record.job;
    let why = record.replay.as_deref()?;
    Some(format!(
        "{contender} {} seed {seed} does not replay: {why}",
        task.name
    ))
}

/// The failed runs, the first of them.
pub fn failures(records: &[Record]) -> Vec<String> {
    let own = records.iter().filter(|r| r.job.contender != BASELINE);
    let failed: Vec<String> = own
        .flat_map(|r| [failure(r), unlike(r)])
        .flatten()
        .collect();
    let more = failed.len().saturating_sub(TOLD);
    let mut told: Vec<String> = failed.into_iter().take(TOLD).collect();
    if more > 0 {
        told.push(format!("… and {more} more"));
    }
    told
}

/// The table for people.
pub fn table(rows: &[Row]) -> String {
    let head = [
        "STRATEGY", "TASKS", "RUNS", "PASS", "PASS^4", "<=2.5x", "STEPS", "RATIO", "CALLS", "EXEC",
        "AVOIDED", "TOKENS", "TRIPS", "FALSE", "NONE", "DUP",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    for row in rows {
        let trips: u32 = row.guard_trips.values().sum();
        lines.push(vec![
            row.strategy.clone(),
            row.tasks.to_string(),
            row.runs.to_string(),
            percent(row.pass_1),
            row.pass_4.map_or("-".to_owned(), percent),
            percent(row.cheap),
            format!("{:.1}", row.steps),
            format!("{:.2}", row.steps_ratio),
            format!("{:.1}", row.model_calls),
            format!("{:.2}", row.executor_calls),
            format!("{:.1}", row.executor_avoided),
            format!("{:.0}", row.tokens),
            trips.to_string(),
            row.false_claims.to_string(),
            row.no_outcome.to_string(),
            row.duplicate_effects.to_string(),
        ]);
    }
    let widths: Vec<usize> = (0..head.len())
        .map(|at| lines.iter().map(|l| l[at].len()).max().unwrap_or(0))
        .collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A row for programs.
pub fn to_json(row: &Row) -> Value {
    let round = |value: f64| (value * 10_000.0).round() / 10_000.0;
    let slips: Map<String, Value> = Slip::ALL
        .iter()
        .filter_map(|slip| {
            let name = serde_json::to_value(slip).ok()?.as_str()?.to_owned();
            Some((name, json!(row.slips.get(slip).copied().unwrap_or(0))))
        })
        .collect();
    json!({
        "strategy": row.strategy,
        "tasks": row.tasks,
        "runs": row.runs,
        "pass_1": round(row.pass_1),
        "pass_4": row.pass_4.map(round),
        "pass_within_2_5": round(row.cheap),
        "steps": round(row.steps),
        "steps_ratio": round(row.steps_ratio),
        "model_calls": round(row.model_calls),
        "executor_calls": round(row.executor_calls),
        "executor_calls_avoided": round(row.executor_avoided),
        "tokens": row.tokens.round(),
        "tool_calls": round(row.calls),
        "run_ms": row.ms.round(),
        "guard_trips": row.guard_trips,
        "no_outcome": row.no_outcome,
        "false_claims": row.false_claims,
        "duplicate_effects": row.duplicate_effects,
        "repeated_effects": row.repeated_effects,
        "replay_differs": row.replay_differs,
        "journals": row.journals,
        "errors_injected": slips,
        "over_round_bound": row.over_bound,
        "error_free_failures": row.broken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::suite::Suite;
    use crate::cli::eval::tests::record;

    #[test]
    fn a_row_measures_each_run_by_the_error_free_one_of_its_task() {
        let mut records = vec![record(0, 0, 4, true)];
        records.extend((1..=4).map(|seed| record(0, seed, 8, true)));
        records.push(record(0, 5, 12, true));
        records.push(record(0, 6, 4, false));
        let row = &rows(&records)[0];
        assert_eq!((row.tasks, row.runs), (1, 6));
        assert!((row.pass_1 - 5.0 / 6.0).abs() < 1e-9);
        assert!((row.cheap - 4.0 / 6.0).abs() < 1e-9);
        // Five of six succeed: 5 of the 15 ways to pick four.
        assert!((row.pass_4.unwrap() - 5.0 / 15.0).abs() < 1e-9);
        assert!((row.steps_ratio - 2.0).abs() < 1e-9);
        assert_eq!(row.false_claims, 1);
        assert_eq!(to_json(row)["errors_injected"]["chatter"], 12);
        assert_eq!(to_json(row)["errors_injected"]["cut_off"], 0);
        assert!(failures(&records)[0].contains("the file is missing"));
    }

    #[test]
    fn with_fewer_than_four_runs_there_is_no_chance_of_four() {
        let row = &rows(&[record(0, 1, 4, true)])[0];
        assert_eq!(row.pass_4, None);
        assert!(table(std::slice::from_ref(row)).contains("100.0%"));
    }

    #[test]
    fn a_run_over_its_round_bound_is_told() {
        let suite = Suite::load().unwrap();
        let hello = suite
            .tasks
            .iter()
            .position(|t| t.name == "hello-world")
            .unwrap();
        let row = &rows(&[record(hello, 0, 4, true), record(hello, 1, 4, true)])[0];
        assert_eq!(row.over_bound, ["hello-world: 4 rounds, at most 3"]);
    }
}
