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
            return Said::text(message.clone());
        }
        let (name, arguments) = mv.act.call().unwrap_or_default();
        let name = match &mv.on {
            Some(on) => format!("{on}/{name}"),
            None => name,
        };
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
            _ => text.trim_end_matches('}').to_owned(),
        })
    }
}

/// What came of the last answer.
fn seen(text: &str) -> Seen {
    if text.contains("NOT carried out") || text.contains("not carried out (") {
        return Seen::Refused(text.to_owned());
    }
    if text.contains(" answered: ") {
        return Seen::Done;
    }
    seen_in(text)
}
