//! What is said of everything that was measured: for people, and as the last line for programs.

use super::model::BASELINE;
use super::{Args, Measured, by_task, figures};
use serde_json::{Value, json};

/// Prints the figures.
pub fn tell(args: &Args, measured: &Measured, told: &str) {
    let rows = figures::rows(&measured.records);
    say!(
        "\n{} of {} runs in {:.0} s{}\n",
        measured.records.len(),
        measured.planned,
        measured.took.as_secs_f64(),
        told_of_kept(measured)
    );
    say!("{}", figures::table(&rows));
    if args.model_server.is_some() {
        say!("\n{}", by_task::table(&measured.records));
    }
    say!(
        "\nPASS: succeeded, as the computers show. <=2.5x: and took at most 2.5 times the steps of an error-free run. \
         CALLS: to models, EXEC of them to the executor; AVOIDED: translated by rule. TRIPS: refused moves. FALSE: said \
         to be done and is not. NONE: without an outcome. DUP: effects entered twice."
    );
    for row in &rows {
        for line in row.broken.iter().chain(&row.over_bound) {
            say!("without errors: {line}");
        }
    }
    for line in figures::failures(&measured.records) {
        say!("failed: {line}");
    }
    for error in &measured.errors {
        say!("not measured: {error}");
    }
    if args.json {
        say!("{}", object(args, measured, &rows, told));
    }
}

/// Which runs are not of today.
fn told_of_kept(measured: &Measured) -> String {
    let earlier = measured.records.iter().filter(|r| r.by_earlier_version);
    match (measured.kept, earlier.count()) {
        (0, _) => String::new(),
        (kept, 0) => format!(", {kept} of them kept from before"),
        (kept, earlier) => format!(
            ", {kept} of them kept from before, {earlier} of those by an earlier version of their strategy"
        ),
    }
}

fn object(args: &Args, measured: &Measured, rows: &[figures::Row], told: &str) -> Value {
    let of = |baseline: bool| {
        let rows = rows
            .iter()
            .filter(move |r| (r.strategy == BASELINE) == baseline);
        rows.map(figures::to_json)
    };
    json!({
        "rows": of(false).collect::<Vec<_>>(),
        "baseline": of(true).next(),
        "model": told,
        "error_rate": args.model_server.is_none().then_some(args.error_rate),
        "runs_planned": measured.planned,
        "runs_measured": measured.records.len(),
        "runs_kept": measured.kept,
        "not_measured": measured.errors,
        "interrupted": measured.interrupted,
        "seconds": measured.took.as_secs_f64().round(),
    })
}
