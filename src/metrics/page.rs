//! Makes the table of `docs/metrics.md`, so that the page cannot drift.

use super::names::ALL;
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
const BEGIN: &str =
    "<!-- metrics: made by a test; CCFLEET_BLESS=1 cargo test --lib the_page_of_metrics -->\n";
const END: &str = "<!-- end of metrics -->\n";

fn table() -> String {
    let mut table =
        String::from("| metric | type | labels | what it tells |\n| --- | --- | --- | --- |\n");
    for metric in ALL {
        let labels: Vec<String> = metric.labels.iter().map(|l| format!("`{l}`")).collect();
        let (name, kind) = (metric.name, metric.kind.as_str());
        let (labels, help) = (labels.join(", "), metric.help());
        let _ = writeln!(table, "| `{name}` | {kind} | {labels} | {help} |");
    }
    table
}

#[test]
fn the_page_of_metrics_is_what_the_names_say() {
    let page = std::fs::read_to_string(PATH).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let made = format!("{head}{BEGIN}{}{END}{tail}", table());
    if std::env::var_os("CCFLEET_BLESS").is_some() {
        std::fs::write(PATH, &made).unwrap();
        return;
    }
    assert!(
        page == made,
        "docs/metrics.md is old; run CCFLEET_BLESS=1 cargo test --lib the_page_of_metrics"
    );
}
