//! What a planner expects a program to print, and whether it did.

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

/// Whether a call printed a text; none if that cannot be told, since it has not ended or its output was cut.
pub fn printed(call: &CallRecord, text: &str) -> Option<bool> {
    let CallEnd::Finished(report) = &call.end else {
        return None;
    };
    let said = |at: &str| report.result.as_ref()?.pointer(at);
    let output = ["/output", "/run/output", "/content"];
    let output = output.iter().find_map(|at| said(at)?.as_str());
    let cut = ["/truncated", "/run/truncated"];
    let cut = report.truncated || cut.iter().any(|at| said(at) == Some(&Value::Bool(true)));
    match output.unwrap_or_default().contains(text) {
        false if cut => None,
        found => Some(found),
    }
}

impl Step {
    /// The text that a call of this step was expected to print and did not.
    pub fn missed(&self, call: &CallRecord) -> Option<&str> {
        let directive = self.reading.as_ref()?.directive()?;
        let text = literal_part(directive.action.expect()?)?;
        (printed(call, text) == Some(false)).then_some(text)
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
            assert_eq!(printed(&call, "9"), seen, "{result}");
        }
    }
}
