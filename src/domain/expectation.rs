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

/// Whether a call that ended printed a text; none if that cannot be told, since its output was cut.
pub fn printed_text(call: &CallRecord, text: &str) -> Option<bool> {
    let CallEnd::Finished(report) = &call.end else {
        return Some(false);
    };
    let said = |at: &str| report.result.as_ref()?.pointer(at)?.as_bool();
    let cut = report.truncated
        || said("/truncated") == Some(true)
        || said("/run/truncated") == Some(true);
    match printed(report).contains(text) {
        false if cut => None,
        found => Some(found),
    }
}

impl Step {
    /// The text that a call of this step was expected to print and, having ended, did not.
    pub fn missed(&self, call: &CallRecord) -> Option<&str> {
        let directive = self.reading.as_ref()?.directive()?;
        let text = literal_part(directive.action.expect()?)?;
        let ended = matches!(call.end, CallEnd::Finished(_));
        (ended && printed_text(call, text) == Some(false)).then_some(text)
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
    use serde_json::json;

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

    #[test]
    fn of_an_output_that_was_cut_nobody_can_tell_what_it_lacks() {
        for (result, report_cut, seen) in [
            (json!({"output": "it is 9"}), false, Some(true)),
            (
                json!({"output": "it is 9", "truncated": true}),
                true,
                Some(true),
            ),
            (
                json!({"output": "023", "truncated": false}),
                false,
                Some(false),
            ),
            (json!({"output": "023", "truncated": true}), false, None),
            (
                json!({"run": {"output": "023", "truncated": true}}),
                false,
                None,
            ),
            (json!({"output": "023"}), true, None),
            (json!(null), false, Some(false)),
        ] {
            let call = json!({"call_id": "cal_1", "target": "any", "tool": "run_program", "args": {},
                "request": {"kind": "tool", "explanation": "", "tool": "run_program", "parameters": {}},
                "end": {"finished": {"outcome": "done", "result": result, "truncated": report_cut}}});
            let call: CallRecord = serde_json::from_value(call).unwrap();
            assert_eq!(printed_text(&call, "9"), seen, "{result}");
        }
    }
}
