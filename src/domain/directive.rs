//! The planner's directive (source document 000, layer A) and the executor's strict request (layer B).

use super::ids::ClientId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One well-formed directive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    #[serde(flatten)]
    pub action: Action,
    /// `ON:` — another computer than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<ClientId>,
}

/// What a directive asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "directive", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Action {
    AskUser {
        question: String,
        /// Without a reason the question is not asked.
        why: Option<String>,
        /// What the planner will do with the answer.
        next: Option<String>,
    },
    WriteFile {
        path: String,
        language: Option<String>,
        content: String,
        /// What to run afterwards, in order; the first is fused with the write.
        then: Vec<ThenItem>,
    },
    Run {
        path: String,
        args: Vec<String>,
        expect: Option<String>,
    },
    Shell {
        command: String,
        expect: Option<String>,
    },
    Tool {
        name: String,
        /// A JSON object.
        args: Value,
    },
    Done {
        summary: String,
        notes: Option<String>,
    },
}

/// One line of `THEN:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "then", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ThenItem {
    Run { path: String, args: Vec<String> },
    Shell { command: String },
}

impl Action {
    /// The directive's keyword.
    pub fn keyword(&self) -> &'static str {
        match self {
            Action::AskUser { .. } => "ASK_USER",
            Action::WriteFile { .. } => "WRITE_FILE",
            Action::Run { .. } => "RUN",
            Action::Shell { .. } => "SHELL",
            Action::Tool { .. } => "TOOL",
            Action::Done { .. } => "DONE",
        }
    }

    /// What the planner expects to see, if it said so.
    pub fn expect(&self) -> Option<&str> {
        match self {
            Action::Run { expect, .. } | Action::Shell { expect, .. } => expect.as_deref(),
            _ => None,
        }
    }
}

/// What could be read out of a planner's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reading", rename_all = "snake_case")]
pub enum Reading {
    /// One well-formed directive; `notes` name what was overlooked on purpose.
    Clear {
        directive: Directive,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// One directive, but a field is missing or malformed: only the executor model may make sense of it.
    Unclear {
        /// The directive's own text, without the chatter around it.
        text: String,
        problems: Vec<String>,
    },
    /// No directive, or more than one.
    Nothing { problems: Vec<String> },
}

impl Reading {
    pub fn directive(&self) -> Option<&Directive> {
        match self {
            Reading::Clear { directive, .. } => Some(directive),
            _ => None,
        }
    }
}

/// What the executor makes of one directive; validated before anything happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StrictRequest {
    Tool {
        /// Shown to people as the step's message.
        explanation: String,
        tool: String,
        parameters: Value,
        /// Another computer than the task's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<ClientId>,
    },
    Final {
        explanation: String,
        result: TaskResult,
    },
    /// The executor declines: it never guesses.
    Unclear { missing: Vec<String> },
}

/// The tool name under which a question travels in a strict request; no computer owns it.
pub const ASK_USER_TOOL: &str = "ask_user";

impl StrictRequest {
    /// What people are shown.
    pub fn explanation(&self) -> &str {
        match self {
            StrictRequest::Tool { explanation, .. } | StrictRequest::Final { explanation, .. } => {
                explanation
            }
            StrictRequest::Unclear { .. } => "the directive is unclear",
        }
    }
}

/// How a task ended well (or said that it did not).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskResult {
    pub success: bool,
    pub message: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Where the details of a result tell what the server could not confirm.
pub const DOUBTS: &str = "doubts";

impl TaskResult {
    /// What the server held against the end of the task, and its model did not answer with anything done.
    pub fn doubts(&self) -> impl Iterator<Item = &str> {
        let doubts = self.details.get(DOUBTS).and_then(Value::as_array);
        doubts.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// Who made a strict request out of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranslatedBy {
    /// Rules in Rust; no model was asked.
    Rules,
    /// The executor model.
    Model,
}
