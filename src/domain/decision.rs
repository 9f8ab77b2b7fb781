//! Decisions: what a task does next. A decision is journalled before it is carried out, together with
//! what it was based on, and is never made twice.

use super::call::Target;
use super::chat::{Message, OutputFormat, Role, ToolDef};
use super::directive::{StrictRequest, TaskResult, TranslatedBy};
use super::family::Child;
use super::ids::{BlobHash, CallId, QuestionId};
use super::tool::FleetView;
use super::track::Track;
use super::work::Advance;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything from outside that a decision may look at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
    pub fleet: FleetView,
    pub roles: BTreeMap<Role, RoleLimits>,
    /// How long to wait for a computer that is away, in milliseconds of server time.
    pub offline_timeout_ms: i64,
}

/// How much a role's model can take in and say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleLimits {
    /// The context window in tokens.
    pub num_ctx: u32,
    /// The longest answer in tokens.
    pub max_tokens: u32,
    /// Whether the model is told of tools over the server's own channel.
    #[serde(default)]
    pub native_tools: bool,
}

impl Default for RoleLimits {
    fn default() -> Self {
        RoleLimits {
            num_ctx: 8192,
            max_tokens: 2048,
            native_tools: false,
        }
    }
}

/// The inputs of a decision as they are journalled: the fleet by the hash of its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputsRef {
    pub now_ms: i64,
    pub fleet: BlobHash,
    pub roles: BTreeMap<Role, RoleLimits>,
    /// As in [`Inputs`]; none in a journal from before it was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_timeout_ms: Option<i64>,
}

impl Inputs {
    /// As they are journalled, and the fleet's content beside its hash.
    pub fn journalled(&self) -> (InputsRef, BlobHash, String) {
        // A view of the fleet is texts and lists; it can always be written.
        let fleet = serde_json::to_string(&self.fleet).unwrap_or_default();
        let hash = BlobHash::of(&fleet);
        (self.with_fleet(hash.clone()), hash, fleet)
    }

    /// As they are journalled, where the hash of their fleet is known already.
    pub fn with_fleet(&self, fleet: BlobHash) -> InputsRef {
        InputsRef {
            now_ms: self.now_ms,
            fleet,
            roles: self.roles.clone(),
            offline_timeout_ms: Some(self.offline_timeout_ms),
        }
    }
}

/// A task's next move, and the track on which it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    pub track: Track,
    pub decision: Decision,
}

impl Move {
    /// A move on the main track.
    pub fn main(decision: Decision) -> Self {
        Move {
            track: Track::MAIN,
            decision,
        }
    }
}

/// What a task does next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Ask a model.
    Consult(Consult),
    /// Run tools. One directive makes one call; other strategies may make several.
    Call {
        request: StrictRequest,
        translated_by: TranslatedBy,
        calls: Vec<PlannedCall>,
    },
    /// Ask a person.
    Ask {
        request: StrictRequest,
        translated_by: TranslatedBy,
        question: Question,
    },
    /// The move is refused; the evidence goes to the planner.
    Block { guard: Guard, evidence: String },
    /// Nothing can be done before something changes.
    Wait {
        reason: WaitReason,
        until_ms: Option<i64>,
    },
    Finish {
        request: StrictRequest,
        translated_by: TranslatedBy,
        result: TaskResult,
    },
    Fail {
        code: String,
        error: String,
        details: Value,
    },
    /// Change the task's own books; nothing happens outside.
    Advance { advance: Advance },
}

/// One model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consult {
    pub role: Role,
    pub contract: Contract,
    pub prompt: PromptDelta,
    #[serde(default)]
    pub format: OutputFormat,
    /// Tools for native calling.
    #[serde(default, skip_serializing_if = "ToolsDelta::is_same")]
    pub tools: ToolsDelta,
}

/// A consult's native tools, told only when they are others than those of the role's former consult.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolsDelta {
    #[default]
    Same,
    Set(Vec<ToolDef>),
}

impl ToolsDelta {
    /// What turns `former` into `next`.
    pub fn between(former: &[ToolDef], next: Vec<ToolDef>) -> Self {
        if former == next {
            ToolsDelta::Same
        } else {
            ToolsDelta::Set(next)
        }
    }

