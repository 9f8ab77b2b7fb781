//! The lines that the doctor says.

use serde_json::{Value, json};
use std::io::Write;
#[cfg(test)]
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Prints checks as they are made and counts how they ended.
pub(super) struct Report {
    out: Box<dyn Write>,
    passed: usize,
    warned: usize,
    failed: usize,
    /// The checks for one JSON object at the end, where no lines are wanted.
    items: Option<Vec<Value>>,
}

impl Report {
    pub fn to_terminal(as_json: bool) -> Self {
        Report {
            items: as_json.then(Vec::new),
            ..Report::to(Box::new(std::io::stdout()))
        }
    }

    fn to(out: Box<dyn Write>) -> Self {
        Report {
            out,
            passed: 0,
            warned: 0,
            failed: 0,
            items: None,
        }
    }

    /// Says that a check begins that may take a while.
    pub fn waits(&mut self, what: &str, at_most: Duration) {
        let seconds = at_most.as_secs();
        if self.items.is_none() {
            self.say(&format!("  ..  {what}: checking, up to {seconds} s"));
        }
    }

    pub fn pass(&mut self, what: &str, found: &str) {
        self.passed += 1;
        self.check("PASS", what, found, None);
    }

    /// Works, but not as well as it could.
    pub fn warn(&mut self, what: &str, found: &str, advice: &str) {
        self.warned += 1;
        self.check("WARN", what, found, Some(("better", advice)));
    }

    pub fn fail(&mut self, what: &str, found: &str, mend: &str) {
        self.failed += 1;
        self.check("FAIL", what, found, Some(("mend", mend)));
    }

    fn check(&mut self, result: &str, what: &str, found: &str, advice: Option<(&str, &str)>) {
        if let Some(items) = &mut self.items {
            let advice = advice.map(|(_, words)| words);
            items.push(json!({"check": what, "result": result, "found": found, "advice": advice}));
            return;
        }
        self.say(&format!("{result}  {what}: {found}"));
        if let Some((word, advice)) = advice {
            self.say(&format!("      {word}: {advice}"));
        }
    }

    /// Prints the summary and returns how many checks failed.
    pub fn end(&mut self) -> usize {
        let (passed, warned, failed) = (self.passed, self.warned, self.failed);
        if let Some(items) = self.items.take() {
            let report =
                json!({"items": items, "passed": passed, "warned": warned, "failed": failed});
            self.say(&format!("{report:#}"));
            return failed;
        }
        let verdict = match (failed, warned) {
            (0, 0) => "all is well",
            (0, _) => "it will work",
            _ => "mend the FAIL lines above",
        };
        self.say(&format!(
            "\n{passed} PASS, {warned} WARN, {failed} FAIL: {verdict}"
        ));
        failed
    }

    /// A closed output is nobody's problem: the exit code still tells.
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.out, "{line}");
        let _ = self.out.flush();
    }
}

/// What a report in a test has said.
#[cfg(test)]
#[derive(Clone, Default)]
pub(super) struct Said(Arc<Mutex<Vec<u8>>>);

#[cfg(test)]
impl Said {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("said").clone()).expect("text")
    }
}

#[cfg(test)]
impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("said").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
impl Report {
    pub fn to_memory() -> (Self, Said) {
        let said = Said::default();
        (Report::to(Box::new(said.clone())), said)
    }

    fn json_to_memory() -> (Self, Said) {
        let (report, said) = Report::to_memory();
        let items = Some(Vec::new());
        (Report { items, ..report }, said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_json_a_report_is_one_object() {
        let (mut report, said) = Report::json_to_memory();
        report.waits("planner", Duration::from_secs(5));
        report.pass("port", "free");
        report.fail("planner", "no model", "ollama pull it");
        assert_eq!(report.end(), 1);
        let told: Value = serde_json::from_str(&said.text()).expect("JSON");
        let items = json!([
            {"check": "port", "result": "PASS", "found": "free", "advice": null},
            {"check": "planner", "result": "FAIL", "found": "no model", "advice": "ollama pull it"},
        ]);
        assert_eq!(
            told,
            json!({"items": items, "passed": 1, "warned": 0, "failed": 1})
        );
    }
}
