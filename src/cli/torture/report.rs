//! What a run came to, for people and for programs.

use super::count::Verdict;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub kills: u64,
    pub kills_in_flight: u64,
    /// By what was killed and where.
    pub deaths: BTreeMap<String, u64>,
    /// By kind.
    pub troubles: BTreeMap<&'static str, u64>,
    /// From "the server listens" to "computers are back and effects go on".
    pub recoveries_ms: Vec<u64>,
    /// From the start of a server's process to "it listens".
    pub starts_ms: Vec<u64>,
}

/// A run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub tasks: usize,
    pub tally: Tally,
    pub verdict: Verdict,
    /// Answers of the model, and how many of them were faults.
    pub model: (u64, u64),
    pub seconds: u64,
}

/// The value below which so many of 100 lie; none of nothing.
pub fn percentile(values: &[u64], percent: usize) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied()
}

impl Report {
    /// One object, the last line of `--json`.
    pub fn to_json(&self) -> Value {
        let (tally, verdict) = (&self.tally, &self.verdict);
        let lives = &verdict.lives;
        let shares = lives.strategies.iter();
        let shares: BTreeMap<_, _> = shares
            .map(|(name, share)| (name, json!({"tasks": share.tasks, "calls": share.calls})))
            .collect();
        json!({
            "tasks": self.tasks,
            "kills": tally.kills,
            "kills_in_flight": tally.kills_in_flight,
            "lost_tasks": verdict.lost_tasks,
            "duplicate_effects": verdict.duplicate_effects,
            "lost_calls": verdict.lost_calls,
            "wrong_results": verdict.wrong_results,
            "unknown_outcomes": verdict.unknown_outcomes,
            "unexplained_unknown": verdict.unexplained_unknown,
            "recovery_ms_p50": percentile(&tally.recoveries_ms, 50),
            "recovery_ms_p99": percentile(&tally.recoveries_ms, 99),
            "recoveries": tally.recoveries_ms.len(),
            "start_ms_p99": percentile(&tally.starts_ms, 99),
            "journal_damage": verdict.damage,
            "replays_differ": verdict.replays_differ,
            "lost_answers": verdict.lost_answers,
            "lost_wakes": verdict.lost_wakes,
            "strategies": shares,
            "cancelled": lives.cancelled,
            "answers": lives.answers,
            "children": lives.children,
            "wakes": lives.wakes,
            "episodes": lives.episodes,
            "naps": lives.naps,
            "told": lives.told,
            "consents": lives.consents,
            "forks": lives.forks,
            "calls": verdict.calls,
            "marks": verdict.marks,
            "deaths": tally.deaths,
            "troubles": tally.troubles,
            "model_answers": self.model.0,
            "model_faults": self.model.1,
            "seconds": self.seconds,
        })
    }

    /// Lines for people.
    pub fn table(&self) -> Vec<String> {
        let (tally, verdict) = (&self.tally, &self.verdict);
        let ms = |values: &[u64], percent| match percentile(values, percent) {
            Some(ms) => format!("{ms} ms"),
            None => "-".to_owned(),
        };
        let mut lines = vec![
            row("tasks", self.tasks),
            row(
                "kills",
                format!(
                    "{} ({} with calls in flight)",
                    tally.kills, tally.kills_in_flight
                ),
            ),
        ];
        lines.extend(
            tally
                .deaths
                .iter()
                .map(|(what, n)| row(&format!("  {what}"), n)),
        );
        lines.extend(
            tally
                .troubles
                .iter()
                .map(|(what, n)| row(&format!("  {what}"), n)),
        );
        let (asked, faults) = self.model;
        lines.push(row("model answers", format!("{asked} ({faults} faults)")));
        lines.push(row(
            "calls",
            format!("{} ({} marks on disks)", verdict.calls, verdict.marks),
        ));
        lines.push(row("unknown outcomes", verdict.unknown_outcomes));
        let lives = &verdict.lives;
        for (name, share) in &lives.strategies {
            let words = format!("{} tasks, {} calls", share.tasks, share.calls);
            lines.push(row(&format!("  {name}"), words));
        }
        lines.push(row(
            "cancelled; children; answers",
            format!("{}; {}; {}", lives.cancelled, lives.children, lives.answers),
        ));
        lines.push(row(
            "episodes that ended",
            format!(
                "{} ({} woken by hand, {} by events)",
                lives.episodes, lives.wakes, lives.told
            ),
        ));
        lines.push(row(
            "sleeps; consents; forks",
            format!("{}; {}; {}", lives.naps, lives.consents, lives.forks),
        ));
        lines.push(row(
            "server starts within",
            format!(
                "p50 {}, p99 {}",
                ms(&tally.starts_ms, 50),
                ms(&tally.starts_ms, 99)
            ),
        ));
        lines.push(row(
            "work goes on after",
            format!(
                "p50 {}, p99 {}",
                ms(&tally.recoveries_ms, 50),
                ms(&tally.recoveries_ms, 99)
            ),
        ));
        lines.push(String::new());
        lines.push(row("lost tasks", verdict.lost_tasks));
        lines.push(row("duplicate effects", verdict.duplicate_effects));
        lines.push(row("lost calls", verdict.lost_calls));
        lines.push(row("wrong results", verdict.wrong_results));
        lines.push(row("lost answers", verdict.lost_answers));
        lines.push(row("lost wakes", verdict.lost_wakes));
        lines.push(row("unexplained unknowns", verdict.unexplained_unknown));
        lines.push(row("damage in the journal", verdict.damage));
        lines.push(row("tasks that replay otherwise", verdict.replays_differ));
        lines
    }
}

fn row(what: &str, value: impl std::fmt::Display) -> String {
    format!("{what:<34} {value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&hundred, 50), Some(50));
        assert_eq!(percentile(&hundred, 99), Some(99));
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn programs_find_every_key_also_where_nothing_happened() {
        let object = Report::default().to_json();
        for key in [
            "tasks",
            "kills",
            "kills_in_flight",
            "lost_tasks",
            "duplicate_effects",
            "lost_calls",
            "wrong_results",
            "unknown_outcomes",
            "unexplained_unknown",
            "recovery_ms_p50",
            "recovery_ms_p99",
        ] {
            assert!(object.get(key).is_some(), "{key}");
        }
    }
}