    fn is_same(&self) -> bool {
        *self == ToolsDelta::Same
    }
}

/// What the answer of a consult must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contract {
    /// One directive block.
    Directive,
    /// The same; of several the first one counts.
    FirstDirective,
    /// One directive block, after a run that failed with nothing changed since; of several the first one counts that is no run.
    DirectiveAfterFailure,
    /// One strict request as JSON.
    StrictRequest,
    /// The same, after the first try was invalid.
    Repair,
    /// Calls, native or as JSON, or a final answer in words.
    Turn,
    /// A numbered list.
    List,
    /// One ReAct turn.
    React,
    /// Objectives with subtasks as JSON.
    Goals,
    /// Calls, native or as JSON; a mark of the subtask is one of them.
    Subtask,
    /// A plan as JSON.
    Plan,
    /// A plan in lines, one for each step.
    PlanLines,
    /// One or several calls for one step of a plan, as JSON.
    StepCalls,
    /// Words that a step of a plan is done by.
    StepWords,
    /// One program, whole, in a fence.
    Program,
    /// What a file of data has to hold, in a fence, or that this is not known yet.
    Content,
    /// Whether a plan's goal holds, as JSON.
    Review,
    /// The facts of the steps up to `upto_step`, before they leave the prompt.
    Summary { upto_step: u32 },
}

/// A prompt as the former prompt of the same role plus what was appended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptDelta {
    /// How many messages of the role's former prompt stay.
    pub keep: usize,
    pub append: Vec<Message>,
}

impl PromptDelta {
    /// What turns `former` into `next`.
    pub fn between(former: &[Message], next: Vec<Message>) -> Self {
        let keep = former.iter().zip(&next).take_while(|(a, b)| a == b).count();
        PromptDelta {
            keep,
            append: next.into_iter().skip(keep).collect(),
        }
    }

    /// The whole prompt again.
    pub fn apply(&self, former: &[Message]) -> Vec<Message> {
        let kept = former.iter().take(self.keep);
        kept.chain(&self.append).cloned().collect()
    }
}

/// A tool call that is decided but not yet placed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    pub call_id: CallId,
    pub target: Target,
    pub tool: String,
    pub args: Value,
    /// Longest time on the computer, in milliseconds; none = the tool's own or the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The request of this call alone, where one decision makes several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<StrictRequest>,
    /// The task that is started instead of a tool on a computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Child>,
    /// A sleep: nothing is called, and it ends then, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub question_id: QuestionId,
    pub question: String,
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Calls that need a person's consent; only a person who proved who they are can give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// Calls that are made only with a person's consent (design section 6, "Policy").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub calls: Vec<AskedCall>,
    /// The rule that asks for it.
    pub reason: String,
}

/// A call as consent is given for it: to exactly this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    pub target: Target,
    pub tool: String,
    pub args: Value,
}

/// Which guard refused a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// The planner's answer holds no single directive.
    Unreadable,
    /// A directive that cannot be translated without guessing.
    Unclear,
    /// The executor's answer stayed invalid.
    Invalid,
    /// The same call with the same outcome too often.
    Duplicate,
    /// A question without a reason, or one too many.
    Question,
    /// `DONE` without a test that ran since the last change.
    Proof,
    /// A tool that is not allowed or does not exist.
    Tool,
    /// Arguments that do not match the tool's schema.
    Arguments,
    /// The kind's policy denies it, or a person did.
    Policy,
    /// Something is called finished of which too little was done.
    Unfinished,
    /// Words where a call was due.
    Reminder,
}

impl Guard {
    pub fn as_str(self) -> &'static str {
        match self {
            Guard::Unreadable => "unreadable",
            Guard::Unclear => "unclear",
            Guard::Invalid => "invalid",
            Guard::Duplicate => "duplicate",
            Guard::Question => "question",
            Guard::Proof => "proof",
            Guard::Tool => "tool",
            Guard::Arguments => "arguments",
            Guard::Policy => "policy",
            Guard::Unfinished => "unfinished",
            Guard::Reminder => "reminder",
        }
    }
}

/// Why a task waits (wire contract, `wait_reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    ComputerOffline,
    Model,
    Approval,
    Answer,
    Schedule,
    Event,
    Stopped,
}
