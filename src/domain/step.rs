//! A step: one turn of a model, or one move by rule, and what came of it.

use super::by_rule::ByRule;
use super::call::{CallReport, NoRoute, Outcome, Target};
use super::chat::ChatAnswer;
use super::decision::{AskedCall, Contract, Guard, Question};
use super::directive::{Action, Reading, StrictRequest, ThenItem, TranslatedBy};
use super::event::CallIntended;
use super::family::Child;
use super::ids::CallId;
use super::memo::Memo;
use super::read::Read;
use super::shared::ContentHash;
use super::track::Track;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One planner turn and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub number: u32,
    pub track: Track,
    pub planner: Option<Answered>,
    pub reading: Option<Reading>,
    /// What was read out of the planner's answer under another contract than the directive's.
    pub read: Option<Read>,
    /// The executor's tries for this directive.
    pub executor: Vec<ExecutorTry>,
    pub request: Option<StrictRequest>,
    pub translated_by: Option<TranslatedBy>,
    /// The directive's own call, then those of its THEN items.
    pub calls: Vec<CallRecord>,
    pub question: Option<QuestionRecord>,
    pub blocked: Option<Blocked>,
    /// The step only asks for the facts of the steps up to this one.
    pub summary_upto: Option<u32>,
    /// A piece of a former result that the planner asked for again.
    pub recalled: Option<Recalled>,
    /// Nothing more will come of this step.
    pub closed: bool,
}

/// Which piece of a former result is shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    pub step: u32,
    /// Which call of that step, from 1.
    pub call: u32,
    /// In bytes, from the beginning of the result's text.
    pub offset: usize,
}

/// A model answer and the decision that asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    pub consult: u64,
    pub answer: ChatAnswer,
    /// From where on the answer only repeats the end of its prompt, in bytes, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo_at: Option<usize>,
}

impl Answered {
    /// The model's own words.
    pub fn own_words(&self) -> &str {
        let content = self.answer.content.as_str();
        let own = self.echo_at.and_then(|at| content.get(..at));
        own.unwrap_or(content)
    }
}

/// One answer of the executor model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutorTry {
    pub consult: u64,
    pub contract: Contract,
    pub answer: Option<ChatAnswer>,
    pub request: Option<StrictRequest>,
    pub problems: Vec<String>,
    /// What was read under another contract than the strict request's.
    pub read: Option<Read>,
}

/// A refused move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    pub guard: Guard,
    pub evidence: String,
}

/// A call of this task, from decision to outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    pub call_id: CallId,
    pub target: Target,
    pub tool: String,
    pub args: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The request that it came from.
    pub request: StrictRequest,
    /// The task that it started instead of a tool on a computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Child>,
    /// It is a sleep, and ends then, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intended: Option<CallIntended>,
    pub end: CallEnd,
    /// Its arguments as guards compare them.
    #[serde(skip)]
    pub settled: Memo<Arc<SettledArgs>>,
}

/// Arguments of a call with every path, number and empty field written in one way; made by `strategy::guards::signature`.
#[derive(Debug, PartialEq, Eq)]
pub struct SettledArgs {
    pub hash: ContentHash,
    /// The arguments for people, short.
    pub shown: String,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    #[default]
    Open,
    Finished(CallReport),
    NotPlaced(NoRoute),
}

impl Step {
    /// What rules do here, without a wish of any model.
    pub fn by_rule(&self) -> Option<ByRule> {
        let is_asked = self.planner.is_some() || !self.executor.is_empty();
        match self.request.as_ref().filter(|_| !is_asked)? {
            StrictRequest::Tool { explanation, .. } => ByRule::told_by(explanation),
            StrictRequest::Final { .. } | StrictRequest::Unclear { .. } => None,
        }
    }

    /// Whether rules read here what the task names.
    pub fn looks_first(&self) -> bool {
        self.by_rule() == Some(ByRule::FirstLook)
    }

    /// Whether rules find out here what the task names first: files, searches, tools that only look, what somebody is asked.
    pub fn prepares(&self) -> bool {
        let finds_out = [
            ByRule::FirstLook,
            ByRule::FirstSearch,
            ByRule::FirstTool,
            ByRule::FirstQuestion,
        ];
        self.by_rule().is_some_and(|why| finds_out.contains(&why))
    }

    /// Whether a program is mended here in a prompt of its own, which no planner wished for.
    pub fn mends(&self) -> bool {
        self.asks_aside_for(Contract::Program)
    }

    /// Whether the content of a file is asked for here in a prompt of its own.
    pub fn fills(&self) -> bool {
        self.asks_aside_for(Contract::Content)
    }

    /// Whether a content was asked for here in a prompt of its own, and its answer refused.
    pub fn fills_in_vain(&self) -> bool {
        self.closed && self.fills() && self.calls.is_empty()
    }

    /// Whether a move was refused here in words that begin so.
    pub fn is_refused_as(&self, begin: &str) -> bool {
        let refused = self.blocked.as_ref();
        refused.is_some_and(|refused| refused.evidence.starts_with(begin))
    }

    /// Whether a model is asked here for one of these.
    pub fn asks_aside(&self) -> bool {
        self.mends() || self.fills()
    }

    fn asks_aside_for(&self, contract: Contract) -> bool {
        let mut tries = self.executor.iter();
        self.planner.is_none()
            && self.track.is_main()
            && tries.any(|tried| tried.contract == contract)
    }

    /// Whether rules make a run here: one of which the task speaks, or one that was made before anew.
    pub fn runs_by_rule(&self) -> bool {
        let runs = [
            ByRule::FirstRun,
            ByRule::RunAnew,
            ByRule::Recheck,
            ByRule::RunForCheck,
            ByRule::ClosingRun,
        ];
        self.by_rule().is_some_and(|why| runs.contains(&why))
    }

