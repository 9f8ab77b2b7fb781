//! The contract of the strategy `direct`: native calls where the prompt offers tools, else one JSON call; an answer without
//! a call is the end.

use super::voice::{Asked, Said, Seen, Voice, newest, seen_in};
use crate::cli::eval::suite::{Act, Move};
use crate::domain::chat::ToolCall;
use crate::llm::ChatRequest;
use serde_json::json;

/// Calls tools.
#[derive(Default)]
pub struct Direct {
    /// The newest prompt offers tools over the server's own channel.
    native: bool,
}

impl Voice for Direct {
    fn asked(&mut self, request: &ChatRequest) -> Asked {
        self.native = !request.tools.is_empty();
        let parts = newest(request).iter().map(|m| m.content.as_str());
        let text = parts.collect::<Vec<_>>().join("\n");
        Asked::Move { seen: seen(&text) }
    }

    fn say(&self, mv: &Move) -> Said {
        if let Act::Finish { message } = &mv.act {
            return Said::text(format!("FINAL ANSWER: {message}"));
        }
        let (name, mut arguments) = mv.act.call().unwrap_or_default();
        if let Some(on) = &mv.on {
            arguments["on"] = json!(on);
        }
        if !self.native {
            return Said::text(json!({"tool": name, "args": arguments}).to_string());
        }
        let mut said = Said::text("");
        said.tool_calls.push(ToolCall {
            id: None,
            name,
            arguments,
        });
        said
    }

    fn broken(&self, mv: &Move, way: usize) -> Said {
        let (name, arguments) = mv.act.call().unwrap_or_default();
        let text = json!({"tool": name, "args": arguments}).to_string();
        Said::text(match way % 3 {
            0 => text.replacen(':', " =>", 1),
            1 => format!("<tool_call>{}", &text[..text.len() / 2]),
            // The end of a task without its words.
            _ if matches!(mv.act, Act::Finish { .. }) => "All of it is done now.".to_owned(),
            _ => text.trim_end_matches('}').to_owned(),
        })
    }
}

/// What came of the last answer.
fn seen(text: &str) -> Seen {
    let result = text.split("# Now\n").next().unwrap_or_default();
    if result.contains("NOT carried out (") {
        return Seen::Refused(result.to_owned());
    }
    // Natively the answer stands where a result would.
    if result.contains("\nAnswer of ") || result.contains(" answered: ") {
        return Seen::Done;
    }
    seen_in(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_result_says_how_the_last_answer_ended() {
        let result = |body: &str| {
            seen(&format!(
                "# Step 2: what came of it\n\n{body}\n\n# Now\n\n- x"
            ))
        };
        assert_eq!(result("## run /a.lua on base: done"), Seen::Done);
        assert_eq!(result("## fs_read /a on base: FAILED"), Seen::Failed);
        assert!(matches!(
            result("NOT carried out (tool).\nno such tool"),
            Seen::Refused(_)
        ));
        assert_eq!(seen("Ada answered: red\n# Now\n"), Seen::Done);
        assert_eq!(result("Question: which?\nAnswer of Ada: red"), Seen::Done);
    }
}
