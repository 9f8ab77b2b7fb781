//! The contract of the baseline: one JSON object an answer, a call or the end.

use super::voice::{Asked, Said, Seen, Voice, newest};
use crate::cli::eval::suite::{Act, Move};
use crate::llm::ChatRequest;
use serde_json::json;

/// Writes calls as JSON.
pub struct Naive;

impl Voice for Naive {
    fn asked(&mut self, request: &ChatRequest) -> Asked {
        let text = newest(request).last().map(|m| m.content.as_str());
        Asked::Move {
            seen: seen(text.unwrap_or_default()),
        }
    }

    fn say(&self, mv: &Move) -> Said {
        Said::text(match &mv.act {
            Act::Finish { message } => json!({"done": message}).to_string(),
            act => {
                let (tool, args) = act.call().unwrap_or_default();
                let tool = match &mv.on {
                    Some(on) => format!("{on}/{tool}"),
                    None => tool,
                };
                json!({"tool": tool, "args": args}).to_string()
            }
        })
    }

    fn broken(&self, mv: &Move, way: usize) -> Said {
        let text = self.say(mv).content;
        Said::text(match way % 3 {
            0 => text.replace('"', "'"),
            1 => text.replacen(':', " =>", 1),
            _ => text.replacen('{', "", 1),
        })
    }
}

/// How the baseline shows a call's end.
fn seen(text: &str) -> Seen {
    match text.split_once('\n') {
        Some(("Result: ok", body)) => {
            let failed = ["\"success\":false", "\"passed\":false"]
                .iter()
                .any(|sign| body.contains(sign));
            if failed { Seen::Failed } else { Seen::Done }
        }
        Some(("Result: refused", why)) => Seen::Refused(why.to_owned()),
        Some(("Result: failed", _)) => Seen::Failed,
        _ => Seen::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_reports_a_failure_is_seen_as_one() {
        assert_eq!(seen("Result: ok\n{\"success\":true}"), Seen::Done);
        assert_eq!(seen("Result: ok\n{\"success\":false}"), Seen::Failed);
        assert_eq!(
            seen("Result: refused\nno tool"),
            Seen::Refused("no tool".to_owned())
        );
        assert_eq!(seen("Do this"), Seen::Nothing);
    }
}