    /// Whether no answer of the planner's asked for what is done here, and its prompts tell of it all the same. What was read first stands
    /// below the task.
    pub fn is_aside(&self) -> bool {
        let by_rule = self.by_rule();
        self.asks_aside() || by_rule.is_some_and(|why| why != ByRule::FirstLook)
    }

    /// Whether a person who proved who they are consented to exactly this call in this step.
    pub fn approves(&self, call: &AskedCall) -> bool {
        let asked = self.question.as_ref();
        let approval = asked.and_then(|asked| asked.question.approval.as_ref());
        let given = asked.and_then(|asked| asked.answer.as_ref());
        given.is_some_and(UserAnswer::consents)
            && approval.is_some_and(|approval| approval.calls.contains(call))
    }
}

impl QuestionRecord {
    /// What the planner is told of a consent that did not come.
    pub fn refusal(&self) -> Blocked {
        let asked = self.question.approval.as_ref();
        let calls: Vec<&str> = asked
            .into_iter()
            .flat_map(|asked| asked.calls.iter().map(|call| call.tool.as_str()))
            .collect();
        let why = match &self.answer {
            None => "nobody consented in time".to_owned(),
            Some(answer) if answer.authenticated => {
                format!("{} said: {}", answer.by, answer.answer)
            }
            Some(answer) => format!(
                "{} answered \"{}\", but did not prove who they are",
                answer.by, answer.answer
            ),
        };
        Blocked {
            guard: Guard::Policy,
            evidence: format!(
                "{} needs a person's consent: {why}. Nothing was done; find another way, or end the task",
                calls.join(", ")
            ),
        }
    }
}

impl UserAnswer {
    /// A clear yes from a person who proved who they are. Silence and doubt are none.
    pub fn consents(&self) -> bool {
        let word = self.answer.trim().trim_end_matches(['.', '!']);
        let yes = ["yes", "y", "approve", "approved", "ok", "allow"];
        self.authenticated && yes.iter().any(|yes| word.eq_ignore_ascii_case(yes))
    }
}

impl CallRecord {
    pub fn is_open(&self) -> bool {
        self.end == CallEnd::Open
    }

    pub fn succeeded(&self) -> bool {
        self.report().is_some_and(CallReport::succeeded)
    }

    /// Whether it was given all of this, if more beside it.
    pub fn gives(&self, told: &Map<String, Value>) -> bool {
        told.iter()
            .all(|(name, value)| self.args.get(name) == Some(value))
    }

    /// Whether it was to write and left a file as it was ([`CallReport::kept_files`]).
    pub fn kept_a_file(&self) -> bool {
        self.report().is_some_and(CallReport::kept_a_file)
    }

    /// Whether it was to run a program that is not there: that shows nothing of what the task does.
    pub fn found_no_program(&self) -> bool {
        let report = self.report().filter(|report| !report.succeeded());
        let result = report.and_then(|report| report.result.as_ref());
        let said = result.and_then(|result| result.get("error")?.as_str());
        let error = report.and_then(|report| report.error.as_deref());
        self.tool == "run_program"
            && said
                .or(error)
                .is_some_and(|error| error.contains("no such program"))
    }

    /// Whether it wrote a file with exactly what it held: the computer took the hash of what was there for the one that it tells now.
    pub fn rewrote_the_same(&self) -> bool {
        let known = self.args.get("if_hash").and_then(Value::as_str);
        let result = self.report().and_then(|report| report.result.as_ref());
        let told = ["/hash", "/write/hash"].iter();
        let mut told = told.filter_map(|at| result?.pointer(at)?.as_str());
        known.is_some_and(|known| told.any(|hash| hash == known)) && !self.kept_a_file()
    }

    /// What the computer reported, if it did.
    pub fn report(&self) -> Option<&CallReport> {
        match &self.end {
            CallEnd::Finished(report) => Some(report),
            CallEnd::Open | CallEnd::NotPlaced(_) => None,
        }
    }

    pub fn outcome(&self) -> Option<Outcome> {
        match &self.end {
            CallEnd::Finished(report) => Some(report.outcome),
            CallEnd::NotPlaced(_) => Some(Outcome::NotStarted),
            CallEnd::Open => None,
        }
    }
}

/// A question and its fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionRecord {
    pub question: Question,
    pub answer: Option<UserAnswer>,
    pub expired: bool,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserAnswer {
    pub answer: String,
    pub by: String,
    /// Whether the person proved who they are; an answer typed at a computer is not proof.
    pub authenticated: bool,
}

impl Step {
    /// A step in which nothing has happened yet.
    pub fn new(number: u32, track: Track) -> Self {
        Step {
            number,
            track,
            planner: None,
            reading: None,
            read: None,
            executor: Vec::new(),
            request: None,
            translated_by: None,
            calls: Vec::new(),
            question: None,
            blocked: None,
            summary_upto: None,
            recalled: None,
            closed: false,
        }
    }

    /// How many THEN items have been begun. The first one may have been fused with the write.
    pub fn then_done(&self) -> usize {
        let fused = self
            .calls
            .first()
            .is_some_and(|call| call.tool == "write_and_run");
        if fused {
            self.calls.len()
        } else {
            self.calls.len().saturating_sub(1)
        }
    }

    /// The THEN item that is to run next.
    pub fn next_then(&self) -> Option<&ThenItem> {
        match &self.reading.as_ref()?.directive()?.action {
            Action::WriteFile { then, .. } => then.get(self.then_done()),
            _ => None,
        }
    }
}
