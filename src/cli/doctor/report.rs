//! The lines that the doctor says.

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
}

impl Report {
    pub fn to_terminal() -> Self {
        Report::to(Box::new(std::io::stdout()))
    }

    fn to(out: Box<dyn Write>) -> Self {
        Report {
            out,
            passed: 0,
            warned: 0,
            failed: 0,
        }
    }

    /// Says that a check begins that may take a while.
    pub fn waits(&mut self, what: &str, at_most: Duration) {
        let seconds = at_most.as_secs();
        self.say(&format!("  ..  {what}: checking, up to {seconds} s"));
    }

    pub fn pass(&mut self, what: &str, found: &str) {
        self.passed += 1;
        self.say(&format!("PASS  {what}: {found}"));
    }

    /// Works, but not as well as it could.
    pub fn warn(&mut self, what: &str, found: &str, advice: &str) {
        self.warned += 1;
        self.say(&format!("WARN  {what}: {found}\n      better: {advice}"));
    }

    pub fn fail(&mut self, what: &str, found: &str, mend: &str) {
        self.failed += 1;
        self.say(&format!("FAIL  {what}: {found}\n      mend: {mend}"));
    }

    /// Prints the summary and returns how many checks failed.
    pub fn end(&mut self) -> usize {
        let (passed, warned, failed) = (self.passed, self.warned, self.failed);
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
}
