//! Where what is watched is shown: a live line below the others on a terminal, plain lines elsewhere, or JSON.

use super::told;
use crate::cli::words::{clock, now_ms};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::IsTerminal;
use std::time::Duration;

/// Frames of the spinner.
const TICK: Duration = Duration::from_millis(120);
/// The bar's length: progress comes as 0 to 1.
const WHOLE: u64 = 1000;

pub(super) enum View {
    Live(ProgressBar),
    Plain,
    Json,
}

impl View {
    pub fn new(as_json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        match (as_json, terminal) {
            (true, _) => View::Json,
            (false, false) => View::Plain,
            (false, true) => View::Live(live()),
        }
    }

    pub fn is_json(&self) -> bool {
        matches!(self, View::Json)
    }

    /// A line that stays.
    pub fn line(&self, line: &str) {
        match self {
            View::Live(bar) => bar.suspend(|| say!("{line}")),
            View::Plain => say!("{line}"),
            View::Json => {}
        }
    }

    /// A line about watching itself, which is none of the task's.
    pub fn aside(&self, line: &str) {
        match self {
            View::Live(bar) => bar.suspend(|| eprintln!("ccfleet: {line}")),
            View::Plain | View::Json => eprintln!("ccfleet: {line}"),
        }
    }

    /// A value as a line of JSON.
    pub fn value(&self, name: &str, value: &Value) {
        if self.is_json() {
            say!("{}", told::json_line(name, value));
        }
    }

    /// What goes on now; `since_ms` is when the task was made.
    pub fn now(&self, words: &str, progress: Option<f64>, since_ms: Option<i64>) {
        let View::Live(bar) = self else { return };
        bar.enable_steady_tick(TICK);
        let age = since_ms.map_or(0, |since| (now_ms() - since).max(0) / 1000);
        bar.set_prefix(clock(age));
        bar.set_message(words.to_owned());
        if let Some(done) = progress.filter(|done| done.is_finite()) {
            bar.set_style(style("{spinner} {prefix:>7}  [{bar:20}] {percent}%  {msg}"));
            // Within 0 and 1000 after the clamp.
            bar.set_position((done.clamp(0.0, 1.0) * WHOLE as f64) as u64);
        }
    }

    /// Makes room for what people type.
    pub fn pause(&self) {
        if let View::Live(bar) = self {
            bar.disable_steady_tick();
            bar.finish_and_clear();
        }
    }

    /// Goes on after [`View::pause`].
    pub fn resume(&self) {
        if let View::Live(bar) = self {
            bar.reset();
        }
    }

    pub fn end(&self) {
        if let View::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn live() -> ProgressBar {
    let bar = ProgressBar::new(WHOLE);
    bar.set_style(style("{spinner} {prefix:>7}  {msg}"));
    bar
}

/// A template is a text of ours; if indicatif refuses it, its own look will do.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_looks_are_ones_that_indicatif_knows() {
        for template in [
            "{spinner} {prefix:>7}  {msg}",
            "{spinner} {prefix:>7}  [{bar:20}] {percent}%  {msg}",
        ] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
