//! What came of each task in each strategy, as a table in Markdown that a terminal shows well too.

use super::model::{BASELINE, STRATEGIES};
use super::run::{Ending, Record};
use std::collections::BTreeSet;

/// A line for each task, a column for each contender that has runs; several runs of one are told one after the other.
pub fn table(records: &[Record]) -> String {
    let tasks: BTreeSet<&str> = records.iter().map(|r| r.job.task.name.as_str()).collect();
    let contenders: Vec<&str> = STRATEGIES
        .into_iter()
        .chain([BASELINE])
        .filter(|name| records.iter().any(|r| r.job.contender == *name))
        .collect();
    let cell = |task: &str, contender: &str| {
        let of = records
            .iter()
            .filter(|r| r.job.task.name == task && r.job.contender == contender);
        of.map(cell).collect::<Vec<_>>().join("; ")
    };
    let mut lines = vec![head(&contenders)];
    for task in tasks {
        let cells = contenders.iter().map(|contender| cell(task, contender));
        lines.push([task.to_owned()].into_iter().chain(cells).collect());
    }
    laid_out(&lines)
}

fn head(contenders: &[&str]) -> Vec<String> {
    let contenders = contenders.iter().map(|name| format!("`{name}`"));
    ["task".to_owned()].into_iter().chain(contenders).collect()
}

/// How a run ended, its steps and its seconds.
fn cell(record: &Record) -> String {
    let end = match (&record.ending, record.success()) {
        (_, true) => "**right**",
        (Ending::Done, false) => "*false claim*",
        (Ending::Failed(code), false) => &format!("`{code}`"),
        (Ending::Unclear, false) => "out of time",
    };
    let seconds = record.took.as_secs_f64();
    let right = match (&record.ending, &record.problem) {
        // It may have done everything and not known it.
        (Ending::Done, _) | (_, Some(_)) => "",
        (_, None) => ", computers right",
    };
    format!("{end}{right}, {} st., {seconds:.0} s", record.steps)
}

fn laid_out(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let wide = |at: usize| {
        let widths = lines
            .iter()
            .filter_map(|line| line.get(at))
            .map(String::len);
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut rows = lines.iter().map(|cells| line(cells));
    let head = rows.next().unwrap_or_default();
    [head, line(&rule)]
        .into_iter()
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::tests::record;

    #[test]
    fn each_task_has_a_line_and_each_run_its_end() {
        let mut records = vec![record(0, 1, 4, true), record(1, 1, 7, false)];
        records.push(Record {
            ending: Ending::Failed("loop".to_owned()),
            ..record(1, 2, 9, true)
        });
        let task = &records[1].job.task.name;
        let told = table(&records);
        assert!(told.starts_with("| task "), "{told}");
        assert!(told.contains("**right**, 4 st., 0 s"), "{told}");
        let line = told.lines().find(|line| line.contains(task)).unwrap();
        let cell = "*false claim*, 7 st., 0 s; `loop`, computers right, 9 st., 0 s";
        assert!(line.contains(cell), "{told}");
    }
}
