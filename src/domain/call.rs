//! Calls: where one goes, how it ended, and what a person or model is told of it.

use super::directive::TaskResult;
use super::ids::{CallId, ClientId};
use super::tool::is_tool_name;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// What the server knows of a call that left the process (design section 8). `Unknown` may once become
/// `Done` or `Failed`; nothing else changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Outcome {
    /// The handler ran and returned.
    Done,
    /// The handler ran and raised, was stopped, or refused its arguments.
    Failed,
    /// The handler was never entered and never will be.
    NotStarted,
    /// Nobody can tell whether the handler ran.
    Unknown,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::NotStarted => "not_started",
            Outcome::Unknown => "unknown",
        }
    }
}

/// How a call ended, with what the computer said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallReport {
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Stable code of a failure, for example `timeout`, `cancelled`, `unknown_tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// As measured on the computer, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The result was too large to be kept or sent whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl CallReport {
    /// A call that ended without an answer of its computer.
    pub fn without_answer(outcome: Outcome, code: &str, error: impl Into<String>) -> Self {
        CallReport {
            outcome,
            result: None,
            error: Some(error.into()),
            code: Some(code.to_owned()),
            duration_ms: None,
            truncated: false,
        }
    }

    /// Whether the tool did what it was asked: it ran to its end, and its result does not say otherwise
    /// (tools that run programs report `success`, those that run tests `passed`).
    pub fn succeeded(&self) -> bool {
        let denies = |result: &Value| {
            let mut said = ["success", "passed"].iter();
            said.any(|name| result.get(*name) == Some(&Value::Bool(false)))
        };
        self.outcome == Outcome::Done && !self.result.as_ref().is_some_and(denies)
    }

    /// The files that a core tool was to write and left as they were, because its caller did not know what they hold: each with
    /// `path`, `bytes`, `hash` and `content`. Then nothing at all was written.
    pub fn kept_files(&self) -> Vec<&Value> {
        let result = self.result.as_ref().filter(|_| !self.succeeded());
        let part = result.map(|result| result.get("write").unwrap_or(result));
        let Some(part) = part.filter(|part| part.get("kept") == Some(&Value::Bool(true))) else {
            return Vec::new();
        };
        match part.get("files").and_then(Value::as_array) {
            Some(files) => files.iter().collect(),
            None => vec![part],
        }
    }

    /// Whether [`kept_files`](Self::kept_files) has any.
    pub fn kept_a_file(&self) -> bool {
        !self.kept_files().is_empty()
    }

    /// The same as the result of a task that made this one call.
    pub fn task_result(&self, call_id: &CallId, tool: &str) -> TaskResult {
        let words = || format!("{tool} is {}", self.outcome.as_str());
        TaskResult {
            success: self.succeeded(),
            message: self.error.clone().unwrap_or_else(words),
            details: json!({"call_id": call_id, "report": self}),
        }
    }

    /// Whether the tool did anything in the world, as far as it says so.
    pub fn did_something(&self) -> bool {
        self.result.as_ref().is_none_or(did_something)
    }
}

/// Fields in which tools say whether, or how often, they did what they were asked.
const DEEDS: &[&str] = &[
    "ok",
    "dug",
    "placed",
    "moved",
    "moves_made",
    "taken",
    "dropped",
    "refuelled",
    "deleted",
    "crafted",
];

/// Whether a result tells that its tool did anything; one that does not say counts as if.
pub fn did_something(result: &Value) -> bool {
    let mut told = DEEDS.iter().filter_map(|name| result.get(name)).peekable();
    told.peek().is_none()
        || told.any(|deed| match deed {
            Value::Bool(done) => *done,
            Value::Number(count) => count.as_f64() != Some(0.0),
            Value::Null => false,
            Value::String(_) | Value::Array(_) | Value::Object(_) => true,
        })
}

/// Why nobody can take a call now (design section 8, "Routing").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoRouteReason {
    Offline,
    UnknownComputer,
    UnknownTool,
    NotAllowed,
    Busy,
    Stopped,
    /// The tool is there, but it has to be tested and activated first.
    ToolDraft,
}

impl NoRouteReason {
    /// The stable code.
    pub fn as_str(self) -> &'static str {
        match self {
            NoRouteReason::Offline => "offline",
            NoRouteReason::UnknownComputer => "unknown_computer",
            NoRouteReason::UnknownTool => "unknown_tool",
            NoRouteReason::NotAllowed => "not_allowed",
            NoRouteReason::Busy => "busy",
            NoRouteReason::Stopped => "stopped",
            NoRouteReason::ToolDraft => "tool_draft",
        }
    }
}

/// Why a call was not placed, in words a planner can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoRoute {
    pub reason: NoRouteReason,
    pub message: String,
}

impl NoRoute {
    /// What people and planners are told of a tool that is a draft.
    pub fn draft_words(tool: &str, computer: &ClientId) -> String {
        format!(
            "tool \"{tool}\" on {computer} is a draft (new, or its file changed since it was activated): test it with \
             tool_test and activate it again with tool_activate"
        )
    }
}

/// Where a call shall go: a tool by bare name, on one computer, or on any one of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    pub target: Target,
    pub tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The task's own computer, or the least busy owner.
    Any,
    Computer(ClientId),
    Group(String),
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("\"{0}\" is no tool name: 1 to 64 of letters, digits, \"_\", \".\" and \"-\"")]
    Tool(String),
    #[error("\"{0}\" is no computer: {1}")]
    Computer(String, String),
    #[error("an address names a group as \"group:name/tool\"")]
    Group,
}

impl Address {
    /// Reads `tool`, `computer/tool` or `group:name/tool`; `/`, `:` and `%` in a computer's name are
    /// percent-encoded.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (target, tool) = match text.rsplit_once('/') {
            None => (Target::Any, text),
            Some((place, tool)) => match place.strip_prefix("group:") {
                Some("") => return Err(AddressError::Group),
                Some(group) => (Target::Group(percent_decode(group)), tool),
                None => {
                    let name = percent_decode(place);
                    let id = ClientId::parse(&name)
                        .map_err(|e| AddressError::Computer(name, e.to_string()))?;
                    (Target::Computer(id), tool)
                }
            },
        };
        if !is_tool_name(tool) {
            return Err(AddressError::Tool(tool.to_owned()));
        }
        Ok(Address {
            target,
            tool: tool.to_owned(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Any => f.write_str(&self.tool),
            Target::Computer(id) => write!(f, "{}/{}", percent_encode(id.as_str()), self.tool),
            Target::Group(name) => write!(f, "group:{}/{}", percent_encode(name), self.tool),
        }
    }
}

fn percent_encode(text: &str) -> String {
    text.replace('%', "%25")
        .replace('/', "%2F")
        .replace(':', "%3A")
}

/// Decodes the three escapes that `percent_encode` writes; anything else stands for itself.
fn percent_decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (plain, taken) = match rest[at..].get(..3).map(str::to_ascii_uppercase).as_deref() {
            Some("%2F") => ('/', 3),
            Some("%3A") => (':', 3),
            Some("%25") => ('%', 3),
            _ => ('%', 1),
        };
        out.push(plain);
        rest = &rest[at + taken..];
    }
    out + rest
}

/// The hash of a call's arguments as it travels on the wire (`args_hash`): opaque to computers.
pub fn args_hash(args: &Value) -> String {
    // serde_json keeps object keys sorted here, so equal arguments have equal texts.
    let text = args.to_string();
    format!("arg_{}", &blake3::hash(text.as_bytes()).to_hex()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_result_that_says_success_false_did_not_succeed_though_the_call_is_done() {
        let report = CallReport {
            outcome: Outcome::Done,
            result: Some(serde_json::json!({"success": false})),
            error: None,
            code: None,
            duration_ms: None,
            truncated: false,
        };
        assert!(!report.succeeded());
    }

    proptest! {
        #[test]
        fn every_printed_address_reads_back(computer in "\\PC{1,20}", tool in "[a-z_.-]{1,12}") {
            prop_assume!(!computer.is_empty());
            for target in [
                Target::Any,
                Target::Computer(ClientId::parse(&computer).unwrap()),
                Target::Group(computer.clone()),
            ] {
                let address = Address { target, tool: tool.clone() };
                prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
            }
        }

        #[test]
        fn reading_an_address_never_panics(text in "\\PC{0,80}") {
            let _ = Address::parse(&text);
        }
    }
}
