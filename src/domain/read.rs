//! What was read out of a model's answer: facts that are journalled beside the raw answer.

use super::chat::ToolCall;
use super::work::plan::{PlanRead, ReviewRead, StepRead};
use super::work::{GoalsRead, ListRead, ReactMove, ReactRead};
use serde::{Deserialize, Serialize};

/// One variant for each contract that an answer can have, beside those of the directive strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "read", rename_all = "snake_case")]
pub enum Read {
    /// Calls, or words.
    Turn(TurnRead),
    /// A numbered plan.
    List(ListRead),
    /// One ReAct turn.
    React(ReactRead),
    /// A goal broken down.
    Goals(GoalsRead),
    /// A plan.
    Plan(PlanRead),
    /// Calls for one step of a plan, or the words that it is done by.
    Step(StepRead),
    /// A planner's word on what was done.
    Review(ReviewRead),
    /// A program, whole; none if there was none.
    Program { content: Option<String> },
    /// What a file has to hold; none if that is not known.
    Content { content: Option<String> },
    /// Facts, one a line; none if there was no list.
    Summary { facts: Vec<String> },
}

impl Read {
    /// What was read, in a few words for people.
    pub fn title(&self) -> String {
        match self {
            Read::Turn(turn) => turn.title(),
            Read::List(list) => plan_title(list.items.len(), "items", &list.problems),
            Read::React(turn) => turn.title(),
            Read::Goals(goals) => plan_title(goals.objectives.len(), "objectives", &goals.problems),
            Read::Plan(read) => read.title(),
            Read::Step(read) => read.title(),
            Read::Review(read) => read.title(),
            Read::Program { content: None } => "unreadable: no program".to_owned(),
            Read::Program { content: Some(_) } => "writes the program anew".to_owned(),
            Read::Content { content: None } => "does not know what the file has to hold".to_owned(),
            Read::Content { content: Some(_) } => "says what the file has to hold".to_owned(),
            Read::Summary { facts } => format!("sums up in {} facts", facts.len()),
        }
    }
}

fn plan_title(count: usize, of: &str, problems: &[String]) -> String {
    match problems {
        [] => format!("plans {count} {of}"),
        _ => format!("unreadable: {}", problems.join("; ")),
    }
}

impl ReactRead {
    fn title(&self) -> String {
        match (&self.next, self.problems.as_slice()) {
            (_, [_, ..]) => format!("unreadable: {}", self.problems.join("; ")),
            (Some(ReactMove::Act { tool, .. }), _) => format!("calls {tool}"),
            (Some(ReactMove::Answer { text }), _) => {
                format!("says: {}", text.lines().next().unwrap_or_default())
            }
            (None, _) => "rewrites its plan".to_owned(),
        }
    }
}

/// An answer that may call tools: natively, as JSON in its text, or not at all.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnRead {
    /// What is said beside the calls; the answer itself where there are none.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The calls came over the server's own channel, so their results go back over it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub native: bool,
    /// Something that was meant as a call and could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl TurnRead {
    fn title(&self) -> String {
        let called: Vec<&str> = self.calls.iter().map(|call| call.name.as_str()).collect();
        match (called.is_empty(), self.problems.is_empty()) {
            (false, _) => format!("calls {}", called.join(", ")),
            (true, false) => format!("unreadable: {}", self.problems.join("; ")),
            (true, true) => format!("says: {}", self.text.lines().next().unwrap_or_default()),
        }
    }
}
