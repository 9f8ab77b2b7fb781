//! A strategy's contract as the scripted model speaks it.

use super::slip::Slip;
use crate::cli::eval::suite::{Act, Move, Task};
use crate::domain::chat::{Message, Speaker, StopReason, ToolCall};
use crate::llm::ChatRequest;

/// What the model says.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub content: String,
    pub tool_calls: Vec<ToolCall>,
    pub stop: StopReason,
}

impl Said {
    pub fn text(content: impl Into<String>) -> Self {
        Said {
            content: content.into(),
            tool_calls: Vec::new(),
            stop: StopReason::Stop,
        }
    }

    /// Cut off after a share of its text, as by the length limit of an answer.
    pub fn cut(mut self, share: f64) -> Self {
        let at = (self.content.len() as f64 * share) as usize;
        let at = (0..=at.min(self.content.len()))
            .rev()
            .find(|at| self.content.is_char_boundary(*at));
        self.content.truncate(at.unwrap_or(0));
        self.stop = StopReason::Length;
        // A native call that was cut off never becomes one: servers hand its beginning over as text.
        if let Some(call) = self.tool_calls.pop() {
            self.tool_calls.clear();
            let text = format!(
                "{{\"name\": \"{}\", \"arguments\": {}",
                call.name, call.arguments
            );
            let half = text.chars().take(text.chars().count() / 2);
            self.content = half.collect();
        }
        self
    }
}

/// What a prompt asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The next move; `seen` is what the newest part of the prompt says of the last one.
    Move { seen: Seen },
    /// Exactly this move of the solution, whatever came before.
    This(usize),
    /// The solution as a whole, in the contract's own form (a plan, a list, goals).
    Outline { seen: Seen },
    /// A text of another role turned into a request.
    Translate(String),
    /// Words that decide nothing.
    Words(String),
}

/// How the newest part of a prompt says that the last answer ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing was done yet.
    Nothing,
    Done,
    /// It was carried out, and reports a failure.
    Failed,
    /// It was not carried out; why.
    Refused(String),
}

/// A strategy's contract. It may remember what it said and what it was shown, and nothing else.
pub trait Voice: Send {
    /// The moves of a task as this contract makes them, in order.
    fn script(&self, task: &Task) -> Vec<Move> {
        task.moves.clone()
    }

    /// What a prompt asks for.
    fn asked(&mut self, request: &ChatRequest) -> Asked;

    /// A move in the contract's words.
    fn say(&self, mv: &Move) -> Said;

    /// The same with the contract's form broken, in one of some ways.
    fn broken(&self, mv: &Move, way: usize) -> Said;

    /// Whether a move says that something is complete, so that saying it too early is a mistake of its own.
    fn ends(&self, mv: &Move) -> bool {
        matches!(mv.act, Act::Finish { .. })
    }

    /// Whether a move is left out as things stand now; `last`: nothing comes after it.
    fn skips(&self, mv: &Move, last: bool) -> bool {
        let _ = (mv, last);
        false
    }

    /// The solution from a move on as a whole, in the contract's words, with the mistake of a slip.
    fn outline(&mut self, moves: &[Move], next: usize, slip: Option<Slip>) -> Said {
        let _ = (moves, next, slip);
        Said::text(String::new())
    }
}

/// The messages since the model spoke last.
pub fn newest(request: &ChatRequest) -> &[Message] {
    let own = request
        .messages
        .iter()
        .rposition(|m| m.speaker == Speaker::Assistant);
    &request.messages[own.map_or(0, |at| at + 1)..]
}

/// Reads how calls ended out of the text by which every strategy shows a call's end (`strategy::render`).
pub fn seen_in(text: &str) -> Seen {
    let mut seen = Seen::Nothing;
    for line in text.lines().filter(|line| line.starts_with("## ")) {
        let ended = if line.ends_with(": done") {
            Seen::Done
        } else {
            Seen::Failed
        };
        // Of several calls the worst one counts.
        if seen != Seen::Failed {
            seen = ended;
        }
    }
    seen
}

/// An act on the computer that a move names.
pub fn at(act: Act, on: Option<&String>) -> Move {
    Move {
        act,
        on: on.cloned(),
        fails: false,
        blocked: false,
    }
}
