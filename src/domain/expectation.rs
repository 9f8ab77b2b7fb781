//! What a planner expects a program to print, and whether it did.

use super::call::CallReport;
use super::step::{CallEnd, CallRecord, Step};
use serde_json::Value;

/// The part of an expectation that can be looked for as it stands: a text in double quotes, or a number that stands alone.
/// The rest is for whoever reads.
pub fn literal_part(expect: &str) -> Option<&str> {
    let Some((_, rest)) = expect.split_once('"') else {
        let alone = expect.trim();
        return alone.parse::<f64>().is_ok().then_some(alone);
    };
    let (text, _) = rest.split_once('"')?;
    (!text.is_empty()).then_some(text)
}

/// What a program printed, wherever the tool reports it; empty if it reports nothing.
pub fn output_of(call: &CallRecord) -> &str {
    match &call.end {
        CallEnd::Finished(report) => printed(report),
        CallEnd::Open | CallEnd::NotPlaced(_) => "",
    }
}

fn printed(report: &CallReport) -> &str {
    let said = |at: &str| report.result.as_ref()?.pointer(at).and_then(Value::as_str);
    said("/output")
        .or(said("/run/output"))
        .or(said("/content"))
        .unwrap_or_default()
}

impl Step {
    /// The text that a call of this step was expected to print and, having ended, did not. Of an output that was cut nobody
    /// can tell.
    pub fn missed(&self, call: &CallRecord) -> Option<&str> {
        let directive = self.reading.as_ref()?.directive()?;
        let text = literal_part(directive.action.expect()?)?;
        let CallEnd::Finished(report) = &call.end else {
            return None;
        };
        let whole = !report.truncated
            && report
                .result
                .as_ref()
                .and_then(|result| result.get("truncated"))
                != Some(&Value::Bool(true));
        (whole && !printed(report).contains(text)).then_some(text)
    }

    /// Whether a call of this step did what it was asked and printed what was expected of it: a program that prints something
    /// else has run, and has shown that it is wrong.
    pub fn passed(&self, call: &CallRecord) -> bool {
        call.succeeded() && self.missed(call).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_or_a_number_alone_can_be_looked_for_and_other_words_cannot() {
        for (expect, text) in [
            ("it prints \"a b\" and more", Some("a b")),
            ("9", Some("9")),
            (" -1.5 ", Some("-1.5")),
            ("9 blocks", None),
            ("the sum", None),
            ("\"", None),
            ("\"\"", None),
        ] {
            assert_eq!(literal_part(expect), text, "{expect}");
        }
    }
}
